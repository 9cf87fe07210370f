//! When and how far the garbage of a program is collected.
//!
//! The engine begins a collection when the heap has grown to a multiple of what was alive after the
//! last one, and by itself that is twice. A server's program has some megabytes alive, most of them
//! built-in classes, and would mark them again after every few thousand requests: a tenth of the time
//! of a short one. So a small heap may grow to four times what is alive, a large one to twice, and
//! one near its limit hardly.
//!
//! Two collections are driven from here, in steps of a slice with others running between them: one
//! for a fiber that has used up the memory ([`Collector::relieve`]), and one in idle time, which gives
//! back what a burst of requests has left behind ([`Collector::tidy`]).

use crate::engine::stack::Stack;
use crate::isolate::Isolate;
use runnel_store::{Budget, collected, garbage};
use std::cell::Cell;
use std::rc::Weak;
use std::time::{Duration, Instant};

/// Up to this size a heap is small, in bytes.
const SMALL: usize = 32 << 20;
/// How far a small heap may grow, in percent of what is alive.
const SMALL_GROWTH: i32 = 400;
/// How far others may.
const GROWTH: i32 = 200;
/// How far one may that uses half of its limit.
const LARGE_GROWTH: i32 = 110;
/// One step of a collection: others wait so long.
const STEP: Duration = Duration::from_millis(1);
/// The pause after a step in idle time: a collection takes half of a core at most.
const REST: Duration = Duration::from_millis(1);
/// How often idle time is looked for.
const LOOK: Duration = Duration::from_secs(1);
/// Fewer turns of fibers between two looks are idle time: some hundredths of a core.
const FEW_TURNS: u32 = 1000;
/// An engine that is never idle is tidied after so many looks.
const LOOKS: u32 = 30;
/// Memory is given back once more after so long.
const AFTERMATH: Duration = Duration::from_secs(15);
/// What the heap may grow in bytes before a collection in idle time is worth its while.
const SLACK: usize = 4 << 20;

/// Drives the collector of one engine.
#[derive(Default)]
pub(crate) struct Collector {
    /// What the engine was told about growth, if anything.
    growth: Cell<i32>,
    /// Cycles that have to end before all that is garbage now is collected; 0 while none is driven.
    cycles: Cell<u8>,
    /// The garbage of requests when the driven collection began.
    garbage: Cell<usize>,
    /// A use of memory that is worth a collection in idle time.
    worthwhile: Cell<usize>,
    /// A task for idle time is under way.
    tidies: Cell<bool>,
    /// Counts the turns of fibers.
    turns: Cell<u32>,
}

impl Collector {
    /// Looks at the size of the heap; done whenever a fiber has run.
    pub(crate) fn look(&self, isolate: &Isolate) {
        self.turns.set(self.turns.get().wrapping_add(1));
        let used = crate::engine::memory::used();
        let growth = match used {
            0..SMALL => SMALL_GROWTH,
            _ if used > crate::engine::memory::limit() / 2 => LARGE_GROWTH,
            _ => GROWTH,
        };
        if self.growth.replace(growth) != growth {
            isolate.stack().set_heap_growth(growth);
            if growth == LARGE_GROWTH {
                // The threshold of before may lie beyond the limit: it is set anew by a cycle.
                isolate.stack().collect_step();
            }
        }
        if used > self.worthwhile.get() || garbage() > 0 {
            self.ask_for_tidying(isolate, used);
        }
    }

    /// Goes on with a collection, for a moment. Answers whether it has ended.
    pub(crate) fn relieve(&self, stack: Stack) -> bool {
        if self.cycles.get() == 0 {
            // One that is under way keeps what has become garbage since it began.
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
    fn ask_for_tidying(&self, isolate: &Isolate, used: usize) {
        if self.worthwhile.get() == 0 {
            // The first look: the program has just begun.
            self.worthwhile.set(used + used / 4 + SLACK);
            return;
        }
        if self.tidies.get() || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        self.tidies.set(true);
        tokio::task::spawn_local(tidy(isolate.downgrade()));
    }

    /// Whether requests wait for memory that a collection would free.
    fn is_urgent() -> bool {
        let budget = Budget::of_process();
        garbage() > 0 && budget.held() > budget.limit() / 4
    }
}

/// Collects all garbage once the engine is idle, or when requests wait for its memory, and gives the
/// memory back.
async fn tidy(isolate: Weak<crate::isolate::Inner>) {
    let current = || isolate.upgrade().map(Isolate::of_inner);
    for _ in 0..LOOKS {
        if Collector::is_urgent() {
            break;
        }
        let turns = || Some(current()?.collector().turns.get());
        let Some(before) = turns() else { return };
        tokio::time::sleep(LOOK).await;
        let Some(after) = turns() else { return };
        if after.wrapping_sub(before) < FEW_TURNS {
            break;
        }
    }
    loop {
        let Some(isolate) = current() else { return };
        if isolate.collector().relieve(isolate.stack()) {
            break;
        }
        drop(isolate);
        match Collector::is_urgent() {
            true => tokio::task::yield_now().await,
            false => tokio::time::sleep(REST).await,
        }
    }
    let Some(isolate) = current() else { return };
    let used = crate::engine::memory::used();
    isolate.host().give_back_memory();
    isolate.collector().worthwhile.set(used + used / 4 + SLACK);
    isolate.collector().tidies.set(false);
    drop(isolate);
    // Threads of pools that worked for the requests have ended by then.
    tokio::time::sleep(AFTERMATH).await;
    if let Some(isolate) = current() {
        isolate.host().give_back_memory();
    }
}
