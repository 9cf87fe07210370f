//! The documents of an index that an answer may contain: those that pass a filter, minus those of
//! excluded words.

use crate::error::RequestError;
use crate::index::attributes::{
    Attribute, AttributeColumn, AttributeColumns, AttributeType, NO_CODE, NO_NUMBER, float_of,
};
use crate::index::distinct_texts::{DistinctTexts, compare};
use crate::index::posting_list::PostingList;
use crate::index::slot_bits::SlotBits;
use crate::query::filter::{
    AttributeCheck, AttributeTest, DistanceTest, FilterCondition, FilterWord, RangeEnd,
    SearchFilter, ValueRange,
};
use crate::query::work_budget::WorkBudget;
use crate::text::name_hint::name_hint;
use std::sync::Arc;

/// The radius of the Earth in kilometres: that of the sphere with the same surface.
const EARTH_RADIUS: f64 = 6_371.007;

/// Attribute values compared in one step of work.
const VALUES_PER_STEP: usize = 4;

/// Documents added to a list in one step of work.
const LISTED_PER_STEP: usize = 8;

/// The documents of an index that an answer may contain. At most one of the fields is set.
#[derive(Debug, Default)]
pub(crate) struct Restriction {
    /// Only these documents.
    pub(crate) allowed: Option<Arc<PostingList>>,
    /// All documents but these.
    pub(crate) excluded: Option<SlotBits>,
}

impl Restriction {
    /// Evaluates a filter and an exclusion. `everything` makes it a list of documents even without
    /// either. Nothing is left once the budget is spent.
    pub(crate) fn new(
        columns: &AttributeColumns,
        filter: Option<&SearchFilter>,
        excluded: Option<SlotBits>,
        everything: bool,
        work: &mut WorkBudget,
    ) -> Restriction {
        if filter.is_none() && !everything {
            return Restriction { allowed: None, excluded };
        }
        let list = columns.width() / LISTED_PER_STEP;
        let passing = match filter {
            Some(filter) => passing_documents(filter, columns, work),
            None if work.spend(list) => Arc::new(PostingList::from_slots(columns.live_slots())),
            None => Arc::default(),
        };
        let allowed = match excluded {
            Some(excluded) if work.spend(list) => {
                let left = passing.iter().filter(|slot| !excluded.contains(*slot));
                Arc::new(PostingList::from_slots(left.collect()))
            }
            Some(_) => Arc::default(),
            None => passing,
        };
        Restriction { allowed: Some(allowed), excluded: None }
    }

    /// Whether an answer may contain a document.
    pub(crate) fn admits(&self, slot: u32) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.contains(slot))
            && !self.excluded.as_ref().is_some_and(|excluded| excluded.contains(slot))
    }
}

/// The documents that pass a filter, in order; none once the budget is spent.
fn passing_documents(
    filter: &SearchFilter,
    columns: &AttributeColumns,
    work: &mut WorkBudget,
) -> Arc<PostingList> {
    if let Some(known) = columns.passed(filter) {
        return known;
    }
    let width = columns.width();
    // A test reads one value of each document, several of them in one step.
    let steps = width / LISTED_PER_STEP + width * filter.tests() / VALUES_PER_STEP;
    if width == 0 || !work.spend(steps) {
        return Arc::default();
    }
    let passes = evaluate(&filter.condition, columns);
    let place = |slot: &u32| (*slot - columns.base()) as usize;
    let mut slots = columns.live_slots();
    slots.retain(|slot| passes[place(slot) / 64] >> (place(slot) % 64) & 1 == 1);
    let posting = Arc::new(PostingList::from_slots(slots));
    columns.keep_passed(filter, &posting);
    posting
}

/// A bit for every slot of the columns, set where the condition holds. Bits of free slots mean
/// nothing.
fn evaluate(condition: &FilterCondition, columns: &AttributeColumns) -> Vec<u64> {
    let join = |parts: &[FilterCondition], with: fn(&mut u64, u64)| {
        let mut parts = parts.iter().map(|part| evaluate(part, columns));
        let mut joined = parts.next().unwrap_or_default();
        for part in parts {
            joined.iter_mut().zip(part).for_each(|(word, other)| with(word, other));
        }
        joined
    };
    match condition {
        FilterCondition::All(parts) => join(parts, |word, other| *word &= other),
        FilterCondition::Any(parts) => join(parts, |word, other| *word |= other),
        FilterCondition::Not(part) => {
            evaluate(part, columns).into_iter().map(|word| !word).collect()
        }
        FilterCondition::Test(test) => test_bits(test, columns),
    }
}

