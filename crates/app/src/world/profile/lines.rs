//! The lines of a program by the time that they take.

use super::names::{name, percent, seconds};
use runnel_runtime::{Profile, ProfileFrame};
use std::collections::{BTreeMap, BTreeSet};

/// The table of the most expensive lines. `self` is the time in which a line itself ran, with the messages of the
/// kernel that it sends; `total` adds what it called in the program.
pub(crate) fn table(
    profile: &Profile,
    shown: usize,
    source_line: &dyn Fn(&ProfileFrame) -> Option<String>,
) -> String {
    let all = profile.samples();
    let mut text = format!("profile: {all} samples, {:.2} s of running time\n", seconds(all));
    if all == 0 {
        return text;
    }
    let mut lines: Vec<(&ProfileFrame, LineTime)> = line_times(profile).into_values().collect();
    lines.sort_by_key(|(_, time)| std::cmp::Reverse((time.own, time.total)));
    text.push_str("   self   total  line\n");
    for (frame, time) in lines.into_iter().take(shown) {
        let (own, total) = (percent(time.own, all), percent(time.total, all));
        let source = source_line(frame).map(|line| format!("  {line}")).unwrap_or_default();
        text.push_str(&format!("{own:6.1}% {total:6.1}%  {}{source}\n", name(frame)));
    }
    text
}

/// Samples of a line.
#[derive(Clone, Copy, Default)]
struct LineTime {
    own: u64,
    total: u64,
}

/// The samples of each line of the program, by its place.
fn line_times(profile: &Profile) -> BTreeMap<(&str, u32), (&ProfileFrame, LineTime)> {
    let mut times: BTreeMap<(&str, u32), (&ProfileFrame, LineTime)> = BTreeMap::new();
    for (frames, count) in &profile.stacks {
        let program = || frames.iter().filter(|frame| frame.line > 0);
        if let Some(inner) = program().next_back() {
            times.entry(place(inner)).or_insert((inner, LineTime::default())).1.own += count;
        }
        // A line that calls itself counts once.
        let mut counted = BTreeSet::new();
        for frame in program().filter(|frame| counted.insert(place(frame))) {
            times.entry(place(frame)).or_insert((frame, LineTime::default())).1.total += count;
        }
    }
    times
}

fn place(frame: &ProfileFrame) -> (&str, u32) {
    (&frame.source, frame.line)
}
