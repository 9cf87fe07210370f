//! Being told to stop.

use tokio::signal::unix::{SignalKind, signal};

/// Waits for SIGTERM or SIGINT; answers the exit status that goes with it.
pub(crate) async fn told_to_stop() -> u8 {
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => 0,
        _ = interrupt.recv() => 130,
    }
}
