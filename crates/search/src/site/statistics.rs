//! What people search for: counts by hour and day, durations, frequent queries, those that find
//! nothing, and which interpretations people choose. All of it in bounded memory.

pub(crate) mod durations;
pub(crate) mod frequent;
pub(crate) mod saved;

use crate::site::query_log::event::{SearchEvent, SearchKind};
use crate::site::statistics::durations::Durations;
use crate::site::statistics::frequent::Frequent;
use std::collections::VecDeque;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds of an hour.
const HOUR: u64 = 3_600;
/// Seconds of a day.
const DAY: u64 = 86_400;
/// Hours with counts of their own: a week.
pub(crate) const HOURS: usize = 168;
/// Days with counts of their own: a year.
pub(crate) const DAYS: usize = 366;
/// Most queries with a count, and as many without results.
pub(crate) const QUERIES: usize = 1_000;
/// Most interpretations with a count.
pub(crate) const CHOICES: usize = 200;
/// Characters of a query by which it is counted.
pub(crate) const QUERY_CHARS: usize = 200;

/// Seconds since 1970; 0 for a clock that is set to before that.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

/// The searches of some time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Span {
    /// When it begins, in seconds since 1970.
    pub(crate) start: u64,
    pub(crate) full: u64,
    pub(crate) live: u64,
    /// The full ones that found nothing.
    pub(crate) without: u64,
    /// How long the full ones took.
    pub(crate) durations: Durations,
}

impl Span {
    fn add(&mut self, event: &SearchEvent) {
        if event.kind == SearchKind::Live {
            self.live += 1;
            return;
        }
        self.full += 1;
        self.without += u64::from(event.total == 0);
        self.durations.add(event.duration);
    }
}

/// What is counted.
#[derive(Clone, Debug)]
pub(crate) struct Statistics {
    /// Everything since the beginning.
    pub(crate) all: Span,
    /// From the oldest on; hours without a search are not there.
    pub(crate) hours: VecDeque<Span>,
    /// From the oldest on; days without a search are not there.
    pub(crate) days: VecDeque<Span>,
    pub(crate) queries: Frequent,
    pub(crate) without: Frequent,
    pub(crate) chosen: Frequent,
    /// Searches that are not counted, since they came faster than they could be.
    pub(crate) missing: u64,
}

impl Statistics {
    /// Nothing yet.
    pub(crate) fn new(now: u64) -> Statistics {
        Statistics {
            all: Span { start: now, ..Span::default() },
            hours: VecDeque::new(),
            days: VecDeque::new(),
            queries: Frequent::new(QUERIES),
            without: Frequent::new(QUERIES),
            chosen: Frequent::new(CHOICES),
            missing: 0,
        }
    }

    /// Counts a search. Further pages of a query are the same search as its first one: they are not
    /// counted.
    pub(crate) fn add(&mut self, event: &SearchEvent) {
        if event.offset > 0 {
            return;
        }
        self.all.add(event);
        span(&mut self.hours, event.seconds / HOUR * HOUR, HOURS).add(event);
        span(&mut self.days, event.seconds / DAY * DAY, DAYS).add(event);
        if event.kind == SearchKind::Live {
            return;
        }
        let query = normalized(&event.query);
        if !query.is_empty() {
            self.queries.add(&query);
            if event.total == 0 {
                self.without.add(&query);
            }
        }
        if let Some(chosen) = &event.chosen {
            self.chosen.add(chosen);
        }
    }
}

/// The span that begins then, or the newest one where a clock was set back.
fn span(spans: &mut VecDeque<Span>, start: u64, most: usize) -> &mut Span {
    if spans.back().is_none_or(|newest| newest.start < start) {
        if spans.len() >= most {
            spans.pop_front();
        }
        spans.push_back(Span { start, ..Span::default() });
    }
    let place = spans.iter().rposition(|span| span.start == start);
    let place = place.unwrap_or(spans.len() - 1);
    &mut spans[place]
}

/// A query as it is counted: in small letters, without white space that says nothing.
fn normalized(query: &str) -> String {
    let mut normalized = String::new();
    for (number, word) in query.split_whitespace().enumerate() {
        if number > 0 {
            normalized.push(' ');
        }
        normalized.extend(word.chars().flat_map(char::to_lowercase));
    }
    if let Some((end, _)) = normalized.char_indices().nth(QUERY_CHARS) {
        normalized.truncate(end);
    }
    normalized
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seconds: u64, query: &str, total: usize) -> SearchEvent {
        SearchEvent {
            seconds,
            kind: SearchKind::Full,
            query: query.to_owned(),
            duration: Duration::from_micros(50),
            total,
            offset: 0,
            interpretations: 1,
            chosen: None,
        }
    }

    #[test]
    fn searches_are_counted_by_hour_and_day() {
        let mut statistics = Statistics::new(0);
        for seconds in [0, 10, 3_599, 3_600, 86_400, 5] {
            statistics.add(&event(seconds, "a", 1));
        }
        statistics.add(&SearchEvent { kind: SearchKind::Live, ..event(90_000, "b", 1) });
        statistics.add(&SearchEvent { offset: 20, ..event(90_000, "b", 1) });
        let hours: Vec<_> = statistics.hours.iter().map(|hour| (hour.start, hour.full)).collect();
        assert_eq!(hours, [(0, 4), (3_600, 1), (86_400, 1), (90_000, 0)]);
        let days: Vec<_> = statistics.days.iter().map(|day| (day.full, day.live)).collect();
        assert_eq!(days, [(5, 0), (1, 1)]);
        assert_eq!(statistics.all.full, 6);
    }

    #[test]
    fn old_hours_go() {
        let mut statistics = Statistics::new(0);
        for hour in 0..HOURS as u64 + 10 {
            statistics.add(&event(hour * HOUR, "a", 1));
        }
        assert_eq!(statistics.hours.len(), HOURS);
        assert_eq!(statistics.hours[0].start, 10 * HOUR);
        // A clock far in the past adds to the newest hour.
        statistics.add(&event(0, "a", 1));
        assert_eq!(statistics.hours.len(), HOURS);
        assert_eq!(statistics.hours[HOURS - 1].full, 2);
    }

    #[test]
    fn queries_are_counted_as_people_mean_them() {
        let mut statistics = Statistics::new(0);
        for (query, total) in [("Alan  P", 3), (" alan p ", 3), ("zzz", 0), ("", 0)] {
            statistics.add(&event(0, query, total));
        }
        statistics.add(&event(0, &"x".repeat(1_000), 1));
        let queries = statistics.queries.top(10);
        assert_eq!((queries[0].text.as_str(), queries[0].count), ("alan p", 2));
        assert_eq!(queries[2].text.len(), QUERY_CHARS);
        let without = statistics.without.top(10);
        assert_eq!((without.len(), without[0].text.as_str()), (1, "zzz"));
    }
}
