//! Evaluation of the interpretations, best first: counting, and collecting the documents of the
//! requested page.

use crate::answer::flat_list::FlatCollector;
use crate::answer::search_answer::{AnswerRow, SearchAnswer};
use crate::collection::id::Id;
use crate::index::intersection::{Ascending, intersect};
use crate::index::posting_list::{PostingList, SeenSlots};
use crate::index::search_index::{Fidelity, SearchIndex};
use crate::query::combination::{COMPARED_LISTS, DocumentList};
use crate::query::interpretations::{EVERYTHING, Interpretation};
use crate::query::restriction::Restriction;
use crate::query::work_budget::{
    ORDERED, ORDERED_BY_FUNCTION, SEEN, SEEN_BY_IDENTIFIER, WorkBudget,
};
use crate::request::Request;
use std::ops::Deref;

/// The inputs and buffers of the evaluation.
pub(crate) struct Pager<'a, I> {
    pub(crate) indexes: &'a [I],
    pub(crate) lists: &'a [DocumentList<'a>],
    pub(crate) fidelity: Fidelity,
    /// The lists of the current interpretation; a reused buffer.
    pub(crate) chosen: Vec<&'a PostingList>,
    /// The documents that each index may return; empty without a restriction.
    pub(crate) restrictions: &'a [Restriction],
    pub(crate) request: &'a Request<'a>,
    pub(crate) position: PagePosition,
}

/// The position of the page within all documents.
pub(crate) struct PagePosition {
    /// Documents still to skip.
    offset: i64,
    /// Documents still to show.
    wanted: i64,
    /// How many interpretations to evaluate after the page is full; `None` for all.
    extra: Option<usize>,
}

impl PagePosition {
    /// The start of the page of a request; `extra` is that of [`Pager`].
    pub(crate) fn new(request: &Request<'_>, extra: Option<usize>) -> PagePosition {
        PagePosition { offset: request.offset, wanted: request.ids, extra }
    }

    /// The part of a list of this length on the page: how many to skip and how many to show. A
    /// negative offset counts from the end; an offset outside shows nothing.
    fn page_range(&self, length: usize) -> (usize, usize) {
        let length = length as i64;
        let start = if self.offset < 0 { self.offset + length } else { self.offset };
        if start < 0 || start > length || self.wanted <= 0 {
            return (0, 0);
        }
        (start as usize, self.wanted.min(length - start) as usize)
    }

    fn advance(&mut self, count: usize, shown: usize) {
        if shown > 0 {
            self.wanted -= shown as i64;
            self.offset = 0;
        } else if self.offset != 0 {
            self.offset = self.offset.saturating_sub(count as i64);
        }
    }

    /// Whether to stop after this interpretation.
    fn is_done(&mut self) -> bool {
        match &mut self.extra {
            Some(extra) if self.wanted <= 0 => {
                let ends = *extra == 0;
                *extra = extra.saturating_sub(1);
                ends
            }
            _ => false,
        }
    }
}

impl<'a, I: Deref<Target = SearchIndex>> Pager<'a, I> {
    /// Evaluates all interpretations of the answer.
    ///
    /// Returns the documents found in each index, if the request shows each document once.
    pub(crate) fn run(
        &mut self,
        answer: &mut SearchAnswer,
        work: &mut WorkBudget,
    ) -> Vec<SeenSlots> {
        let request = self.request;
        let mut flat = request.flat.then(|| FlatCollector::new(self.indexes.len()));
        let mut shown_before: Vec<SeenSlots> = Vec::new();
        if request.unique {
            shown_before.resize_with(self.indexes.len(), SeenSlots::default);
        }
        for number in 0..answer.interpretations.all.len() {
            let interpretation = answer.interpretations.all[number];
            let start = answer.members.len();
            answer.interpretations.members(&interpretation, &mut answer.members);
            drop_hidden(answer, start);
            let first_id = answer.ids.len() as u32;
            let count = if let Some(flat) = &mut flat {
                self.add_to_flat(answer, &interpretation, start, flat, work)
            } else if request.unique {
                let before = &mut shown_before;
                self.add_unique(answer, &interpretation, start, before, work)
            } else {
                self.add_interpretation(answer, &interpretation, start, work)
            };
            let Some(count) = count else {
                answer.members.truncate(start);
                break;
            };
            for member in &mut answer.members[start..] {
                *member = answer.combinations[*member as usize].record;
            }
            answer.total += count;
            answer.rows.push(AnswerRow {
                index: interpretation.index,
                score: interpretation.score,
                count,
                members: start as u32..answer.members.len() as u32,
                ids: first_id..answer.ids.len() as u32,
            });
            if self.position.is_done() || work.is_used_up() {
                break;
            }
        }
        match flat {
            Some(mut flat) => {
                let seen = std::mem::take(&mut flat.seen);
                flat.finish(self.indexes, request, answer, work);
                seen
            }
            None => shown_before,
        }
    }

