//! Times as the query log and the statistics write them, in UTC.

use runnel_store::date_of_day;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds of an hour.
pub(crate) const HOUR: u64 = 3_600;
/// Seconds of a day.
pub(crate) const DAY: u64 = 86_400;

/// A second in the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) year: i64,
    pub(crate) month: u32,
    pub(crate) day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
}

/// Seconds since 1970; 0 for a clock that is set to before that.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

impl Moment {
    /// The calendar of a number of seconds since 1970.
    pub(crate) fn of(seconds: u64) -> Moment {
        let days = i64::try_from(seconds / DAY).unwrap_or(0);
        let rest = (seconds % DAY) as u32;
        let (year, month, day) = date_of_day(days);
        Moment {
            year,
            month: month as u32,
            day: day as u32,
            hour: rest / 3_600,
            minute: rest / 60 % 60,
            second: rest % 60,
        }
    }

    /// `2026-11-21`
    pub(crate) fn date(&self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }

    /// `00:41:59`
    pub(crate) fn time(&self) -> String {
        format!("{:02}:{:02}:{:02}", self.hour, self.minute, self.second)
    }
}

#[cfg(test)]
mod tests {
    use super::Moment;

    #[test]
    fn moments_are_those_of_the_calendar() {
        for (seconds, date, time) in [
            (0, "1970-01-01", "00:00:00"),
            (951_827_696, "2000-02-29", "12:34:56"),
            (4_107_542_399, "2100-02-28", "23:59:59"),
            (4_107_542_400, "2100-03-01", "00:00:00"),
        ] {
            let moment = Moment::of(seconds);
            assert_eq!((moment.date().as_str(), moment.time().as_str()), (date, time));
        }
    }
}
