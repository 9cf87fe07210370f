//! The health of one upstream: passive, by the failures of requests, and active, by checks.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The health of one upstream, as this worker has seen it.
///
/// After `max_fails` failures within `fail_time` it rests for `fail_time`, if another one is up; a success
/// ends the rest.
#[derive(Debug)]
pub(super) struct UpstreamHealth {
    max_fails: u32,
    fail_time: Duration,
    fails: Cell<u32>,
    /// When the first of these failures was.
    since: Cell<Option<Instant>>,
    rests_until: Cell<Option<Instant>>,
    /// When it last answered a request.
    answered: Cell<Option<Instant>>,
    /// Whether the last active check failed.
    fails_checks: Cell<bool>,
}

impl UpstreamHealth {
    pub(super) fn new(max_fails: u32, fail_time: Duration) -> Self {
        UpstreamHealth {
            max_fails,
            fail_time,
            fails: Cell::new(0),
            since: Cell::new(None),
            rests_until: Cell::new(None),
            answered: Cell::new(None),
            fails_checks: Cell::new(false),
        }
    }

    /// Whether requests go to it.
    pub(super) fn is_up(&self, now: Instant) -> bool {
        !self.fails_checks.get() && self.rests_until.get().is_none_or(|until| until <= now)
    }

    /// Whether it may be asked although it rests: its checks do not fail.
    pub(super) fn may_be_asked(&self) -> bool {
        !self.fails_checks.get()
    }

    /// Whether it has answered a request since then. If so, a request that began then was slow, and not
    /// the upstream.
    pub(super) fn has_answered_since(&self, began: Instant) -> bool {
        self.answered.get().is_some_and(|answered| answered > began)
    }

    /// A request got no answer. Returns whether the upstream rests from now on, which it may.
    pub(super) fn failed(&self, now: Instant, may_rest: bool) -> bool {
        let is_old = |since: Instant| now.saturating_duration_since(since) > self.fail_time;
        if self.since.get().is_none_or(is_old) {
            self.since.set(Some(now));
            self.fails.set(0);
        }
        self.fails.set(self.fails.get().saturating_add(1));
        if self.fails.get() < self.max_fails || !may_rest {
            return false;
        }
        let rested = self.rests_until.replace(now.checked_add(self.fail_time));
        rested.is_none_or(|until| until <= now)
    }

    /// A request was answered.
    pub(super) fn succeeded(&self, now: Instant) {
        self.answered.set(Some(now));
        if self.since.take().is_some() {
            self.fails.set(0);
            self.rests_until.set(None);
        }
    }

    /// An active check has ended. Returns whether its result is new.
    pub(super) fn checked(&self, is_good: bool) -> bool {
        let now = Instant::now();
        if is_good {
            self.succeeded(now);
        }
        self.fails_checks.replace(!is_good) == is_good
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_upstream_rests_after_some_failures() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let health = UpstreamHealth::new(2, 10 * second);
        assert!(!health.failed(start, true));
        // The first failure is forgotten.
        assert!(!health.failed(start + 11 * second, true));
        assert!(health.is_up(start + 11 * second));
        assert!(health.failed(start + 12 * second, true));
        assert!(!health.is_up(start + 13 * second));
        assert!(health.is_up(start + 22 * second));
    }

    #[test]
    fn a_slow_request_is_told_from_a_silent_upstream() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let health = UpstreamHealth::new(1, 10 * second);
        assert!(!health.has_answered_since(start));
        health.succeeded(start + second);
        assert!(health.has_answered_since(start));
        assert!(!health.has_answered_since(start + second));
    }

    #[test]
    fn a_failed_check_takes_it_out_and_a_good_one_brings_it_back() {
        let now = Instant::now();
        let health = UpstreamHealth::new(1, Duration::from_secs(10));
        assert!(!health.checked(true));
        assert!(health.checked(false));
        assert!(!health.is_up(now) && !health.may_be_asked());
        health.failed(now, true);
        assert!(health.checked(true));
        assert!(health.is_up(now));
    }
}
