//! Metaphone: phonetic codes for English.
//!
//! The algorithm is by Lawrence Philips, "Hanging on the Metaphone", Computer Language 7(12), 1990,
//! in the variant that rewrites a word by a fixed sequence of rules. Lower-case letters are still
//! to be rewritten, upper-case letters are final; `0` stands for the sound of "th".

/// The code of a word: upper-case letters and `0`, empty without Latin letters.
pub(crate) fn metaphone(word: &str) -> String {
    let mut letters: Vec<u8> = word
        .chars()
        .flat_map(char::to_lowercase)
        .filter(char::is_ascii_lowercase)
        .map(|letter| letter as u8)
        .collect();
    letters = rewrite(&letters, doubled);
    letters = rewrite(&letters, start_and_end);
    for rule in RULES {
        letters = rewrite(&letters, rule);
    }
    letters.iter().map(|letter| letter.to_ascii_uppercase() as char).collect()
}

/// A rule: at a position of a word, the number of letters it replaces, and their replacement.
type Rule = fn(&[u8], usize) -> Option<(usize, &'static [u8])>;

/// The rules, each applied from the start of the word to its end before the next.
const RULES: [Rule; 19] = [
    |word, at| (at > 0 && starts(word, at, b"sch")).then_some((3, b"SK")),
    |word, at| starts(word, at, b"th").then_some((2, b"0")),
    |word, at| match &word[at..] {
        [b't', b'c', b'h', ..] => Some((3, b"X")),
        [b'c' | b's', b'h', ..] => Some((2, b"X")),
        _ => None,
    },
    |word, at| starts(word, at, b"cia").then_some((1, b"X")),
    |word, at| matches!(&word[at..], [b's' | b't', b'i', b'a' | b'o', ..]).then_some((1, b"X")),
    |word, at| match &word[at..] {
        [b's', b'c', b'i' | b'e' | b'y', ..] => Some((2, b"S")),
        [b'c', b'i' | b'e' | b'y', ..] => Some((1, b"S")),
        _ => None,
    },
    |word, at| match &word[at..] {
        [b'c', b'k', ..] => Some((2, b"K")),
        [b'q' | b'c', ..] => Some((1, b"K")),
        _ => None,
    },
    |word, at| matches!(&word[at..], [b'd', b'g', b'i' | b'e' | b'y', ..]).then_some((2, b"J")),
    |word, at| (word[at] == b'd').then_some((1, b"T")),
    |word, at| {
        let silent = matches!(&word[at..], [b'g', b'h', next, ..] if !vowel(*next));
        silent.then_some((1, b""))
    },
    |word, at| match &word[at..] {
        [b'g', b'n', b'e', b'd', ..] => Some((4, b"N")),
        [b'g', b'n', ..] => Some((2, b"N")),
        _ => None,
    },
    |word, at| {
        let soft = matches!(&word[at..], [b'g', b'i' | b'e' | b'y', ..])
            && (at == 0 || word[at - 1] != b'g');
        soft.then_some((1, b"J"))
    },
    |word, at| {
        let run = word[at..].iter().take_while(|letter| **letter == b'g').count();
        (run > 0).then_some((run, b"K"))
    },
    |word, at| starts(word, at, b"ph").then_some((2, b"F")),
    |word, at| {
        let silent = word[at] == b'h'
            && at > 0
            && vowel(word[at - 1])
            && word.get(at + 1).is_none_or(|next| !vowel(*next));
        silent.then_some((1, b""))
    },
    |word, at| {
        let silent =
            matches!(word[at], b'w' | b'y') && word.get(at + 1).is_none_or(|next| !vowel(*next));
        silent.then_some((1, b""))
    },
    |word, at| (word[at] == b'z').then_some((1, b"S")),
    |word, at| (word[at] == b'v').then_some((1, b"F")),
    |word, at| (at > 0 && vowel(word[at])).then_some((1, b"")),
];

fn rewrite(word: &[u8], rule: impl Fn(&[u8], usize) -> Option<(usize, &'static [u8])>) -> Vec<u8> {
    let mut out = Vec::with_capacity(word.len());
    let mut at = 0;
    while at < word.len() {
        if let Some((used, sound)) = rule(word, at) {
            out.extend_from_slice(sound);
            at += used;
        } else {
            out.push(word[at]);
            at += 1;
        }
    }
    out
}

fn starts(word: &[u8], at: usize, text: &[u8]) -> bool {
    word[at..].starts_with(text)
}

fn vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u')
}

/// A doubled consonant, other than g, sounds once.
fn doubled(word: &[u8], at: usize) -> Option<(usize, &'static [u8])> {
    let repeated =
        at > 0 && word[at] == word[at - 1] && !matches!(word[at], b'g') && !vowel(word[at]);
    repeated.then_some((1, b""))
}

fn start_and_end(word: &[u8], at: usize) -> Option<(usize, &'static [u8])> {
    if at == 0 {
        return match word {
            [b'a', b'e', ..] => Some((2, b"E")),
            [b'g' | b'k' | b'p', b'n', ..] => Some((2, b"N")),
            [b'w', b'r', ..] => Some((2, b"R")),
            [b'x', ..] => Some((1, b"S")),
            [b'w', b'h', ..] => Some((2, b"W")),
            b"mb" => Some((2, b"M")),
            _ => None,
        };
    }
    (word[at..] == *b"mb").then_some((2, b"M"))
}

#[cfg(test)]
mod tests {
    use super::metaphone;

    #[test]
    fn well_known_words() {
        for (word, code) in [
            ("thumb", "0M"),
            ("knight", "NT"),
            ("physics", "FSKS"),
            ("wrote", "RT"),
            ("1988", ""),
            ("", ""),
        ] {
            assert_eq!(metaphone(word), code, "{word}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_an_ascii_code(word: String) {
            proptest::prop_assert!(metaphone(&word).is_ascii());
        }
    }
}
