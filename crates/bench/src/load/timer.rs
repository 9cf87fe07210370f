//! Waking up in time: the polls of Linux wait in whole milliseconds, which is too coarse for a
//! thousand requests a second.

use mio::{Registry, Token};
use std::io;
use std::time::Duration;

/// Two wake-ups are at least this far apart, so a high rate does not become a timer's.
const FINEST: Duration = Duration::from_micros(20);

/// Wakes a poll.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(crate) struct Timer {
    descriptor: std::os::fd::OwnedFd,
}

#[cfg(target_os = "linux")]
impl Timer {
    /// A timer of the poll behind `registry`; its events have this token.
    pub(crate) fn new(registry: &Registry, token: Token) -> io::Result<Timer> {
        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
        use std::os::fd::AsRawFd;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let descriptor = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // Edges are told, and each expiry is one: it need not be read.
        let mut source = mio::unix::SourceFd(&descriptor.as_raw_fd());
        registry.register(&mut source, token, mio::Interest::READABLE)?;
        Ok(Timer { descriptor })
    }

    /// Wakes the poll after this time; the limit that the poll itself needs for that.
    pub(crate) fn wake(&self, after: Duration) -> io::Result<Option<Duration>> {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
        let after = after.max(FINEST);
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec {
            tv_sec: after.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: after.subsec_nanos().into(),
        };
        let times = Itimerspec { it_interval: never, it_value: value };
        timerfd_settime(&self.descriptor, TimerfdTimerFlags::empty(), &times)?;
        Ok(None)
    }
}

/// Elsewhere a poll waits as exactly as it is asked to.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(crate) struct Timer {}

#[cfg(not(target_os = "linux"))]
impl Timer {
    pub(crate) fn new(_: &Registry, _: Token) -> io::Result<Timer> {
        Ok(Timer {})
    }

    pub(crate) fn wake(&self, after: Duration) -> io::Result<Option<Duration>> {
        Ok(Some(after.max(FINEST)))
    }
}
