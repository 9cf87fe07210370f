//! The place in the program that asks a store, for the log.

use crate::engine::stack::{Stack, Type};
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply};
use crate::natives::stores::inner_call;
use runnel_store::{Context as Call, ProgramPlace};
use std::os::raw::c_int;

pub(crate) const NATIVES: [(&str, Native); 1] = [("programPlace", program_place)];

/// Functions on the stack among which the one of the program is looked for.
const DEPTH: c_int = 40;

/// `()`: the number of the place where the program runs, 0 where none does.
fn program_place(_: &Isolate, arguments: Arguments) -> Reply {
    Reply::Now(Given::Number(f64::from(running(arguments.0).number())))
}

/// The place whose number is an argument, or the one where the program runs.
pub(super) fn place_at(arguments: Arguments, at: c_int) -> ProgramPlace {
    match arguments.0.kind(at) {
        Type::Number => ProgramPlace::numbered(arguments.number(at) as u32),
        _ => running(arguments.0),
    }
}

/// The call of a native that asks a store now.
pub(super) fn asking_call(isolate: &Isolate, arguments: Arguments) -> Call {
    Call { place: running(arguments.0), ..inner_call(isolate) }
}

fn running(stack: Stack) -> ProgramPlace {
    stack.program_frames(DEPTH, |frame| Some(frame.logged())).unwrap_or_default()
}
