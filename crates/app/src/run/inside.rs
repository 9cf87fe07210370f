//! Runs the program inside the executable.

use super::{Order, source};
use crate::console::Console;
use crate::exit_status;
use crate::process::bundle;
use crate::process::bundle::format::{Bundle, DAMAGED};
use crate::process::workers;
use std::ffi::OsString;
use std::path::PathBuf;

/// Runs the program; all words of the command line but the first are its own. Answers the exit status.
pub(crate) fn run(bundle: Bundle, words: Vec<OsString>) -> u8 {
    let mut words = words.into_iter().map(OsString::into_string);
    let name = words.next().and_then(Result::ok).unwrap_or_else(|| bundle.program.clone());
    let Ok(args) = words.collect::<Result<Vec<String>, _>>() else {
        Console::error("error: an argument is no UTF-8 text");
        return exit_status::USAGE;
    };
    // A count that `build` has checked.
    let workers = workers::count(&bundle.workers).unwrap_or(1);
    crate::memory::MemoryOptions::default().apply(workers);
    let bundle = bundle::begin(Bundle { called: name, ..bundle });
    let Some(text) = bundle.files.get(&bundle.program).map(|bytes| bytes.to_vec()) else {
        Console::error(DAMAGED);
        return exit_status::DATA;
    };
    let Ok(text) = String::from_utf8(text) else {
        Console::error(DAMAGED);
        return exit_status::DATA;
    };
    let path = PathBuf::from(&bundle.program);
    let port = bundle.port;
    source(&Order { path, port, args, workers, json: false, attach: false }, text)
}
