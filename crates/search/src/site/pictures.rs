//! Small pictures of numbers over time, as SVG that a page holds itself. The numbers stand in a table
//! too, so that nobody needs the picture.

use super::markup;
use std::fmt::Write;

/// The width of a picture in its own units.
const WIDTH: f64 = 640.0;
/// Its height.
const HEIGHT: f64 = 160.0;
/// Room for texts on the left, and above and below.
const LEFT: f64 = 56.0;
const EDGE: f64 = 20.0;

/// A number for each of some times that follow each other.
pub(crate) struct Series<'a> {
    pub(crate) name: &'a str,
    /// Nothing where there is no number.
    pub(crate) numbers: Vec<Option<f64>>,
}

/// What a picture shows along its lower edge: the first and the last time.
pub(crate) struct Axis<'a> {
    pub(crate) title: &'a str,
    pub(crate) first: &'a str,
    pub(crate) last: &'a str,
    pub(crate) unit: &'a str,
}

/// Bars, one for each number.
pub(crate) fn bars(axis: &Axis<'_>, series: &Series<'_>, out: &mut String) {
    let most = begin(axis, std::slice::from_ref(series), out);
    let step = (WIDTH - LEFT) / series.numbers.len().max(1) as f64;
    for (number, value) in series.numbers.iter().enumerate() {
        let Some(value) = value.filter(|value| *value > 0.0) else { continue };
        let height = (value / most * (HEIGHT - 2.0 * EDGE)).max(1.0);
        let _ = write!(
            out,
            "<rect class=\"bar\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/>",
            LEFT + number as f64 * step,
            HEIGHT - EDGE - height,
            (step * 0.8).max(0.5),
        );
    }
    out.push_str("</svg>");
}

/// Curves, the second one dashed.
pub(crate) fn curves(axis: &Axis<'_>, series: &[Series<'_>], out: &mut String) {
    let most = begin(axis, series, out);
    for (number, one) in series.iter().enumerate() {
        let step = (WIDTH - LEFT) / one.numbers.len().max(1) as f64;
        let class = if number == 0 { "curve" } else { "curve other" };
        let _ = write!(out, "<path class=\"{class}\" d=\"");
        let mut pen = 'M';
        for (place, value) in one.numbers.iter().enumerate() {
            let Some(value) = value else {
                pen = 'M';
                continue;
            };
            let x = LEFT + place as f64 * step;
            let y = HEIGHT - EDGE - value / most * (HEIGHT - 2.0 * EDGE);
            // Each is a level as wide as its time, so that a single one is seen too.
            let _ = write!(out, "{pen}{x:.1} {y:.1}H{:.1}", x + step);
            pen = 'L';
        }
        out.push_str("\"/>");
        let x = LEFT + 8.0 + 90.0 * number as f64;
        let _ = write!(
            out,
            "<path class=\"{class}\" d=\"M{x:.1} 10h24\"/><text x=\"{:.1}\" y=\"14\">",
            x + 30.0
        );
        markup::write(one.name, out);
        out.push_str("</text>");
    }
    out.push_str("</svg>");
}

/// Begins a picture; answers the number that reaches its upper edge.
fn begin(axis: &Axis<'_>, series: &[Series<'_>], out: &mut String) -> f64 {
    let numbers = series.iter().flat_map(|one| one.numbers.iter().flatten());
    let most = numbers.copied().fold(0.0_f64, f64::max);
    let title = markup::escaped(axis.title);
    let _ = write!(
        out,
        "<svg class=\"picture\" role=\"img\" aria-label=\"{title}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\">\
         <path class=\"axis\" d=\"M{LEFT} {EDGE}V{y}H{WIDTH}\" fill=\"none\"/>\
         <text x=\"4\" y=\"{:.1}\">{}{}</text><text x=\"4\" y=\"{y}\">0</text>\
         <text x=\"{LEFT}\" y=\"{below:.1}\">{}</text>\
         <text x=\"{WIDTH}\" y=\"{below:.1}\" text-anchor=\"end\">{}</text>",
        EDGE + 4.0,
        rounded(most),
        markup::escaped(axis.unit),
        markup::escaped(axis.first),
        markup::escaped(axis.last),
        y = HEIGHT - EDGE,
        below = HEIGHT - 5.0,
    );
    if most > 0.0 { most } else { 1.0 }
}

fn rounded(number: f64) -> String {
    match number {
        _ if number >= 100.0 || number.fract() == 0.0 => format!("{number:.0}"),
        1.0.. => format!("{number:.1}"),
        _ => format!("{number:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis() -> Axis<'static> {
        Axis { title: "<T> & \"t\"", first: "a<", last: "b", unit: "" }
    }

    #[test]
    fn pictures_are_within_their_frame() {
        let numbers = vec![Some(0.0), Some(5.0), None, Some(10.0)];
        let mut out = String::new();
        bars(&axis(), &Series { name: "n", numbers: numbers.clone() }, &mut out);
        assert_eq!(out.matches("<rect").count(), 2);
        assert!(out.contains("height=\"120.0\"") && out.contains("height=\"60.0\""), "{out}");
        assert!(!out.contains("<T>") && out.contains("&lt;T&gt;"));
        let mut out = String::new();
        curves(&axis(), &[Series { name: "<p50>", numbers }], &mut out);
        assert!(out.contains("&lt;p50&gt;") && out.matches('M').count() >= 3, "{out}");
    }

    #[test]
    fn nothing_is_a_picture_too() {
        let mut out = String::new();
        bars(&axis(), &Series { name: "n", numbers: Vec::new() }, &mut out);
        curves(&axis(), &[], &mut out);
        assert!(!out.contains("NaN") && !out.contains("inf"), "{out}");
    }
}
