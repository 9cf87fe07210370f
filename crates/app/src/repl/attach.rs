//! `runnel attach`: a prompt in a program that runs in another process of the same user.
//!
//! A program that was started with `--attach` listens on a Unix socket in a folder that only its user can enter. Both
//! sides ask the system for the user of the other process (`SO_PEERCRED`, unix(7)). Statements run in the first worker,
//! each in a fiber of its own, so requests are answered meanwhile.

mod client;
mod message;
mod place;
mod program;

pub(crate) use client::run;
pub(crate) use program::{Attachable, listen};
