//! Metrics of the program itself: counters, gauges and histograms that its workers share.

use crate::metrics::registry::locked;
use crate::metrics::text_format::{MetricsText, escape_label};
use runnel_store::{Error, Kind, Result};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Series of all metrics of the program; values of further ones are counted as lost.
const MOST_SERIES: usize = 1_000;
/// Labels of a series.
const MOST_LABELS: usize = 8;
/// Bytes of a name; and of the value of a label, whose rest is cut.
const LONGEST_NAME: usize = 100;
const LONGEST_LABEL: usize = 128;

/// Bucket bounds of histograms.
const BOUNDS: [f64; 20] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0,
    100.0, 250.0, 500.0, 1_000.0, 10_000.0,
];

#[derive(Clone, Debug)]
enum Series {
    Number(f64),
    Histogram { counts: [u64; BOUNDS.len() + 1], sum: f64 },
}

#[derive(Debug)]
struct MetricFamily {
    kind: &'static str,
    /// By the text of their labels.
    series: BTreeMap<String, Series>,
}

#[derive(Debug, Default)]
struct ProgramMetrics {
    families: BTreeMap<String, MetricFamily>,
    series: usize,
    lost: u64,
}

static METRICS: Mutex<Option<ProgramMetrics>> = Mutex::new(None);

/// Records a value: `counter` adds it, `gauge` sets it, `histogram` observes it. A counter gets the
/// suffix `_total`.
///
/// # Errors
/// [`Kind::Invalid`]: a name, a label or a number that Prometheus does not take. [`Kind::Conflict`]:
/// the name is that of a metric of another kind.
pub fn record_metric(
    kind: &str,
    name: &str,
    labels: &[(String, String)],
    value: f64,
) -> Result<()> {
    let kind = match kind {
        "counter" => "counter",
        "gauge" => "gauge",
        _ => "histogram",
    };
    let name = full_name(kind, name)?;
    let labels = label_text(labels)?;
    if !value.is_finite() || kind == "counter" && value < 0.0 {
        let what = if kind == "counter" { "a number from 0" } else { "a finite number" };
        return Err(Error::new(
            Kind::Invalid,
            format!("the metric {name} needs {what}, not {value}"),
        ));
    }
    let mut metrics = locked(&METRICS);
    metrics.get_or_insert_default().record(kind, name, labels, value)
}

impl ProgramMetrics {
    fn record(
        &mut self,
        kind: &'static str,
        name: String,
        labels: String,
        value: f64,
    ) -> Result<()> {
        if let Some(other) = self.families.get(&name).filter(|known| known.kind != kind) {
            let message = format!("the metric {name} is a {} already", other.kind);
            return Err(Error::new(Kind::Conflict, message));
        }
        let known =
            self.families.get(&name).is_some_and(|family| family.series.contains_key(&labels));
        if !known && self.series >= MOST_SERIES {
            self.lost += 1;
            return Ok(());
        }
        let empty = || MetricFamily { kind, series: BTreeMap::new() };
        let family = self.families.entry(name).or_insert_with(empty);
        let series = family.series.entry(labels).or_insert_with(|| match kind {
            "histogram" => Series::Histogram { counts: [0; BOUNDS.len() + 1], sum: 0.0 },
            _ => Series::Number(0.0),
        });
        self.series += usize::from(!known);
        match series {
            Series::Number(number) if kind == "counter" => *number += value,
            Series::Number(number) => *number = value,
            Series::Histogram { counts, sum } => {
                let place = BOUNDS.iter().position(|bound| value <= *bound).unwrap_or(BOUNDS.len());
                counts[place] += 1;
                *sum += value;
            }
        }
        Ok(())
    }

    fn write(&self, page: &mut MetricsText) {
        for (name, family) in &self.families {
            page.family(name, family.kind, "Of the program.");
            for (labels, series) in &family.series {
                match series {
                    Series::Number(number) => page.sample(name, labels, *number),
                    Series::Histogram { counts, sum } => {
                        histogram(page, name, labels, counts, *sum)
                    }
                }
            }
        }
        let help = "Values of more series than a program may have.";
        page.counter("runnel_program_metrics_lost_total", help, self.lost);
    }
}

