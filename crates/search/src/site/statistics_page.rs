//! The page of statistics: figures, two pictures, and lists of queries.

use super::assets::{ICON, STYLE};
use super::frequent::{Counted, Frequent};
use super::markup;
use super::moment::{DAY, HOUR, Moment};
use super::pictures::{Axis, Series, bars, curves};
use super::statistics::{Span, Statistics};
use std::collections::VecDeque;
use std::fmt::Write;

/// Hours that pictures show.
const SHOWN_HOURS: u64 = 48;
/// Days that pictures show.
const SHOWN_DAYS: u64 = 60;
/// Rows of a list.
const SHOWN_QUERIES: usize = 50;

/// The page. `base` leads to the files it needs.
pub(crate) fn page(title: &str, base: &str, now: u64, statistics: &Statistics) -> String {
    let mut out = String::with_capacity(16_384);
    let (title, base) = (markup::escaped(title), markup::escaped(base));
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>Statistics \u{2013} {title}</title>\
         <link rel=\"icon\" type=\"image/svg+xml\" href=\"{base}{}\">\
         <link rel=\"stylesheet\" href=\"{base}{}\"></head>\
         <body class=\"wide\"><header><h1>Statistics of {title}</h1></header><main>",
        ICON.address(),
        STYLE.address(),
    );
    figures(statistics, &mut out);
    let hours = Times { unit: HOUR, count: SHOWN_HOURS, now, spans: &statistics.hours };
    let days = Times { unit: DAY, count: SHOWN_DAYS, now, spans: &statistics.days };
    hours.searches("Searches of each hour", &mut out);
    hours.durations("How long they took, hour by hour", &mut out);
    days.searches("Searches of each day", &mut out);
    list("Most frequent queries", "Query", &statistics.queries, &mut out);
    list("Queries without results", "Query", &statistics.without, &mut out);
    list("Most chosen interpretations", "Categories", &statistics.chosen, &mut out);
    let _ = write!(
        out,
        "<p><a href=\"{base}statistics.json\">All of it as JSON</a></p></main></body></html>"
    );
    out
}

fn figures(statistics: &Statistics, out: &mut String) {
    let all = &statistics.all;
    let since = Moment::of(all.start);
    let percentile = |part| all.durations.percentile(part).map_or("\u{2013}".into(), duration);
    let share = match all.full {
        0 => "\u{2013}".to_owned(),
        full => format!("{:.1} %", all.without as f64 * 100.0 / full as f64),
    };
    out.push_str("<dl class=\"figures\">");
    for (name, figure) in [
        ("Searches", all.full.to_string()),
        ("Counts while typing", all.live.to_string()),
        ("Without results", share),
        ("Half are faster than", percentile(0.5)),
        ("99 of 100 are faster than", percentile(0.99)),
        ("Since (UTC)", since.date()),
    ] {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{figure}</dd></div>");
    }
    out.push_str("</dl>");
    if statistics.missing > 0 {
        let _ = write!(
            out,
            "<p>{} searches came faster than they could be counted, and are missing here.</p>",
            statistics.missing
        );
    }
}

fn duration(microseconds: u64) -> String {
    match microseconds {
        0..1_000 => format!("{microseconds} \u{b5}s"),
        1_000..1_000_000 => format!("{:.1} ms", microseconds as f64 / 1e3),
        _ => format!("{:.1} s", microseconds as f64 / 1e6),
    }
}

/// The last times of one length, those without searches too.
struct Times<'a> {
    unit: u64,
    count: u64,
    now: u64,
    spans: &'a VecDeque<Span>,
}

impl Times<'_> {
    fn starts(&self) -> impl Iterator<Item = u64> {
        let last = self.now / self.unit;
        let unit = self.unit;
        (last.saturating_sub(self.count - 1)..=last).map(move |number| number * unit)
    }

    fn span(&self, start: u64) -> Option<&Span> {
        self.spans.iter().rev().find(|span| span.start == start)
    }

    fn name(&self, start: u64) -> String {
        let moment = Moment::of(start);
        match self.unit {
            HOUR => format!("{} {:02}:00", moment.date(), moment.hour),
            _ => moment.date(),
        }
    }

    fn numbers(&self, read: impl Fn(&Span) -> Option<f64>) -> Vec<Option<f64>> {
        self.starts().map(|start| self.span(start).and_then(&read)).collect()
    }

    fn heading(&self, title: &str, out: &mut String) -> (String, String) {
        let _ = write!(out, "<h2>{title} (UTC)</h2>");
        let first = self.starts().next().unwrap_or_default();
        (self.name(first), self.name(self.now / self.unit * self.unit))
    }

    fn searches(&self, title: &str, out: &mut String) {
        let (first, last) = self.heading(title, out);
        let axis = Axis { title, first: &first, last: &last, unit: "" };
        let numbers = self.numbers(|span| Some(span.full as f64));
        bars(&axis, &Series { name: title, numbers }, out);
        self.table(title, out);
    }

    fn durations(&self, title: &str, out: &mut String) {
        let (first, last) = self.heading(title, out);
        let axis = Axis { title, first: &first, last: &last, unit: " ms" };
        let percentile =
            |part| self.numbers(move |span| Some(span.durations.percentile(part)? as f64 / 1e3));
        let half = Series { name: "50 of 100", numbers: percentile(0.5) };
        let most = Series { name: "99 of 100", numbers: percentile(0.99) };
        curves(&axis, &[half, most], out);
    }

    /// The same as numbers.
    fn table(&self, title: &str, out: &mut String) {
        let _ = write!(
            out,
            "<details><summary>{title} as a table</summary><table><thead><tr><th scope=\"col\">From\
             </th><th scope=\"col\" class=\"number\">Searches</th><th scope=\"col\" class=\"number\">\
             Without results</th><th scope=\"col\" class=\"number\">50 of 100</th>\
             <th scope=\"col\" class=\"number\">99 of 100</th></tr></thead><tbody>"
        );
        for span in self.starts().filter_map(|start| self.span(start)) {
            let percentile = |part| span.durations.percentile(part).map_or(String::new(), duration);
            let _ = write!(
                out,
                "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"number\">{}</td>\
                 <td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
                self.name(span.start),
                span.full,
                span.without,
                percentile(0.5),
                percentile(0.99),
            );
        }
        out.push_str("</tbody></table></details>");
    }
}

fn list(title: &str, column: &str, frequent: &Frequent, out: &mut String) {
    let _ = write!(out, "<h2>{title}</h2>");
    let top = frequent.top(SHOWN_QUERIES);
    if top.is_empty() {
        out.push_str("<p>None yet.</p>");
        return;
    }
    let _ = write!(
        out,
        "<table><thead><tr><th scope=\"col\">{column}</th>\
         <th scope=\"col\" class=\"number\">How often</th></tr></thead><tbody>"
    );
    for Counted { text, count, error } in top {
        out.push_str("<tr><th scope=\"row\">");
        markup::write(text, out);
        // What took the place of another may have its count.
        let about = if *error > 0 { "at most " } else { "" };
        let _ = write!(out, "</th><td class=\"number\">{about}{count}</td></tr>");
    }
    out.push_str("</tbody></table>");
}
