//! A coroutine of the engine, kept until it is released.
#![allow(unsafe_code)]

use super::stack::{Slot, Stack};
use mlua::ffi::lua_State;

/// A coroutine, which the registry keeps alive. Its owner calls [`EngineThread::release`].
pub(crate) struct EngineThread {
    state: *mut lua_State,
    slot: Slot,
}

impl EngineThread {
    /// A new coroutine of the engine that `stack` belongs to.
    pub(crate) fn new(stack: Stack) -> EngineThread {
        stack.reserve(8);
        EngineThread { state: stack.new_thread(), slot: stack.keep() }
    }

    pub(crate) fn stack(&self) -> Stack<'_> {
        // SAFETY: the slot keeps the coroutine until its owner releases it, the last thing it does.
        unsafe { Stack::from_raw(self.state) }
    }

    /// Lets the collector free it. Its stack is not used any more.
    pub(crate) fn release(&self, stack: Stack) {
        stack.release(self.slot);
    }
}
