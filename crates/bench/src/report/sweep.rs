//! Rising rates: up to which one does the server keep up, and what happens beyond?
//!
//! The server keeps up with a rate when it answers at least 99 % of the offered requests in time,
//! and nothing fails. Latency alone can look good while connections are not accepted, so the
//! connection rate is shown beside it.

use crate::load::plan::{HIGHEST_RATE, Pace};
use crate::load::run::{Control, MeasureError, Measurement, run};
use crate::report::chart::{Axis, Chart, Panel, Scale, Series};
use crate::report::figures::{Figures, rounded};
use crate::report::text::{grouped, time};
use serde_json::{Value, json};
use std::fmt;

/// The most rates of one sweep.
pub const MOST_RATES: usize = 200;
/// Rates of a sweep without steps.
const USUAL_RATES: i32 = 12;
/// The part of the offered rate that must be answered.
const KEPT_UP: f64 = 0.99;

/// Rising rates, in requests a second.
#[derive(Debug, Clone, PartialEq)]
pub struct Rates(Vec<f64>);

impl Rates {
    /// Parses `1000..80000` (twelve rates at equal ratios), `1000..80000x2` (each twice the
    /// previous one) or `1000..80000+500` (each 500 more). The last rate is always the second
    /// number.
    ///
    /// # Errors
    /// A sentence with the valid forms.
    pub fn parse(text: &str) -> Result<Rates, String> {
        let wrong = || {
            format!(
                "{text:.50} is no range of rates; write 1000..80000, 1000..80000x2 or \
                 1000..80000+500"
            )
        };
        let (from, rest) = text.split_once("..").ok_or_else(wrong)?;
        let cut = rest.find(['x', '+']).unwrap_or(rest.len());
        let (to, step) = rest.split_at(cut);
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
        let from = number(from).ok_or_else(wrong)?;
        let to = number(to).ok_or_else(wrong)?;
        if !(from > 0.0 && from < to && to <= HIGHEST_RATE) {
            return Err(wrong());
        }
        let (factor, distance) = match (step.get(..1), step.get(1..).and_then(number)) {
            (None, _) => ((to / from).powf(1.0 / f64::from(USUAL_RATES - 1)), 0.0),
            (Some("x"), Some(factor)) if factor > 1.0 => (factor, 0.0),
            (Some("+"), Some(distance)) if distance > 0.0 => (1.0, distance),
            _ => return Err(wrong()),
        };
        let mut rates = Vec::new();
        let mut rate = from;
        // A rate close to the end is the end: no rate appears twice.
        while rate < to * 0.999 {
            if rates.len() + 1 >= MOST_RATES {
                return Err(format!(
                    "{text:.50} has more than {MOST_RATES} rates: take larger steps"
                ));
            }
            rates.push(if rate >= 100.0 { rate.round() } else { rate });
            rate = rate * factor + distance;
        }
        rates.push(to);
        Ok(Rates(rates))
    }

    /// The rates, rising.
    pub fn all(&self) -> &[f64] {
        &self.0
    }
}

/// The result of a sweep: the figures of each rate, in order.
#[derive(Debug, Clone)]
pub struct Swept {
    figures: Vec<Figures>,
    /// Why it ended before the last rate.
    ended: Option<String>,
}

/// Measures at one rate after another; overrides the pace of the measurement.
///
/// # Errors
/// [`MeasureError`] at the first rate. At a later one, the sweep ends there and says why.
pub fn sweep(job: &Measurement, rates: &Rates, control: &Control) -> Result<Swept, MeasureError> {
    let mut swept = Swept { figures: Vec::new(), ended: None };
    let count = rates.all().len();
    for (index, rate) in rates.all().iter().enumerate() {
        let mut job = job.clone();
        job.load.pace = Pace::Rate(*rate);
        let label = format!("{}/s ({} of {count}): ", grouped(*rate), index + 1);
        match run(&job, &label, control) {
            Ok(figures) => swept.figures.push(figures),
            Err(trouble) if index == 0 => return Err(trouble),
            Err(trouble) => {
                swept.ended = Some(format!("ended at {}/s: {trouble}", grouped(*rate)));
                break;
            }
        }
        if control.stopped() {
            swept.ended = Some("interrupted: this is what was measured so far".to_owned());
            break;
        }
    }
    Ok(swept)
}

