//! Comparing several servers in turn: A B A B …, so that changes of the machine affect all of them.

use crate::load::run::{Control, MeasureError, Measurement, run};
use crate::report::figures::{Figures, rounded};
use crate::report::text::grouped;
use serde_json::{Value, json};
use std::fmt;

/// The most rounds of a comparison.
pub const MOST_ROUNDS: usize = 1000;

/// A figure of a measurement.
type Figure = fn(&Figures) -> Option<f64>;

/// The compared figures, with their names in text and JSON.
const COMPARED: [(&str, &str, Figure); 5] = [
    ("replies/s", "replies_per_second", |one| Some(one.rate())),
    ("p50, ms", "p50_ms", |one| Some(one.percentile(50.0).as_secs_f64() * 1e3)),
    ("p99, ms", "p99_ms", |one| Some(one.percentile(99.0).as_secs_f64() * 1e3)),
    ("server CPU, us a reply", "server_us_per_request", Figures::server_time),
    ("generator CPU, us a reply", "generator_us_per_request", |one| Some(one.generator_time())),
];

/// The result of a comparison.
#[derive(Debug, Clone)]
pub struct Compared {
    /// For each server, the figures of its rounds.
    runs: Vec<Vec<Figures>>,
    ended: Option<String>,
}

/// Runs all measurements in turn, `rounds` times (from 1 to [`MOST_ROUNDS`]).
///
/// # Errors
/// [`MeasureError`] in the first round. In a later one, the comparison ends there and says why.
pub fn compare(
    jobs: &[Measurement],
    rounds: usize,
    control: &Control,
) -> Result<Compared, MeasureError> {
    let rounds = rounds.clamp(1, MOST_ROUNDS);
    let mut compared = Compared { runs: vec![Vec::new(); jobs.len()], ended: None };
    for round in 0..rounds {
        for (number, (job, runs)) in jobs.iter().zip(&mut compared.runs).enumerate() {
            let label = format!("{}, round {} of {rounds}: ", name(number), round + 1);
            match run(job, &label, control) {
                Ok(figures) => runs.push(figures),
                Err(trouble) if round == 0 => return Err(trouble),
                Err(trouble) => compared.ended = Some(format!("ended early: {trouble}")),
            }
            if control.stopped() {
                compared.ended = Some("interrupted: this is what was measured so far".to_owned());
            }
            if compared.ended.is_some() {
                return Ok(compared);
            }
        }
    }
    Ok(compared)
}

impl Compared {
    /// For each server, the figures of its rounds.
    pub fn runs(&self) -> &[Vec<Figures>] {
        &self.runs
    }

    /// Whether all rounds were valid.
    pub fn is_good(&self) -> bool {
        self.ended.is_none() && self.runs.iter().flatten().all(Figures::is_good)
    }

    /// Median, minimum and maximum of a figure over the rounds of each server.
    fn spread(&self, number: usize, figure: Figure) -> Option<[f64; 3]> {
        let mut all: Vec<f64> = self.runs.get(number)?.iter().filter_map(figure).collect();
        all.sort_by(f64::total_cmp);
        Some([median(&all)?, *all.first()?, *all.last()?])
    }

    /// The ratio to the first server's median.
    fn ratio(&self, number: usize, figure: Figure) -> Option<f64> {
        let [this, ..] = self.spread(number, figure)?;
        let [first, ..] = self.spread(0, figure)?;
        (first > 0.0).then_some(this / first)
    }

    /// The result as a JSON object.
    pub fn json(&self) -> Value {
        let servers = self.runs.iter().enumerate().map(|(number, runs)| {
            let mut figures = serde_json::Map::new();
            for (_, key, figure) in COMPARED {
                if let Some([median, lowest, highest]) = self.spread(number, figure) {
                    let ratio = self.ratio(number, figure).map(rounded);
                    let (median, lowest, highest) =
                        (rounded(median), rounded(lowest), rounded(highest));
                    let one = json!({
                        "median": median, "lowest": lowest, "highest": highest, "ratio": ratio
                    });
                    figures.insert(key.to_owned(), one);
                }
            }
            json!({
                "name": name(number),
                "figures": figures,
                "rounds": runs.iter().map(Figures::json).collect::<Vec<_>>(),
            })
        });
        json!({ "ended": self.ended, "servers": servers.collect::<Vec<_>>() })
    }
}

/// The name of a server in tables: A, B, …
fn name(number: usize) -> String {
    match u8::try_from(number) {
        Ok(number) if number < 26 => char::from(b'A' + number).to_string(),
        _ => format!("#{}", number + 1),
    }
}

/// The median of sorted numbers.
fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    match sorted.len() % 2 {
        1 => Some(upper),
        _ => Some((sorted.get(middle.checked_sub(1)?)? + upper) / 2.0),
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, runs) in self.runs.iter().enumerate() {
            let url = runs.first().map_or("not measured", |one| one.url.as_str());
            writeln!(out, "{}  {url}, {} rounds", name(number), runs.len())?;
        }
        for (title, _, figure) in COMPARED {
            if self.spread(0, figure).is_none() {
                continue;
            }
            writeln!(
                out,
                "\n{title:<26} {:>11} {:>11} {:>11} {:>8}",
                "median", "lowest", "highest", "ratio"
            )?;
            for number in 0..self.runs.len() {
                let Some(spread) = self.spread(number, figure) else { continue };
                write!(out, "{:<26}", format!("  {}", name(number)))?;
                for one in spread {
                    write!(out, " {:>11}", short(one))?;
                }
                match self.ratio(number, figure) {
                    Some(ratio) => writeln!(out, " {ratio:>8.3}")?,
                    None => writeln!(out, " {:>8}", "-")?,
                }
            }
        }
        for (number, runs) in self.runs.iter().enumerate() {
            let failed: u64 = runs.iter().map(Figures::failed).sum();
            if failed > 0 {
                writeln!(out, "\nfailed of {}: {}", name(number), grouped(failed as f64))?;
                for (kind, count) in runs.iter().flat_map(Figures::failed_by_kind) {
                    writeln!(out, "  {:<25} {}", kind.name(), grouped(count as f64))?;
                }
            }
        }
        self.ended.as_ref().map_or(Ok(()), |why| writeln!(out, "\n{why}"))
    }
}

fn short(number: f64) -> String {
    if number >= 1000.0 { grouped(number) } else { format!("{number:.3}") }
}

#[allow(clippy::unwrap_used)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_found() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0]), Some(1.0));
        assert_eq!(median(&[1.0, 2.0, 9.0]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), Some(3.0));
    }

    #[test]
    fn servers_have_short_names() {
        assert_eq!((name(0), name(25), name(26)), ("A".into(), "Z".into(), "#27".into()));
    }
}
