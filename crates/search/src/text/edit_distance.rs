//! Bounded edit distance, for words of a query that no document has.
//!
//! Unlike the distance of `runnel_text`, which serves messages, it stops at a limit: a query compares
//! its word with every word of a category.

/// The number of insertions, deletions, replacements and swaps of neighbours between two texts, if
/// it is at most `limit` (optimal string alignment; Boytsov, "Indexing methods for approximate
/// dictionary searching", ACM JEA 16, 2011, section 2.1).
pub(crate) fn typos(left: &[char], right: &[char], limit: usize) -> Option<usize> {
    if left.len().abs_diff(right.len()) > limit {
        return None;
    }
    let mut before: Vec<usize> = Vec::with_capacity(right.len() + 1);
    let mut row: Vec<usize> = (0..=right.len()).collect();
    let mut next = Vec::with_capacity(row.len());
    for (number, letter) in left.iter().enumerate() {
        next.clear();
        next.push(number + 1);
        for (column, other) in right.iter().enumerate() {
            let replaced = row[column] + usize::from(letter != other);
            let mut least = replaced.min(row[column + 1] + 1).min(next[column] + 1);
            let exchanged = number > 0
                && column > 0
                && *letter == right[column - 1]
                && left[number - 1] == *other;
            if exchanged {
                least = least.min(before[column - 1] + 1);
            }
            next.push(least);
        }
        if next.iter().all(|distance| *distance > limit) {
            return None;
        }
        std::mem::swap(&mut before, &mut row);
        std::mem::swap(&mut row, &mut next);
    }
    row.last().copied().filter(|distance| *distance <= limit)
}

#[cfg(test)]
mod tests {
    use super::typos;
    use runnel_text::distance::levenshtein;

    #[test]
    fn neighbours_that_are_exchanged_are_one_typo() {
        let count = |left: &str, right: &str, limit| {
            let [left, right] = [left, right].map(|text| text.chars().collect::<Vec<_>>());
            typos(&left, &right, limit)
        };
        assert_eq!(count("histroy", "history", 2), Some(1));
        assert_eq!(count("hsitroy", "history", 2), Some(2));
        assert_eq!(count("hsitroy", "history", 1), None);
        assert_eq!(count("histor", "history", 1), Some(1));
        assert_eq!(count("", "", 0), Some(0));
        assert_eq!(count("abc", "xyz", 2), None);
    }

    proptest::proptest! {
        #[test]
        fn never_more_than_without_exchanges(left in "[ab]{0,6}", right in "[ab]{0,6}") {
            let [from, to] = [&left, &right].map(|text| text.chars().collect::<Vec<_>>());
            let plain = levenshtein(&left, &right);
            let distance = typos(&from, &to, 9);
            proptest::prop_assert!(distance.is_some_and(|distance| distance <= plain));
            proptest::prop_assert_eq!(distance == Some(0), left == right);
        }
    }
}
