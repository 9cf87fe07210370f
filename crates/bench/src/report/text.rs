//! Figures as text for people.

use crate::load::plan::Pace;
use crate::report::figures::{Figures, SHOWN};
use std::fmt;
use std::time::Duration;

impl fmt::Display for Figures {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}", self.url)?;
        let pace = match self.load.pace {
            Pace::Closed => "closed loop".to_owned(),
            Pace::Rate(rate) => format!("{} requests/s asked for", grouped(rate.round())),
        };
        let each = match self.load.per_connection {
            Some(count) => format!(", {} on each", counted(count, "request")),
            None => String::new(),
        };
        writeln!(
            out,
            "{pace}, {}{each}, {}, {:.2} s\n",
            counted(self.load.connections as u64, "connection"),
            counted(self.load.threads as u64, "thread"),
            self.elapsed.as_secs_f64(),
        )?;
        let count = grouped(self.replies() as f64);
        writeln!(out, "replies      {count}, {}/s", grouped(self.rate().round()))?;
        let bytes = self.counts.received as f64;
        let seconds = self.elapsed.as_secs_f64().max(1e-9);
        writeln!(out, "received     {}, {}/s", size(bytes), size(bytes / seconds))?;
        let made = grouped(self.counts.connected as f64);
        writeln!(out, "connections  {made} made, {}/s", grouped(self.connection_rate().round()))?;
        write!(out, "latency     ")?;
        for (name, percent) in SHOWN {
            write!(out, " {name} {} ", time(self.percentile(percent)))?;
        }
        writeln!(out, " max {}", time(self.slowest()))?;
        self.processors(out)?;
        self.outcome(out)
    }
}

impl Figures {
    fn processors(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.elapsed.as_secs_f64().max(1e-9);
        let share = |time: Duration| time.as_secs_f64() * 100.0 / seconds;
        let own = self.generator_time();
        write!(out, "CPU          generator {own:.1} us a reply ({:.0} %)", share(self.generator))?;
        if let Some((each, all)) = self.server_time().zip(self.server) {
            write!(out, ", server {each:.1} us a reply ({:.0} %)", share(all))?;
        }
        writeln!(out)
    }

    fn outcome(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statuses: Vec<String> = self
            .counts
            .statuses
            .iter()
            .map(|(status, count)| format!("{} of {status}", grouped(*count as f64)))
            .collect();
        writeln!(out, "answers      {}", statuses.join(", "))?;
        let of = grouped(self.requests() as f64);
        writeln!(out, "failed       {} of {of}", grouped(self.failed() as f64))?;
        for (kind, count) in self.failed_by_kind() {
            writeln!(out, "  {:<25} {}", kind.name(), grouped(count as f64))?;
        }
        if self.gave_up {
            writeln!(out, "given up: there was no good answer any more")?;
        }
        if self.interrupted {
            writeln!(out, "interrupted: this is what was measured so far")?;
        }
        Ok(())
    }
}

/// A whole number with thousands separators.
pub(crate) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn counted(count: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(count as f64), if count == 1 { "" } else { "s" })
}

/// A duration with three digits and its unit.
pub(crate) fn time(time: Duration) -> String {
    let (number, unit) = match time.as_secs_f64() {
        ..1e-3 => (time.as_secs_f64() * 1e6, "us"),
        ..1.0 => (time.as_secs_f64() * 1e3, "ms"),
        _ => (time.as_secs_f64(), "s"),
    };
    let decimals = if number < 10.0 { 2 } else { usize::from(number < 100.0) };
    format!("{number:.decimals$} {unit}")
}

fn size(bytes: f64) -> String {
    match bytes {
        ..1e3 => format!("{bytes:.0} B"),
        ..1e6 => format!("{:.1} kB", bytes / 1e3),
        ..1e9 => format!("{:.1} MB", bytes / 1e6),
        _ => format!("{:.2} GB", bytes / 1e9),
    }
}

#[allow(clippy::unwrap_used)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(grouped(999.0), "999");
        assert_eq!(grouped(1_234_567.0), "1,234,567");
        assert_eq!(time(Duration::from_nanos(1_234)), "1.23 us");
        assert_eq!(time(Duration::from_micros(12_345)), "12.3 ms");
        assert_eq!(time(Duration::from_secs(123)), "123 s");
        assert_eq!(size(1_500.0), "1.5 kB");
    }
}
