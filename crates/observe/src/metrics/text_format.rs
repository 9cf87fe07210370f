//! The text format of Prometheus, version 0.0.4: families, samples, labels and histograms.

use crate::metrics::histogram::{BOUNDS, HistogramTotals};
use std::fmt::Write;

pub(crate) fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Escapes the value of a label: backslash, quotation mark and line feed.
pub(crate) fn escape_label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The text. Writing to a string never fails.
pub(crate) struct MetricsText(pub(crate) String);

impl MetricsText {
    pub(crate) fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    pub(crate) fn sample(&mut self, name: &str, labels: &str, number: f64) {
        let _ = match labels {
            "" => writeln!(self.0, "{name} {number}"),
            labels => writeln!(self.0, "{name}{{{labels}}} {number}"),
        };
    }

    pub(crate) fn counter(&mut self, name: &str, help: &str, number: u64) {
        self.family(name, "counter", help);
        self.sample(name, "", number as f64);
    }

    pub(crate) fn gauge(&mut self, name: &str, help: &str, number: f64) {
        self.family(name, "gauge", help);
        self.sample(name, "", number);
    }

    pub(crate) fn histogram(&mut self, name: &str, labels: &str, totals: &HistogramTotals) {
        self.buckets(name, labels, (&totals.counts, &BOUNDS), totals.sum);
    }

    /// A histogram with bucket bounds and sum in microseconds. There is one bucket more than
    /// bounds.
    pub(crate) fn buckets(
        &mut self,
        name: &str,
        labels: &str,
        (counts, bounds): (&[u64], &[u64]),
        sum: u64,
    ) {
        let comma = if labels.is_empty() { "" } else { "," };
        let bucket = format!("{name}_bucket");
        let mut below = 0;
        for (count, bound) in counts.iter().zip(bounds) {
            below += count;
            let bound = seconds(*bound);
            self.sample(&bucket, &format!("{labels}{comma}le=\"{bound}\""), below as f64);
        }
        let count = counts.iter().sum::<u64>() as f64;
        self.sample(&bucket, &format!("{labels}{comma}le=\"+Inf\""), count);
        self.sample(&format!("{name}_sum"), labels, seconds(sum));
        self.sample(&format!("{name}_count"), labels, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_are_cumulative() {
        let mut totals = HistogramTotals::default();
        totals.counts[0] = 2;
        totals.counts[3] = 1;
        totals.counts[BOUNDS.len()] = 1;
        totals.sum = 11_000_500;
        let mut page = MetricsText(String::new());
        page.histogram("x", "a=\"b\"", &totals);
        let lines: Vec<&str> = page.0.lines().collect();
        assert_eq!(lines[0], "x_bucket{a=\"b\",le=\"0.00005\"} 2");
        assert_eq!(lines[3], "x_bucket{a=\"b\",le=\"0.0005\"} 3");
        assert_eq!(lines[BOUNDS.len()], "x_bucket{a=\"b\",le=\"+Inf\"} 4");
        assert_eq!(lines[BOUNDS.len() + 1..], ["x_sum{a=\"b\"} 11.0005", "x_count{a=\"b\"} 4"]);
    }

    #[test]
    fn labels_are_escape_label() {
        assert_eq!(escape_label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
