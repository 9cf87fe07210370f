//! Being told to stop: by signals, or from the prompt.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

/// Interrupts belong to the prompt: they end a statement, not the program.
static HELD: AtomicBool = AtomicBool::new(false);
/// The prompt was left by hand: at its end the program does not go on serving.
static LEFT: AtomicBool = AtomicBool::new(false);
/// The program asked to end, with this status.
static END: Notify = Notify::const_new();
static STATUS: AtomicU8 = AtomicU8::new(0);

/// Waits for SIGTERM, SIGINT, or the program's own wish to end; answers the exit status that goes
/// with it.
pub(crate) async fn told_to_stop() -> u8 {
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    loop {
        tokio::select! {
            _ = terminate.recv() => return 0,
            () = END.notified() => return STATUS.load(Ordering::Relaxed),
            _ = interrupt.recv() => {
                if !HELD.load(Ordering::Relaxed) {
                    return 130;
                }
            }
        }
    }
}

/// Waits as long as a program serves after its end: not at all once its prompt was left, or else
/// until whoever runs the program is told to stop.
pub(crate) async fn served() {
    if !LEFT.load(Ordering::Relaxed) {
        std::future::pending().await
    }
}

/// The prompt was left.
pub(crate) fn leave() {
    LEFT.store(true, Ordering::Relaxed);
}

/// Ends the program; never answers.
pub(crate) async fn end(status: u8) {
    STATUS.store(status, Ordering::Relaxed);
    END.notify_one();
    std::future::pending().await
}

/// Interrupts are held while this lives.
pub(crate) struct Held(());

/// Keeps interrupts from ending the program.
pub(crate) fn hold_interrupts() -> Held {
    HELD.store(true, Ordering::Relaxed);
    Held(())
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.store(false, Ordering::Relaxed);
    }
}

/// Waits for an interrupt.
pub(crate) async fn interrupted() {
    match signal(SignalKind::interrupt()) {
        Ok(mut interrupt) => {
            interrupt.recv().await;
        }
        Err(_) => std::future::pending().await,
    }
}
