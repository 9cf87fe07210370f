//! The time of a signature: `20130524T000000Z`.

use runnel_text::moment::{CalendarTime, day_of_date, days_of_month, rfc3339, write_digits};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Characters of a time.
const LENGTH: usize = 16;
/// Characters of its date.
const DATE_LENGTH: usize = 8;

/// When a request was signed, to the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SigningTime {
    /// Seconds since 1970.
    seconds: i64,
    text: String,
}

impl SigningTime {
    /// The time of `x-amz-date` and `X-Amz-Date`; nothing else is one.
    pub(crate) fn parse(text: &str) -> Option<SigningTime> {
        let bytes = text.as_bytes();
        if bytes.len() != LENGTH || bytes[DATE_LENGTH] != b'T' || bytes[LENGTH - 1] != b'Z' {
            return None;
        }
        let day = day_of(&text[..DATE_LENGTH])?;
        let (hour, minute, second) =
            (number(&bytes[9..11])?, number(&bytes[11..13])?, number(&bytes[13..15])?);
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let seconds = ((day * 24 + hour) * 60 + minute) * 60 + second;
        Some(SigningTime { seconds, text: text.to_string() })
    }

    /// The time of the header `Date`, which may also have HTTP's form (RFC 9110 section 5.6.7).
    pub(crate) fn parse_http(text: &str) -> Option<SigningTime> {
        let parsed = || httpdate::parse_http_date(text).ok().map(SigningTime::of);
        SigningTime::parse(text).or_else(parsed)
    }

    /// A moment, without the fraction of its second.
    pub(crate) fn of(moment: SystemTime) -> SigningTime {
        let seconds = seconds_of(moment);
        let time = CalendarTime::from_seconds(seconds);
        let mut text = Vec::with_capacity(LENGTH);
        write_digits(time.year, 4, &mut text);
        write_digits(time.month.into(), 2, &mut text);
        write_digits(time.day.into(), 2, &mut text);
        text.push(b'T');
        write_digits(time.hour.into(), 2, &mut text);
        write_digits(time.minute.into(), 2, &mut text);
        write_digits(time.second.into(), 2, &mut text);
        text.push(b'Z');
        SigningTime { seconds, text: String::from_utf8_lossy(&text).into_owned() }
    }

    /// `20130524T000000Z`
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// `20130524`
    pub(crate) fn date(&self) -> &str {
        self.text.get(..DATE_LENGTH).unwrap_or_default()
    }

    /// Seconds from the signature to a moment: negative before it.
    pub(crate) fn age(&self, now: SystemTime) -> i64 {
        seconds_of(now).saturating_sub(self.seconds)
    }

    /// The moment a number of seconds later, in RFC 3339.
    pub(crate) fn later(&self, seconds: i64) -> String {
        rfc3339(self.seconds.saturating_add(seconds).saturating_mul(1_000_000))
    }
}

/// Whether this is a date such as `20130524`.
pub(crate) fn is_date(text: &str) -> bool {
    day_of(text).is_some()
}

/// A moment in RFC 3339, to the second.
pub(crate) fn rfc3339_of(moment: SystemTime) -> String {
    rfc3339(seconds_of(moment).saturating_mul(1_000_000))
}

fn seconds_of(moment: SystemTime) -> i64 {
    let seconds = |duration: Duration| i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    match moment.duration_since(UNIX_EPOCH) {
        Ok(after) => seconds(after),
        Err(before) => -seconds(before.duration()),
    }
}

/// The day of a date, counted from 1970-01-01.
fn day_of(date: &str) -> Option<i64> {
    let digits = date.as_bytes();
    if digits.len() != DATE_LENGTH {
        return None;
    }
    let (year, month, day) =
        (number(&digits[..4])?, number(&digits[4..6])?, number(&digits[6..8])?);
    let is_day = (1..=days_of_month(year, month)?).contains(&day);
    is_day.then(|| day_of_date(year, month, day))
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        let moment = UNIX_EPOCH + Duration::from_secs(1_369_353_600);
        let time = SigningTime::of(moment);
        assert_eq!((time.text(), time.date()), ("20130524T000000Z", "20130524"));
        assert_eq!(SigningTime::parse("20130524T000000Z"), Some(time.clone()));
        assert_eq!(SigningTime::parse_http("Fri, 24 May 2013 00:00:00 GMT"), Some(time.clone()));
        assert_eq!(time.age(moment + Duration::from_secs(5)), 5);
        assert_eq!(time.later(60), "2013-05-24T00:01:00Z");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "03032006",
            "20130524T000000",
            "20130524 000000Z",
            "20130524T240000Z",
            "20130524T006000Z",
            "20130524T000060Z",
            "20130229T000000Z",
            "20131324T000000Z",
            "2013052aT000000Z",
            "2013052üT00000Z",
        ] {
            assert_eq!(SigningTime::parse(text), None, "{text}");
        }
    }
}
