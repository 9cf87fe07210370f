//! Word segmentation for all scripts, including those without spaces.

use std::ops::Range;

/// Whether a letter belongs to a script without spaces between words: Chinese and Japanese
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

/// Whether a character is part of words: letters, digits and combining marks.
pub(crate) fn is_in_word(character: char) -> bool {
    character.is_alphanumeric()
        || matches!(character, '\u{300}'..='\u{36f}')
        || is_unspaced(character)
}

/// Whether a character is a marker in queries.
fn is_marker(character: char) -> bool {
    matches!(character, '"' | '~' | '*' | ':' | ',' | '|' | '\u{2026}')
}

/// Whether a word of a query is split: it has a run of three or more letters without spaces.
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

/// Calls `each` with the runs of one kind of script. Runs without spaces become pairs, with `last`
/// also their last letter.
fn each_part(word: &str, last: bool, each: &mut impl FnMut(&str)) {
    each_place(word, last, &mut |place| each(&word[place]));
}

/// [`each_part`] with byte ranges.
fn each_place(word: &str, last: bool, each: &mut impl FnMut(Range<usize>)) {
    let mut start = 0;
    while let Some(first) = word[start..].chars().next() {
        let unspaced = is_unspaced(first);
        let length = word[start..].find(|other| is_unspaced(other) != unspaced);
        let end = length.map_or(word.len(), |length| start + length);
        if unspaced {
            let letters = word[start..end].char_indices().map(|(at, _)| start + at);
            let starts: Vec<usize> = letters.chain([end]).collect();
            starts.windows(3).for_each(|pair| each(pair[0]..pair[2]));
            if last || starts.len() == 2 {
                each(starts[starts.len() - 2]..end);
            }
        } else {
            each(start..end);
        }
        start = end;
    }
}

/// Calls `each` with the byte ranges between spaces.
pub(crate) fn each_chunk(text: &str, mut each: impl FnMut(Range<usize>)) {
    let mut at = 0;
    for chunk in text.split(char::is_whitespace) {
        if !chunk.is_empty() {
            each(at..at + chunk.len());
        }
        at += chunk.len();
        at += text[at..].chars().next().map_or(0, char::len_utf8);
    }
}

/// Calls `each` with the byte ranges of the words within a range, in the order of [`each_word`].
pub(crate) fn each_piece(text: &str, place: Range<usize>, mut each: impl FnMut(Range<usize>)) {
    let chunk = &text[place.clone()];
    let mut at = place.start;
    for word in chunk.split(|character| !is_in_word(character)) {
        each_place(word, true, &mut |inside| each(at + inside.start..at + inside.end));
        at += word.len();
        at += text[at..place.end].chars().next().map_or(0, char::len_utf8);
    }
}

/// A range without the punctuation at its ends, unless it has nothing else.
pub(crate) fn without_punctuation(text: &str, place: Range<usize>) -> Range<usize> {
    let is_punctuation = |character: char| {
        matches!(character, '.' | ',' | ';' | ':' | '!' | '?' | '(' | ')' | '[' | ']' | '{' | '}')
            || matches!(character, '"' | '\'' | '\u{2010}'..='\u{203a}' | '\u{ab}' | '\u{bb}')
            || matches!(character, '\u{bf}' | '\u{a1}' | '\u{3001}'..='\u{3003}')
    };
    let chunk = &text[place.clone()];
    let trimmed = chunk.trim_start_matches(is_punctuation);
    let start = place.end - trimmed.len();
    let trimmed = trimmed.trim_end_matches(is_punctuation);
    if trimmed.is_empty() { place } else { start..start + trimmed.len() }
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
