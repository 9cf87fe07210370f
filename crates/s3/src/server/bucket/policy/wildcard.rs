//! Patterns of policies and CORS rules.

/// Matches a pattern in which `*` stands for any characters and `?` for one. It takes at most pattern
/// times text steps, because only the last `*` is tried again.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    matches(pattern, text, true)
}

/// Matches a pattern in which `*` stands for any characters.
pub(crate) fn star(pattern: &str, text: &str) -> bool {
    matches(pattern, text, false)
}

fn matches(pattern: &str, text: &str, question_mark: bool) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    let mut last_star = None;
    loop {
        let mut rest = pattern.clone();
        let mut text_rest = text.clone();
        match (rest.next(), text_rest.next()) {
            (Some('*'), _) => {
                last_star = Some((rest.clone(), text.clone()));
                pattern = rest;
            }
            (Some(wanted), Some(found)) if wanted == found || question_mark && wanted == '?' => {
                (pattern, text) = (rest, text_rest);
            }
            (None, None) => return true,
            _ => {
                // The last star takes one character more.
                let Some((after_star, skipped)) = &mut last_star else { return false };
                if skipped.next().is_none() {
                    return false;
                }
                (pattern, text) = (after_star.clone(), skipped.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match() {
        for (pattern, text, fits) in [
            ("", "", true),
            ("*", "", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyyd", false),
            ("a?c", "aäc", true),
            ("a?c", "ac", false),
            ("**", "x", true),
            ("ab", "abc", false),
            ("abc", "ab", false),
            ("*ab", "aab", true),
            ("a*", "*", false),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
        assert!(star("a?*", "a?b"));
        assert!(!star("a?c", "abc"));
    }
}
