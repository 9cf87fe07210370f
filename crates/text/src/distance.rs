//! Edit distance, and the "did you mean" rule of every message.

pub use strsim::levenshtein;

/// The longest name that is compared, in characters: the time is the product of both lengths.
const MAX_LENGTH: usize = 40;

/// The number of single edits (insert, delete, replace, swap of neighbours) between two words:
/// optimal string alignment. `usize::MAX` where a word has more than 40 characters.
pub fn edit_distance(left: &str, right: &str) -> usize {
    let is_long = |word: &str| word.chars().nth(MAX_LENGTH).is_some();
    if is_long(left) || is_long(right) {
        return usize::MAX;
    }
    strsim::osa_distance(left, right)
}

/// The known name nearest to an unknown one, if it is near enough to be meant: at most 1 edit for
/// names of up to 2 characters, 2 up to 5 and 3 beyond. Case counts only between equally near names.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = match name.chars().count() {
        0..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    let lower = name.to_lowercase();
    known
        .into_iter()
        .filter(|candidate| *candidate != name)
        .map(|candidate| {
            let edits = edit_distance(&lower, &candidate.to_lowercase());
            // A name that differs in case only is nearer than any other.
            (edits, edit_distance(name, candidate), candidate)
        })
        .filter(|(edits, _, candidate)| *edits <= limit && *edits < candidate.chars().count())
        .min()
        .map(|(_, _, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (left, right, edits) in [
            ("", "", 0),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("histroy", "history", 1),
            ("\u{fc}ber", "uber", 1),
        ] {
            assert_eq!(edit_distance(left, right), edits);
            assert_eq!(edit_distance(right, left), edits);
        }
        assert_eq!(edit_distance(&"a".repeat(41), "a"), usize::MAX);
    }

    #[test]
    fn the_nearest_name_is_found() {
        let known = ["title", "titles", "done", "stdout"];
        assert_eq!(nearest("tilte", known), Some("title"));
        assert_eq!(nearest("sdtout", known), Some("stdout"));
        assert_eq!(nearest("TITLE", known), Some("title"));
        assert_eq!(nearest("zebra", known), None);
        assert_eq!(nearest("title", ["title"]), None);
    }
}
