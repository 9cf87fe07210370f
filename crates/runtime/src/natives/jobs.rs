//! Natives for queues of jobs: waking the workers of this process, and the moments of schedules.
//!
//! Each worker thread has its own isolate, so a post in one has to wake the workers of all. A queue that
//! is waited for has a counter, which each wake increments; a worker reads it before it looks for jobs, so
//! that no wake is lost between looking and waiting.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use cronexpr::{FallbackTimezoneOption, MakeTimestamp, ParseOptions, parse_crontab_with};
use runnel_store::{Error, Kind};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

pub(crate) const NATIVES: [(&str, Native); 4] =
    [("wakes", wakes), ("wake", wake), ("awaitWake", await_wake), ("cronNext", cron_next)];

/// Queues of one process that are waited for.
const MOST: usize = 10_000;
/// The longest text of a schedule.
const LONGEST: usize = 200;

static COUNTERS: LazyLock<Mutex<HashMap<String, watch::Sender<u64>>>> =
    LazyLock::new(Mutex::default);

/// A receiver of the counter of a queue.
fn counter(queue: String) -> Result<watch::Receiver<u64>, Error> {
    let mut counters = COUNTERS.lock().unwrap_or_else(PoisonError::into_inner);
    if counters.len() >= MOST && !counters.contains_key(&queue) {
        counters.retain(|_, counter| counter.receiver_count() > 0);
        if counters.len() >= MOST {
            let message = format!("workers wait for at most {MOST} queues");
            return Err(Error::new(Kind::Unavailable, message));
        }
    }
    Ok(counters.entry(queue).or_insert_with(|| watch::Sender::new(0)).subscribe())
}

/// `(queue)`: how often it was woken.
fn wakes(_: &Isolate, arguments: Arguments) -> Reply {
    let counter = attempt!(counter(arguments.text(1)));
    let count = *counter.borrow();
    Reply::Now(Given::Number(count as f64))
}

/// `(queue)`: wakes its workers in all threads.
fn wake(_: &Isolate, arguments: Arguments) -> Reply {
    let counters = COUNTERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(counter) = counters.get(&arguments.text(1)) {
        counter.send_modify(|count| *count += 1);
    }
    Reply::Now(Given::Nil)
}

/// `(queue, count, seconds)`: waits until the queue was woken more often, at most for a time. Whether it
/// was woken.
fn await_wake(_: &Isolate, arguments: Arguments) -> Reply {
    let mut counter = attempt!(counter(arguments.text(1)));
    let (seen, seconds) = (arguments.number(2) as u64, arguments.number(3).clamp(0.0, 1e6));
    Reply::later(async move {
        let woken = counter.wait_for(|count| *count > seen);
        let woken = tokio::time::timeout(Duration::from_secs_f64(seconds), woken).await;
        Ok(Given::Boolean(woken.is_ok()))
    })
}

/// `(schedule in the form of cron, zone, seconds)`: the first moment after these, in seconds.
fn cron_next(_: &Isolate, arguments: Arguments) -> Reply {
    next(&arguments.text(1), &arguments.text(2), arguments.number(3)).map(Given::Number).into()
}

/// The first moment of a schedule in a zone after another one, in seconds.
fn next(schedule: &str, zone: &str, after: f64) -> Result<f64, Error> {
    let wrong = |message: String| Err(Error::new(Kind::Invalid, message));
    if schedule.len() > LONGEST {
        return wrong(format!("a schedule has at most {LONGEST} characters"));
    }
    let mut options = ParseOptions::default();
    options.fallback_timezone_option = FallbackTimezoneOption::UTC;
    let crontab = match parse_crontab_with(&format!("{schedule} {zone}"), options) {
        Ok(crontab) => crontab,
        Err(error) => {
            // The line before points at the place.
            let text = error.to_string();
            let reason = text.rsplit("^ ").next().unwrap_or_default();
            let reason = reason.split("; for a list").next().unwrap_or_default();
            return wrong(format!("'{schedule}' is no schedule: {reason}"));
        }
    };
    let next = MakeTimestamp::from_millisecond((after * 1000.0) as i64)
        .and_then(|after| crontab.find_next(after));
    match next {
        Ok(next) => Ok(next.timestamp().as_second() as f64),
        Err(_) => wrong(format!("'{schedule}' has no moment in the next four years")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The first moments after a time, in UTC.
    fn moments(schedule: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
        let after: jiff::Timestamp = after.parse().unwrap();
        let mut moment = after.as_second() as f64;
        let mut texts = Vec::new();
        for _ in 0..count {
            moment = next(schedule, zone, moment).unwrap();
            texts.push(jiff::Timestamp::from_second(moment as i64).unwrap().to_string());
        }
        texts
    }

    #[test]
    fn moments_follow_the_clocks_of_the_zone() {
        // Friday, and Monday in summer time.
        let of = moments("0 6 * * 1-5", "Europe/Berlin", "2026-03-27T00:00:00Z", 2);
        assert_eq!(of, ["2026-03-27T05:00:00Z", "2026-03-30T04:00:00Z"]);
        assert_eq!(
            moments("*/20 * * * *", "UTC", "2026-01-01T00:10:00Z", 2),
            ["2026-01-01T00:20:00Z", "2026-01-01T00:40:00Z"]
        );
        // On the day on which clocks go back, 01:30 of New York comes twice.
        let of = moments("30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", 3);
        assert_eq!(of[0], "2026-11-01T05:30:00Z");
        assert_eq!(of[2], "2026-11-02T06:30:00Z", "{of:?}");
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        let message = |schedule: &str, zone: &str| next(schedule, zone, 0.0).unwrap_err().message;
        assert!(message("0 25 * * *", "UTC").contains("value must be in range 0..=23; found 25"));
        assert!(message("0 6 * *", "UTC").contains("is no schedule"));
        assert!(message("0 6 * * *", "Europe/Nowhere").contains("is no schedule"));
        assert!(message("0 0 30 2 *", "UTC").contains("no moment"));
        assert!(message(&"0".repeat(201), "UTC").contains("at most 200"));
    }

    #[test]
    fn a_wake_between_looking_and_waiting_is_seen() {
        let seen = *counter("q".into()).unwrap().borrow();
        COUNTERS.lock().unwrap()["q"].send_modify(|count| *count += 1);
        assert!(*counter("q".into()).unwrap().borrow() > seen);
    }
}
