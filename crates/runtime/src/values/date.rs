//! Moments in time as text: RFC 3339 in UTC, as the kernel writes it too (kernel/values/time.lua).

use runnel_store::date_of_day;

/// Microseconds of a second and of a day.
const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// The text of a moment given in seconds since 1970, kept to the microsecond:
/// `2026-11-21T05:30:00Z`, with three or six digits of a fraction where it has one.
pub(crate) fn rfc3339(seconds: f64) -> String {
    let micros = (seconds * SECOND as f64 + 0.5).floor() as i64;
    let (year, month, day) = date_of_day(micros.div_euclid(DAY));
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
