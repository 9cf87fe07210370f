//! Generated code that keeps the line numbers of the source.
//!
//! While code is put together, marks in it say "be at source line N here". [`place`] turns them
//! into line ends. Lua's own messages and traces then name the program's lines, and no table of
//! lines is needed at run time.

const START: char = '\u{1}';
const END: char = '\u{2}';

/// The mark for a line. It may stand wherever Lua allows a line end, except before `(`.
pub(crate) fn mark(line: u32) -> String {
    format!("{START}{line}{END}")
}

/// Replaces marks by line ends. A mark for a line already passed is dropped.
pub(crate) fn place(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut line = 1;
    let mut rest = code;
    while let Some(at) = rest.find(START) {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        let end = tail.find(END).unwrap_or(0);
        let wanted: u32 = tail[..end].parse().unwrap_or(line);
        while line < wanted {
            out.push('\n');
            line += 1;
        }
        rest = &tail[end + END.len_utf8()..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_line_ends() {
        let code = format!("a{}b{}c{}d", mark(3), mark(2), mark(4));
        assert_eq!(place(&code), "a\n\nbc\nd");
    }
}
