//! How selectors and names of the language become names of Lua, and the nearest known name.

const RESERVED: [&str; 22] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in",
    "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

fn escape(name: &str, out: &mut String) {
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
    let mut out = String::with_capacity(name.len());
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
    out.push_str(&format!("_{number}"));
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

/// How many single edits (insert, delete, replace, swap of neighbours) lie between two words:
/// optimal string alignment, with words of up to 40 characters; longer ones count as far apart.
pub fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    if left.len() > 40 || right.len() > 40 {
        return usize::MAX;
    }
    let width = right.len() + 1;
    let mut table = vec![0; (left.len() + 1) * width];
    for row in 0..=left.len() {
        for column in 0..=right.len() {
            table[row * width + column] = if row == 0 || column == 0 {
                row + column
            } else {
                let replaced = usize::from(left[row - 1] != right[column - 1]);
                let mut best = (table[(row - 1) * width + column] + 1)
                    .min(table[row * width + column - 1] + 1)
                    .min(table[(row - 1) * width + column - 1] + replaced);
                let swapped = row > 1
                    && column > 1
                    && left[row - 1] == right[column - 2]
                    && left[row - 2] == right[column - 1];
                if swapped {
                    best = best.min(table[(row - 2) * width + column - 2] + 1);
                }
                best
            };
        }
    }
    table[left.len() * width + right.len()]
}

/// The known name nearest to an unknown one, when one is near enough to be meant.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let reach = match name.chars().count() {
        0..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    let folded = name.to_lowercase();
    known
        .filter(|candidate| *candidate != name)
        .map(|candidate| {
            let far = distance(&folded, &candidate.to_lowercase());
            // A name that differs in case only is nearer than any other.
            (far, distance(name, candidate), candidate)
        })
        .filter(|(far, _, candidate)| *far <= reach && *far < candidate.chars().count())
        .min()
        .map(|(_, _, candidate)| candidate)
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

    #[test]
    fn the_nearest_name_is_found() {
        let known = ["title", "titles", "done", "stdout"];
        assert_eq!(nearest("tilte", known.into_iter()), Some("title"));
        assert_eq!(nearest("sdtout", known.into_iter()), Some("stdout"));
        assert_eq!(nearest("zebra", known.into_iter()), None);
    }
}
