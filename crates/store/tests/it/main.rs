//! Integration tests of stores and combinators, in one binary.
#![allow(clippy::unwrap_used)]

mod cache;
mod codecs;
mod combine;
mod conformance;
mod conformance_wrappers;
mod contract;
mod copy;
mod disk;
mod disk_attributes;
mod disk_conditions;
mod disk_keys;
mod disk_killed;
mod disk_watch;
mod environment;
mod graph;
mod json;
mod layers;
mod manual;
mod memory;
mod names;
mod network;
mod passing;
mod round_trips;
mod segments;
mod several;
mod slots;
mod watch;
