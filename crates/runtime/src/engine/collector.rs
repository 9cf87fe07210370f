//! Pacing of the garbage collector.
//!
//! The engine begins a collection when the heap has grown to a multiple of what was alive after the
//! last one, and by itself that is twice. A server's program has some megabytes alive, most of them
//! built-in classes, and would mark them again after every few thousand requests: a tenth of the time
//! of a short one. So a small heap may grow to four times what is alive, a large one to twice, and
//! one near its limit hardly.
//!
//! Two collections are driven from here, in steps of a slice with others running between them: one
//! for a fiber that has used up the memory ([`Collector::relieve`]), and one in idle time, which gives
//! back what a burst of requests has left behind ([`crate::fibers::tidying`]).

use crate::engine::stack::Stack;
use runnel_store::{Budget, collected, garbage};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Up to this size a heap is small, in bytes.
const SMALL: usize = 32 << 20;
/// How far a small heap may grow, in percent of what is alive.
const SMALL_GROWTH: i32 = 400;
/// The growth of larger heaps.
const GROWTH: i32 = 200;
/// The growth of a heap beyond half of its limit.
const LARGE_GROWTH: i32 = 110;
/// The time of one step of a collection, which delays others.
const STEP: Duration = Duration::from_millis(1);
/// Bytes of growth before a collection in idle time is worthwhile.
const SLACK: usize = 4 << 20;

/// Drives the collector of one engine.
#[derive(Default)]
pub(crate) struct Collector {
    /// The growth that the engine is set to; 0 at first.
    growth: Cell<i32>,
    /// Cycles that have to end before all that is garbage now is collected; 0 while none is driven.
    cycles: Cell<u8>,
    /// The garbage of requests when the driven collection began.
    garbage: Cell<usize>,
    /// Use of memory beyond which a collection in idle time is worthwhile.
    worthwhile: Cell<usize>,
    /// A task for idle time is under way.
    tidies: Cell<bool>,
    /// Counts the turns of fibers.
    turns: Cell<u32>,
}

impl Collector {
    /// Adapts the growth of the heap after a fiber has run. Answers whether tidying is due.
    pub(crate) fn after_run(&self, stack: Stack) -> bool {
        self.turns.set(self.turns.get().wrapping_add(1));
        let used = crate::engine::memory::used();
        let growth = match used {
            0..SMALL => SMALL_GROWTH,
            _ if used > crate::engine::memory::limit() / 2 => LARGE_GROWTH,
            _ => GROWTH,
        };
        if self.growth.replace(growth) != growth {
            stack.set_heap_growth(growth);
            if growth == LARGE_GROWTH {
                // The threshold of before may lie beyond the limit: it is set anew by a cycle.
                stack.collect_step();
            }
        }
        (used > self.worthwhile.get() || garbage() > 0) && self.is_tidying_due(used)
    }

    /// Runs one step of a collection. Answers whether the collection has ended.
    pub(crate) fn relieve(&self, stack: Stack) -> bool {
        if self.cycles.get() == 0 {
            // A cycle under way keeps the garbage that has arisen since it began.
            self.cycles.set(2);
            self.garbage.set(garbage());
        }
        let until = Instant::now() + STEP;
        while self.cycles.get() > 0 && Instant::now() < until {
            if stack.collect_step() {
                self.cycles.set(self.cycles.get() - 1);
            }
        }
        let ended = self.cycles.get() == 0;
        if ended {
            collected(self.garbage.take());
        }
        ended
    }

    #[cold]
    fn is_tidying_due(&self, used: usize) -> bool {
        if self.worthwhile.get() == 0 {
            // The first look: the program has just begun.
            self.worthwhile.set(used + used / 4 + SLACK);
            return false;
        }
        !self.tidies.get()
    }

    /// A task that tidies in idle time has begun.
    pub(crate) fn begin_tidying(&self) {
        self.tidies.set(true);
    }

    /// It has ended: the next is due when the heap has grown again.
    pub(crate) fn end_tidying(&self) {
        let used = crate::engine::memory::used();
        self.worthwhile.set(used + used / 4 + SLACK);
        self.tidies.set(false);
    }

    /// Counts how often fibers have run.
    pub(crate) fn runs(&self) -> u32 {
        self.turns.get()
    }

    /// Whether requests wait for memory that a collection would free.
    pub(crate) fn is_urgent() -> bool {
        let budget = Budget::of_process();
        garbage() > 0 && budget.held() > budget.limit() / 4
    }
}
