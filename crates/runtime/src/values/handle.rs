//! Objects of the program in the hands of Rust.

use crate::engine::stack::{Slot, Stack};
use crate::isolate::Isolate;
use std::os::raw::c_int;

/// An object of the program, kept for as long as this lives.
pub(crate) struct ObjectHandle {
    isolate: Isolate,
    slot: Slot,
}

impl ObjectHandle {
    /// The object at an index.
    pub(crate) fn new(isolate: &Isolate, stack: Stack, index: c_int) -> ObjectHandle {
        stack.push_copy(index);
        Self::of_top(isolate, stack)
    }

    /// The object on top of the stack, which is popped.
    pub(crate) fn of_top(isolate: &Isolate, stack: Stack) -> ObjectHandle {
        ObjectHandle { isolate: isolate.clone(), slot: stack.keep() }
    }

    pub(crate) fn isolate(&self) -> &Isolate {
        &self.isolate
    }

    pub(crate) fn push(&self, stack: Stack) {
        stack.push_kept(self.slot);
    }
}

/// The same object, kept once more.
impl Clone for ObjectHandle {
    fn clone(&self) -> ObjectHandle {
        let stack = self.isolate.stack();
        stack.reserve(4);
        self.push(stack);
        Self::of_top(&self.isolate, stack)
    }
}

impl Drop for ObjectHandle {
    fn drop(&mut self) {
        self.isolate.stack().release(self.slot);
    }
}
