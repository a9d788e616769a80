#![doc = include_str!("../README.md")]

pub mod config;
pub mod demo;
pub mod fault_server;
pub mod trusted_folders;
