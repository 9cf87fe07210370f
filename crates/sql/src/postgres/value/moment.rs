//! Dates and times: PostgreSQL counts microseconds and days from 2000-01-01, programs write
//! RFC 3339. The calendar is the Gregorian one throughout.

use runnel_store::{date_of_day, day_of_date};

/// Days from 1970-01-01 to 2000-01-01.
const EPOCH: i64 = 10_957;
const DAY: i64 = 86_400_000_000;

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
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| {
        let digits = bytes.get(from..to)?;
        digits.iter().all(u8::is_ascii_digit).then(|| {
            digits.iter().fold(0_i64, |number, digit| number * 10 + i64::from(digit - b'0'))
        })
    };
    let stands = |at: usize, what: &[u8]| bytes.get(at).is_some_and(|byte| what.contains(byte));
    let marks: [(usize, &[u8]); 5] = [(4, b"-"), (7, b"-"), (10, b"Tt "), (13, b":"), (16, b":")];
    if !marks.iter().all(|(at, what)| stands(*at, what)) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut at = 19;
    let mut fraction = 0;
    if stands(at, b".") {
        let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return None;
        }
        let kept = digits.min(6);
        fraction = number(at + 1, at + 1 + kept)? * 10_i64.pow(6 - kept as u32);
        if bytes[at + 1 + kept..at + 1 + digits].iter().any(|digit| *digit != b'0') {
            return None;
        }
        at += 1 + digits;
    }
    let offset = match bytes.get(at..)? {
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let (hours, minutes) = (number(at + 1, at + 3)?, number(at + 4, at + 6)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let offset = hours * 60 + minutes;
            if *sign == b'-' { -offset } else { offset }
        }
        _ => return None,
    };
    let seconds = (hour * 60 + minute - offset) * 60 + second;
    Some((day_of_date(year, month, day) - EPOCH) * DAY + seconds * 1_000_000 + fraction)
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

    #[test]
    fn nothing_is_guessed() {
        for wrong in [
            "",
            "2026-11-21",
            "2026-11-21T05:30Z",
            "2026-11-21T05:30:00",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-11-21T24:00:00Z",
            "2026-11-21T05:30:00.0000001Z",
            "2026-11-21T05:30:00.Z",
            "2026-11-21T05:30:00+2",
            "２026-11-21T05:30:00Z",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
