//! What clients of random transactions did and saw, and whether it could have happened one transaction
//! after the other.
//!
//! Two kinds of objects make the order recoverable: a list that a transaction reads, extends and
//! writes back, and a set of rows that a condition selects. Values are unique. From what was read
//! follows which transaction came before which; a cycle is an anomaly (Adya, "Weak Consistency",
//! 1999; Kingsbury and Alvaro, "Elle", 2020).

use std::collections::{BTreeMap, BTreeSet};

/// What a transaction did to one object. Objects of both kinds have numbers of their own.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// It saw these values of a list.
    Read { list: usize, values: Vec<u64> },
    /// It wrote a list back with this value at its end.
    Append { list: usize, value: u64 },
    /// It saw these rows of a set.
    Select { set: usize, values: BTreeSet<u64> },
    /// It added a row to a set.
    Insert { set: usize, value: u64 },
}

#[derive(Clone, Debug, Default)]
pub(super) struct Transaction {
    pub(super) events: Vec<Event>,
    pub(super) is_committed: bool,
}

/// All transactions of a history; the last one read everything when the others had ended.
#[derive(Default)]
pub(super) struct History {
    pub(super) transactions: Vec<Transaction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Anomaly {
    /// What a transaction wrote and committed is not there at the end, or not in its place.
    LostUpdate,
    /// Somebody saw what was never committed.
    DirtyRead,
    /// Transactions that each come before the other: write skew, read skew, phantoms.
    Cycle,
}

impl History {
    /// The worst anomaly, with the transactions that show it.
    pub(super) fn anomaly(&self) -> Option<(Anomaly, String)> {
        let writers = self.writers();
        let lists = match self.final_lists(&writers) {
            Ok(lists) => lists,
            Err(found) => return Some(found),
        };
        let mut before = vec![BTreeSet::new(); self.transactions.len()];
        for (number, transaction) in self.committed() {
            for event in &transaction.events {
                match event {
                    Event::Read { list, values } => {
                        let others: Vec<u64> = values
                            .iter()
                            .copied()
                            .filter(|v| writers.get(v) != Some(&number))
                            .collect();
                        let last = lists.get(list).map_or(&[][..], |values| values);
                        if !last.starts_with(&others) {
                            let why = format!(
                                "{number} saw {others:?} of list {list}, which is {last:?}"
                            );
                            return Some((Anomaly::LostUpdate, why));
                        }
                        if let Some(writer) = others.last().and_then(|value| writers.get(value)) {
                            before[*writer].insert(number);
                        }
                        let next = last[others.len()..].iter().find_map(|value| writers.get(value));
                        if let Some(writer) = next.filter(|writer| **writer != number) {
                            before[number].insert(*writer);
                        }
                    }
                    Event::Select { set, values } => {
                        if let Some(value) =
                            values.iter().find(|value| !writers.contains_key(value))
                        {
                            let why =
                                format!("{number} saw row {value}, which was never committed");
                            return Some((Anomaly::DirtyRead, why));
                        }
                        for (value, writer) in self.rows(*set) {
                            match (writer == number, values.contains(&value)) {
                                (true, _) => {}
                                (false, true) => drop(before[writer].insert(number)),
                                (false, false) => drop(before[number].insert(writer)),
                            }
                        }
                    }
                    Event::Append { .. } | Event::Insert { .. } => {}
                }
            }
        }
        for values in lists.values() {
            for pair in values.windows(2) {
                let (first, second) = (writers[&pair[0]], writers[&pair[1]]);
                if first != second {
                    before[first].insert(second);
                }
            }
        }
        cycle(&before).map(|cycle| {
            let shown =
                |number: &usize| format!("{number} {:?}", self.transactions[*number].events);
            (Anomaly::Cycle, cycle.iter().map(shown).collect::<Vec<_>>().join(" before "))
        })
    }

    fn committed(&self) -> impl Iterator<Item = (usize, &Transaction)> {
        self.transactions.iter().enumerate().filter(|(_, transaction)| transaction.is_committed)
    }

    /// Who committed a value.
    fn writers(&self) -> BTreeMap<u64, usize> {
        let mut writers = BTreeMap::new();
        for (number, transaction) in self.committed() {
            for event in &transaction.events {
                if let Event::Append { value, .. } | Event::Insert { value, .. } = event {
                    writers.insert(*value, number);
                }
            }
        }
        writers
    }

