//! The load of the isolate of this thread: fibers and memory, for metrics.

use crate::isolate::Isolate;
use std::cell::Cell;

thread_local! {
    /// Fibers of this thread that have not ended.
    static LIVING: Cell<usize> = const { Cell::new(0) };
}

/// A fiber counts for as long as it has this.
pub(crate) struct Living(());

impl Living {
    pub(crate) fn new() -> Self {
        LIVING.set(LIVING.get() + 1);
        Living(())
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        LIVING.set(LIVING.get().saturating_sub(1));
    }
}

/// The load of an isolate at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Fibers that have begun and not ended.
    pub fibers: usize,
    /// Those of them that queue for a turn.
    pub in_line: usize,
    /// Bytes that the program's objects take.
    pub memory: usize,
}

/// The load of the isolate of this thread; zeroes where there is none.
pub fn load() -> Load {
    let Some(isolate) = Isolate::current() else { return Load::default() };
    Load {
        fibers: LIVING.get(),
        in_line: isolate.scheduler().length(),
        memory: isolate.used_memory(),
    }
}
