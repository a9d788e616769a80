#![doc = include_str!("../README.md")]

pub mod demo;
pub mod fault_server;
