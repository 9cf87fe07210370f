//! Fibers: slices, deadlines, cancellation, concurrency.

mod support;

use support::{Lab, on_a_loop};
