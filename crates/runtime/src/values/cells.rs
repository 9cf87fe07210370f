//! Rows of values that the kernel wrote into memory (cells.lua).
#![allow(unsafe_code)]

use crate::engine::stack::Stack;
use crate::values::kind::number;
use runnel_store::Value;
use std::os::raw::c_int;

/// What a cell holds, where it is no text.
const NIL: i32 = -1;
const FALSE: i32 = -2;
const TRUE: i32 = -3;

/// One value, as cells.lua lays it out.
#[repr(C)]
struct Cell {
    /// A number, or the address of a text.
    content: u64,
    /// The length of a text, or what else it is.
    kind: i32,
    unused: i32,
}

/// The values of `count` cells, whose address lies on the stack.
pub(crate) fn values(stack: Stack, address: c_int, count: usize) -> Vec<Value> {
    let address = stack.number(address) as usize;
    if count == 0 || address == 0 {
        return Vec::new();
    }
    // SAFETY: only insert.lua asks. It gives the address of memory that it holds and says how many
    // cells of it were written; the memory began as zeroes, so that every cell has some content.
    let cells = unsafe {
        std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<Cell>(address), count)
    };
    cells
        .iter()
        .map(|cell| match cell.kind {
            NIL => Value::Nil,
            FALSE => Value::Bool(false),
            TRUE => Value::Bool(true),
            length => match usize::try_from(length) {
                Ok(0) => Value::Text(String::new()),
                Ok(length) => {
                    let start = std::ptr::with_exposed_provenance::<u8>(cell.content as usize);
                    // SAFETY: the address and the length of a text that the kernel holds beside them.
                    crate::values::records::text(unsafe {
                        std::slice::from_raw_parts(start, length)
                    })
                }
                Err(_) => number(f64::from_bits(cell.content)),
            },
        })
        .collect()
}
