//! Being told to stop: by signals, or from the prompt.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Interrupts belong to the prompt: they end a statement, not the program.
static HELD: AtomicBool = AtomicBool::new(false);
/// The prompt was left by hand: at its end the program does not go on serving.
static LEFT: AtomicBool = AtomicBool::new(false);
/// The exit status with which all workers are to end, once they are to end.
static END: LazyLock<watch::Sender<Option<u8>>> = LazyLock::new(|| watch::Sender::new(None));

/// The supervisor was told to stop twice.
static CUT: LazyLock<watch::Sender<bool>> = LazyLock::new(|| watch::Sender::new(false));
/// Signals within this time are the same request to stop: a terminal and a wrapper both send one.
pub(crate) const SAME: Duration = Duration::from_millis(500);

/// Waits for SIGTERM, SIGINT, or the program's own wish to end; answers the exit status that goes
/// with it.
pub(crate) async fn told_to_stop() -> u8 {
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    let mut end = END.subscribe();
    loop {
        tokio::select! {
            _ = terminate.recv() => return 0,
            Ok(status) = end.wait_for(Option::is_some) => return status.unwrap_or(0),
            _ = interrupt.recv() => {
                if !HELD.load(Ordering::Relaxed) {
                    return 130;
                }
            }
        }
    }
}

/// While the program stops: waits for another request to stop, which ends it at once. Below a
/// supervisor that one decides, since systemd and terminals send signals to both.
pub(crate) async fn told_again(is_supervised: bool) {
    let mut cut = CUT.subscribe();
    let signals = async {
        tokio::time::sleep(SAME).await;
        let (Ok(mut terminate), Ok(mut interrupt)) =
            (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    tokio::select! {
        _ = cut.wait_for(|cut| *cut) => {}
        () = signals, if !is_supervised => {}
    }
}

/// The supervisor ends the program at once.
pub(crate) fn cut() {
    CUT.send_replace(true);
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
    end_all(status);
    std::future::pending().await
}

/// Ends every worker. The first status given counts.
pub(crate) fn end_all(status: u8) {
    END.send_if_modified(|end| {
        let first = end.is_none();
        end.get_or_insert(status);
        first
    });
}

/// Whether the workers are to end.
pub(crate) fn is_ending() -> bool {
    END.borrow().is_some()
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