impl Swept {
    /// The figures of each rate.
    pub fn figures(&self) -> &[Figures] {
        &self.figures
    }

    /// The highest sustained rate; `None` without one.
    pub fn max_rate(&self) -> Option<f64> {
        let kept = self.figures.iter().filter(|one| !one.was_interrupted() && keeps_up(one));
        kept.filter_map(Figures::offered_rate).max_by(f64::total_cmp)
    }

    /// Whether the sweep completed, and the server sustained a rate.
    pub fn is_good(&self) -> bool {
        self.ended.is_none() && self.max_rate().is_some()
    }

    /// The result as a JSON object.
    pub fn json(&self) -> Value {
        json!({
            "max_rate": self.max_rate().map(rounded),
            "ended": self.ended,
            "rates": self.figures.iter().map(Figures::json).collect::<Vec<_>>(),
        })
    }

    /// A chart: latency, and below it the rates of connections and responses, over the offered
    /// rate.
    pub fn svg(&self) -> String {
        let title = match self.figures.first() {
            Some(first) => format!("{} at rising rates", first.url),
            None => "nothing was measured".to_owned(),
        };
        let over = |name: &'static str, of: &dyn Fn(&Figures) -> f64| Series {
            name: name.to_owned(),
            points: self
                .figures
                .iter()
                .filter_map(|one| Some((one.offered_rate()?, of(one))))
                .filter(|(_, y)| *y > 0.0)
                .collect(),
            steps: false,
        };
        let quantile =
            |percent: f64| move |one: &Figures| one.percentile(percent).as_secs_f64() * 1e3;
        let rates = Axis::new("offered requests/s", Scale::Log);
        let times = Panel {
            x: rates.clone(),
            y: Axis::new("response time, ms", Scale::Log),
            series: vec![
                over("p50", &quantile(50.0)),
                over("p90", &quantile(90.0)),
                over("p99", &quantile(99.0)),
            ],
            mark: self.max_rate().map(|rate| (rate, format!("max rate {}/s", grouped(rate)))),
        };
        let taken = Panel {
            x: rates,
            y: Axis::new("a second", Scale::Log),
            series: vec![
                over("connections made", &Figures::connection_rate),
                over("good replies", &Figures::rate),
                over("failed", &|one| one.failed() as f64 / one.elapsed.as_secs_f64().max(1e-9)),
            ],
            mark: None,
        };
        Chart { title, panels: vec![times, taken] }.svg()
    }
}

/// Whether the offered load was answered in time; the last request may still be active.
fn keeps_up(one: &Figures) -> bool {
    let offered = one.offered_rate().unwrap_or_default() * one.elapsed.as_secs_f64();
    one.failed() == 0 && one.replies() as f64 + 1.0 >= offered * KEPT_UP
}

/// A line of the table; the last cell may be empty.
fn row(out: &mut fmt::Formatter<'_>, cells: [String; 7], last: &str) -> fmt::Result {
    let [offered, accepted, replies, times @ ..] = cells;
    write!(out, "{offered:>11} {accepted:>11} {replies:>11}")?;
    for cell in times {
        write!(out, " {cell:>9}")?;
    }
    if !last.is_empty() {
        write!(out, " {last:>12}")?;
    }
    writeln!(out)
}

impl fmt::Display for Swept {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(first) = self.figures.first() {
            writeln!(out, "{}\n", first.url)?;
        }
        let titles = ["offered/s", "accepted/s", "replies/s", "p50", "p90", "p99", "failed"];
        let processor = self.figures.iter().any(|one| one.server_time().is_some());
        row(out, titles.map(str::to_owned), if processor { "server CPU" } else { "" })?;
        for one in &self.figures {
            let cells = [
                grouped(one.offered_rate().unwrap_or_default()),
                grouped(one.connection_rate()),
                grouped(one.rate()),
                time(one.percentile(50.0)),
                time(one.percentile(90.0)),
                time(one.percentile(99.0)),
                grouped(one.failed() as f64),
            ];
            let processor = one.server_time().map(|time| format!("{time:.1} us"));
            row(out, cells, &processor.unwrap_or_default())?;
            for (kind, count) in one.failed_by_kind() {
                writeln!(out, "{:>75} {}", grouped(count as f64), kind.name())?;
            }
        }
        match self.max_rate() {
            Some(rate) => writeln!(out, "\nmax rate     {}/s", grouped(rate))?,
            None => writeln!(out, "\nmax rate     below the first one")?,
        }
        self.ended.as_ref().map_or(Ok(()), |why| writeln!(out, "{why}"))
    }
}

