//! Times as logs and traces write them, in UTC.

use runnel_store::date_of_day;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A moment in the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    year: i64,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    milli: u32,
}

/// When something was that began at this instant.
pub(crate) fn at(instant: Instant) -> SystemTime {
    let now = SystemTime::now();
    now.checked_sub(instant.elapsed()).unwrap_or(now)
}

/// Since 1970.
pub(crate) fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl Moment {
    pub(crate) fn of(time: SystemTime) -> Self {
        let since = since_epoch(time);
        let seconds = i64::try_from(since.as_secs()).unwrap_or(0);
        let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400) as u32);
        let (year, month, day) = date_of_day(days);
        Moment {
            year,
            month: month as u32,
            day: day as u32,
            hour: rest / 3_600,
            minute: rest / 60 % 60,
            second: rest % 60,
            milli: since.subsec_millis(),
        }
    }

    /// `2026-03-01T12:00:00.123Z` (RFC 3339).
    pub(crate) fn write_rfc3339(&self, into: &mut Vec<u8>) {
        let Moment { year, month, day, hour, minute, second, milli } = self;
        digits(*year, 4, into);
        for (before, number) in
            [(b'-', month), (b'-', day), (b'T', hour), (b':', minute), (b':', second)]
        {
            into.push(before);
            digits((*number).into(), 2, into);
        }
        into.push(b'.');
        digits((*milli).into(), 3, into);
        into.push(b'Z');
    }

    /// `01/Mar/2026:12:00:00 +0000`, as Apache's logs have it.
    pub(crate) fn write_common(&self, into: &mut Vec<u8>) {
        let Moment { year, day, hour, minute, second, .. } = self;
        digits((*day).into(), 2, into);
        into.push(b'/');
        into.extend_from_slice(MONTHS[(self.month as usize).clamp(1, 12) - 1].as_bytes());
        into.push(b'/');
        digits(*year, 4, into);
        for number in [hour, minute, second] {
            into.push(b':');
            digits((*number).into(), 2, into);
        }
        into.extend_from_slice(b" +0000");
    }
}

/// The last digits of a number, so many: lines of a log have many of them, and no width to find out.
fn digits(number: i64, count: usize, into: &mut Vec<u8>) {
    let start = into.len();
    let mut left = number.unsigned_abs();
    into.resize(start + count, b'0');
    for digit in into[start..].iter_mut().rev() {
        *digit = b'0' + (left % 10) as u8;
        left /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_in_both_forms() {
        for (seconds, rfc3339, common) in [
            (0, "1970-01-01T00:00:00.005Z", "01/Jan/1970:00:00:00 +0000"),
            (951_827_696, "2000-02-29T12:34:56.005Z", "29/Feb/2000:12:34:56 +0000"),
            (971_211_336, "2000-10-10T20:55:36.005Z", "10/Oct/2000:20:55:36 +0000"),
            (4_107_542_399, "2100-02-28T23:59:59.005Z", "28/Feb/2100:23:59:59 +0000"),
            (4_107_542_400, "2100-03-01T00:00:00.005Z", "01/Mar/2100:00:00:00 +0000"),
        ] {
            let moment = Moment::of(UNIX_EPOCH + Duration::new(seconds, 5_000_000));
            let written = |write: fn(&Moment, &mut Vec<u8>)| {
                let mut text = Vec::new();
                write(&moment, &mut text);
                String::from_utf8_lossy(&text).into_owned()
            };
            assert_eq!(written(Moment::write_rfc3339), rfc3339);
            assert_eq!(written(Moment::write_common), common);
        }
    }
}
