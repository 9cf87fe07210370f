//! Programs: what the compiler may assume about the kernel, running source texts, and the standard
//! programs (`std/`).

pub(crate) mod catalogue;
pub(crate) mod known;
pub(crate) mod loads;
pub(crate) mod run;
pub(crate) mod standard;
pub(crate) mod startup;
