//! Load generation: the plan, the threads that send it, and what they count.

pub(crate) mod counts;
pub(crate) mod cpu;
pub(crate) mod files;
pub(crate) mod first_response;
pub(crate) mod plan;
pub(crate) mod run;
pub(crate) mod schedule;
pub(crate) mod target;
pub(crate) mod timer;
pub(crate) mod worker;
