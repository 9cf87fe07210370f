//! Dates and times in UTC, in the proleptic Gregorian calendar: calendar fields of a moment, RFC 3339
//! and the shorter forms of ISO 8601.
//!
//! Days are converted by counting years from March, in eras of 400 years (Howard Hinnant,
//! "chrono-Compatible Low-Level Date Algorithms"). Libraries for dates end at the year 9999;
//! PostgreSQL's end at 294276.

/// Microseconds of a second.
pub const SECOND: i64 = 1_000_000;
/// Microseconds of a day.
pub const DAY: i64 = 86_400 * SECOND;
/// Days from the first of March of the year 0 to 1970-01-01.
const BEFORE_1970: i64 = 719_468;
/// Days of 400 years.
const ERA: i64 = 146_097;

/// The year, month and day of a day counted from 1970-01-01, at most 10^15 to either side.
pub fn date_of_day(days: i64) -> (i64, i64, i64) {
    let shifted = days + BEFORE_1970;
    let (era, day_of_era) = (shifted.div_euclid(ERA), shifted.rem_euclid(ERA));
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * from_march + 2) / 5 + 1)
}

/// The days from 1970-01-01 to a date. Years at most 10^12 to either side, months from 1 to 12; a
/// day beyond the end of its month is one of the next.
pub fn day_of_date(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * ERA + day_of_era - BEFORE_1970
}

/// The number of days of a month; `None` for a month that is not from 1 to 12.
pub fn days_of_month(year: i64, month: i64) -> Option<i64> {
    let leap = year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0);
    Some(match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    })
}

/// A moment as the fields of the calendar, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalendarTime {
    /// The year, which may be negative.
    pub year: i64,
    /// From 1 to 12.
    pub month: u32,
    /// From 1 to 31.
    pub day: u32,
    /// From 0 to 23.
    pub hour: u32,
    /// From 0 to 59.
    pub minute: u32,
    /// From 0 to 59.
    pub second: u32,
    /// The fraction of the second in microseconds.
    pub micro: u32,
}

impl CalendarTime {
    /// The fields of a moment given in microseconds since 1970.
    pub fn from_micros(micros: i64) -> CalendarTime {
        let (year, month, day) = date_of_day(micros.div_euclid(DAY));
        let rest = micros.rem_euclid(DAY);
        let (seconds, micro) = ((rest / SECOND) as u32, (rest % SECOND) as u32);
        CalendarTime {
            year,
            month: month as u32,
            day: day as u32,
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            micro,
        }
    }

    /// The fields of a moment given in seconds since 1970.
    pub fn from_seconds(seconds: i64) -> CalendarTime {
        CalendarTime::from_micros(seconds.saturating_mul(SECOND))
    }

    /// `2026-11-21`
    pub fn date(&self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }

    /// `00:41:59`
    pub fn time(&self) -> String {
        format!("{:02}:{:02}:{:02}", self.hour, self.minute, self.second)
    }

    /// Appends `2026-03-01T12:00:00.123Z`, always with milliseconds: a line of a log has one, so
    /// that this writes digits without the machinery of `format!`.
    pub fn write_millis(&self, into: &mut Vec<u8>) {
        write_digits(self.year, 4, into);
        for (separator, number) in [
            (b'-', self.month),
            (b'-', self.day),
            (b'T', self.hour),
            (b':', self.minute),
            (b':', self.second),
        ] {
            into.push(separator);
            write_digits(number.into(), 2, into);
        }
        into.push(b'.');
        write_digits((self.micro / 1000).into(), 3, into);
        into.push(b'Z');
    }
}

