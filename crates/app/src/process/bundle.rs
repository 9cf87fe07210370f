//! A program inside the executable: what `runnel build` has appended, and how it is run.
//!
//! The files are read where they lie in the memory of the process; nothing is unpacked. See [`format`] for the bytes,
//! [`files`] for how references find them.

pub(crate) mod files;
pub(crate) mod format;

use format::Bundle;
use std::sync::OnceLock;

/// The program inside this executable, once it runs.
static RUNNING: OnceLock<Bundle> = OnceLock::new();

/// The program inside this executable; `None` where there is none.
///
/// # Errors
/// The message, where there is one that is damaged.
pub(crate) fn find() -> Result<Option<Bundle>, String> {
    match format::open_executable() {
        Some(file) => format::read(&file),
        None => Ok(None),
    }
}

/// The program that runs from inside this executable.
pub(crate) fn running() -> Option<&'static Bundle> {
    RUNNING.get()
}

/// Makes this the program that runs.
pub(crate) fn begin(bundle: Bundle) -> &'static Bundle {
    let bundle = RUNNING.get_or_init(|| bundle);
    runnel_runtime::set_inside_sources(|path| running()?.files.get(path).map(|bytes| &**bytes));
    bundle
}
