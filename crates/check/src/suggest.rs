//! The message that was probably meant.

use runnel_text::distance::{edit_distance, meant};

/// The known selector nearest to an unknown one. One with the same first keyword wins; otherwise one of the
/// same number of arguments that is near for its length.
pub(crate) fn selector<'a>(
    wrong: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    if !wrong.starts_with(|first: char| first.is_alphabetic() || first == '_') {
        return None;
    }
    let arguments = |text: &str| text.matches(':').count();
    let (first, count) = (first_keyword(wrong), arguments(wrong));
    let same_start = known.clone().filter(|one| first_keyword(one) == first && *one != wrong);
    let nearest = same_start.filter(|one| count < 2 || one.contains(':')).min_by_key(|one| {
        (arguments(one).abs_diff(count), edit_distance(wrong, one), one.len(), *one)
    });
    nearest.or_else(|| meant(wrong, known.filter(|one| arguments(one) == count)))
}

/// Letters of a message from which one that is missing, doubled or swapped is a slip.
const SHORTEST_SLIP: usize = 6;

/// The known selector that an unknown one is a slip of: inside it one letter is missing, doubled or
/// swapped with its neighbour.
pub(crate) fn slip<'a>(wrong: &str, mut known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let letters = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters.dedup();
        letters
    };
    let own = letters(wrong);
    known.find(|one| {
        one.len().min(wrong.len()) >= SHORTEST_SLIP
            // A plural is another word.
            && !one.starts_with(wrong)
            && !wrong.starts_with(one)
            && edit_distance(wrong, one) == 1
            && letters(one).iter().all(|letter| own.contains(letter))
    })
}

fn first_keyword(selector: &str) -> &str {
    selector.split(':').next().unwrap_or(selector)
}