    /// Counts an interpretation and adds its documents to the flat list.
    fn add_to_flat(
        &mut self,
        answer: &SearchAnswer,
        interpretation: &Interpretation,
        start: usize,
        flat: &mut FlatCollector,
        work: &mut WorkBudget,
    ) -> Option<usize> {
        let number = usize::from(interpretation.index);
        let slots = self.collect_slots(answer, interpretation, start, work)?;
        for slot in &slots {
            if !self.is_before(&flat.seen, number, *slot) {
                flat.seen[number].insert(*slot);
                flat.all.push((interpretation.index, *slot));
            }
        }
        Some(slots.len())
    }

    /// All documents of an interpretation that the index may return, or `None` once the budget is
    /// spent.
    fn collect_slots(
        &mut self,
        answer: &SearchAnswer,
        interpretation: &Interpretation,
        start: usize,
        work: &mut WorkBudget,
    ) -> Option<Vec<u32>> {
        let ascending = self.choose(answer, interpretation, start);
        let mut slots = if ascending && !self.chosen.is_empty() {
            Ascending::new(&self.chosen).all(work)?
        } else {
            intersect(&self.chosen, work)?
        };
        let several = self.indexes.len() > 1;
        let steps = if several { SEEN_BY_IDENTIFIER } else { SEEN };
        if !work.spend(slots.len() * steps) {
            return None;
        }
        let restriction = self.restrictions.get(usize::from(interpretation.index));
        slots.retain(|slot| restriction.is_none_or(|left| left.admits(*slot)));
        Some(slots)
    }

    fn posting(&self, answer: &SearchAnswer, member: u32) -> &'a PostingList {
        let lists: &'a [DocumentList<'a>] = self.lists;
        lists[answer.combinations[member as usize].list as usize].posting()
    }

    /// Fills `chosen` with the lists of an interpretation and returns whether all of them ascend.
    /// If so, each list is in it once, in any order, together with the list of allowed documents;
    /// otherwise the lists are in the order of the words.
    fn choose(
        &mut self,
        answer: &SearchAnswer,
        interpretation: &Interpretation,
        start: usize,
    ) -> bool {
        self.chosen.clear();
        let mut ascending = true;
        for member in &answer.members[start..] {
            let list = self.posting(answer, *member);
            ascending &= list.is_ascending();
            if !self.chosen.iter().any(|known| std::ptr::eq(*known, list)) {
                self.chosen.push(list);
            }
        }
        if !ascending {
            self.chosen.clear();
            for member in &answer.members[start..] {
                let list = self.posting(answer, *member);
                self.chosen.push(list);
            }
        }
        let restriction: Option<&'a Restriction> =
            self.restrictions.get(usize::from(interpretation.index));
        let some = !self.chosen.is_empty() || interpretation.choice == EVERYTHING;
        if let Some(allowed) = restriction.and_then(|restriction| restriction.allowed.as_deref())
            && ascending
            && some
        {
            self.chosen.push(allowed);
        }
        ascending
    }

    /// Evaluates an interpretation of one word: its documents are those of its list.
    fn add_single_word(
        &mut self,
        answer: &mut SearchAnswer,
        interpretation: &Interpretation,
        member: u32,
        work: &mut WorkBudget,
    ) -> Option<usize> {
        let index = &self.indexes[usize::from(interpretation.index)];
        let list = self.posting(answer, member);
        let count = list.len();
        let (skip, limit) = self.position.page_range(count);
        if limit == 0 {
            // The common case: the page is full.
        } else if !self.request.is_sorted() {
            for part in list.parts(skip, limit) {
                index.documents().push_ids(part, &mut answer.ids);
            }
        } else {
            let slots: Vec<u32> = list.iter().collect();
            push_page(index, &slots, skip, limit, self.request, &mut answer.ids, work)?;
        }
        self.position.advance(count, limit);
        Some(count)
    }

    /// Counts an interpretation and collects its part of the page, or returns `None` once the
    /// budget is spent.
    fn add_interpretation(
        &mut self,
        answer: &mut SearchAnswer,
        interpretation: &Interpretation,
        start: usize,
        work: &mut WorkBudget,
    ) -> Option<usize> {
        let restriction = self.restrictions.get(usize::from(interpretation.index));
        if let [member] = answer.members[start..]
            && restriction.is_none()
        {
            return self.add_single_word(answer, interpretation, member, work);
        }
        let choice = answer.interpretations.choices.get(interpretation.choice as usize);
        let key = choice.map_or((0, false), |choice| (choice.lists, choice.shown > 1));
        let counted = choice.is_some() && self.lists.len() <= COMPARED_LISTS;
        let known = answer.counts.get(key).filter(|_| counted);
        if let Some(count) = known
            && self.position.page_range(count).1 == 0
        {
            self.position.advance(count, 0);
            return Some(count);
        }
        let ascending = self.choose(answer, interpretation, start);
        let index = &self.indexes[usize::from(interpretation.index)];
        let (skip, limit, count);
        if self.chosen.is_empty() {
            count = 0;
            limit = 0;
        } else if ascending && restriction.is_none_or(|left| left.excluded.is_none()) {
            let lists = Ascending::new(&self.chosen);
            count = match known {
                Some(count) => count,
                None => lists.count(work)?,
            };
            (skip, limit) = self.position.page_range(count);
            if limit > 0 {
                let all = self.request.is_sorted();
                let mut slots = Vec::with_capacity(if all { count } else { limit });
                let (from, most) = if all { (0, count) } else { (skip, limit) };
                lists.each(from, most, |slot| slots.push(slot));
                push_page(index, &slots, skip - from, limit, self.request, &mut answer.ids, work)?;
            }
        } else {
            let slots = self.collect_slots(answer, interpretation, start, work)?;
            count = slots.len();
            (skip, limit) = self.position.page_range(count);
            let index = &self.indexes[usize::from(interpretation.index)];
            push_page(index, &slots, skip, limit, self.request, &mut answer.ids, work)?;
        }
        self.position.advance(count, limit);
        if counted && known.is_none() {
            answer.counts.set(key, count);
        }
        Some(count)
    }

    /// [`add_interpretation`](Self::add_interpretation) without the documents of earlier interpretations.
    fn add_unique(
        &mut self,
        answer: &mut SearchAnswer,
        interpretation: &Interpretation,
        start: usize,
        before: &mut [SeenSlots],
        work: &mut WorkBudget,
    ) -> Option<usize> {
        let number = usize::from(interpretation.index);
        let index = &self.indexes[number];
        let mut slots = self.collect_slots(answer, interpretation, start, work)?;
        if self.fidelity == Fidelity::Corrected {
            slots.retain(|slot| {
                !self.is_before(before, number, *slot) && before[number].insert(*slot)
            });
            let (skip, limit) = self.position.page_range(slots.len());
            push_page(index, &slots, skip, limit, self.request, &mut answer.ids, work)?;
            self.position.advance(slots.len(), limit);
            return Some(slots.len());
        }
        slots.retain(|slot| !self.is_before(before, number, *slot));
        let count = slots.len();
        if !work.spend(count * SEEN_BY_IDENTIFIER) {
            return None;
        }
        if let Some(order) = self.request.order
            && self.position.wanted > 0
        {
            order.keys(index).sort(&mut slots, count);
        }
        let mut all: Vec<Id> =
            slots.iter().filter_map(|slot| index.documents().id(*slot)).collect();
        if let Some(sort) = self.request.sort
            && self.position.wanted > 0
        {
            all.sort_by(|left, right| sort(left, right));
        }
        let page = self.position.wanted.clamp(0, count as i64) as usize;
        for slot in all[..page].iter().filter_map(|id| index.documents().slot(id)) {
            before[number].insert(slot);
        }
        let offset = self.position.offset;
        self.position.offset = offset.saturating_sub(count as i64);
        let skip =
            if self.position.offset <= 0 && offset > 0 { page.min(offset as usize) } else { 0 };
        let shown = page - skip;
        answer.ids.extend(all[skip..page].iter().cloned());
        if shown > 0 {
            self.position.wanted -= shown as i64;
            self.position.offset = 0;
        }
        Some(count)
    }

    /// Whether an earlier interpretation has the document, in this index or by its identifier in
    /// another.
    fn is_before(&self, before: &[SeenSlots], number: usize, slot: u32) -> bool {
        if before[number].contains(slot) {
            return true;
        }
        self.indexes.len() > 1
            && !self.request.separate
            && self.indexes[number].documents().id(slot).is_some_and(|id| {
                let others = self.indexes.iter().zip(before);
                others.into_iter().any(|(index, seen)| {
                    index.documents().slot(&id).is_some_and(|slot| seen.contains(slot))
                })
            })
    }
}