/// Appends the last `count` digits of a number, with zeros in front.
pub fn write_digits(number: i64, count: usize, into: &mut Vec<u8>) {
    let start = into.len();
    let mut rest = number.unsigned_abs();
    into.resize(start + count, b'0');
    for digit in into[start..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// A moment in RFC 3339: `2026-11-21T05:30:00Z`, with three or six digits of a fraction where it
/// has one.
pub fn rfc3339(micros: i64) -> String {
    let time = CalendarTime::from_micros(micros);
    let fraction = match time.micro {
        0 => String::new(),
        micro if micro % 1000 == 0 => format!(".{:03}", micro / 1000),
        micro => format!(".{micro:06}"),
    };
    format!("{}T{}{fraction}Z", time.date(), time.time())
}

/// The microseconds since 1970 of a moment that RFC 3339 writes in full (section 5.6), with at most
/// six digits after the second that are not zero. `None` for anything else; nothing is rounded.
pub fn parse_rfc3339(text: &str) -> Option<i64> {
    let parsed = parse(text)?;
    (parsed.is_complete && !text.starts_with('-')).then_some(parsed.micros)
}

/// The microseconds since 1970 of an ISO 8601 date or time: a year from -9999 to 9999 and any
/// beginning of what may follow it. A time without a zone is in UTC; digits beyond microseconds are
/// dropped.
pub fn parse_iso8601(text: &str) -> Option<i64> {
    parse(text).map(|parsed| parsed.micros)
}

/// A moment that was read, and whether RFC 3339 asks for nothing more.
struct Parsed {
    micros: i64,
    is_complete: bool,
}

fn parse(text: &str) -> Option<Parsed> {
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
    if parts.next().is_some() || !(1..=days_of_month(year, month)?).contains(&day) {
        return None;
    }
    let midnight = day_of_date(year, month, day) * DAY;
    match time {
        None => Some(Parsed { micros: midnight, is_complete: false }),
        Some(_) if date.len() != 10 => None,
        Some(time) => {
            let Parsed { micros, is_complete } = parse_time(time)?;
            Some(Parsed { micros: midnight + micros, is_complete })
        }
    }
}

/// The microseconds from midnight in UTC of `10:30`, `10:30:05`, `10:30:05.25`, each with an
/// optional `Z` or offset.
fn parse_time(text: &str) -> Option<Parsed> {
    let zone = text.find(['Z', 'z', '+', '-']).unwrap_or(text.len());
    let (clock, zone) = text.split_at(zone);
    let (clock, fraction) = match clock.split_once('.') {
        Some((clock, fraction)) => (clock, fraction),
        None => (clock, "0"),
    };
    let mut parts = clock.split(':');
    let hours = digits(parts.next()?, 2)?;
    let minutes = digits(parts.next()?, 2)?;
    let seconds = parts.next().map_or(Some(0), |part| digits(part, 2))?;
    // ISO 8601 writes a leap second as 60.
    if parts.next().is_some() || hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (kept, lost) = fraction.split_at(fraction.len().min(6));
    let fraction = kept.parse::<i64>().ok()? * 10_i64.pow(6 - kept.len() as u32);
    let (offset, has_offset) = parse_offset(zone)?;
    let micros = ((hours * 60 + minutes - offset) * 60 + seconds) * SECOND + fraction;
    let is_exact = lost.bytes().all(|digit| digit == b'0');
    let is_complete = clock.len() == 8 && seconds < 60 && is_exact && has_offset;
    Some(Parsed { micros, is_complete })
}

/// The minutes of an offset from UTC, and whether it is written as RFC 3339 wants it.
fn parse_offset(zone: &str) -> Option<(i64, bool)> {
    let sign = match zone.bytes().next() {
        None => return Some((0, false)),
        Some(b'Z' | b'z') => return (zone.len() == 1).then_some((0, true)),
        Some(b'-') => -1,
        Some(_) => 1,
    };
    let (hours, minutes) = zone[1..].split_once(':').unwrap_or((&zone[1..], "00"));
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    (hours < 24 && minutes < 60).then_some((sign * (hours * 60 + minutes), zone.len() == 6))
}

fn digits(text: &str, count: usize) -> Option<i64> {
    let all = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if all { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests;
