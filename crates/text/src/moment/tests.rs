//! Tests of dates and times.

use super::*;

#[test]
fn days_and_dates_are_each_others_inverse() {
    for (day, date) in [
        (0, (1970, 1, 1)),
        (-1, (1969, 12, 31)),
        (11_016, (2000, 2, 29)),
        (47_540, (2100, 2, 28)),
        (47_541, (2100, 3, 1)),
        (-719_468, (0, 3, 1)),
    ] {
        assert_eq!(date_of_day(day), date);
    }
    for day in (-1_000_000..3_000_000).step_by(13) {
        let (year, month, of_month) = date_of_day(day);
        assert_eq!(day_of_date(year, month, of_month), day);
    }
}

#[test]
fn moments_are_written_in_every_form() {
    for (micros, expected) in [
        (0, "1970-01-01T00:00:00Z"),
        (-SECOND, "1969-12-31T23:59:59Z"),
        (951_782_400_500_000, "2000-02-29T00:00:00.500Z"),
        (1_795_239_000_000_001, "2026-11-21T05:30:00.000001Z"),
        (-62_167_219_200 * SECOND, "0000-01-01T00:00:00Z"),
        (253_402_300_799 * SECOND, "9999-12-31T23:59:59Z"),
    ] {
        assert_eq!(rfc3339(micros), expected);
        assert_eq!(parse_rfc3339(expected), Some(micros));
    }
    let mut line = Vec::new();
    CalendarTime::from_micros(951_827_696_005_000).write_millis(&mut line);
    assert_eq!(line, b"2000-02-29T12:34:56.005Z");
}

#[test]
fn rfc3339_is_read_in_full_only() {
    for (text, expected) in [
        ("2026-11-21T05:30:00+02:00", "2026-11-21T03:30:00Z"),
        ("2026-01-01 00:00:00.500000000-00:30", "2026-01-01T00:30:00.500Z"),
        ("2026-01-01t00:00:00z", "2026-01-01T00:00:00Z"),
    ] {
        assert_eq!(parse_rfc3339(text).map(rfc3339).as_deref(), Some(expected));
    }
    for wrong in [
        "",
        "-2026-11-21T05:30:00Z",
        "2026-11-21",
        "2026-11-21T05:30Z",
        "2026-11-21T05:30:00",
        "2026-13-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-11-21T24:00:00Z",
        "2026-11-21T05:30:60Z",
        "2026-11-21T05:30:00.0000001Z",
        "2026-11-21T05:30:00.Z",
        "2026-11-21T05:30.5Z",
        "2026-11-21T05:30:00+2",
        "2026-11-21T05:30:00+02",
        "２026-11-21T05:30:00Z",
    ] {
        assert_eq!(parse_rfc3339(wrong), None, "{wrong}");
    }
}

#[test]
fn beginnings_of_iso8601_are_read() {
    let minute = 60 * SECOND;
    for (text, expected) in [
        ("1970", Some(0)),
        ("1970-01-02", Some(DAY)),
        ("1969-12-31", Some(-DAY)),
        ("2000-03-01", Some(11_017 * DAY)),
        ("2024-02-29", Some(19_782 * DAY)),
        ("1970-01-01T00:00:01.5Z", Some(SECOND + SECOND / 2)),
        ("1970-01-01 02:30+02:00", Some(30 * minute)),
        ("1970-01-01T00:00-01", Some(60 * minute)),
        ("1970-01-01T00:00:00.1234567Z", Some(123_456)),
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
        assert_eq!(parse_iso8601(text), expected, "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn days_follow_each_other(day in -3_000_000i64..2_900_000) {
        let year = 1970 + day.div_euclid(366);
        let mut at = day_of_date(year, 1, 1);
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
        let _ = (parse_iso8601(&text), parse_rfc3339(&text));
    }
}
