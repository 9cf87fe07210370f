//! Precise wake-ups: Linux polls wait in whole milliseconds, too coarse for a thousand requests a
//! second.

use mio::{Registry, Token};
use std::io;
use std::time::Duration;

/// Shortest interval between two wake-ups, so that a high rate costs no timer for each request.
const FINEST: Duration = Duration::from_micros(20);

/// A timer that wakes a poll.
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
        // Edge-triggered: an expiry needs no read.
        let mut source = mio::unix::SourceFd(&descriptor.as_raw_fd());
        registry.register(&mut source, token, mio::Interest::READABLE)?;
        Ok(Timer { descriptor })
    }

    /// Wakes the poll after this time. Returns the timeout that the poll itself needs.
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

/// Other systems have precise poll timeouts.
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