#[allow(clippy::unwrap_used)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::counts::LoadCounts;
    use crate::load::plan::Load;
    use std::time::Duration;

    #[test]
    fn rates_rise_by_steps_or_factors_to_the_last_one() {
        let of = |text: &str| Rates::parse(text).unwrap().0;
        assert_eq!(of("100..400x2"), [100.0, 200.0, 400.0]);
        assert_eq!(of("100..450x2"), [100.0, 200.0, 400.0, 450.0]);
        assert_eq!(of("100..300+100"), [100.0, 200.0, 300.0]);
        assert_eq!(of("1..2+0.5"), [1.0, 1.5, 2.0]);
        let usual = of("1000..80000");
        assert_eq!((usual.len(), usual[0], usual[11]), (12, 1000.0, 80000.0));
    }

    fn figures(rate: f64, replies: u64, failed: u64) -> Figures {
        let mut counts = LoadCounts::new();
        counts.replies = replies;
        counts.offered = replies + failed;
        counts.connected = replies;
        counts.failures[0] = failed;
        for number in 1..=replies {
            counts.latency.record(number * 1000).unwrap();
        }
        Figures {
            url: "http://h/".to_owned(),
            load: Load { pace: Pace::Rate(rate), ..Load::default() },
            elapsed: Duration::from_secs(2),
            counts,
            generator: Duration::ZERO,
            server: Some(Duration::from_millis(10)),
            interrupted: false,
            gave_up: false,
        }
    }

    #[test]
    fn the_max_rate_is_the_highest_that_is_answered_without_failures() {
        let of = |figures: Vec<Figures>| Swept { figures, ended: None }.max_rate();
        let kept = || figures(1000.0, 1980, 0);
        assert_eq!(of(vec![kept()]), Some(1000.0));
        assert_eq!(of(vec![kept(), figures(2000.0, 3958, 0)]), Some(1000.0), "too few replies");
        assert_eq!(of(vec![kept(), figures(2000.0, 3999, 1)]), Some(1000.0), "a failure");
        assert_eq!(of(vec![kept(), figures(2000.0, 3960, 0)]), Some(2000.0));
        assert_eq!(of(vec![figures(1000.0, 0, 2000)]), None);
        // At the end one request is always active.
        assert_eq!(of(vec![figures(5.0, 9, 0)]), Some(5.0));
    }

    #[test]
    fn a_sweep_is_a_table_and_a_picture() {
        let all = vec![figures(1000.0, 2000, 0), figures(2000.0, 3000, 1000)];
        let swept = Swept { figures: all, ended: None };
        let table = swept.to_string();
        for part in [
            "      1,000       1,000       1,000   1.00 ms   1.80 ms   1.98 ms         0       5.0 us\n",
            "      2,000       1,500       1,500   1.50 ms   2.70 ms   2.97 ms     1,000       3.3 us\n",
            " 1,000 connection refused\n",
            "max rate     1,000/s\n",
        ] {
            assert!(table.contains(part), "{part} in\n{table}");
        }
        let picture = swept.svg();
        for part in ["http://h/ at rising rates", "p99", "connections made", "max rate 1,000/s"] {
            assert!(picture.contains(part), "{part}");
        }
    }

    #[test]
    fn what_is_no_range_is_explained() {
        for text in
            ["100", "5..1", "0..10", "1..10x1", "1..10+0", "1..1e99", "a..b", "1..9x", "nan..2"]
        {
            assert!(Rates::parse(text).unwrap_err().contains("1000..80000"), "{text}");
        }
        assert!(Rates::parse("1..1000+1").unwrap_err().contains("larger steps"));
    }
}
