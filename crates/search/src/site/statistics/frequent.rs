//! The most frequent of many texts, in bounded memory.
//!
//! Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data
//! Streams" (2005): a new text takes the place of the least frequent one and its count, so that
//! counts are never too low, and too high by at most what is noted with them.

use hashbrown::HashMap;

/// A text, how often it was seen at most, and by how much that may be too high.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) text: String,
    pub(crate) count: u64,
    pub(crate) error: u64,
}

/// Counts of texts.
#[derive(Clone, Debug)]
pub(crate) struct Frequent {
    most: usize,
    places: HashMap<String, usize>,
    /// From the most frequent on.
    counted: Vec<Counted>,
}

impl Frequent {
    /// Counts of at most this many texts.
    pub(crate) fn new(most: usize) -> Frequent {
        Frequent { most: most.max(1), places: HashMap::new(), counted: Vec::new() }
    }

    /// Counts a text once more.
    pub(crate) fn add(&mut self, text: &str) {
        self.restore(Counted { text: text.to_owned(), count: 1, error: 0 });
    }

    /// Adds counts that were kept.
    pub(crate) fn restore(&mut self, new: Counted) {
        let place = match self.places.get(&new.text) {
            Some(place) => *place,
            None if self.counted.len() < self.most => {
                let place = self.counted.len();
                self.places.insert(new.text.clone(), place);
                self.counted.push(Counted { count: 0, error: 0, ..new.clone() });
                place
            }
            None => {
                let place = self.counted.len() - 1;
                let last = &mut self.counted[place];
                self.places.remove(&last.text);
                self.places.insert(new.text.clone(), place);
                last.error = last.count;
                last.text.clone_from(&new.text);
                place
            }
        };
        let counted = &mut self.counted[place];
        counted.count = counted.count.saturating_add(new.count);
        counted.error = counted.error.saturating_add(new.error);
        self.rise(place);
    }

    /// Moves a text up to where its count belongs, past all with a lower one.
    fn rise(&mut self, from: usize) {
        let count = self.counted[from].count;
        let to = self.counted[..from].partition_point(|before| before.count >= count);
        if to == from {
            return;
        }
        // Those between have the counts in between, each moves down by one; usually there is one.
        self.counted[to..=from].rotate_right(1);
        for (number, moved) in self.counted[to..=from].iter().enumerate() {
            if let Some(place) = self.places.get_mut(&moved.text) {
                *place = to + number;
            }
        }
    }

    /// The most frequent ones first.
    pub(crate) fn top(&self, most: usize) -> &[Counted] {
        &self.counted[..most.min(self.counted.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_of_few_texts_are_exact() {
        let mut frequent = Frequent::new(10);
        for text in ["a", "b", "a", "c", "b", "a"] {
            frequent.add(text);
        }
        let top: Vec<_> =
            frequent.top(9).iter().map(|one| (one.text.as_str(), one.count)).collect();
        assert_eq!(top, [("a", 3), ("b", 2), ("c", 1)]);
        assert!(frequent.top(9).iter().all(|one| one.error == 0));
    }

    proptest! {
        #[test]
        fn counts_are_never_too_low(texts in prop::collection::vec(0..30_u8, 0..400)) {
            let mut frequent = Frequent::new(8);
            for text in &texts {
                frequent.add(&text.to_string());
            }
            let kept = frequent.top(100);
            prop_assert!(kept.len() <= 8);
            prop_assert!(kept.windows(2).all(|two| two[0].count >= two[1].count));
            let real = |text: &str| texts.iter().filter(|one| one.to_string() == text).count() as u64;
            for one in kept {
                let real = real(&one.text);
                prop_assert!(one.count >= real && one.count - one.error <= real);
            }
            // What is more frequent than one in eight is there.
            for text in 0..30_u8 {
                let often = real(&text.to_string()) > texts.len() as u64 / 8;
                prop_assert!(!often || kept.iter().any(|one| one.text == text.to_string()));
            }
        }
    }
}
