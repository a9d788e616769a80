#![doc = include_str!("../README.md")]

pub mod audit;
pub mod config;
pub mod demo;
pub mod drill;
pub mod fault_server;
pub mod json_schema;
pub mod trusted_folders;
