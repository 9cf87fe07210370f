//! Statistics as JSON: for programs that read them, and to keep them across restarts.
//!
//! An object with `format` (1), `since`, `full`, `live`, `withoutResults`, `missing` and `durations`;
//! `hours` and `days`, each a list of `[start, full, live, withoutResults, durations]`; and
//! `queries`, `queriesWithoutResults` and `chosen`, each a list of `[text, count, error]`. Times are
//! seconds since 1970. Durations are lists of `[bucket, count]`, where a bucket is a quarter of a
//! doubling of microseconds.

use crate::site::statistics::durations::Durations;
use crate::site::statistics::frequent::{Counted, Frequent};
use crate::site::statistics::{DAYS, HOURS, QUERY_CHARS, Span, Statistics};
use runnel_store::Value;
use std::collections::VecDeque;

/// The version of the form.
const FORMAT: i64 = 1;

/// All that is counted, as a value.
pub(crate) fn value(statistics: &Statistics) -> Value {
    let spans = |spans: &VecDeque<Span>| Value::List(spans.iter().map(span_value).collect());
    let all = &statistics.all;
    Value::record([
        ("format", Value::Int(FORMAT)),
        ("since", all.start.into()),
        ("full", all.full.into()),
        ("live", all.live.into()),
        ("withoutResults", all.without.into()),
        ("missing", statistics.missing.into()),
        ("durations", durations_value(&all.durations)),
        ("hours", spans(&statistics.hours)),
        ("days", spans(&statistics.days)),
        ("queries", frequent_value(&statistics.queries)),
        ("queriesWithoutResults", frequent_value(&statistics.without)),
        ("chosen", frequent_value(&statistics.chosen)),
    ])
}

fn span_value(span: &Span) -> Value {
    Value::List(vec![
        span.start.into(),
        span.full.into(),
        span.live.into(),
        span.without.into(),
        durations_value(&span.durations),
    ])
}

fn durations_value(durations: &Durations) -> Value {
    let pair = |(bucket, count): (usize, u32)| {
        Value::List(vec![Value::Int(bucket as i64), Value::Int(count.into())])
    };
    Value::List(durations.filled().map(pair).collect())
}

fn frequent_value(frequent: &Frequent) -> Value {
    let row = |counted: &Counted| {
        Value::List(vec![counted.text.as_str().into(), counted.count.into(), counted.error.into()])
    };
    Value::List(frequent.top(usize::MAX).iter().map(row).collect())
}

/// The statistics that a value says; nothing where it is of another form.
pub(crate) fn statistics(value: &Value) -> Option<Statistics> {
    if value.get("format")?.as_i64()? != FORMAT {
        return None;
    }
    let mut statistics = Statistics::new(number(value.get("since")?)?);
    statistics.all.full = number(value.get("full")?)?;
    statistics.all.live = number(value.get("live")?)?;
    statistics.all.without = number(value.get("withoutResults")?)?;
    statistics.missing = number(value.get("missing")?)?;
    statistics.all.durations = durations(value.get("durations")?)?;
    statistics.hours = spans(value.get("hours")?, HOURS)?;
    statistics.days = spans(value.get("days")?, DAYS)?;
    restore(value.get("queries")?, &mut statistics.queries)?;
    restore(value.get("queriesWithoutResults")?, &mut statistics.without)?;
    restore(value.get("chosen")?, &mut statistics.chosen)?;
    Some(statistics)
}

fn number(value: &Value) -> Option<u64> {
    u64::try_from(value.as_i64()?).ok()
}

fn spans(value: &Value, most: usize) -> Option<VecDeque<Span>> {
    let list = value.as_list()?;
    let newest = &list[list.len().saturating_sub(most)..];
    let mut spans: VecDeque<Span> = newest.iter().map(span).collect::<Option<_>>()?;
    spans.make_contiguous().sort_by_key(|span| span.start);
    Some(spans)
}

fn span(value: &Value) -> Option<Span> {
    let [start, full, live, without, kept] = value.as_list()? else { return None };
    Some(Span {
        start: number(start)?,
        full: number(full)?,
        live: number(live)?,
        without: number(without)?,
        durations: durations(kept)?,
    })
}

fn durations(value: &Value) -> Option<Durations> {
    let mut durations = Durations::default();
    for pair in value.as_list()? {
        let [bucket, count] = pair.as_list()? else { return None };
        let bucket = usize::try_from(bucket.as_i64()?).ok()?;
        durations.restore(bucket, u32::try_from(count.as_i64()?).ok()?);
    }
    Some(durations)
}

fn restore(value: &Value, frequent: &mut Frequent) -> Option<()> {
    for row in value.as_list()? {
        let [text, count, error] = row.as_list()? else { return None };
        let text: String = text.as_str()?.chars().take(QUERY_CHARS).collect();
        frequent.restore(Counted { text, count: number(count)?, error: number(error)? });
    }
    Some(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::site::query_log::event::{SearchEvent, SearchKind};
    use runnel_store::json;
    use std::time::Duration;

    #[test]
    fn what_is_kept_comes_back() {
        let mut statistics = Statistics::new(77);
        for number in 0..5_000_u64 {
            statistics.add(&SearchEvent {
                seconds: number * 1_000,
                kind: if number % 3 == 0 { SearchKind::Live } else { SearchKind::Full },
                query: format!("query {}", number % 1_700),
                duration: Duration::from_micros(number),
                total: (number % 2) as usize,
                offset: 0,
                interpretations: 1,
                chosen: (number % 5 == 0).then(|| "title, author".to_owned()),
            });
        }
        let text = json::text(&value(&statistics));
        let back = super::statistics(&json::parse(&text).unwrap()).unwrap();
        assert_eq!(String::from_utf8(json::text(&value(&back))), String::from_utf8(text));
    }

    #[test]
    fn what_is_damaged_is_not_taken() {
        let good = value(&Statistics::new(1));
        assert!(super::statistics(&good).is_some());
        for (name, wrong) in [
            ("format", Value::Int(2)),
            ("full", Value::Int(-1)),
            ("hours", Value::List(vec![Value::Nil])),
            ("queries", Value::Nil),
            ("durations", Value::List(vec![Value::List(vec![Value::Int(1)])])),
        ] {
            let mut damaged = good.clone();
            damaged.set(name, wrong);
            assert!(super::statistics(&damaged).is_none(), "{name}");
        }
        assert!(super::statistics(&Value::Nil).is_none());
    }
}
