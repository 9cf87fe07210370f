//! Sizes in bytes, with their units: `64M`, `10 bytes`.
//!
//! Command lines, options and the checker read and write the same texts. A size has a unit, because a bare number is
//! bytes to one reader and megabytes to another; a kilobyte has 1,024 bytes.

/// The units, the largest first: the letter, the name, the bytes.
const UNITS: [(&str, &str, u64); 4] = [
    ("T", "terabyte", 1 << 40),
    ("G", "gigabyte", 1 << 30),
    ("M", "megabyte", 1 << 20),
    ("K", "kilobyte", 1 << 10),
];

/// The bytes of a text such as `512M`, `64 KB`, `1GiB` or `10 bytes`. A number without a unit is none.
///
/// ```
/// use runnel_text::size::parse;
///
/// assert_eq!(parse("64K"), Some(65_536));
/// assert_eq!(parse("64"), None);
/// ```
pub fn parse(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let rest = &text[digits.len()..];
    let unit = rest.strip_prefix(' ').unwrap_or(rest).to_ascii_uppercase();
    let factor = match unit.as_str() {
        "B" | "BYTE" | "BYTES" => 1,
        unit => {
            let known = |(letter, ..): &&(&str, &str, u64)| {
                unit.strip_prefix(letter).is_some_and(|rest| ["", "B", "IB"].contains(&rest))
            };
            UNITS.iter().find(known)?.2
        }
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// A size in the largest unit that divides it: `16 MB`, `1000 bytes`.
pub fn shown(bytes: u64) -> String {
    match UNITS.iter().find(|(_, _, unit)| bytes > 0 && bytes.is_multiple_of(*unit)) {
        Some((letter, _, unit)) => format!("{} {letter}B", bytes / unit),
        None if bytes == 1 => "1 byte".to_string(),
        None => format!("{bytes} bytes"),
    }
}

/// The error for a number where a size is expected: `maxBodySize: 1000000 has no unit: write 1 megabyte or '1M'`.
pub fn without_unit(name: &str, number: f64) -> String {
    let title = format!("{name}: {number} has no unit");
    format!("{title}: {}", unit_hint(number))
}

/// What to write for a number without a unit: `write 1 megabyte or '1M'`.
pub fn unit_hint(number: f64) -> String {
    let named =
        |count: f64, name: &str| format!("{count} {name}{}", if count == 1.0 { "" } else { "s" });
    match probable(number) {
        Some((count, letter, name)) => {
            format!("write {} or '{count}{letter}'", named(count, name))
        }
        None => format!("write {} or {}", named(number, "byte"), named(number, "megabyte")),
    }
}

/// The size that a large number probably means: that many times 1,024, or about that many times 1,000.
fn probable(number: f64) -> Option<(f64, &'static str, &'static str)> {
    // 20,000,000,000 is 19,531,250 KB as well, which nobody means.
    let exact = |count: f64| (1.0..100_000.0).contains(&count) && count.fract() == 0.0;
    let found = UNITS.iter().find(|(_, _, unit)| exact(number / *unit as f64));
    if let Some((letter, name, unit)) = found {
        return Some((number / *unit as f64, letter, name));
    }
    UNITS.iter().zip([1e12, 1e9, 1e6, 1e3]).find_map(|((letter, name, _), unit)| {
        let count = (number / unit).round();
        let is_near = count >= 1.0 && (number / unit - count).abs() / count < 0.05;
        is_near.then_some((count, *letter, *name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_units() {
        for (text, bytes) in [
            ("0 B", 0),
            ("1 byte", 1),
            ("10 bytes", 10),
            ("512k", 512 << 10),
            ("64MiB", 64 << 20),
            ("5 MB", 5 << 20),
            ("1G", 1 << 30),
            ("2T", 2 << 40),
        ] {
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
        for wrong in [
            "",
            "M",
            "64",
            "1.5G",
            "-1",
            "-1M",
            "5X",
            "5  M",
            "5 MM",
            "99999999999999999999G",
            "é",
            "5é",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sizes_are_shown_exactly() {
        for (bytes, text) in
            [(0, "0 bytes"), (1, "1 byte"), (1000, "1000 bytes"), (1536, "1536 bytes")]
        {
            assert_eq!(shown(bytes), text);
        }
        assert_eq!(shown(2560 << 10), "2560 KB");
        assert_eq!(shown(16 << 20), "16 MB");
        assert_eq!(parse(&shown(u64::MAX)), Some(u64::MAX));
    }

    #[test]
    fn a_number_is_told_its_unit() {
        for (number, hint) in [
            (1e6, "write 1 megabyte or '1M'"),
            (1_048_576.0, "write 1 megabyte or '1M'"),
            (20e9, "write 20 gigabytes or '20G'"),
            (65_536.0, "write 64 kilobytes or '64K'"),
            (12_345.0, "write 12 kilobytes or '12K'"),
            (10.0, "write 10 bytes or 10 megabytes"),
            (1.0, "write 1 byte or 1 megabyte"),
            (0.5, "write 0.5 bytes or 0.5 megabytes"),
            (-1.0, "write -1 bytes or -1 megabytes"),
        ] {
            assert_eq!(unit_hint(number), hint, "{number}");
        }
        assert_eq!(
            without_unit("maxSize", 1e6),
            "maxSize: 1000000 has no unit: write 1 megabyte or '1M'"
        );
    }
}
