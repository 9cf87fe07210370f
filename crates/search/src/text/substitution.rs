//! Character substitution: accented letters and ligatures become plain letters.

use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;

/// The characters to replace, before the other steps of a tokenizer.
///
/// The first two decompose the text (NFKD), which also turns full-width forms into ASCII, `ﬁ` into
/// `fi`, a no-break space into a space and `…` into three dots. The others keep `…`, the separator
/// of ranges in queries, and compose the result (NFKC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Substitution {
    /// `ß` becomes `ss`; the umlauts of a, o and u become `ae`, `oe`, `ue`; other accents are
    /// removed.
    WestEuropean,
    /// `ł` becomes `l`; accents are removed.
    Polish,
    /// Accents are removed.
    Accents,
    /// `ß` becomes `ss`; `ae`, `oe` and `ue` become umlauts, as the German stemmer expects, but not
    /// `ue` after a vowel or `q`.
    German,
    /// `ё` becomes `е`.
    Russian,
    /// Wide and narrow forms become standard letters.
    Widths,
}

impl Substitution {
    pub(crate) fn apply(self, text: Cow<'_, str>) -> Cow<'_, str> {
        // ASCII does not decompose, and only German replaces parts of it.
        if text.is_ascii() && self != Substitution::German {
            return text;
        }
        match self {
            Substitution::Accents => return without_accents(&text).into(),
            Substitution::German => return german(&text).into(),
            Substitution::Russian => {
                let plain = |letter| match letter {
                    '\u{451}' => '\u{435}',
                    '\u{401}' => '\u{415}',
                    letter => letter,
                };
                return composed(&text).map(plain).collect::<String>().into();
            }
            Substitution::Widths => return composed(&text).collect::<String>().into(),
            Substitution::WestEuropean | Substitution::Polish => {}
        }
        let mut out = String::with_capacity(text.len());
        let mut previous = None;
        for character in text.nfkd() {
            let umlaut = matches!(previous, Some('A' | 'O' | 'U' | 'a' | 'o' | 'u'));
            previous = Some(character);
            match (self, character) {
                (Substitution::WestEuropean, '\u{df}') => out.push_str("ss"),
                (Substitution::WestEuropean, '\u{308}') if umlaut => out.push('e'),
                (Substitution::Polish, '\u{141}') => out.push('L'),
                (Substitution::Polish, '\u{142}') => out.push('l'),
                (_, '\u{300}'..='\u{35f}') => {}
                _ => out.push(character),
            }
        }
        out.into()
    }
}

/// The composed form of a text, except for ellipses.
fn composed(text: &str) -> impl Iterator<Item = char> {
    text.split_inclusive(ELLIPSIS).flat_map(|part| {
        let plain = part.strip_suffix(ELLIPSIS);
        plain.unwrap_or(part).nfkc().chain(plain.map(|_| ELLIPSIS))
    })
}

const ELLIPSIS: char = '\u{2026}';

fn without_accents(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive(ELLIPSIS) {
        let plain = part.strip_suffix(ELLIPSIS);
        let letters = plain.unwrap_or(part).nfkd();
        out.extend(letters.filter(|letter| !matches!(letter, '\u{300}'..='\u{36f}')).nfc());
        out.extend(plain.map(|_| ELLIPSIS));
    }
    out
}

fn german(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut letters = composed(text).peekable();
    while let Some(letter) = letters.next() {
        let vowel_before = matches!(
            before.to_ascii_lowercase(),
            'a' | 'e' | 'i' | 'o' | 'u' | 'q' | '\u{e4}' | '\u{f6}' | '\u{fc}'
        );
        before = letter;
        let umlaut = match letter {
            'a' => '\u{e4}',
            'A' => '\u{c4}',
            'o' => '\u{f6}',
            'O' => '\u{d6}',
            'u' if !vowel_before => '\u{fc}',
            'U' if !vowel_before => '\u{dc}',
            '\u{df}' | '\u{1e9e}' => {
                out.push_str("ss");
                continue;
            }
            _ => {
                out.push(letter);
                continue;
            }
        };
        match letters.next_if(|next| matches!(next, 'e' | 'E')) {
            Some(_) => out.push(umlaut),
            None => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::Substitution::{self, Accents, German, Polish, Russian, WestEuropean, Widths};

    fn check(kind: Substitution, text: &str, expected: &str) {
        assert_eq!(kind.apply(text.into()), expected, "{text}");
    }

    #[test]
    fn west_european_letters() {
        check(WestEuropean, "m\u{fc}ller \u{d6}l stra\u{df}e", "mueller Oel strasse");
        check(WestEuropean, "caf\u{e9} na\u{ef}ve \u{c5}", "cafe naive A");
        check(WestEuropean, "\u{fb01}\u{ff21}\u{bd}\u{b2}\u{a0}\u{2026}", "fiA1\u{2044}22 ...");
        check(WestEuropean, "\u{f8}\u{e6}\u{142}\u{1e9e}", "\u{f8}\u{e6}\u{142}\u{1e9e}");
        check(WestEuropean, "plain", "plain");
    }

    #[test]
    fn letters_of_languages() {
        check(Accents, "caf\u{e9} \u{c5} pi\u{f1}a 1\u{2026}2", "cafe A pina 1\u{2026}2");
        check(German, "Haeuser stra\u{df}e quer neue Ue", "H\u{e4}user strasse quer neue \u{dc}");
        check(German, "ha\u{308}user", "h\u{e4}user");
        check(Russian, "\u{451}\u{439}", "\u{435}\u{439}");
        check(Widths, "\u{ff21}\u{2026}\u{ff76}", "A\u{2026}\u{30ab}");
        check(Accents, "\u{2026}\u{2026}", "\u{2026}\u{2026}");
    }

    #[test]
    fn polish_letters() {
        check(Polish, "\u{141}\u{f3}d\u{17a} \u{142}", "Lodz l");
    }

    #[test]
    fn an_accent_between_letter_and_umlaut_keeps_it_an_accent() {
        // a, dot below, diaeresis: the diaeresis does not follow the letter directly.
        check(WestEuropean, "a\u{323}\u{308}", "a");
    }
}
