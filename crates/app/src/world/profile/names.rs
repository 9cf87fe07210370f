//! How frames and times of a profile are written.

use runnel_runtime::{Profile, ProfileFrame};

/// A line of a source that is a file, for people to recognise.
pub(crate) fn source_line(frame: &ProfileFrame) -> Option<String> {
    let text = std::fs::read_to_string(&frame.source).ok()?;
    let line = text.lines().nth(frame.line.checked_sub(1)? as usize)?;
    Some(line.trim().chars().take(80).collect())
}

/// Stacks in the form that tools for flame graphs read: `outer;inner count`, one a line.
pub(crate) fn folded(profile: &Profile) -> String {
    let mut text = String::new();
    for (frames, count) in &profile.stacks {
        let names: Vec<String> = frames.iter().map(|frame| name(frame).replace(';', ",")).collect();
        text.push_str(&format!("{} {count}\n", names.join(";")));
    }
    text
}

/// `collect:` for a message of the kernel, `tasks.st:12` for a line of the program.
pub(super) fn name(frame: &ProfileFrame) -> String {
    match (&frame.message, frame.line) {
        (Some(message), 0) => message.clone(),
        _ => format!("{}:{}", frame.source, frame.line),
    }
}

/// A part of all samples, in percent.
pub(super) fn percent(count: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { count as f64 * 100.0 / all as f64 }
}

/// The running time that samples stand for, in seconds.
pub(super) fn seconds(samples: u64) -> f64 {
    samples as f64 * runnel_runtime::PROFILE_INTERVAL.as_secs_f64()
}
