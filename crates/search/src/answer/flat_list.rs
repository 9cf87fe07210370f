//! One list of the documents of all interpretations, without duplicates.

use crate::answer::document_order::{DocumentOrder, OrderKeys};
use crate::answer::search_answer::{FlatList, SearchAnswer};
use crate::collection::id::Id;
use crate::index::posting_list::SeenSlots;
use crate::index::search_index::SearchIndex;
use crate::query::work_budget::{ORDERED, ORDERED_BY_FUNCTION, WorkBudget};
use crate::request::Request;
use std::ops::Deref;

/// The documents found so far, those of better interpretations first.
pub(crate) struct FlatCollector {
    pub(crate) seen: Vec<SeenSlots>,
    /// Index numbers and slots.
    pub(crate) all: Vec<(u8, u32)>,
}

impl FlatCollector {
    pub(crate) fn new(indexes: usize) -> FlatCollector {
        let mut seen = Vec::new();
        seen.resize_with(indexes, SeenSlots::default);
        FlatCollector { seen, all: Vec::new() }
    }

    /// Writes the requested page to the answer.
    pub(crate) fn finish<I: Deref<Target = SearchIndex>>(
        self,
        indexes: &[I],
        request: &Request<'_>,
        answer: &mut SearchAnswer,
        work: &mut WorkBudget,
    ) {
        let count = self.all.len();
        let start = match request.offset {
            offset if offset < 0 => offset + count as i64,
            offset => offset,
        };
        let sorted_by = match (request.order, request.sort) {
            (Some(_), _) => ORDERED,
            (None, Some(_)) => ORDERED_BY_FUNCTION,
            (None, None) => 0,
        };
        // Once the budget is spent, documents are counted but not shown, since they would be
        // unsorted.
        let inside =
            (0..=count as i64).contains(&start) && request.ids > 0 && work.spend(count * sorted_by);
        let (skip, limit) = match inside {
            true => (start as usize, request.ids.min(count as i64 - start) as usize),
            false => (0, 0),
        };
        let mut ids = Vec::new();
        if limit > 0 {
            let all = match request.order {
                Some(order) => sorted(self.all, indexes, order, skip + limit),
                None => self.all,
            };
            let id = |(number, slot): (u8, u32)| {
                Some((number, indexes[usize::from(number)].documents().id(slot)?))
            };
            ids.extend(all.into_iter().filter_map(id));
            if let Some(sort) = request.sort.filter(|_| request.order.is_none()) {
                ids.sort_by(|left: &(u8, Id), right| sort(&left.1, &right.1));
            }
            ids.truncate(skip + limit);
            ids.drain(..skip);
        }
        answer.flat = Some(FlatList { count, ids });
    }
}

/// The first `wanted` documents, sorted.
fn sorted<I: Deref<Target = SearchIndex>>(
    all: Vec<(u8, u32)>,
    indexes: &[I],
    order: &DocumentOrder,
    wanted: usize,
) -> Vec<(u8, u32)> {
    let keys: Vec<OrderKeys<'_>> = indexes.iter().map(|index| order.keys(index)).collect();
    let mut first = Vec::new();
    for (number, keys) in keys.iter().enumerate() {
        let number = number as u8;
        let of_index = all.iter().filter(|(index, _)| *index == number);
        let mut slots: Vec<u32> = of_index.map(|(_, slot)| *slot).collect();
        // Documents that compare equal stay in the order of the index.
        slots.sort_unstable();
        keys.sort(&mut slots, wanted);
        slots.truncate(wanted);
        first.extend(slots.into_iter().map(|slot| (number, slot)));
    }
    if indexes.len() > 1 {
        first.sort_by(|left, right| {
            let [of_left, of_right] = [left.0, right.0].map(|number| &keys[usize::from(number)]);
            of_left.compare_with(left.1, of_right, right.1)
        });
        first.truncate(wanted);
    }
    first
}
