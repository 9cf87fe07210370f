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

/// The known name nearest to an unknown one, if it is near enough to be meant: another case only for
/// names of up to 2 characters, 1 edit up to 4, 2 up to 7 and 3 beyond. Case counts only between
/// equally near names.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = match name.chars().count() {
        0..=2 => 0,
        3..=4 => 1,
        5..=7 => 2,
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

/// The known name that was probably meant, by a stricter rule than [`nearest`]: capitalised names stand for
/// capitalised ones only, and a short name bears fewer edits: none up to 2 characters, 1 up to 5, 2 up to 11,
/// 3 beyond.
pub fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = match name.chars().filter(|one| *one != ':').count() {
        0..=2 => return None,
        3..=5 => 1,
        6..=11 => 2,
        _ => 3,
    };
    let is_capital = |name: &str| name.starts_with(char::is_uppercase);
    let is_word =
        |name: &str| name.starts_with(|first: char| first.is_alphabetic() || first == '_');
    let lower = name.to_lowercase();
    known
        .into_iter()
        .filter(|one| *one != name && is_word(one) && is_capital(one) == is_capital(name))
        .map(|one| (edit_distance(&lower, &one.to_lowercase()), edit_distance(name, one), one))
        .filter(|(edits, _, _)| *edits <= most)
        .min()
        .map(|(_, _, one)| one)
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
    fn the_name_that_was_meant_is_of_its_kind_and_near_for_its_length() {
        let known = ["Point", "point", "title", "Task", "tab", "Bool", "at:put:", "+"];
        assert_eq!(meant("count", known), None);
        assert_eq!(meant("foo", known), None);
        assert_eq!(meant("Tsak", known), Some("Task"));
        assert_eq!(meant("tsak", known), None);
        assert_eq!(meant("tilte", known), Some("title"));
        assert_eq!(meant("at:pt:", known), Some("at:put:"));
        assert_eq!(meant("a", ["b"]), None);
        assert_eq!(meant("", known), None);
    }

    #[test]
    fn the_nearest_name_is_found() {
        let known = ["title", "titles", "done", "stdout"];
        assert_eq!(nearest("tilte", known), Some("title"));
        assert_eq!(nearest("sdtout", known), Some("stdout"));
        assert_eq!(nearest("TITLE", known), Some("title"));
        assert_eq!(nearest("zebra", known), None);
        assert_eq!(nearest("title", ["title"]), None);
        assert_eq!(nearest("foo", ["Bool"]), None);
        assert_eq!(nearest("x", ["y", "X"]), Some("X"));
        assert_eq!(nearest("prot", ["port"]), Some("port"));
    }
}
