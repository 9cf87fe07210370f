//! Names that were perhaps meant, for messages.

use crate::text::edit_distance::levenshtein;
use crate::text::word_list::first_characters;

/// Most names that a message lists.
const NAMES_LISTED: usize = 8;

/// Names are compared up to this many characters.
const COMPARED_CHARS: usize = 64;

/// What to do about a name that is not known: the nearest that is, or a few of them all, or
/// `nothing` if there are none.
pub(crate) fn nearest_name<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str>,
    nothing: &str,
) -> String {
    let mut names: Vec<&str> = known.collect();
    names.sort_unstable();
    names.dedup();
    let lower = |text: &str| first_characters(text, COMPARED_CHARS).to_lowercase();
    let distance = |other: &&&str| levenshtein(&lower(name), &lower(other));
    match names.iter().min_by_key(distance) {
        None => nothing.to_owned(),
        Some(nearest) if distance(&nearest) <= 2 && distance(&nearest) < nearest.len() => {
            format!("did you mean {nearest}?")
        }
        Some(_) if names.len() <= NAMES_LISTED => format!("there are {}", names.join(", ")),
        Some(_) => format!("there are {}, \u{2026}", names[..NAMES_LISTED].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::nearest_name;

    #[test]
    fn the_nearest_name_or_a_few() {
        let known = ["year", "price"];
        let ask = |name| nearest_name(name, known.into_iter(), "none");
        assert_eq!(ask("yaer"), "did you mean year?");
        assert_eq!(ask("Year"), "did you mean year?");
        assert_eq!(ask("publisher"), "there are price, year");
        assert_eq!(nearest_name("x", [].into_iter(), "none"), "none");
    }
}
