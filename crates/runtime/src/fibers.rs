//! Fibers: futures that run the program's code, their scheduler, and the errors they end with.
//!
//! What belongs here decides when code of a program runs and how it ends. What the code is given
//! lives in [`crate::natives`].

pub(crate) mod fault;
pub(crate) mod fiber;
pub(crate) mod load;
pub(crate) mod scheduler;
pub(crate) mod task;
pub(crate) mod tidying;
