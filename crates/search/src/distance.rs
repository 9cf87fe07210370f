//! Edit distance.

/// The number of characters to insert, delete or replace that turn one text into the other
/// (Levenshtein's distance, by the row-wise algorithm of Wagner and Fischer, J. ACM 21(1), 1974).
pub(crate) fn levenshtein(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (above, letter) in left.chars().enumerate() {
        let mut diagonal = above;
        row[0] = above + 1;
        for (column, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::levenshtein;

    #[test]
    fn known_distances() {
        for (left, right, distance) in [
            ("", "", 0),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("histroy", "history", 2),
            ("\u{fc}ber", "uber", 1),
        ] {
            assert_eq!(levenshtein(left, right), distance);
            assert_eq!(levenshtein(right, left), distance);
        }
    }
}
