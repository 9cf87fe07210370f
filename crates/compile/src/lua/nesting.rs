//! How deep generated Lua is nested: LuaJIT reads at most 200 levels of syntax.
//!
//! Levels are counted as LuaJIT's parser does (`synlevel` in lj_parse.c), rather too many than too
//! few: one for each block, one for each expression within another, one for each `..` to the right.

/// Levels that are generated at most.
const LEVELS: usize = 190;

/// Something that is open.
struct OpenConstruct {
    /// A block of statements, not brackets.
    is_block: bool,
    /// The level outside of it.
    outside: usize,
}

/// The line of the generated code where it is nested too deeply.
pub(crate) fn too_deep(lua: &str) -> Option<u32> {
    let bytes = lua.as_bytes();
    let mut open: Vec<OpenConstruct> = Vec::new();
    let (mut at, mut line, mut level) = (0, 1, 1);
    while at < bytes.len() {
        let start = at;
        at += 1;
        match bytes[start] {
            b'\n' => line += 1,
            b'"' => at = end_of_text(bytes, start),
            b'(' | b'[' | b'{' => {
                let in_block = open.last().is_none_or(|last| last.is_block);
                open.push(OpenConstruct { is_block: false, outside: level });
                // The statement's own expression, and the one in the brackets.
                level += 1 + usize::from(in_block);
            }
            b')' | b']' | b'}' => level = open.pop().map_or(level, |last| last.outside),
            b'.' if bytes[at..].starts_with(b".") => {
                at += 1;
                level += usize::from(open.last().is_some_and(|last| !last.is_block));
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                at = end_of_word(bytes, start);
                match &lua[start..at] {
                    // `while … do` and `for … do` open their block with `do`.
                    "function" | "do" | "then" | "repeat" => {
                        let in_block = open.last().is_none_or(|last| last.is_block);
                        let is_value = in_block && &lua[start..at] == "function";
                        open.push(OpenConstruct { is_block: true, outside: level });
                        level += 1 + usize::from(is_value);
                    }
                    "end" | "until" | "elseif" => {
                        level = open.pop().map_or(level, |last| last.outside);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        if level > LEVELS {
            return Some(line);
        }
    }
    None
}

fn end_of_word(bytes: &[u8], start: usize) -> usize {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    start + bytes[start..].iter().take_while(|byte| is_word(byte)).count()
}

fn end_of_text(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(open: &str, close: &str, depth: usize) -> String {
        format!("{}1{}", open.repeat(depth), close.repeat(depth))
    }

    #[test]
    fn blocks_and_brackets_count() {
        assert_eq!(too_deep(&nested("(", ")", 150)), None);
        assert_eq!(too_deep(&nested("(", ")", 250)), Some(1));
        assert_eq!(too_deep(&nested("\nif a then ", " end", 150)), None);
        assert_eq!(too_deep(&nested("\nif a then ", " end", 250)), Some(191));
    }

    #[test]
    fn what_was_closed_does_not() {
        let line = "if f(\"(((\\\"\") then (g)(1) elseif x[1] then end return function() end ";
        assert_eq!(too_deep(&line.repeat(1_000)), None);
    }
}
