//! The behaviour of the safe call over scripted connections: what reached each server is counted.

mod answers;
mod continuations;
mod counted;
mod denied;
mod first_delivery;
mod gone;
mod leaving;
mod replays;
mod seen;
mod servers;
mod sets;
mod tasks;
mod trust;
