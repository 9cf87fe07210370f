//! What a continuous backup consists of: generations, each a folder with a copy of the whole database
//! and the changes after it, in segments.
//!
//! Names tell all that is needed to find a state: `2026-11-23T10-00-00.000Z-9f3a2c1d/` is a generation,
//! `00000001.part` a segment of it, `00000002-2026-11-23T10-00-01.250Z.state` the segment that ends a
//! state.

use runnel_store::{Context, Error, Kind, Reference, Result, Store, Verb};
use runnel_text::moment::{CalendarTime, parse_rfc3339, rfc3339};
use std::rc::Rc;

/// Characters of a time in a name.
const TIME: usize = "2026-11-23T10-00-00.000Z".len();

/// A folder of segments of one run of the shipper.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Generation {
    pub(crate) name: String,
    /// The time of its first state, in microseconds since 1970.
    pub(crate) micros: i64,
}

/// The name of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentName {
    pub(crate) sequence: u32,
    /// The time of the state that it ends, in microseconds since 1970.
    pub(crate) micros: Option<i64>,
}

/// The states that a generation can restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestorableSpan {
    /// The time of the first one, in microseconds since 1970.
    pub from: i64,
    /// The time of the last one.
    pub to: i64,
    /// How many there are.
    pub states: usize,
}

/// A backup in a store.
pub(crate) struct BackupCatalog {
    pub(crate) store: Rc<dyn Store>,
    root: Reference,
}

impl Generation {
    pub(crate) fn new(micros: i64, random: &str) -> Generation {
        Generation { name: format!("{}-{random}", time_name(micros)), micros }
    }

    fn parse(name: &str) -> Option<Generation> {
        let micros = parse_time(name.get(..TIME)?)?;
        let random = name[TIME..].strip_prefix('-')?;
        let is_random = !random.is_empty() && random.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_random.then(|| Generation { name: name.to_string(), micros })
    }
}

impl SegmentName {
    pub(crate) fn text(&self) -> String {
        match self.micros {
            Some(micros) => format!("{:08}-{}.state", self.sequence, time_name(micros)),
            None => format!("{:08}.part", self.sequence),
        }
    }

    fn parse(name: &str) -> Option<SegmentName> {
        let (digits, rest) = name.split_at_checked(8)?;
        let sequence =
            digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))?;
        if rest == ".part" {
            return Some(SegmentName { sequence, micros: None });
        }
        let time = rest.strip_prefix('-')?.strip_suffix(".state")?;
        Some(SegmentName { sequence, micros: Some(parse_time(time)?) })
    }
}

impl BackupCatalog {
    pub(crate) fn new(store: Rc<dyn Store>, target: &Reference) -> BackupCatalog {
        let root = target.with_path(target.path().trim_end_matches('/').to_string());
        BackupCatalog { store, root }
    }

    fn folder(&self, generation: &Generation) -> Reference {
        self.root.join(&generation.name)
    }

    pub(crate) fn segment(&self, generation: &Generation, segment: SegmentName) -> Reference {
        self.folder(generation).join(&segment.text())
    }

    /// The generations, the oldest first.
    pub(crate) async fn generations(&self, context: &Context) -> Result<Vec<Generation>> {
        let entries = self.store.list(&self.root, context).await;
        let entries = entries.map_err(|error| error.on(Verb::List, &self.root))?;
        let names = entries.unwrap_or_default();
        let mut found: Vec<Generation> =
            names.iter().filter_map(|entry| Generation::parse(&entry.name)).collect();
        found.sort();
        Ok(found)
    }

    /// The segments of a generation, in order.
    pub(crate) async fn segments(
        &self,
        generation: &Generation,
        context: &Context,
    ) -> Result<Vec<SegmentName>> {
        let folder = self.folder(generation);
        let entries = self.store.list(&folder, context).await;
        let entries = entries.map_err(|error| error.on(Verb::List, &folder))?.unwrap_or_default();
        let names = entries.iter().filter_map(|entry| SegmentName::parse(&entry.name));
        let mut found: Vec<SegmentName> = names.collect();
        found.sort();
        Ok(found)
    }

    /// What can be restored, the oldest first.
    pub(crate) async fn spans(&self, context: &Context) -> Result<Vec<RestorableSpan>> {
        let mut spans = Vec::new();
        for generation in self.generations(context).await? {
            let segments = self.segments(&generation, context).await?;
            let times: Vec<i64> = whole(&segments).iter().filter_map(|one| one.micros).collect();
            if let (Some(from), Some(to)) = (times.first(), times.last()) {
                spans.push(RestorableSpan { from: *from, to: *to, states: times.len() });
            }
        }
        Ok(spans)
    }

