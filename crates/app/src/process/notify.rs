//! Telling systemd how it goes: sd_notify(3), a datagram to the socket in `NOTIFY_SOCKET`.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// Says something such as `READY=1` to whoever started this process, if it listens.
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
        tracing::warn!(%error, "systemd could not be told {state}");
    }
}

/// How often systemd wants to hear `WATCHDOG=1`: half of the time after which it would give up.
pub(crate) fn watchdog() -> Option<Duration> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    if number("WATCHDOG_PID").is_some_and(|process| process != u64::from(std::process::id())) {
        return None;
    }
    number("WATCHDOG_USEC").filter(|time| *time > 0).map(|time| Duration::from_micros(time / 2))
}

/// Says that this event loop goes on, as often as systemd wants to hear it.
pub(crate) async fn keep_alive() {
    let Some(time) = watchdog() else { return std::future::pending().await };
    let mut ticks = tokio::time::interval(time);
    loop {
        ticks.tick().await;
        notify("WATCHDOG=1");
    }
}
