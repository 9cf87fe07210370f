//! The profile of a program: its lines by time, a flame graph, and the page of the admin port. The samples come from
//! the runtime (`runnel_runtime::start_profile`).

pub(crate) mod flame;
pub(crate) mod lines;
pub(crate) mod names;
pub(crate) mod page;
