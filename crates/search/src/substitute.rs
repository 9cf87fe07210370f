//! Character substitution: accents and ligatures to the letters that people type instead.

use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;

/// Which characters are replaced before anything else happens to a text.
///
/// Each first decomposes the text (NFKD), which also turns full-width forms into ASCII, `ﬁ` into
/// `fi`, a no-break space into a space and `…` into three dots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Substitution {
    /// `ß` becomes `ss`; the umlauts of a, o and u become `ae`, `oe`, `ue`; other accents go.
    WestEuropean,
    /// `ł` becomes `l`; accents go.
    Polish,
}

impl Substitution {
    pub(crate) fn apply(self, text: Cow<'_, str>) -> Cow<'_, str> {
        // Nothing in ASCII decomposes or is replaced.
        if text.is_ascii() {
            return text;
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

#[cfg(test)]
mod tests {
    use super::Substitution::{self, Polish, WestEuropean};

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
    fn polish_letters() {
        check(Polish, "\u{141}\u{f3}d\u{17a} \u{142}", "Lodz l");
    }

    #[test]
    fn an_accent_between_letter_and_umlaut_keeps_it_an_accent() {
        // a, dot below, diaeresis: the diaeresis does not follow the letter directly.
        check(WestEuropean, "a\u{323}\u{308}", "a");
    }
}
