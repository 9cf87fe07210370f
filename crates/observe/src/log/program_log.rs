//! Lines that a program logs: a level, a message and fields, as text or as a JSON object.
//!
//! Fields are redacted by their names, as parameters in the access log are, and bounded in size. No value ends
//! a line or begins another one.

use crate::log::clock::calendar;
use crate::log::redaction::{REDACTED, is_secret};
use runnel_store::{Value, json};
use std::time::SystemTime;

/// The longest message, in bytes; the rest is cut.
const LONGEST_MESSAGE: usize = 8_192;
/// The longest text of a field, in bytes.
const LONGEST_TEXT: usize = 2_048;
/// Fields of a line, and of a record or elements of a list in it.
const MOST_FIELDS: usize = 64;
/// Records and lists in each other.
const DEEPEST: usize = 8;
/// The longest line of fields, in bytes; longer ones are left out.
const LONGEST_FIELDS: usize = 65_536;

/// The levels, the least important first.
pub const LOG_LEVELS: [&str; 4] = ["debug", "info", "warn", "error"];

/// The line of a message, with its line feed. `fields` is a record or nil.
pub fn program_line(is_json: bool, level: &str, message: &str, fields: &Value) -> Vec<u8> {
    let mut fields = fields.clone();
    bound(&mut fields, 0);
    let mut line = Vec::with_capacity(128);
    let message = cut(message, LONGEST_MESSAGE);
    if is_json {
        line.extend_from_slice(b"{\"time\":\"");
        calendar(SystemTime::now()).write_millis(&mut line);
        line.extend_from_slice(format!("\",\"level\":\"{level}\",\"message\":").as_bytes());
        json::write_text(&message, &mut line);
    } else {
        calendar(SystemTime::now()).write_millis(&mut line);
        let level = level.to_uppercase();
        line.extend_from_slice(format!(" {level:<5} {}", one_line(&message)).as_bytes());
    }
    line.extend_from_slice(&written(is_json, &fields));
    line.extend_from_slice(if is_json { b"}\n" } else { b"\n" });
    line
}

/// The fields behind the message.
fn written(is_json: bool, fields: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    let Value::Record(fields) = fields else { return out };
    for (name, value) in fields.iter() {
        let value = json::text(value);
        if is_json {
            // The line's own fields keep their names.
            let own = matches!(&**name, "time" | "level" | "message");
            out.push(b',');
            json::write_text(&format!("{name}{}", if own { "_" } else { "" }), &mut out);
            out.push(b':');
        } else {
            let name: String = name.chars().filter(|letter| !letter.is_control()).collect();
            out.extend_from_slice(format!(" {}=", name.replace([' ', '='], "_")).as_bytes());
        }
        out.extend_from_slice(&value);
    }
    match (out.len() > LONGEST_FIELDS, is_json) {
        (false, _) => out,
        (true, true) => b",\"cut\":true".to_vec(),
        (true, false) => b" cut=true".to_vec(),
    }
}

/// Redacts secrets and cuts what is too large.
fn bound(value: &mut Value, depth: usize) {
    match value {
        Value::List(_) | Value::Record(_) if depth > DEEPEST => *value = Value::Text("…".into()),
        Value::Text(text) => *value = Value::Text(cut(text, LONGEST_TEXT)),
        Value::List(elements) => {
            elements.truncate(MOST_FIELDS);
            elements.iter_mut().for_each(|element| bound(element, depth + 1));
        }
        Value::Record(fields) => {
            fields.truncate(MOST_FIELDS);
            for (name, value) in fields.iter_mut() {
                match is_secret(name) {
                    true => *value = Value::Text(REDACTED.into()),
                    false => bound(value, depth + 1),
                }
            }
        }
        _ => {}
    }
}

fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_string();
    }
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &text[..end])
}

/// Text without control characters: a message cannot begin another line.
fn one_line(text: &str) -> String {
    let shown = |letter: char| match letter.is_control() {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn line(is_json: bool, message: &str, fields: &str) -> String {
        let fields = json::parse(fields.as_bytes()).unwrap();
        let line = program_line(is_json, "info", message, &fields);
        let line = String::from_utf8(line).unwrap();
        let at = if is_json { "{\"time\":\"".len() + 24 } else { 24 };
        line[at..].to_string()
    }

    #[test]
    fn a_line_has_its_level_message_and_fields() {
        assert_eq!(
            line(false, "paid", r#"{"amount":3,"to":"a b"}"#),
            " INFO  paid amount=3 to=\"a b\"\n"
        );
        assert_eq!(
            line(true, "paid", r#"{"amount":3,"level":"x"}"#),
            "\",\"level\":\"info\",\"message\":\"paid\",\"amount\":3,\"level_\":\"x\"}\n"
        );
    }

    #[test]
    fn secrets_are_redacted_at_any_depth() {
        let text =
            line(true, "in", r#"{"user":{"password":"p","apiKey":"k","name":"ann"},"token":[1]}"#);
        assert!(
            text.contains(r#""password":"[hidden]","apiKey":"[hidden]","name":"ann""#),
            "{text}"
        );
        assert!(text.contains(r#""token":"[hidden]""#), "{text}");
    }

    #[test]
    fn nothing_begins_another_line() {
        for is_json in [true, false] {
            let text = line(is_json, "a\nERROR b\u{1b}[0m", r#"{"x\ny":"c\r\nd"}"#);
            assert_eq!(text.matches('\n').count(), 1, "{text}");
            assert!(!text.contains('\u{1b}'), "{text}");
        }
    }

    #[test]
    fn a_line_is_bounded() {
        let list = format!("[{}1]", "1,".repeat(1000));
        let long = format!(r#"{{"text":"{}","list":{list}}}"#, "ä".repeat(100_000));
        assert!(line(true, &"x".repeat(100_000), &long).len() < 12_000);
        let many: Vec<String> =
            (0..64).map(|n| format!("\"f{n}\":\"{}\"", "x".repeat(2000))).collect();
        assert!(line(true, "x", &format!("{{{}}}", many.join(","))).ends_with(",\"cut\":true}\n"));
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(50), "]".repeat(50));
        assert!(line(false, "x", &deep).contains('…'));
    }
}
