//! How selectors and names of the language become names of Lua, and the nearest known name.

const RESERVED: [&str; 22] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in",
    "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

fn escape(name: &str, out: &mut String) {
    // With what stands behind it.
    out.reserve(name.len() + 8);
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out.push(byte as char),
            b'_' => out.push_str("_2"),
            b'-' => out.push_str("_0"),
            b'.' => out.push_str("_1"),
            _ => out.push_str(&format!("_x{byte:02x}")),
        }
    }
}

/// The selector that a binary operator stands for.
pub(crate) fn binary_selector(operator: &str) -> Option<&'static str> {
    Some(match operator {
        "+" => "add",
        "-" => "sub",
        "*" | "×" => "mul",
        "/" | "÷" => "div",
        "=" | "==" => "isEqual",
        "≠" | "~=" | "!=" => "isNotEqualTo",
        "<" => "isLessThan",
        ">" => "isGreaterThan",
        "≤" | "<=" => "isLessThanOrEqualTo",
        "≥" | ">=" => "isGreaterThanOrEqualTo",
        "," => "concat",
        "@" => "pointWith",
        "!" => "writeObject",
        "!!" => "sendmsg",
        "%" => "mod",
        "&" => "and",
        _ => return None,
    })
}

/// The Lua name of a unary selector.
pub(crate) fn unary(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("_{name}");
    }
    let mut out = String::new();
    escape(name, &mut out);
    out
}

/// The Lua name of a binary selector.
pub(crate) fn binary(operator: &str) -> String {
    match binary_selector(operator) {
        Some(word) => format!("{word}_"),
        None => {
            let mut out = String::from("op");
            escape(operator, &mut out);
            out.push('_');
            out
        }
    }
}

/// The Lua name of a keyword selector.
pub(crate) fn keyword<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::new();
    for word in words {
        escape(word, &mut out);
        out.push('_');
    }
    out
}

/// The field that holds an instance variable in an object's table.
pub fn field(name: &str) -> String {
    let mut out = String::from("i_");
    escape(name, &mut out);
    out
}

/// A Lua name for a variable; the number keeps variables of one name apart.
pub(crate) fn variable(name: &str, number: usize) -> String {
    let mut out = String::from("v_");
    escape(name, &mut out);
    out.push('_');
    out.push_str(&number.to_string());
    out
}

/// Text as a Lua string literal on one line.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            0x20..=0x7e => out.push(byte as char),
            // Three digits, so that a digit that follows is not taken for a part of the escape.
            _ => out.push_str(&format!("\\{byte:03}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_have_names_of_their_own() {
        assert_eq!(unary("count"), "count");
        assert_eq!(unary("not"), "_not");
        assert_eq!(unary("a_b-c"), "a_2b_0c");
        assert_eq!(binary("+"), "add_");
        assert_eq!(keyword(["at", "put"].into_iter()), "at_put_");
        assert_eq!(field("title"), "i_title");
    }

    #[test]
    fn text_is_quoted_for_lua() {
        assert_eq!(quoted("a\"b\\\n\u{0}1"), "\"a\\\"b\\\\\\n\\0001\"");
        assert_eq!(quoted("é"), "\"\\195\\169\"");
    }
}