    /// The committed rows of a set, with who inserted them.
    fn rows(&self, wanted: usize) -> Vec<(u64, usize)> {
        let mut rows = Vec::new();
        for (number, transaction) in self.committed() {
            for event in &transaction.events {
                if let Event::Insert { set, value } = event
                    && *set == wanted
                {
                    rows.push((*value, number));
                }
            }
        }
        rows
    }

    /// The lists as the last transaction saw them: with all that was committed, and nothing else.
    fn final_lists(
        &self,
        writers: &BTreeMap<u64, usize>,
    ) -> Result<BTreeMap<usize, Vec<u64>>, (Anomaly, String)> {
        let mut lists = BTreeMap::new();
        for event in self.transactions.last().map_or(&[][..], |last| &last.events) {
            if let Event::Read { list, values } = event {
                if let Some(value) = values.iter().find(|value| !writers.contains_key(value)) {
                    let why = format!("list {list} has {value}, which was never committed");
                    return Err((Anomaly::DirtyRead, why));
                }
                lists.insert(*list, values.clone());
            }
        }
        for (number, transaction) in self.committed() {
            for event in &transaction.events {
                if let Event::Append { list, value } = event
                    && !lists.get(list).is_some_and(|values| values.contains(value))
                {
                    let why = format!("list {list} lacks {value}, which {number} committed");
                    return Err((Anomaly::LostUpdate, why));
                }
            }
        }
        Ok(lists)
    }
}

/// A cycle of the graph, if there is one.
fn cycle(before: &[BTreeSet<usize>]) -> Option<Vec<usize>> {
    /// 0: not seen; 1: on the path; 2: done.
    fn visit(
        at: usize,
        before: &[BTreeSet<usize>],
        state: &mut [u8],
        path: &mut Vec<usize>,
    ) -> Option<Vec<usize>> {
        state[at] = 1;
        path.push(at);
        for next in &before[at] {
            match state[*next] {
                0 => {
                    if let Some(found) = visit(*next, before, state, path) {
                        return Some(found);
                    }
                }
                1 => {
                    let from = path.iter().position(|number| number == next).unwrap_or_default();
                    return Some(path[from..].to_vec());
                }
                _ => {}
            }
        }
        path.pop();
        state[at] = 2;
        None
    }
    let mut state = vec![0; before.len()];
    (0..before.len()).find_map(|at| match state[at] {
        0 => visit(at, before, &mut state, &mut Vec::new()),
        _ => None,
    })
}

#[test]
fn the_checker_knows_the_anomalies_of_the_literature() {
    let done = |events: &[Event]| Transaction { events: events.to_vec(), is_committed: true };
    let read = |list, values: &[u64]| Event::Read { list, values: values.to_vec() };
    let append = |list, value| Event::Append { list, value };
    let select =
        |set, values: &[u64]| Event::Select { set, values: values.iter().copied().collect() };
    let insert = |set, value| Event::Insert { set, value };
    let of =
        |transactions: Vec<Transaction>| History { transactions }.anomaly().map(|(kind, _)| kind);
    let lost = of(vec![
        done(&[read(0, &[]), append(0, 1)]),
        done(&[read(0, &[]), append(0, 2)]),
        done(&[read(0, &[2])]),
    ]);
    assert_eq!(lost, Some(Anomaly::LostUpdate));
    let skew = of(vec![
        done(&[select(0, &[]), insert(1, 1)]),
        done(&[select(1, &[]), insert(0, 2)]),
        done(&[select(0, &[2]), select(1, &[1])]),
    ]);
    assert_eq!(skew, Some(Anomaly::Cycle));
    let read_skew = of(vec![
        done(&[read(0, &[]), append(0, 1), read(1, &[]), append(1, 2)]),
        done(&[read(0, &[]), read(1, &[2])]),
        done(&[read(0, &[1]), read(1, &[2])]),
    ]);
    assert_eq!(read_skew, Some(Anomaly::Cycle));
    let phantom = of(vec![
        done(&[select(0, &[]), select(0, &[1])]),
        done(&[insert(0, 1)]),
        done(&[select(0, &[1])]),
    ]);
    assert_eq!(phantom, Some(Anomaly::Cycle));
    let dirty = of(vec![
        Transaction { events: vec![insert(0, 1)], is_committed: false },
        done(&[select(0, &[1])]),
        done(&[]),
    ]);
    assert_eq!(dirty, Some(Anomaly::DirtyRead));
    let good = of(vec![
        done(&[read(0, &[]), append(0, 1), select(0, &[])]),
        done(&[read(0, &[1]), append(0, 2), insert(0, 3)]),
        done(&[read(0, &[1, 2]), select(0, &[3])]),
    ]);
    assert_eq!(good, None);
}