fn test_bits(test: &AttributeTest, columns: &AttributeColumns) -> Vec<u64> {
    let width = columns.width();
    let Some((attribute, column)) = columns.named(&test.name.text) else {
        return vec![0; width.div_ceil(64)];
    };
    match (column, &test.how) {
        (AttributeColumn::Numbers(numbers), AttributeCheck::Near(near)) => {
            match columns.named(&near.longitude.text) {
                Some((_, AttributeColumn::Numbers(others))) => {
                    let within = NearTest::new(near);
                    let both = numbers.iter().zip(others);
                    bits(width, both.map(|(first, second)| within.passes(*first, *second)))
                }
                _ => vec![0; width.div_ceil(64)],
            }
        }
        (AttributeColumn::Numbers(numbers), AttributeCheck::Within(ranges)) => {
            let ranges: Vec<(u64, u64)> =
                ranges.iter().filter_map(|range| numbers_of(range, attribute.kind())).collect();
            match ranges[..] {
                [(from, to)] => {
                    bits(width, numbers.iter().map(|number| (from..=to).contains(number)))
                }
                _ => {
                    let inside = |number: &u64| {
                        ranges.iter().any(|(from, to)| (from..=to).contains(&number))
                    };
                    bits(width, numbers.iter().map(inside))
                }
            }
        }
        (AttributeColumn::Numbers(numbers), AttributeCheck::Has | AttributeCheck::Holds) => {
            bits(width, numbers.iter().map(|number| *number != NO_NUMBER))
        }
        (AttributeColumn::Codes(codes, _), AttributeCheck::Has) => {
            bits(width, codes.iter().map(|code| *code != NO_CODE))
        }
        (AttributeColumn::Codes(codes, texts), how) => {
            let passes = passing_codes(attribute.kind(), texts, how);
            let passes = |code: &u32| passes.get(*code as usize).copied().unwrap_or(false);
            bits(width, codes.iter().map(passes))
        }
    }
}

fn bits(width: usize, passes: impl Iterator<Item = bool>) -> Vec<u64> {
    let mut words = vec![0; width.div_ceil(64)];
    for (place, passes) in passes.enumerate() {
        words[place / 64] |= u64::from(passes) << (place % 64);
    }
    words
}

/// The first and the last key of a range; `None` if it is empty.
fn numbers_of(range: &ValueRange, kind: AttributeType) -> Option<(u64, u64)> {
    let from = match &range.from {
        Some(end) => kind.number(&end.value.text)?.checked_add(u64::from(!end.included))?,
        None => 0,
    };
    let to = match &range.to {
        Some(end) => last_number(end, kind)?,
        None => NO_NUMBER - 1,
    };
    (from <= to && from < NO_NUMBER).then_some((from, to))
}

fn last_number(end: &RangeEnd, kind: AttributeType) -> Option<u64> {
    kind.number(&end.value.text)?.checked_sub(u64::from(!end.included))
}

/// For each code of a dictionary, whether one of its texts passes.
fn passing_codes(kind: AttributeType, texts: &DistinctTexts, how: &AttributeCheck) -> Vec<bool> {
    if kind == AttributeType::Boolean {
        return match how {
            AttributeCheck::Within(ranges) => {
                let passes = |value: &&str| ranges.iter().any(|range| text_in(range, value));
                ["false", "true"].iter().map(passes).collect()
            }
            _ => vec![false, true],
        };
    }
    match how {
        AttributeCheck::Within(ranges) => {
            let passes = |text: &str| ranges.iter().any(|range| text_in(range, text));
            texts.each().map(|mut texts| texts.any(passes)).collect()
        }
        _ => texts.each().map(|_| true).collect(),
    }
}

fn text_in(range: &ValueRange, text: &str) -> bool {
    // Equality compares the written form.
    if let (Some(from), Some(to)) = (&range.from, &range.to)
        && from.value.text == to.value.text
    {
        return from.value.text == text;
    }
    let after = range.from.as_ref().is_none_or(|end| {
        let order = compare(text, &end.value.text);
        order.is_gt() || (end.included && order.is_eq())
    });
    after
        && range.to.as_ref().is_none_or(|end| {
            let order = compare(text, &end.value.text);
            order.is_lt() || (end.included && order.is_eq())
        })
}

