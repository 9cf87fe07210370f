//! Words in scripts of all kinds, those that are written without spaces among them.

/// Whether a letter is of a script that has no spaces between words: Chinese and Japanese
/// characters, kana, Thai, Lao, Burmese, Khmer (blocks of the Unicode Standard).
pub(crate) fn is_unspaced(character: char) -> bool {
    if character < '\u{e00}' {
        return false;
    }
    matches!(character,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{3096}' | '\u{3099}' | '\u{309a}'
        | '\u{309d}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{323af}')
}

/// Whether a character is part of words: letters, digits, and marks over and under letters.
pub(crate) fn is_in_word(character: char) -> bool {
    character.is_alphanumeric()
        || matches!(character, '\u{300}'..='\u{36f}')
        || is_unspaced(character)
}

/// Characters that mean something in queries.
fn is_marker(character: char) -> bool {
    matches!(character, '"' | '~' | '*' | ':' | ',' | '|' | '\u{2026}')
}

/// Whether a word of a query becomes several, as runs of three and more letters without spaces do.
pub(crate) fn has_long_run(text: &str) -> bool {
    let mut run = 0;
    text.chars().any(|character| {
        run = if is_unspaced(character) { run + 1 } else { 0 };
        run > 2
    })
}

/// Calls `each` with the words of a text.
pub(crate) fn each_word(text: &str, mut each: impl FnMut(&str)) {
    let words = text.split(|character| !is_in_word(character)).filter(|word| !word.is_empty());
    words.for_each(|word| each_part(word, true, &mut each));
}

/// Calls `each` with the words of a query.
pub(crate) fn each_query_word(text: &str, mut each: impl FnMut(&str)) {
    let inside = |character| is_in_word(character) || is_marker(character);
    let words = text.split(|character| !inside(character)).filter(|word| !word.is_empty());
    for word in words {
        if has_long_run(word) {
            let (qualifiers, text) = match word.split_once(':') {
                Some((_, text)) => (&word[..word.len() - text.len()], text),
                None => ("", word),
            };
            let parts = text.split(is_marker).filter(|part| !part.is_empty());
            let mut with = |part: &str| each(&[qualifiers, part].concat());
            parts.for_each(|part| each_part(part, false, &mut with));
        } else {
            each(word);
        }
    }
}

/// Calls `each` with the runs of one kind of script. Runs without spaces become pairs, and with
/// `last` their last letter too.
fn each_part(word: &str, last: bool, each: &mut impl FnMut(&str)) {
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let unspaced = is_unspaced(first);
        let end = rest.find(|other| is_unspaced(other) != unspaced).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        if !unspaced {
            each(run);
            continue;
        }
        let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([end]).collect();
        for pair in starts.windows(3) {
            each(&run[pair[0]..pair[2]]);
        }
        if last || starts.len() == 2 {
            each(&run[starts[starts.len() - 2]..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        each_word(text, |word| out.push(word.to_owned()));
        out
    }

    fn query_words(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        each_query_word(text, |word| out.push(word.to_owned()));
        out
    }

    #[test]
    fn words_are_letters_and_digits() {
        assert_eq!(words("L'amour, c\u{f4}t\u{e9}-8x."), ["L", "amour", "c\u{f4}t\u{e9}", "8x"]);
        assert_eq!(words("cafe\u{301}"), ["cafe\u{301}"]);
        assert_eq!(
            query_words("title:al* \"x\" 1990\u{2026}1995 (b)"),
            ["title:al*", "\"x\"", "1990\u{2026}1995", "b"]
        );
    }

    #[test]
    fn runs_without_spaces_are_pairs() {
        assert_eq!(
            words("\u{6771}\u{4eac}\u{90fd}x"),
            ["\u{6771}\u{4eac}", "\u{4eac}\u{90fd}", "\u{90fd}", "x"]
        );
        assert_eq!(words("\u{6771}"), ["\u{6771}"]);
        assert_eq!(
            query_words("t:\u{6771}\u{4eac}\u{90fd}*"),
            ["t:\u{6771}\u{4eac}", "t:\u{4eac}\u{90fd}"]
        );
        assert_eq!(query_words("t:\u{6771}\u{4eac}*"), ["t:\u{6771}\u{4eac}*"]);
        assert_eq!(words("\u{e44}\u{e17}\u{e22}"), ["\u{e44}\u{e17}", "\u{e17}\u{e22}", "\u{e22}"]);
    }
}
