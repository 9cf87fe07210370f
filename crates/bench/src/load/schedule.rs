//! The schedule of one thread at a fixed rate.

use crate::load::plan::{Load, LoadSpan, Pace};
use std::time::Duration;

/// Times are nanoseconds since the start of the run.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Evenly spaced due times of a rate; each thread takes every n-th.
#[derive(Debug)]
pub(crate) struct Schedule {
    distance: f64,
    next: u64,
    step: u64,
    /// Requests of all threads together.
    all: u64,
}

impl Schedule {
    /// The schedule of a thread, counted from 0; `None` in a closed loop.
    pub(crate) fn new(load: &Load, thread: usize) -> Option<Schedule> {
        let Pace::Rate(rate) = load.pace else { return None };
        let before = (load.warm_up.as_secs_f64() * rate).ceil() as u64;
        let all = match load.span {
            LoadSpan::Requests(count) => before.saturating_add(count),
            LoadSpan::Time(time) => ((load.warm_up + time).as_secs_f64() * rate).ceil() as u64,
        };
        Some(Schedule { distance: 1e9 / rate, next: thread as u64, step: load.threads as u64, all })
    }

    /// The next due time; `None` after the last one.
    pub(crate) fn next(&self) -> Option<u64> {
        (self.next < self.all).then_some((self.next as f64 * self.distance) as u64)
    }

    /// The next request was sent.
    pub(crate) fn advance(&mut self) {
        self.next += self.step;
    }

    /// The end of the measured time.
    pub(crate) fn end(&self) -> u64 {
        (self.all as f64 * self.distance) as u64
    }
}

#[allow(clippy::unwrap_used)]
#[cfg(test)]
mod tests {
    use super::*;

    fn times(load: &Load, thread: usize) -> Vec<u64> {
        let mut schedule = Schedule::new(load, thread).unwrap();
        let mut times = Vec::new();
        while let Some(time) = schedule.next() {
            times.push(time / 1_000_000);
            schedule.advance();
        }
        times
    }

    #[test]
    fn threads_share_a_rate_evenly() {
        let load = Load {
            pace: Pace::Rate(100.0),
            span: LoadSpan::Requests(5),
            warm_up: Duration::ZERO,
            threads: 2,
            ..Load::default()
        };
        assert_eq!(times(&load, 0), [0, 20, 40]);
        assert_eq!(times(&load, 1), [10, 30]);
    }

    #[test]
    fn warming_up_comes_before_what_is_counted() {
        let load = Load {
            pace: Pace::Rate(10.0),
            span: LoadSpan::Time(Duration::from_secs(1)),
            warm_up: Duration::from_millis(200),
            ..Load::default()
        };
        assert_eq!(times(&load, 0).len(), 12);
        assert_eq!(Schedule::new(&load, 0).unwrap().end(), 1_200_000_000);
        assert!(Schedule::new(&Load::default(), 0).is_none());
    }
}