/// The distance test: the haversine formula on a sphere.
struct NearTest<'a> {
    near: &'a DistanceTest,
    latitude: f64,
    cosine: f64,
}

impl NearTest<'_> {
    fn new(near: &DistanceTest) -> NearTest<'_> {
        let latitude = near.place.0.to_radians();
        NearTest { near, latitude, cosine: latitude.cos() }
    }

    fn passes(&self, latitude: u64, longitude: u64) -> bool {
        if latitude == NO_NUMBER || longitude == NO_NUMBER {
            return false;
        }
        let latitude = float_of(latitude).to_radians();
        let apart = (float_of(longitude) - self.near.place.1).to_radians();
        let half = ((latitude - self.latitude) / 2.0).sin().powi(2)
            + latitude.cos() * self.cosine * (apart / 2.0).sin().powi(2);
        let distance = 2.0 * EARTH_RADIUS * half.min(1.0).sqrt().asin();
        match (self.near.nearer, self.near.included) {
            (true, true) => distance <= self.near.distance,
            (true, false) => distance < self.near.distance,
            (false, true) => distance >= self.near.distance,
            (false, false) => distance > self.near.distance,
        }
    }
}

/// Checks a filter against the attributes of indexes.
///
/// # Errors
/// An attribute that no index has, or a value of another type than its attribute.
pub(crate) fn check_filter(
    filter: &SearchFilter,
    indexes: &[&AttributeColumns],
) -> Result<(), RequestError> {
    check_condition(&filter.condition, indexes)
}

fn check_condition(
    condition: &FilterCondition,
    indexes: &[&AttributeColumns],
) -> Result<(), RequestError> {
    match condition {
        FilterCondition::All(parts) | FilterCondition::Any(parts) => {
            parts.iter().try_for_each(|part| check_condition(part, indexes))
        }
        FilterCondition::Not(part) => check_condition(part, indexes),
        FilterCondition::Test(test) => check_test(test, indexes),
    }
}

fn check_test(test: &AttributeTest, indexes: &[&AttributeColumns]) -> Result<(), RequestError> {
    for attribute in attributes_named(&test.name, indexes)? {
        match &test.how {
            AttributeCheck::Has | AttributeCheck::Holds => {}
            AttributeCheck::Near(near) => {
                let others = attributes_named(&near.longitude, indexes)?;
                for (name, kind) in [(&test.name, attribute.kind())]
                    .into_iter()
                    .chain(others.iter().map(|other| (&near.longitude, other.kind())))
                {
                    if kind != AttributeType::Float {
                        return Err(RequestError::new(
                            name.at,
                            format!(
                                "{} is not a float; distances are between attributes that are",
                                name.text
                            ),
                        ));
                    }
                }
            }
            AttributeCheck::Within(ranges) => {
                let ends = ranges.iter().flat_map(|range| range.from.iter().chain(&range.to));
                ends.into_iter().try_for_each(|end| check_value(&end.value, attribute))?;
            }
        }
    }
    Ok(())
}

/// The attributes of a name, one for each index that has it.
pub(crate) fn attributes_named<'a>(
    name: &FilterWord,
    indexes: &[&'a AttributeColumns],
) -> Result<Vec<&'a Attribute>, RequestError> {
    let found: Vec<&Attribute> = indexes
        .iter()
        .filter_map(|columns| columns.named(&name.text))
        .map(|(found, _)| found)
        .collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let names = indexes.iter().flat_map(|columns| columns.attributes()).map(Attribute::name);
    let advice = name_hint(&name.text, names, "the definition has no attributes; add some");
    Err(RequestError::new(name.at, format!("there is no attribute {}; {advice}", name.text)))
}

fn check_value(value: &FilterWord, attribute: &Attribute) -> Result<(), RequestError> {
    let kind = attribute.kind();
    let fits = match kind {
        AttributeType::Text => true,
        AttributeType::Boolean => matches!(value.text.as_str(), "true" | "false"),
        _ => kind.number(&value.text).is_some(),
    };
    if fits {
        return Ok(());
    }
    Err(RequestError::new(
        value.at,
        format!(
            "'{}' cannot be compared with {}; write {}",
            value.text,
            attribute.name(),
            kind.noun()
        ),
    ))
}
