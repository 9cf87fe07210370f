//! Moments in time as text: RFC 3339 in UTC, as the kernel writes it too (kernel/time.lua).

/// Microseconds of a second and of a day.
const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// The text of a moment given in seconds since 1970, kept to the microsecond:
/// `2026-11-21T05:30:00Z`, with three or six digits of a fraction where it has one.
pub(crate) fn rfc3339(seconds: f64) -> String {
    let micros = (seconds * SECOND as f64 + 0.5).floor() as i64;
    let (year, month, day) = civil(micros.div_euclid(DAY));
    let rest = micros.rem_euclid(DAY);
    let (whole, fraction) = (rest / SECOND, rest % SECOND);
    let (hour, minute, second) = (whole / 3600, whole / 60 % 60, whole % 60);
    let fraction = match fraction {
        0 => String::new(),
        milli if milli % 1000 == 0 => format!(".{:03}", milli / 1000),
        micro => format!(".{micro:06}"),
    };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// The day of the proleptic Gregorian calendar that lies so many days after 1970-01-01: years
/// counted from March, in eras of 400 years (Howard Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms").
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        assert_eq!(rfc3339(0.0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(-1.0), "1969-12-31T23:59:59Z");
        assert_eq!(rfc3339(951_782_400.5), "2000-02-29T00:00:00.500Z");
        assert_eq!(rfc3339(1_795_239_000.000_001), "2026-11-21T05:30:00.000001Z");
        assert_eq!(rfc3339(-62_167_219_200.0), "0000-01-01T00:00:00Z");
        assert_eq!(rfc3339(253_402_300_799.0), "9999-12-31T23:59:59Z");
    }
}
