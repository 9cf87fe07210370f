//! Comparison of an expectation with a result. `…` matches anything.

/// The mark that stands for any text.
pub(crate) const ANYTHING: char = '…';

/// Whether a text is as expected. White space at the ends of lines and empty lines at the end of
/// the text do not count.
pub(crate) fn matches(expected: &str, actual: &str) -> bool {
    let expected = trimmed(expected);
    let actual = trimmed(actual);
    let mut parts = expected.split(ANYTHING);
    let Some(rest) = parts.next().and_then(|first| actual.strip_prefix(first)) else {
        return false;
    };
    let mut rest = rest;
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    false
}

/// A text without white space at the ends of its lines and without empty lines at its end.
pub(crate) fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_match_without_their_last_spaces() {
        assert!(matches("a\nb\n", "a  \nb"));
        assert!(matches("", "\n"));
        assert!(!matches("a", "ab"));
        assert!(!matches("a\n\nb", "a\nb"));
    }

    #[test]
    fn an_ellipsis_is_anything() {
        assert!(matches("…", ""));
        assert!(matches("at … o'clock", "at 12 o'clock"));
        assert!(matches("{…}", "{\"a\":1}"));
        assert!(matches("a…b…c", "a1b2b3c"));
        assert!(!matches("a…b…c", "a1c"));
        assert!(!matches("a…a", "a"));
        assert!(!matches("…x", "y"));
    }
}