    /// The generation and its segments up to the newest state that is not younger than a moment.
    pub(crate) async fn find(
        &self,
        at: Option<i64>,
        context: &Context,
    ) -> Result<(Generation, Vec<SegmentName>)> {
        let at = at.unwrap_or(i64::MAX);
        let mut generations = self.generations(context).await?;
        let oldest = generations.first().map(|one| one.micros);
        while let Some(generation) = generations.pop() {
            let mut segments = self.segments(&generation, context).await?;
            let is_early = |one: &SegmentName| one.micros.is_some_and(|micros| micros <= at);
            let Some(last) = segments.iter().rposition(is_early) else { continue };
            segments.truncate(last + 1);
            let whole = whole(&segments);
            if whole.len() == segments.len() {
                return Ok((generation, segments));
            }
            let missing = format!("segment {} of {} is missing", whole.len() + 1, generation.name);
            let before = whole.iter().rev().find_map(|one| one.micros);
            return Err(self.broken(&missing, &generation, before, context).await);
        }
        let message = match oldest {
            Some(oldest) => format!("nothing can be restored before {}", rfc3339(oldest)),
            None => "there is no continuous backup here".to_string(),
        };
        Err(Error::new(Kind::NotFound, message).on(Verb::Get, &self.root))
    }

    /// The error of a state that cannot be restored, with the newest older state.
    pub(crate) async fn broken(
        &self,
        problem: &str,
        generation: &Generation,
        before: Option<i64>,
        context: &Context,
    ) -> Error {
        let older = async {
            let spans = self.spans(context).await.unwrap_or_default();
            spans.iter().rev().map(|span| span.to).find(|to| *to < generation.micros)
        };
        let latest = match before {
            Some(before) => Some(before),
            None => older.await,
        };
        let step = match latest {
            Some(latest) => format!("restore --at {} or earlier", rfc3339(latest)),
            None => "nothing before it can be restored".to_string(),
        };
        Error::new(Kind::Failed, format!("{problem}; {step}")).on(Verb::Get, &self.root)
    }

    /// What is not needed for any state since a moment, in the order in which it is to be deleted:
    /// segments from the last one, so that those before it are a state, then their folders.
    pub(crate) async fn obsolete(&self, since: i64, context: &Context) -> Result<Vec<Reference>> {
        let (mut found, mut is_covered) = (Vec::new(), false);
        for generation in self.generations(context).await?.iter().rev() {
            if generation.micros > since {
                continue;
            }
            let segments = self.segments(generation, context).await?;
            if is_covered {
                let names = segments.iter().rev();
                found.extend(names.map(|segment| self.segment(generation, *segment)));
                found.push(self.folder(generation));
            }
            is_covered |= whole(&segments).iter().any(|one| one.micros.is_some());
        }
        Ok(found)
    }

    /// Deletes some of what is obsolete. Segments go at the same time, folders after them.
    pub(crate) async fn delete(&self, some: Vec<Reference>, context: &Context) -> Result<()> {
        let is_segment = |one: &Reference| one.name().and_then(SegmentName::parse).is_some();
        let (segments, folders): (Vec<Reference>, Vec<Reference>) =
            some.into_iter().partition(is_segment);
        let deleted = segments.iter().map(|one| self.store.delete(one, context));
        for outcome in futures_util::future::join_all(deleted).await {
            outcome?;
        }
        for folder in folders {
            // Only a store of files has one.
            let _ = self.store.delete(&folder, context).await;
        }
        Ok(())
    }
}

/// The segments before the first gap.
fn whole(segments: &[SegmentName]) -> &[SegmentName] {
    let follows = |at: &usize| segments[*at].sequence as usize == at + 1;
    &segments[..(0..segments.len()).take_while(follows).count()]
}

/// A time without colons, which some file systems do not take in names.
fn time_name(micros: i64) -> String {
    let mut text = Vec::with_capacity(TIME);
    CalendarTime::from_micros(micros).write_millis(&mut text);
    String::from_utf8_lossy(&text).replace(':', "-")
}

fn parse_time(name: &str) -> Option<i64> {
    let (date, time) = name.split_at_checked(11)?;
    parse_rfc3339(&format!("{date}{}", time.replacen('-', ":", 2)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let micros = parse_rfc3339("2026-11-23T10:00:00.25Z").unwrap();
        let generation = Generation::new(micros, "9f3a2c1d");
        assert_eq!(generation.name, "2026-11-23T10-00-00.250Z-9f3a2c1d");
        assert_eq!(Generation::parse(&generation.name), Some(generation));
        let part = SegmentName { sequence: 7, micros: None };
        let state = SegmentName { sequence: 8, micros: Some(micros) };
        assert_eq!(part.text(), "00000007.part");
        assert_eq!(state.text(), "00000008-2026-11-23T10-00-00.250Z.state");
        for one in [part, state] {
            assert_eq!(SegmentName::parse(&one.text()), Some(one));
        }
        for other in ["", "x", "0000000é.part", "+0000001.part", "00000001.parts", "ü2345678901"]
        {
            assert_eq!(SegmentName::parse(other), None, "{other}");
            assert_eq!(Generation::parse(other), None, "{other}");
        }
        assert_eq!(Generation::parse("2026-11-23T10-00-00.250Z-"), None);
    }

    #[test]
    fn a_gap_ends_what_can_be_restored() {
        let segment = |sequence| SegmentName { sequence, micros: None };
        let found: Vec<SegmentName> = [1, 2, 4].map(segment).into();
        assert_eq!(whole(&found), &found[..2]);
        assert!(whole(&found[1..]).is_empty());
        assert_eq!(whole(&found[..2]).len(), 2);
    }
}