fn histogram(page: &mut MetricsText, name: &str, labels: &str, counts: &[u64], sum: f64) {
    let comma = if labels.is_empty() { "" } else { "," };
    let bucket = format!("{name}_bucket");
    let mut below = 0;
    for (count, bound) in counts.iter().zip(BOUNDS) {
        below += count;
        page.sample(&bucket, &format!("{labels}{comma}le=\"{bound}\""), below as f64);
    }
    let count = counts.iter().sum::<u64>() as f64;
    page.sample(&bucket, &format!("{labels}{comma}le=\"+Inf\""), count);
    page.sample(&format!("{name}_sum"), labels, sum);
    page.sample(&format!("{name}_count"), labels, count);
}

/// Appends the metrics of the program to a page.
pub(crate) fn write(page: &mut MetricsText) {
    if let Some(metrics) = &*locked(&METRICS) {
        metrics.write(page);
    }
}

fn is_name(name: &str) -> bool {
    let first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.len() <= LONGEST_NAME
        && name.bytes().next().is_some_and(first)
        && name.bytes().all(|byte| first(byte) || byte.is_ascii_digit())
}

fn full_name(kind: &str, name: &str) -> Result<String> {
    if !is_name(name) || name.starts_with("runnel_") {
        let message = format!(
            "`{name}` is no name of a metric: it has up to {LONGEST_NAME} letters, digits and `_`, and does not \
             begin with `runnel_`"
        );
        return Err(Error::new(Kind::Invalid, message));
    }
    let has_suffix = kind != "counter" || name.ends_with("_total");
    Ok(format!("{name}{}", if has_suffix { "" } else { "_total" }))
}

fn label_text(labels: &[(String, String)]) -> Result<String> {
    if labels.len() > MOST_LABELS {
        let message = format!("a metric has at most {MOST_LABELS} labels (got {})", labels.len());
        return Err(Error::new(Kind::Invalid, message));
    }
    let mut parts = Vec::with_capacity(labels.len());
    for (name, value) in labels {
        if !is_name(name) || name == "le" || name.starts_with("__") {
            return Err(Error::new(Kind::Invalid, format!("`{name}` is no name of a label")));
        }
        let most = value.len().min(LONGEST_LABEL);
        let end = (0..=most).rev().find(|end| value.is_char_boundary(*end)).unwrap_or(0);
        parts.push(format!("{name}=\"{}\"", escape_label(&value[..end])));
    }
    parts.sort();
    Ok(parts.join(","))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn text(metrics: &ProgramMetrics) -> String {
        let mut page = MetricsText(String::new());
        metrics.write(&mut page);
        page.0
    }

    #[test]
    fn values_are_added_set_and_observed() {
        let mut metrics = ProgramMetrics::default();
        for value in [1.0, 2.5] {
            metrics.record("counter", "orders_total".into(), "a=\"b\"".into(), value).unwrap();
            metrics.record("gauge", "queue".into(), String::new(), value).unwrap();
            metrics.record("histogram", "size".into(), String::new(), value).unwrap();
        }
        let text = text(&metrics);
        for line in
            ["orders_total{a=\"b\"} 3.5\n", "queue 2.5\n", "size_sum 3.5\n", "size_count 2\n"]
        {
            assert!(text.contains(line), "{text}");
        }
        assert!(text.contains("size_bucket{le=\"1\"} 1\nsize_bucket{le=\"2.5\"} 2\n"), "{text}");
        assert!(metrics.record("gauge", "orders_total".into(), String::new(), 1.0).is_err());
    }

    #[test]
    fn the_number_of_series_is_bounded() {
        let mut metrics = ProgramMetrics::default();
        for number in 0..MOST_SERIES + 5 {
            metrics.record("gauge", "x".into(), format!("n=\"{number}\""), 1.0).unwrap();
        }
        assert!(text(&metrics).contains("runnel_program_metrics_lost_total 5\n"));
        assert_eq!(metrics.families["x"].series.len(), MOST_SERIES);
    }

    #[test]
    fn names_are_those_that_prometheus_takes() {
        assert_eq!(full_name("counter", "orders").unwrap(), "orders_total");
        assert_eq!(full_name("gauge", "orders_total").unwrap(), "orders_total");
        for name in ["", "a b", "7up", "runnel_x", &"x".repeat(101)] {
            assert!(full_name("gauge", name).is_err(), "{name}");
        }
        let label = |name: &str, value: &str| label_text(&[(name.into(), value.into())]);
        assert_eq!(label("a", "x\"\n").unwrap(), "a=\"x\\\"\\n\"");
        assert_eq!(label("a", &"ä".repeat(1000)).unwrap().len(), 4 + LONGEST_LABEL);
        assert!(label("le", "1").is_err() && label("a-b", "1").is_err());
    }
}
