//! Limits of decimal numbers as patterns, because JSON Schema has limits for numbers and none for text.
//!
//! A range is split into alternatives of digits, for each number of decimal places: `0.5..12` becomes
//! `[1-9]|1[0-2]` without places, and with places `0\.[5-9][0-9]*|[1-9]\.[0-9]…|1[0-1]\.…|12\.0+`.

use std::fmt::Write;

/// Digits of a limit, on both sides of its point; longer limits have no pattern.
const MAX_DIGITS: usize = 15;
/// Bytes of a pattern; a longer one is left out.
const MAX_PATTERN: usize = 4096;

/// Ranges of digits, one for each position.
type DigitRanges = Vec<(u8, u8)>;

/// A decimal number without its sign, as digits before and behind its point.
#[derive(Clone)]
struct Magnitude {
    whole: String,
    fraction: String,
}

/// The pattern of decimal numbers between two limits that belong to the range.
pub fn decimal_pattern(least: Option<&str>, most: Option<&str>) -> Option<String> {
    let least = least.map(parse).map_or(Some(None), |end| end.map(Some))?;
    let most = most.map(parse).map_or(Some(None), |end| end.map(Some))?;
    let zero = Magnitude { whole: "0".into(), fraction: String::new() };
    let mut options = Vec::new();
    // Below zero, the limit with the greater magnitude is the least.
    let (low_negative, high_negative) = (is_negative(&least), is_negative(&most));
    if least.is_none() || low_negative {
        let near = if high_negative { most.as_ref().map_or(&zero, |end| &end.1) } else { &zero };
        let far = least.as_ref().map(|end| &end.1);
        options.push(format!("-0*(?:{})", between(near, far)?));
    }
    if !high_negative {
        let near = match &least {
            Some((false, end)) => end,
            _ => &zero,
        };
        let far = most.as_ref().map(|end| &end.1);
        options.push(format!("\\+?0*(?:{})", between(near, far)?));
    }
    let pattern = format!("^(?:{})$", options.join("|"));
    (pattern.len() <= MAX_PATTERN).then_some(pattern)
}

fn is_negative(end: &Option<(bool, Magnitude)>) -> bool {
    end.as_ref().is_some_and(|end| end.0)
}

/// Whether a number is below zero, and its digits.
fn parse(text: &str) -> Option<(bool, Magnitude)> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let plain = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !plain || whole.len() + fraction.len() > MAX_DIGITS {
        return None;
    }
    let zero = whole.is_empty() && fraction.is_empty();
    let whole = if whole.is_empty() { "0" } else { whole };
    let number = Magnitude { whole: whole.into(), fraction: fraction.into() };
    Some((text.starts_with('-') && !zero, number))
}

impl Magnitude {
    /// The number times a power of ten, without what is behind the point then; and whether something is.
    fn scaled(&self, places: usize) -> Option<(u64, bool)> {
        let kept = self.fraction.len().min(places);
        let zeros = "0".repeat(places - kept);
        let number = format!("{}{}{zeros}", self.whole, &self.fraction[..kept]).parse().ok()?;
        Some((number, kept < self.fraction.len()))
    }
}

/// The alternatives of magnitudes from one to another, or to no end.
fn between(near: &Magnitude, far: Option<&Magnitude>) -> Option<String> {
    let places = near.fraction.len().max(far.map_or(0, |far| far.fraction.len()));
    let mut options = Vec::new();
    for count in 0..=places {
        let (low, rest) = near.scaled(count)?;
        let low = if rest { low.checked_add(1)? } else { low };
        let last = count == places;
        // Any digits may follow the last place, but only zeros behind the upper limit itself.
        let tail = match (last, count) {
            (false, _) => "",
            (true, 0) => r"(?:\.[0-9]+)?",
            (true, _) => "[0-9]*",
        };
        let Some(far) = far else {
            let width = low.to_string().len().max(count + 1);
            let above = 10u64.checked_pow(u32::try_from(width).ok()?)?;
            options.extend(alternatives(low, above - 1, count, tail));
            let more = width - count;
            let point = if count == 0 { String::new() } else { format!("\\.[0-9]{{{count}}}") };
            options.push(format!("[1-9][0-9]{{{more},}}{point}{tail}"));
            continue;
        };
        let (high, _) = far.scaled(count)?;
        match (last, high.checked_sub(1)) {
            (false, _) => options.extend(alternatives(low, high, count, tail)),
            (true, below) => {
                if let Some(below) = below {
                    options.extend(alternatives(low, below, count, tail));
                }
                let zeros = if count == 0 { r"(?:\.0+)?" } else { "0*" };
                if low <= high {
                    options.extend(alternatives(high, high, count, zeros));
                }
            }
        }
    }
    (!options.is_empty()).then(|| options.join("|"))
}

/// The integers from one to another as digits, with a point before the last places.
fn alternatives(low: u64, high: u64, places: usize, tail: &str) -> Vec<String> {
    let mut made = Vec::new();
    for width in places + 1..=high.to_string().len().max(places + 1) {
        let first = match width == places + 1 {
            true => 0,
            false => 10u64.saturating_pow(width as u32 - 1),
        };
        let last = 10u64.saturating_pow(width as u32) - 1;
        let (low, high) = (low.max(first), high.min(last));
        if low <= high {
            let digits = |number: u64| format!("{number:0width$}").into_bytes();
            for ranges in split(&digits(low), &digits(high)) {
                let (whole, fraction) = ranges.split_at(width - places);
                let point = if places == 0 { "" } else { r"\." };
                made.push(format!("{}{point}{}{tail}", written(whole), written(fraction)));
            }
        }
    }
    made
}

/// The numbers from one to another, both with the same count of digits.
fn split(low: &[u8], high: &[u8]) -> Vec<DigitRanges> {
    let (Some((&first, low_rest)), Some((&last, high_rest))) =
        (low.split_first(), high.split_first())
    else {
        return vec![Vec::new()];
    };
    let behind = |range: (u8, u8), rest: Vec<DigitRanges>| {
        rest.into_iter().map(move |mut ranges| {
            ranges.insert(0, range);
            ranges
        })
    };
    let (zeros, nines) = (vec![b'0'; low_rest.len()], vec![b'9'; low_rest.len()]);
    if first == last {
        return behind((first, first), split(low_rest, high_rest)).collect();
    }
    let mut made = Vec::new();
    let (mut from, mut to) = (first, last);
    if low_rest != zeros {
        made.extend(behind((first, first), split(low_rest, &nines)));
        from += 1;
    }
    if high_rest != nines {
        to -= 1;
    }
    if from <= to {
        let mut ranges = vec![(from, to)];
        ranges.extend(std::iter::repeat_n((b'0', b'9'), low_rest.len()));
        made.push(ranges);
    }
    if high_rest != nines {
        made.extend(behind((last, last), split(&zeros, high_rest)));
    }
    made
}

/// Ranges of digits as a pattern: `1[0-5][0-9]{3}`.
fn written(ranges: &[(u8, u8)]) -> String {
    let mut out = String::new();
    let mut at = 0;
    while let Some(&(from, to)) = ranges.get(at) {
        let count = ranges[at..].iter().take_while(|range| **range == (from, to)).count();
        let (from, to) = (char::from(from), char::from(to));
        // Writing to a string cannot fail.
        let _ = match (from == to, count) {
            (true, _) => write!(out, "{}", from.to_string().repeat(count)),
            (false, 1) => write!(out, "[{from}-{to}]"),
            (false, _) => write!(out, "[{from}-{to}]{{{count}}}"),
        };
        at += count;
    }
    out
}
