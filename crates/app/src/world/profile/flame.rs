//! A flame graph as a page: each frame a box as wide as its share of the samples, callers above what they call. It
//! needs no script and no other file.

use super::lines;
use super::names::{name, percent, seconds};
use runnel_runtime::{Profile, ProfileFrame, standard_file};
use runnel_text::escape::html;
use std::collections::BTreeMap;

/// Boxes narrower than this part of the page, in percent, are left out.
const NARROWEST: f64 = 0.1;
/// The most boxes of a page.
const MOST_BOXES: usize = 5_000;
/// Lines of the table below the graph.
const SHOWN: usize = 30;

/// A frame with what it calls.
#[derive(Default)]
struct Flame<'a> {
    frame: Option<&'a ProfileFrame>,
    count: u64,
    inner: BTreeMap<String, Flame<'a>>,
}

impl<'a> Flame<'a> {
    /// The stacks of a profile, joined from their outer ends.
    fn of(profile: &'a Profile) -> Flame<'a> {
        let mut root = Flame::default();
        for (frames, count) in &profile.stacks {
            root.count += count;
            let mut at = &mut root;
            for frame in frames {
                at = at.inner.entry(name(frame)).or_default();
                at.frame = Some(frame);
                at.count += count;
            }
        }
        root
    }
}

/// A box of the graph.
struct FlameBox<'a> {
    frame: &'a ProfileFrame,
    level: usize,
    left: f64,
    width: f64,
    count: u64,
}

/// The boxes of what a frame calls, the widest first, from `left` on.
fn boxes<'a>(flame: &Flame<'a>, all: u64, level: usize, left: f64, out: &mut Vec<FlameBox<'a>>) {
    let mut inner: Vec<&Flame<'a>> = flame.inner.values().collect();
    inner.sort_by_key(|one| std::cmp::Reverse(one.count));
    let mut left = left;
    for one in inner {
        let width = percent(one.count, all);
        if width >= NARROWEST
            && out.len() < MOST_BOXES
            && let Some(frame) = one.frame
        {
            out.push(FlameBox { frame, level, left, width, count: one.count });
            boxes(one, all, level + 1, left, out);
        }
        left += width;
    }
}

/// The page of a profile.
pub(crate) fn page(
    profile: &Profile,
    source_line: &dyn Fn(&ProfileFrame) -> Option<String>,
) -> String {
    let (all, root) = (profile.samples(), Flame::of(profile));
    let mut found = Vec::new();
    boxes(&root, root.count.max(1), 0, 0.0, &mut found);
    let levels = found.iter().map(|one| one.level + 1).max().unwrap_or(0);
    let mut graph = String::new();
    for one in &found {
        let shown = name(one.frame);
        let line = source_line(one.frame).map(|line| format!("\n{line}")).unwrap_or_default();
        let title = format!("{shown}: {:.1} %, {} samples{line}", one.width, one.count);
        let kind = if one.frame.line == 0 { "kernel" } else { "program" };
        graph.push_str(&format!(
            "<div class=\"{kind}\" style=\"left:{:.2}%;width:{:.2}%;top:{:.2}rem\" title=\"{}\">{}</div>\n",
            one.left,
            one.width,
            one.level as f64 * 1.375,
            html(&title),
            html(&shown),
        ));
    }
    let table = lines::table(profile, SHOWN, source_line);
    let style = standard_file("design/base.css").unwrap_or_default();
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Profile</title>\
         <style>{style}{STYLE}</style></head><body class=\"wide\"><main><h1>Profile</h1>\
         <p class=\"quiet\">{all} samples, {:.2} s of running time. A box is as wide as the time of its line; what it \
         calls stands below it. Messages of the kernel are pale.</p>\
         <div class=\"flame\" role=\"img\" aria-label=\"Flame graph; the table below has the same times\" \
         style=\"height:{:.2}rem\">\n{graph}</div>\n<h2>Lines</h2><pre>{}</pre></main></body></html>\n",
        seconds(all),
        levels as f64 * 1.375,
        html(&table),
    )
}

const STYLE: &str = "\
.flame { position: relative; margin: 1rem 0; min-width: 20rem; }\
.flame div { position: absolute; height: 1.25rem; overflow: hidden; white-space: nowrap; \
text-overflow: ellipsis; font: .75rem/1.25rem var(--mono); padding: 0 .25rem; border-radius: .125rem; \
border-right: 1px solid var(--back); }\
.flame .program { background: var(--mark); color: var(--text); }\
.flame .kernel { background: var(--raised); color: var(--quiet); }\
pre { overflow-x: auto; }";
