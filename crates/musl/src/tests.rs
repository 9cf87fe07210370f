//! The functions beside those of Rust, for all lengths about their limits.
#![allow(unsafe_code)] // calls them as C declares them

use std::ffi::{c_int, c_void};

// SAFETY: these are the signatures of `memory.c`.
unsafe extern "C" {
    fn runnel_memmove(to: *mut c_void, from: *const c_void, count: usize) -> *mut c_void;
    fn runnel_memset(to: *mut c_void, byte: c_int, count: usize) -> *mut c_void;
    fn runnel_memcmp(one: *const c_void, other: *const c_void, count: usize) -> c_int;
}

/// Lengths about all limits of the functions.
const LENGTHS: usize = 300;
/// Room on both sides, which must stay as it is.
const ROOM: usize = 200;

fn bytes() -> Vec<u8> {
    (0..LENGTHS + 2 * ROOM).map(|at| (at * 31 % 251) as u8).collect()
}

#[test]
fn moved_bytes_are_those_that_were_there() {
    for count in 0..LENGTHS {
        // Far before, over each other by some, in place, and behind.
        for to in [0, 1, ROOM - 65, ROOM - 3, ROOM - 1, ROOM, ROOM + 1, ROOM + 64, 2 * ROOM] {
            let (mut moved, mut expected) = (bytes(), bytes());
            expected.copy_within(ROOM..ROOM + count, to);
            let start = moved.as_mut_ptr();
            // SAFETY: both areas lie in the vector: `to + count` is at most its length.
            unsafe { runnel_memmove(start.add(to).cast(), start.add(ROOM).cast(), count) };
            assert_eq!(moved, expected, "{count} bytes to {to}");
        }
    }
}

#[test]
fn filled_bytes_are_all_the_same() {
    for count in 0..LENGTHS {
        let (mut filled, mut expected) = (bytes(), bytes());
        expected[ROOM..ROOM + count].fill(0xa7);
        // SAFETY: the area lies in the vector.
        unsafe { runnel_memset(filled.as_mut_ptr().add(ROOM).cast(), 0x1a7, count) };
        assert_eq!(filled, expected, "{count} bytes");
    }
}

#[test]
fn the_first_byte_that_differs_decides() {
    for count in 0..LENGTHS {
        let one = &bytes()[..count];
        let compared = |other: &[u8]| {
            // SAFETY: both areas have `count` bytes.
            let order = unsafe { runnel_memcmp(one.as_ptr().cast(), other.as_ptr().cast(), count) };
            order.cmp(&0)
        };
        assert!(compared(one).is_eq(), "{count} bytes");
        for at in 0..count {
            let mut other = one.to_vec();
            other[at] = other[at].wrapping_add(128);
            if let Some(last) = other.last_mut() {
                *last ^= 1;
            }
            assert_eq!(compared(&other), one.cmp(&other), "{count} bytes, another at {at}");
        }
    }
}
