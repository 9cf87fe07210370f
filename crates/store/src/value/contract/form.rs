//! Forms of text that types name: `email`, `uuid` … and patterns of a program.

use regex::{Regex, RegexBuilder};

/// Bytes of a compiled pattern.
const MAX_PATTERN_SIZE: usize = 1 << 20;
/// Bytes of an address (RFC 5321 section 4.5.3.1) and of a URL.
const MAX_EMAIL: usize = 254;
const MAX_URL: usize = 8192;

/// A form that the text of a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// A time of day (RFC 3339 partial-time): `17:45`, `17:45:30.5`.
    Time,
    /// A date with a time and its distance from UTC (RFC 3339): `2026-11-21T05:30:00Z`.
    Moment,
    /// A UUID (RFC 9562): `f81d4fae-7dec-41d0-a765-00a0c91e6bf6`.
    Uuid,
    /// An e-mail address as HTML forms take it.
    Email,
    /// An absolute URL of `http` or `https`.
    Url,
}

impl TextForm {
    /// The form that a type of a program names.
    pub fn named(name: &str) -> Option<TextForm> {
        Some(match name.to_ascii_lowercase().as_str() {
            "time" => TextForm::Time,
            "moment" => TextForm::Moment,
            "uuid" => TextForm::Uuid,
            "email" => TextForm::Email,
            "url" => TextForm::Url,
            _ => return None,
        })
    }

    /// What its texts are, in words.
    pub fn words(self) -> &'static str {
        match self {
            TextForm::Time => "a time of day such as \"17:45:30\"",
            TextForm::Moment => "a moment such as \"2026-11-21T05:30:00Z\"",
            TextForm::Uuid => "a UUID such as \"f81d4fae-7dec-41d0-a765-00a0c91e6bf6\"",
            TextForm::Email => "an e-mail address such as \"ada@example.org\"",
            TextForm::Url => "a URL such as \"https://example.org/\"",
        }
    }

    /// Whether a text has this form.
    pub fn admits(self, text: &str) -> bool {
        match self {
            TextForm::Time => is_time(text),
            TextForm::Moment => is_moment(text),
            TextForm::Uuid => is_uuid(text),
            TextForm::Email => is_email(text),
            TextForm::Url => is_url(text),
        }
    }
}

fn digits(text: &str, from: usize, to: usize) -> Option<u32> {
    let part = text.get(from..to).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))?;
    part.parse().ok()
}

/// Whether a text is `2026-11-21`, a day of the calendar.
fn is_day(text: &str) -> bool {
    let (Some(year), Some(month), Some(day)) =
        (digits(text, 0, 4), digits(text, 5, 7), digits(text, 8, 10))
    else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    let dashes = text.get(4..5) == Some("-") && text.get(7..8) == Some("-");
    text.len() == 10 && dashes && (1..=days).contains(&day)
}

fn is_time(text: &str) -> bool {
    let within = |from: usize, most: u32| digits(text, from, from + 2).is_some_and(|n| n <= most);
    if !within(0, 23) || text.get(2..3) != Some(":") || !within(3, 59) {
        return false;
    }
    let Some(seconds) = text.get(5..).filter(|rest| !rest.is_empty()) else { return true };
    if !seconds.starts_with(':') || !within(6, 60) {
        return false;
    }
    match text.get(8..).unwrap_or_default().strip_prefix('.') {
        Some(part) => {
            (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        }
        None => text.len() == 8,
    }
}

fn is_moment(text: &str) -> bool {
    let (Some(day), Some(mark), Some(rest)) = (text.get(..10), text.get(10..11), text.get(11..))
    else {
        return false;
    };
    if !is_day(day) || !matches!(mark, "T" | "t" | " ") {
        return false;
    }
    let time = match rest.strip_suffix(['Z', 'z']) {
        Some(time) => time,
        None => {
            let Some(at) = rest.rfind(['+', '-']) else { return false };
            let zone = &rest[at + 1..];
            if zone.len() != 5 || !is_time(zone) {
                return false;
            }
            &rest[..at]
        }
    };
    time.len() >= 8 && is_time(time)
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Whether a text is a host name: labels of letters, digits and minus signs.
fn is_host(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

/// As `input type=email` (HTML, section 4.10.5.1.5).
fn is_email(text: &str) -> bool {
    let Some((local, host)) = text.rsplit_once('@') else { return false };
    let atom = |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte);
    text.len() <= MAX_EMAIL
        && (1..=64).contains(&local.len())
        && local.bytes().all(atom)
        && is_host(host)
}

fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").filter(|(scheme, _)| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    });
    let Some((_, rest)) = scheme else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match host.rsplit_once(':').filter(|_| !host.ends_with(']')) {
        Some((host, port)) => (host, Some(port)),
        None => (host, None),
    };
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let named = match inner {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => is_host(host.strip_suffix('.').unwrap_or(host)),
    };
    let plain = |byte: u8| byte > b' ' && byte < 127 && !b"\"<>\\^`{|}".contains(&byte);
    text.len() <= MAX_URL
        && text.bytes().all(plain)
        && named
        && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

/// A regular expression that whole texts match. Matching takes time linear in the text.
#[derive(Clone, Debug)]
pub struct TextPattern {
    text: String,
    regex: Regex,
}

impl TextPattern {
    /// The pattern of a text, compiled; `None` for a text that is not understood or too large.
    pub fn new(text: &str) -> Option<TextPattern> {
        let whole = RegexBuilder::new(&format!(r"\A(?:{text})\z"))
            .size_limit(MAX_PATTERN_SIZE)
            .dfa_size_limit(MAX_PATTERN_SIZE)
            .build();
        Some(TextPattern { text: text.to_string(), regex: whole.ok()? })
    }

    /// The pattern as the program writes it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

impl PartialEq for TextPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
