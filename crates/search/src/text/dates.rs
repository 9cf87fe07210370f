//! Points in time as they are written in documents and filters (ISO 8601, the forms of RFC 3339 and
//! their beginnings).

use runnel_store::day_of_date;

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const DAY: i64 = 24 * 60 * MINUTE;

/// A point in time in microseconds since 1970 began in UTC, or nothing if the text is none: a year,
/// and after it as much as is known. Years are from -9999 to 9999.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let year = sign * digits(parts.next()?, 4)?;
    let month = parts.next().map_or(Some(1), |part| digits(part, 2))?;
    let day = parts.next().map_or(Some(1), |part| digits(part, 2))?;
    let length = days_of_month(year, month)?;
    if parts.next().is_some() || !(1..=length).contains(&day) {
        return None;
    }
    if time.is_some() && date.len() != 10 {
        return None;
    }
    let days = day_of_date(year, month, day);
    Some(days * DAY + time.map_or(Some(0), parse_time)?)
}

/// The microseconds from midnight in UTC of `10:30`, `10:30:05`, `10:30:05.25`, each perhaps with
/// `Z` or a distance from UTC after it.
fn parse_time(text: &str) -> Option<i64> {
    let zone = text.find(['Z', 'z', '+', '-']).unwrap_or(text.len());
    let (clock, zone) = text.split_at(zone);
    let (clock, fraction) = match clock.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (clock, None),
    };
    let mut parts = clock.split(':');
    let hours = digits(parts.next()?, 2)?;
    let minutes = digits(parts.next()?, 2)?;
    let seconds = parts.next().map_or(Some(0), |part| digits(part, 2))?;
    // A second too many is written 60.
    if parts.next().is_some() || hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    let mut time = (hours * 60 + minutes) * MINUTE + seconds * SECOND;
    if let Some(fraction) = fraction {
        if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let shown: String = fraction.chars().chain("000000".chars()).take(6).collect();
        time += shown.parse::<i64>().ok()?;
    }
    Some(time - distance_from_utc(zone)?)
}

fn distance_from_utc(zone: &str) -> Option<i64> {
    let sign = match zone.bytes().next() {
        None | Some(b'Z' | b'z') => return (zone.len() <= 1).then_some(0),
        Some(b'-') => -1,
        Some(_) => 1,
    };
    let (hours, minutes) = zone[1..].split_once(':').unwrap_or((&zone[1..], "00"));
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes) * MINUTE)
}

fn digits(text: &str, count: usize) -> Option<i64> {
    let all = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if all { text.parse().ok() } else { None }
}

fn days_of_month(year: i64, month: i64) -> Option<i64> {
    let leap = year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0);
    Some(match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times() {
        for (text, expected) in [
            ("1970", Some(0)),
            ("1970-01-02", Some(DAY)),
            ("1969-12-31", Some(-DAY)),
            ("2000-03-01", Some(11_017 * DAY)),
            ("2024-02-29", Some(19_782 * DAY)),
            ("1970-01-01T00:00:01.5Z", Some(SECOND + SECOND / 2)),
            ("1970-01-01 02:30+02:00", Some(30 * MINUTE)),
            ("1970-01-01T00:00-01", Some(60 * MINUTE)),
            ("0000-03-01", Some(-719_468 * DAY)),
            ("2023-02-29", None),
            ("1900-02-29", None),
            ("1970-13", None),
            ("1970-1", None),
            ("70", None),
            ("1970-01-01T24:00", None),
            ("1970-01-01T10:00Zx", None),
            ("1970-01-01T10:00:00.", None),
            ("1970T10:00", None),
            ("", None),
            ("1970-01-01T1\u{fc}:00+\u{fc}", None),
        ] {
            assert_eq!(parse_date(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn days_follow_each_other(day in -3_000_000i64..2_900_000) {
            // Found again by looking: the day of a date is one more than that of the day before.
            let year = 1970 + day.div_euclid(366);
            let first = day_of_date(year, 1, 1);
            let mut at = first;
            for month in 1..=12 {
                for number in 1..=days_of_month(year, month).unwrap_or(0) {
                    proptest::prop_assert_eq!(day_of_date(year, month, number), at);
                    at += 1;
                }
            }
            proptest::prop_assert_eq!(day_of_date(year + 1, 1, 1), at);
        }

        #[test]
        fn any_text_is_read(text in "\\PC{0,30}|[0-9T:.Z+ -]{0,30}") {
            parse_date(&text);
        }
    }
}
