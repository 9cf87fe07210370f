//! How far the heap of a program may grow before its garbage is collected.
//!
//! The engine begins a collection when the heap has grown to a multiple of what was alive after the
//! last one, and by itself that is twice. A server's program has some megabytes alive, most of them
//! built-in classes, and would mark them again after every few thousand requests: a tenth of the time
//! of a short one. So a small heap may grow to four times what is alive, and a large one to twice.

use crate::raw::Stack;
use std::cell::Cell;

/// Up to this size a heap is small, in KiB.
const SMALL: i32 = 32 * 1024;
/// How far a small heap may grow, in percent of what is alive.
const SMALL_GROWTH: i32 = 400;
/// How far others may.
const GROWTH: i32 = 200;

/// Tells the engine of one isolate when to collect.
#[derive(Default)]
pub(crate) struct Collector {
    /// What the engine was told, if anything.
    growth: Cell<i32>,
}

impl Collector {
    /// Looks at the size of the heap; done whenever a fiber has run.
    pub(crate) fn look(&self, stack: Stack) {
        let growth = if stack.heap_size() < SMALL { SMALL_GROWTH } else { GROWTH };
        if self.growth.replace(growth) != growth {
            stack.set_heap_growth(growth);
        }
    }
}
