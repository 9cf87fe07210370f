//! Dates and times: PostgreSQL counts microseconds and days from 2000-01-01, programs write
//! RFC 3339. The calendar is the Gregorian one throughout.

use runnel_text::moment::{DAY, date_of_day, parse_rfc3339};

/// Days from 1970-01-01 to 2000-01-01.
const EPOCH: i64 = 10_957;

/// A moment of `timestamptz` in RFC 3339, in UTC: `2026-11-21T05:30:00.25Z`.
pub(crate) fn moment(micros: i64) -> String {
    match micros {
        i64::MAX => "infinity".into(),
        i64::MIN => "-infinity".into(),
        _ => format!("{}Z", local(micros)),
    }
}

/// A `timestamp` without a zone: `2026-11-21T05:30:00`.
pub(crate) fn timestamp(micros: i64) -> String {
    match micros {
        i64::MAX => "infinity".into(),
        i64::MIN => "-infinity".into(),
        _ => local(micros),
    }
}

fn local(micros: i64) -> String {
    format!("{}T{}", civil(micros.div_euclid(DAY) + EPOCH), time(micros.rem_euclid(DAY)))
}

/// A `date`: `2026-11-21`.
pub(crate) fn date(days: i32) -> String {
    match days {
        i32::MAX => "infinity".into(),
        i32::MIN => "-infinity".into(),
        _ => civil(i64::from(days) + EPOCH),
    }
}

/// A time of the day in microseconds: `05:30:00.25`.
pub(crate) fn time(micros: i64) -> String {
    let (seconds, fraction) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut text = format!("{hours:02}:{minutes:02}:{seconds:02}");
    if fraction > 0 {
        let digits = format!("{fraction:06}");
        text.push('.');
        text.push_str(digits.trim_end_matches('0'));
    }
    text
}

/// The date of a day counted from 1970-01-01.
fn civil(days: i64) -> String {
    let (year, month, day) = date_of_day(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Reads RFC 3339 (section 5.6), with at most the six digits after the second that PostgreSQL
/// keeps. `None` for anything else; nothing is rounded.
pub(crate) fn parse(text: &str) -> Option<i64> {
    Some(parse_rfc3339(text)? - EPOCH * DAY)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_back() {
        for text in [
            "2000-01-01T00:00:00Z",
            "1999-12-31T23:59:59.999999Z",
            "2026-11-21T05:30:00.25Z",
            "2024-02-29T12:00:00Z",
            "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
        ] {
            assert_eq!(moment(parse(text).unwrap()), text);
        }
        assert_eq!(moment(parse("2026-11-21T05:30:00+02:00").unwrap()), "2026-11-21T03:30:00Z");
        assert_eq!(
            moment(parse("2026-01-01 00:00:00.500000000-00:30").unwrap()),
            "2026-01-01T00:30:00.5Z"
        );
        assert_eq!(date(0), "2000-01-01");
        assert_eq!(date(-1), "1999-12-31");
        assert_eq!(moment(i64::MAX), "infinity");
    }
}
