//! The event loop of a thread, and the message when it or the engine cannot start.

use crate::console::Console;
use crate::exit_status;
use std::future::Future;
use tokio::signal::unix::{SignalKind, signal};

/// Runs a future on an event loop of this thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .map_err(|error| format!("the event loop cannot start: {error}"))?;
    Ok(runtime.block_on(async {
        survive_file_limit();
        future.await
    }))
}

/// Makes a write beyond the system's limit of a file an error of that write (EFBIG). SIGXFSZ would end
/// the process; a signal with a handler does not, also after the last reader of the signal is gone.
fn survive_file_limit() {
    let kind = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    if let Err(error) = signal(kind) {
        tracing::debug!(%error, "SIGXFSZ has no handler");
    }
}

/// Prints why the event loop or the engine could not start, and returns the exit status.
pub(crate) fn started<T>(result: Result<T, String>) -> Result<T, u8> {
    result.map_err(|message| {
        Console::error(&format!("error: {message}"));
        exit_status::SOFTWARE
    })
}
