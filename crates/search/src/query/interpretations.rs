//! Interpretations: every way to choose one combination per word, best first.

use crate::format::number::Score;
use crate::limits::{MAX_COMBINATION_BYTES, MAX_COMBINATION_BYTES_OF_INDEXES, MAX_INTERPRETATIONS};
use crate::query::combination::{COMPARED_LISTS, Combination};
use crate::query::preferences::{CategoryNameId, NO_NAME, PreferenceNode, Preferences};
use crate::query::work_budget::{CHOSEN, WorkBudget};
use std::ops::Range;

/// Most interpretations kept per word once the budget is spent.
const LIMIT_WITHOUT_WORK: usize = 64;

/// The parent of choices for the first word.
const NONE: u32 = u32::MAX;

/// The choice of an interpretation without words.
pub(crate) const EVERYTHING: u32 = NONE;

/// A combination chosen for a word: a node of a tree whose parent is the choice for the word
/// before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChoiceNode {
    /// The sum of the weights up to this word.
    score: Score,
    /// The lists of the visible combinations up to this word, as a bit mask.
    pub(crate) lists: u128,
    parent: u32,
    pub(crate) combination: u32,
    node: PreferenceNode,
    name: CategoryNameId,
    /// The number of visible combinations up to this word.
    pub(crate) shown: u16,
}

/// A complete interpretation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interpretation {
    pub(crate) score: Score,
    pub(crate) choice: u32,
    pub(crate) index: u8,
}

/// All interpretations of a query. Its memory is reused for the next query.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interpretations {
    pub(crate) choices: Vec<ChoiceNode>,
    pub(crate) all: Vec<Interpretation>,
    /// The combinations of each word in the current index.
    pub(crate) places: Vec<Range<u32>>,
    /// The approximate size of the interpretations in the answer.
    bytes: usize,
}

impl Interpretations {
    pub(crate) fn clear(&mut self) {
        self.choices.clear();
        self.all.clear();
        self.bytes = 0;
    }

    /// Adds the interpretations in one index, whose combinations are in `places`. `bytes` is the
    /// approximate size of an interpretation in an answer.
    pub(crate) fn add(
        &mut self,
        index: u8,
        combinations: &[Combination],
        preferences: &Preferences,
        bytes: usize,
        work: &mut WorkBudget,
    ) {
        let left = MAX_COMBINATION_BYTES_OF_INDEXES.saturating_sub(self.bytes);
        let most_bytes = left.min(MAX_COMBINATION_BYTES);
        let mut limit = (most_bytes / bytes.max(1)).clamp(1, MAX_INTERPRETATIONS);
        let mut level = NONE..NONE;
        for place in 0..self.places.len() {
            let place = self.places[place].clone();
            level = self.choose(level, place, combinations, preferences);
            if !work.spend(level.len() * CHOSEN) {
                limit = limit.min(LIMIT_WITHOUT_WORK);
            }
            if level.len() > limit {
                level = self.keep_best(level, limit);
            }
        }
        if self.places.is_empty() {
            return;
        }
        self.bytes = self.bytes.saturating_add(level.len() * bytes);
        for choice in level {
            let ChoiceNode { score, node, .. } = self.choices[choice as usize];
            if let Some(boost) = preferences.boost(node) {
                self.all.push(Interpretation { score: score + boost, choice, index });
            }
        }
    }

    /// Adds the interpretation without words: all allowed documents of an index.
    pub(crate) fn add_everything(&mut self, index: u8) {
        self.all.push(Interpretation { score: Score::ZERO, choice: EVERYTHING, index });
    }

    /// Combines every choice so far with every combination of the next word.
    fn choose(
        &mut self,
        before: Range<u32>,
        place: Range<u32>,
        combinations: &[Combination],
        preferences: &Preferences,
    ) -> Range<u32> {
        let start = self.choices.len() as u32;
        let first = ChoiceNode {
            score: Score::ZERO,
            lists: 0,
            parent: NONE,
            combination: NONE,
            node: preferences.start(),
            name: NO_NAME,
            shown: 0,
        };
        let at_start = before.start == NONE;
        for parent in if at_start { 0..1 } else { before } {
            let so_far = if at_start { first } else { self.choices[parent as usize] };
            for number in place.clone() {
                let combination = &combinations[number as usize];
                let repeated = !at_start && combination.name == so_far.name;
                let node = if repeated {
                    so_far.node
                } else {
                    preferences.step(so_far.node, combination.name)
                };
                let list = if combination.hidden || combination.list as usize >= COMPARED_LISTS {
                    0
                } else {
                    1 << combination.list
                };
                self.choices.push(ChoiceNode {
                    score: so_far.score + combination.weight,
                    lists: so_far.lists | list,
                    parent: if at_start { NONE } else { parent },
                    combination: number,
                    node,
                    name: combination.name,
                    shown: so_far.shown + u16::from(!combination.hidden),
                });
            }
        }
        start..self.choices.len() as u32
    }

    /// Keeps the choices with the highest scores, in their order.
    fn keep_best(&mut self, level: Range<u32>, limit: usize) -> Range<u32> {
        let choices = &self.choices;
        let mut kept: Vec<u32> = level.clone().collect();
        kept.select_nth_unstable_by(limit, |left, right| {
            let order = choices[*right as usize].score.order(choices[*left as usize].score);
            order.then(left.cmp(right))
        });
        kept.truncate(limit);
        kept.sort_unstable();
        for (number, choice) in kept.iter().enumerate() {
            self.choices[level.start as usize + number] = self.choices[*choice as usize];
        }
        self.choices.truncate(level.start as usize + limit);
        level.start..level.start + limit as u32
    }

    /// Sorts by score, highest first; interpretations of equal score stay in their order of
    /// formation.
    pub(crate) fn sort(&mut self) {
        self.all.sort_by(|left, right| right.score.order(left.score));
    }

    /// Appends the combinations of an interpretation, in the order of the words.
    pub(crate) fn members(&self, interpretation: &Interpretation, out: &mut Vec<u32>) {
        let start = out.len();
        let mut choice = interpretation.choice;
        while choice != NONE {
            let chosen = &self.choices[choice as usize];
            out.push(chosen.combination);
            choice = chosen.parent;
        }
        out[start..].reverse();
    }
}
