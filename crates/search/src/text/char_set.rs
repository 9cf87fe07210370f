//! Sets of characters with a fast answer for ASCII.

/// A set of Unicode scalar values.
#[derive(Clone, Debug)]
pub(crate) struct CharSet {
    ascii: u128,
    /// Sorted, disjoint, inclusive.
    others: Vec<(char, char)>,
}

impl CharSet {
    /// The union of inclusive ranges.
    pub(crate) fn new(ranges: impl IntoIterator<Item = (char, char)>) -> CharSet {
        let mut ascii = 0;
        let mut others = Vec::new();
        for (first, last) in ranges {
            for character in first..=last.min('\u{7f}') {
                ascii |= 1_u128 << u32::from(character);
            }
            if last > '\u{7f}' {
                others.push((first.max('\u{80}'), last));
            }
        }
        others.sort_unstable();
        CharSet { ascii, others }
    }

    pub(crate) fn contains(&self, character: char) -> bool {
        if character.is_ascii() {
            return self.ascii >> u32::from(character) & 1 == 1;
        }
        let after = self.others.partition_point(|range| range.0 <= character);
        after > 0 && self.others[after - 1].1 >= character
    }
}

#[cfg(test)]
mod tests {
    use super::CharSet;

    #[test]
    fn ranges_may_cross_the_end_of_ascii() {
        let set = CharSet::new([('x', '\u{a0}'), ('\u{100}', '\u{100}')]);
        for (character, inside) in
            [('w', false), ('x', true), ('\u{7f}', true), ('\u{80}', true), ('\u{a1}', false)]
        {
            assert_eq!(set.contains(character), inside);
        }
        assert!(set.contains('\u{100}') && !set.contains('\u{101}'));
    }
}
