//! Programs: what the compiler may assume about the kernel, and running source texts.

pub(crate) mod known;
pub(crate) mod run;
pub(crate) mod startup;
