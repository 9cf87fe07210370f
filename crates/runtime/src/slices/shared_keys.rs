//! Keys that several dictionaries share, such as the records of a list in JSON (dictionary.lua): a sink encodes their
//! names once for all of them.

use crate::engine::stack::{Slot, Stack, Type};
use crate::isolate::Isolate;
use std::os::raw::c_int;

/// The position of the mark of a shared list of keys.
pub(super) const MARK: usize = 0;

/// A shared list of keys, held so that no other gets its address, and the names as a sink writes them.
pub(super) struct SharedKeys {
    isolate: Isolate,
    list: Slot,
    names: Box<[Box<[u8]>]>,
}

impl SharedKeys {
    /// The list of keys at an index; nothing where it belongs to one dictionary.
    pub(super) fn read(
        isolate: &Isolate,
        stack: Stack,
        index: c_int,
        written: fn(&[u8]) -> Box<[u8]>,
    ) -> Option<SharedKeys> {
        let index = stack.absolute(index);
        stack.get_element(index, MARK);
        let is_shared = stack.kind(-1) != Type::Nil;
        stack.pop(1);
        if !is_shared {
            return None;
        }
        let mut names = Vec::new();
        loop {
            stack.get_element(index, names.len() + 1);
            if stack.kind(-1) != Type::Text {
                break;
            }
            names.push(stack.with_bytes(-1, written));
            stack.pop(1);
        }
        stack.pop(1);
        stack.push_copy(index);
        Some(SharedKeys { isolate: isolate.clone(), list: stack.keep(), names: names.into() })
    }

    /// Pushes the value of the next entry; answers its name and its kind, and nothing at the end. The list lies at
    /// `keys`, and the map above it.
    pub(super) fn push_next(
        &self,
        stack: Stack,
        keys: c_int,
        next: &mut usize,
    ) -> Option<(&[u8], Type)> {
        loop {
            let name = self.names.get(*next)?;
            *next += 1;
            stack.get_element(keys, *next);
            stack.get_raw(keys + 1);
            match stack.kind(-1) {
                // Removed since the walk began.
                Type::Nil => stack.pop(1),
                kind => return Some((name, kind)),
            }
        }
    }
}

impl Drop for SharedKeys {
    fn drop(&mut self) {
        self.isolate.stack().release(self.list);
    }
}
