//! The latency curve over percentiles, with the slowest requests spread out.

use crate::report::chart::{Axis, Chart, Panel, Scale, Series};
use crate::report::figures::Figures;

/// Points of a curve for each factor of ten.
const FINENESS: usize = 40;
/// The most nines of a percentile: 99.9999 %.
const NINES: usize = 6;

/// A chart of latency over percentiles, with a line for each of `figures`, such as the rounds of a
/// comparison.
pub fn latency_svg(figures: &[&Figures]) -> String {
    let several = figures.iter().any(|one| Some(&one.url) != figures.first().map(|one| &one.url));
    let series: Vec<Series> = figures.iter().map(|one| line(one, several)).collect();
    let longest = series.iter().flat_map(|one| &one.points).map(|(x, _)| *x).fold(1.0, f64::max);
    let mut ticks = vec![(0.0, "0".to_owned()), (0.5_f64.log10().abs(), "50 %".to_owned())];
    for nines in 1..=NINES {
        if (nines as f64) <= longest.ceil() {
            ticks.push((nines as f64, percentage(nines)));
        }
    }
    let x = Axis { name: "part of the replies".to_owned(), scale: Scale::Linear, ticks };
    let y = Axis::new("response time, ms", Scale::Log);
    let title = match figures.first() {
        Some(first) if !several => format!("Response times of {}", first.url),
        _ => "Response times".to_owned(),
    };
    Chart { title, panels: vec![Panel { x, y, series, mark: None }] }.svg()
}

fn line(one: &Figures, several: bool) -> Series {
    let count = one.counts.latency.len();
    let nines = (count.max(1) as f64).log10().min(NINES as f64);
    let steps = (nines * FINENESS as f64) as usize;
    let points = (0..=steps).filter(|_| count > 0).map(|step| {
        let x = step as f64 / FINENESS as f64;
        let share = 1.0 - 10_f64.powf(-x);
        (x, one.percentile(share * 100.0).as_secs_f64() * 1e3)
    });
    let name = match one.offered_rate() {
        _ if several => one.url.clone(),
        Some(rate) => format!("{} replies, at {rate:.0}/s", one.replies()),
        None => format!("{} replies, {:.0}/s", one.replies(), one.rate()),
    };
    Series { name, points: points.collect(), steps: true }
}

/// 90 %, 99 %, 99.9 %, …
fn percentage(nines: usize) -> String {
    match nines {
        1 => "90 %".to_owned(),
        2 => "99 %".to_owned(),
        _ => format!("99.{} %", "9".repeat(nines - 2)),
    }
}

#[allow(clippy::unwrap_used)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nines_are_written_as_percentages() {
        let all: Vec<String> = (1..=4).map(percentage).collect();
        assert_eq!(all, ["90 %", "99 %", "99.9 %", "99.99 %"]);
    }
}
