//! Times in logs and traces, in UTC.

use runnel_text::moment::{CalendarTime, write_digits};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The wall-clock time of an instant.
pub(crate) fn wall_time(instant: Instant) -> SystemTime {
    let now = SystemTime::now();
    now.checked_sub(instant.elapsed()).unwrap_or(now)
}

/// The time since 1970.
pub(crate) fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The calendar fields of a time.
pub(crate) fn calendar(time: SystemTime) -> CalendarTime {
    CalendarTime::from_micros(i64::try_from(since_epoch(time).as_micros()).unwrap_or(0))
}

/// Appends `01/Mar/2026:12:00:00 +0000`, the Common Log Format of Apache.
pub(crate) fn write_common(time: &CalendarTime, into: &mut Vec<u8>) {
    write_digits(time.day.into(), 2, into);
    into.push(b'/');
    into.extend_from_slice(MONTHS[(time.month as usize).clamp(1, 12) - 1].as_bytes());
    into.push(b'/');
    write_digits(time.year, 4, into);
    for number in [time.hour, time.minute, time.second] {
        into.push(b':');
        write_digits(number.into(), 2, into);
    }
    into.extend_from_slice(b" +0000");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_apache_does() {
        for (seconds, common) in [
            (0, "01/Jan/1970:00:00:00 +0000"),
            (951_827_696, "29/Feb/2000:12:34:56 +0000"),
            (4_107_542_399, "28/Feb/2100:23:59:59 +0000"),
        ] {
            let mut text = Vec::new();
            write_common(&calendar(UNIX_EPOCH + Duration::from_secs(seconds)), &mut text);
            assert_eq!(String::from_utf8_lossy(&text), common);
        }
    }
}
