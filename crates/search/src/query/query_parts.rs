//! The parts of a query before it is split into words: phrases, exclusions, and the text between
//! them.

use crate::text::scripts;

/// A part of a query.
#[derive(Debug, PartialEq)]
pub(crate) enum QueryPart<'a> {
    /// Plain text.
    Plain(&'a str),
    Joined(JoinedWords<'a>),
}

/// Words that belong together.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct JoinedWords<'a> {
    pub(crate) excluded: bool,
    /// The written form, without the marker of an exclusion.
    pub(crate) written: &'a str,
    /// The text before the colon.
    pub(crate) qualifiers: &'a str,
    /// The text after the colon, without quotes.
    pub(crate) words: &'a str,
    pub(crate) quoted: bool,
}

/// Splits a query into parts. `exclusions` are the markers of excluded words; `phrases` says
/// whether quotes make phrases; `runs` makes phrases of runs in scripts without spaces.
pub(crate) fn split_query<'a>(
    query: &'a str,
    exclusions: &[char],
    phrases: bool,
    runs: bool,
) -> Vec<QueryPart<'a>> {
    let mut found = Vec::new();
    let mut plain = 0;
    let mut at = 0;
    while at < query.len() {
        let rest = &query[at..];
        let space = rest.len() - rest.trim_start().len();
        if space > 0 {
            at += space;
            continue;
        }
        let (excluded, written) = strip_exclusion(rest, exclusions);
        let joined = match quoted(written).filter(|_| phrases) {
            Some(quoted) => Some(quoted),
            None => Some(unquoted(written))
                .filter(|joined| excluded || (runs && scripts::has_long_run(joined.words))),
        };
        match joined {
            Some(joined) => {
                push_plain(&query[plain..at], &mut found);
                at = query.len() - written.len() + joined.written.len();
                plain = at;
                found.push(QueryPart::Joined(JoinedWords { excluded, ..joined }));
            }
            None => at += rest.find(char::is_whitespace).unwrap_or(rest.len()),
        }
    }
    push_plain(&query[plain..], &mut found);
    found
}

fn push_plain<'a>(text: &'a str, found: &mut Vec<QueryPart<'a>>) {
    if !text.trim().is_empty() {
        found.push(QueryPart::Plain(text));
    }
}

/// Whether a text is excluded, and the text after the marker. A marker alone, or before another
/// one, excludes nothing.
fn strip_exclusion<'a>(text: &'a str, exclusions: &[char]) -> (bool, &'a str) {
    match text.strip_prefix(exclusions) {
        Some(rest)
            if !rest
                .starts_with(|next: char| next.is_whitespace() || exclusions.contains(&next))
                && !rest.is_empty() =>
        {
            (true, rest)
        }
        _ => (false, text),
    }
}

/// The quoted text at the start, after optional qualifiers, if it has several words.
fn quoted(text: &str) -> Option<JoinedWords<'_>> {
    let open = text.find('"')?;
    let qualifiers = &text[..open];
    if qualifiers.contains(char::is_whitespace) {
        return None;
    }
    let qualifiers = match qualifiers.strip_suffix(':') {
        Some(qualifiers) => qualifiers,
        None if qualifiers.is_empty() => "",
        None => return None,
    };
    let inside = &text[open + 1..];
    let length = inside.find('"')?;
    let end = open + length + 2;
    let alone = text[end..].chars().next().is_none_or(char::is_whitespace);
    let words = &inside[..length];
    (alone && words.contains(char::is_whitespace) && !words.trim().is_empty()).then_some(
        JoinedWords { excluded: false, written: &text[..end], qualifiers, words, quoted: true },
    )
}

/// The text up to the next space.
fn unquoted(text: &str) -> JoinedWords<'_> {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let written = &text[..end];
    let (qualifiers, words) = written.split_once(':').unwrap_or(("", written));
    JoinedWords { excluded: false, written, qualifiers, words, quoted: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(query: &str) -> String {
        let piece = |piece: QueryPart<'_>| match piece {
            QueryPart::Plain(text) => format!("[{}]", text.trim()),
            QueryPart::Joined(joined) => {
                let JoinedWords { excluded, qualifiers, words, quoted, .. } = joined;
                let marks = [(excluded, "-"), (quoted, "\"")];
                let marks: String =
                    marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect();
                format!("{marks}<{qualifiers}|{words}>")
            }
        };
        split_query(query, &['!', '-'], true, true).into_iter().map(piece).collect()
    }

    #[test]
    fn phrases_and_exclusions() {
        for (query, expected) in [
            ("alan turing", "[alan turing]"),
            ("a \"b c\" d e", "[a]\"<|b c>[d e]"),
            ("title:\"b c\"", "\"<title|b c>"),
            ("\"b\" \"c", "[\"b\" \"c]"),
            ("a\"b c\"", "[a\"b c\"]"),
            ("\"a b\"c", "[\"a b\"c]"),
            ("\" \" x", "[\" \" x]"),
            ("a -b !c:d -\"e f\"", "[a]-<|b>-<c|d>-\"<|e f>"),
            ("a - -- b-c", "[a - -- b-c]"),
            ("-", "[-]"),
            ("\u{6771}\u{4eac}\u{90fd} x", "<|\u{6771}\u{4eac}\u{90fd}>[x]"),
            ("\u{6771}\u{4eac}", "[\u{6771}\u{4eac}]"),
            ("", ""),
        ] {
            assert_eq!(shown(query), expected, "{query}");
        }
        assert_eq!(split_query("-a \"b c\"", &[], false, false), [QueryPart::Plain("-a \"b c\"")]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken_apart(query in "\\PC{0,40}|[ab:\"!| -]{0,30}") {
            let all = split_query(&query, &['!', '-'], true, true);
            proptest::prop_assert!(all.len() <= query.chars().count());
        }
    }
}
