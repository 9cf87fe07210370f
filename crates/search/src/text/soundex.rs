//! Soundex: a letter and three digits for groups of consonants.
//!
//! The algorithm is by Robert Russell (US patent 1,261,167, 1918), in the variant in which h and w
//! separate equal digits as vowels do.

/// The code of a word: four characters, empty without Latin letters.
pub(crate) fn soundex(word: &str) -> String {
    let mut letters = word.chars().flat_map(char::to_uppercase).filter(char::is_ascii_uppercase);
    let Some(first) = letters.next() else {
        return String::new();
    };
    let mut code = String::from(first);
    let mut previous = digit(first);
    for letter in letters {
        let digit = digit(letter);
        if digit.is_some() && digit != previous {
            code.extend(digit);
        }
        previous = digit;
        if code.len() == 4 {
            break;
        }
    }
    while code.len() < 4 {
        code.push('0');
    }
    code
}

fn digit(letter: char) -> Option<char> {
    match letter {
        'B' | 'F' | 'P' | 'V' => Some('1'),
        'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => Some('2'),
        'D' | 'T' => Some('3'),
        'L' => Some('4'),
        'M' | 'N' => Some('5'),
        'R' => Some('6'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::soundex;

    #[test]
    fn well_known_words() {
        for (word, code) in [
            ("robert", "R163"),
            ("Rupert", "R163"),
            ("weinberg", "W516"),
            ("pfister", "P236"),
            ("lee", "L000"),
            ("104th", "T000"),
            ("1988", ""),
        ] {
            assert_eq!(soundex(word), code, "{word}");
        }
    }
}
