//! A coroutine of the engine, kept until it is released.

use super::stack::{Slot, Stack};

/// A coroutine, which the registry keeps alive. Whoever owns it calls [`EngineThread::release`].
pub(crate) struct EngineThread {
    stack: Stack,
    slot: Slot,
}

impl EngineThread {
    /// A new coroutine of the engine that `stack` belongs to.
    pub(crate) fn new(stack: Stack) -> EngineThread {
        stack.reserve(8);
        let thread = stack.new_thread();
        EngineThread { stack: thread, slot: stack.keep() }
    }

    pub(crate) fn stack(&self) -> Stack {
        self.stack
    }

    /// Lets the collector free it.
    pub(crate) fn release(&self, stack: Stack) {
        stack.release(self.slot);
    }
}