/// Removes hidden combinations from the members of the answer, starting at `start`.
fn drop_hidden(answer: &mut SearchAnswer, start: usize) {
    let SearchAnswer { members, combinations, .. } = answer;
    let mut kept = start;
    for at in start..members.len() {
        if !combinations[members[at] as usize].hidden {
            members[kept] = members[at];
            kept += 1;
        }
    }
    members.truncate(kept);
}

/// Appends the identifiers of a part of a list, sorted if requested; `None` once the budget is
/// spent.
fn push_page(
    index: &SearchIndex,
    slots: &[u32],
    skip: usize,
    limit: usize,
    request: &Request<'_>,
    ids: &mut Vec<Id>,
    work: &mut WorkBudget,
) -> Option<()> {
    if limit == 0 {
        return Some(());
    }
    if let Some(order) = request.order {
        if !work.spend(slots.len() * ORDERED) {
            return None;
        }
        let mut sorted = slots.to_vec();
        order.keys(index).sort(&mut sorted, skip + limit);
        index.documents().push_ids(&sorted[skip..skip + limit], ids);
        return Some(());
    }
    let Some(sort) = request.sort else {
        index.documents().push_ids(&slots[skip..skip + limit], ids);
        return Some(());
    };
    if !work.spend(slots.len() * ORDERED_BY_FUNCTION) {
        return None;
    }
    let mut all: Vec<Id> = slots.iter().filter_map(|slot| index.documents().id(*slot)).collect();
    all.sort_by(|left, right| sort(left, right));
    ids.extend(all.into_iter().skip(skip).take(limit));
    Some(())
}
