//! Readiness and watchdog messages to systemd: sd_notify(3), a datagram to the socket in `NOTIFY_SOCKET`.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// Sends a state such as `READY=1` to the service manager, if `NOTIFY_SOCKET` is set.
pub(crate) fn notify(state: &str) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET").filter(|path| !path.is_empty()) else {
        return;
    };
    let name = path.as_encoded_bytes();
    let address = match name.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(&path),
    };
    let sent = address.and_then(|address| {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        socket.send_to_addr(state.as_bytes(), &address)
    });
    if let Err(error) = sent {
        tracing::warn!(%error, "systemd did not accept {state}");
    }
}

/// The interval of `WATCHDOG=1` messages: half of the watchdog timeout.
pub(crate) fn watchdog() -> Option<Duration> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    if number("WATCHDOG_PID").is_some_and(|process| process != u64::from(std::process::id())) {
        return None;
    }
    number("WATCHDOG_USEC").filter(|time| *time > 0).map(|time| Duration::from_micros(time / 2))
}

/// Sends watchdog messages while this event loop is alive.
pub(crate) async fn keep_alive() {
    let Some(time) = watchdog() else { return std::future::pending().await };
    let mut ticks = tokio::time::interval(time);
    loop {
        ticks.tick().await;
        notify("WATCHDOG=1");
    }
}
