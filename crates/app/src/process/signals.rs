//! Requests to stop: signals, the supervisor, the prompt.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// SIGINT belongs to the prompt: it ends a statement, not the program.
static HELD: AtomicBool = AtomicBool::new(false);
/// The prompt was closed at a terminal, so the program ends instead of serving on.
static LEFT: AtomicBool = AtomicBool::new(false);
/// The exit status of all workers, once a stop is requested.
static END: LazyLock<watch::Sender<Option<u8>>> = LazyLock::new(|| watch::Sender::new(None));

/// A second stop was requested: open connections are cut.
static CUT: LazyLock<watch::Sender<bool>> = LazyLock::new(|| watch::Sender::new(false));
/// Signals within this time are the same request to stop: a terminal and a wrapper both send one.
pub(crate) const SAME: Duration = Duration::from_millis(500);

/// Waits for SIGTERM, SIGINT or [`end_all`], and returns the exit status.
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

/// During a stop: waits for a second request, which cuts open connections. Under a supervisor only
/// the supervisor decides, because systemd and terminals signal both processes.
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

/// Pends for ever, so that a program serves after its last statement; returns at once when its prompt was
/// closed.
pub(crate) async fn served() {
    if !LEFT.load(Ordering::Relaxed) {
        std::future::pending().await
    }
}

/// The prompt was left.
pub(crate) fn leave() {
    LEFT.store(true, Ordering::Relaxed);
}

/// Ends the program; never returns.
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
pub(crate) struct InterruptGuard(());

/// Keeps interrupts from ending the program.
pub(crate) fn hold_interrupts() -> InterruptGuard {
    HELD.store(true, Ordering::Relaxed);
    InterruptGuard(())
}

impl Drop for InterruptGuard {
    fn drop(&mut self) {
        HELD.store(false, Ordering::Relaxed);
    }
}

/// Waits for SIGINT.
pub(crate) async fn interrupted() {
    received(SignalKind::interrupt()).await;
}

/// Waits for SIGHUP: the terminal was closed. `nohup`, which ignores the signal for the process, does not change that.
pub(crate) async fn hung_up() {
    received(SignalKind::hangup()).await;
}

async fn received(kind: SignalKind) {
    match signal(kind) {
        Ok(mut signal) => {
            signal.recv().await;
        }
        Err(_) => std::future::pending().await,
    }
}
