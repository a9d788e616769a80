#![doc = include_str!("../README.md")]

pub mod fault_server;
