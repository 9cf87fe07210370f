//! Line charts as SVG, light or dark as the reader's system.

use std::fmt::Write;

const WIDTH: f64 = 760.0;
/// The height of a panel with its axis, and of its plot area.
const PANEL: f64 = 330.0;
const PLOTTED: f64 = 240.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 48.0;
/// The most series of a panel.
const MOST_SERIES: usize = 12;
/// A palette for colour-blind readers (Okabe and Ito, 2008).
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

const STYLE: &str = "<style>\
    text{font:13px system-ui,sans-serif;fill:#222;stroke:#fff;stroke-width:3px;paint-order:stroke}\
    .title{font-weight:600;font-size:15px}\
    .back{fill:#fff}.grid{stroke:#ddd}.axis{stroke:#888;fill:none}.mark{stroke:#888}\
    .line{fill:none;stroke-width:2}\
    @media(prefers-color-scheme:dark){\
    text{fill:#ddd;stroke:#181818}.back{fill:#181818}.grid{stroke:#383838}}\
    </style>";

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    /// Logarithmic, for positive numbers.
    Log,
}

/// An axis, from its lowest to its highest number.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) scale: Scale,
    /// Labelled numbers; chosen automatically when empty.
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Axis {
    pub(crate) fn new(name: &str, scale: Scale) -> Axis {
        Axis { name: name.to_owned(), scale, ticks: Vec::new() }
    }
}

/// A line.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    /// Without markers.
    pub(crate) steps: bool,
}

/// Lines over the same axes.
#[derive(Debug, Clone)]
pub(crate) struct Panel {
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
    /// A labelled vertical line.
    pub(crate) mark: Option<(f64, String)>,
}

/// Panels, one below the other.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) panels: Vec<Panel>,
}

impl Chart {
    pub(crate) fn svg(&self) -> String {
        let height = TOP + PANEL * self.panels.len() as f64;
        let title = escaped(&self.title);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{WIDTH}\" height=\"{height}\" role=\"img\"><title>{title}</title>{STYLE}\n\
             <rect class=\"back\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
             <text class=\"title\" x=\"{LEFT}\" y=\"26\">{title}</text>\n"
        );
        for (number, panel) in self.panels.iter().enumerate() {
            panel.draw(&mut out, TOP + PANEL * number as f64);
        }
        out.push_str("</svg>\n");
        out
    }
}

/// An axis with its bounds.
struct Ruler {
    scale: Scale,
    from: f64,
    to: f64,
    ticks: Vec<(f64, String)>,
}

impl Ruler {
    /// The bounds for all these numbers.
    fn new(axis: &Axis, numbers: impl Iterator<Item = f64>) -> Ruler {
        let named = axis.ticks.iter().map(|(number, _)| *number);
        let usable =
            |number: &f64| number.is_finite() && (axis.scale == Scale::Linear || *number > 0.0);
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        for number in numbers.chain(named).filter(usable) {
            from = from.min(number);
            to = to.max(number);
        }
        if from > to {
            (from, to) = (1.0, 10.0);
        }
        if axis.scale == Scale::Log {
            // At least a factor of two.
            (from, to) = if to < from * 2.0 { (from / 1.5, to * 1.5) } else { (from, to) };
            (from, to) = (below(from), above(to));
        } else if to <= from {
            to = from + 1.0;
        }
        let ticks = match axis.ticks.is_empty() {
            false => axis.ticks.clone(),
            true => chosen(axis.scale, from, to),
        };
        Ruler { scale: axis.scale, from, to, ticks }
    }

    /// The position of a number, from 0 to 1.
    fn position(&self, number: f64) -> f64 {
        let part = match self.scale {
            Scale::Linear => (number - self.from) / (self.to - self.from),
            Scale::Log => (number / self.from).ln() / (self.to / self.from).ln(),
        };
        part.clamp(0.0, 1.0)
    }
}

/// The next lower number of 1, 2 and 5 times a power of ten.
fn below(number: f64) -> f64 {
    let power = 10_f64.powf(number.log10().floor());
    let step = [5.0, 2.0].into_iter().find(|step| power * step <= number * 1.000_001);
    power * step.unwrap_or(1.0)
}

/// The next higher one.
fn above(number: f64) -> f64 {
    let power = 10_f64.powf(number.log10().floor());
    let step = [1.0, 2.0, 5.0].into_iter().find(|step| power * step >= number * 0.999_999);
    power * step.unwrap_or(10.0)
}

/// Numbers worth a label between two bounds.
fn chosen(scale: Scale, from: f64, to: f64) -> Vec<(f64, String)> {
    let mut ticks = Vec::new();
    match scale {
        Scale::Log => {
            let wide = (to / from).log10() > 3.0;
            let mut power = 10_f64.powf(from.log10().floor());
            while power <= to * 1.000_001 {
                for step in [1.0, 2.0, 5.0] {
                    let number = power * step;
                    let within = (from * 0.999_999..=to * 1.000_001).contains(&number);
                    if within && (step < 1.5 || !wide) {
                        ticks.push((number, label(number)));
                    }
                }
                power *= 10.0;
            }
        }
        Scale::Linear => {
            let step = above((to - from) / 6.0);
            let mut number = (from / step).ceil() * step;
            while number <= to + step * 1e-6 {
                ticks.push((number, label(number)));
                number += step;
            }
        }
    }
    ticks
}

fn label(number: f64) -> String {
    if number >= 10_000.0 {
        return crate::report::text::grouped(number);
    }
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Panel {
    fn draw(&self, out: &mut String, top: f64) {
        let points = || self.series.iter().flat_map(|one| &one.points);
        let x = Ruler::new(&self.x, points().map(|point| point.0));
        let y = Ruler::new(&self.y, points().map(|point| point.1));
        let plotted = WIDTH - LEFT - RIGHT;
        let across = |number: f64| LEFT + plotted * x.position(number);
        let up = |number: f64| top + PLOTTED * (1.0 - y.position(number));
        let (end, floor) = (LEFT + plotted, top + PLOTTED);
        let mut put = |text: String| {
            out.push_str(&text);
            out.push('\n');
        };
        let mut last = f64::NEG_INFINITY;
        for (number, name) in &x.ticks {
            let at = across(*number);
            put(format!("<path class=\"grid\" d=\"M{at:.1} {top}V{floor}\"/>"));
            // Overlapping labels are left out.
            if at - last >= 7.0 * name.len() as f64 + 8.0 {
                let under = floor + 18.0;
                put(format!(
                    "<text x=\"{at:.1}\" y=\"{under}\" text-anchor=\"middle\">{name}</text>"
                ));
                last = at;
            }
        }
        for (number, name) in &y.ticks {
            let at = up(*number);
            put(format!("<path class=\"grid\" d=\"M{LEFT} {at:.1}H{end}\"/>"));
            let (beside, middle) = (LEFT - 8.0, at + 4.0);
            put(format!(
                "<text x=\"{beside}\" y=\"{middle:.1}\" text-anchor=\"end\">{name}</text>"
            ));
        }
        put(format!("<path class=\"axis\" d=\"M{LEFT} {top}V{floor}H{end}\"/>"));
        let (centre, under) = (LEFT + plotted / 2.0, floor + 38.0);
        let name = escaped(&self.x.name);
        put(format!("<text x=\"{centre}\" y=\"{under}\" text-anchor=\"middle\">{name}</text>"));
        let (middle, name) = (top + PLOTTED / 2.0, escaped(&self.y.name));
        put(format!(
            "<text transform=\"translate(20 {middle}) rotate(-90)\" text-anchor=\"middle\">{name}</text>"
        ));
        if let Some((number, name)) = &self.mark {
            let at = across(*number);
            put(format!(
                "<path class=\"mark\" stroke-dasharray=\"4 4\" d=\"M{at:.1} {top}V{floor}\"/>"
            ));
            let (side, beside) = if at > centre { ("end", at - 6.0) } else { ("start", at + 6.0) };
            let (name, below) = (escaped(name), floor - 8.0);
            put(format!(
                "<text x=\"{beside:.1}\" y=\"{below}\" text-anchor=\"{side}\">{name}</text>"
            ));
        }
        for (number, one) in self.lines() {
            put(one.draw(number, &across, &up));
        }
        put(self.legend(top));
    }

    /// The series to draw, with their index.
    fn lines(&self) -> impl Iterator<Item = (usize, &Series)> {
        let series = self.series.iter().take(MOST_SERIES).enumerate();
        series.filter(|(_, one)| !one.points.is_empty())
    }

    /// The legend, in the corner that rising lines leave free.
    fn legend(&self, top: f64) -> String {
        let mut out = String::new();
        for (row, (number, one)) in self.lines().enumerate() {
            let (colour, dashes) = pen(number);
            let at = top + 14.0 + 18.0 * row as f64;
            let (from, to, beside, base) = (LEFT + 12.0, LEFT + 40.0, LEFT + 48.0, at + 4.0);
            let name = escaped(&one.name);
            let _ = write!(
                out,
                "<path class=\"line\" stroke=\"{colour}\"{dashes} d=\"M{from} {at}H{to}\"/>\
                 <text x=\"{beside}\" y=\"{base}\">{name}</text>"
            );
        }
        out
    }
}

/// The colour of a line, and dashes after the last colour.
fn pen(number: usize) -> (&'static str, &'static str) {
    let colour = COLOURS.get(number % COLOURS.len()).copied().unwrap_or("#888");
    (colour, if number < COLOURS.len() { "" } else { " stroke-dasharray=\"6 3\"" })
}

impl Series {
    fn draw(&self, number: usize, across: &dyn Fn(f64) -> f64, up: &dyn Fn(f64) -> f64) -> String {
        let (colour, dashes) = pen(number);
        // Of overlapping lines both kinds of dots stay visible.
        let radius = [5.0, 3.5, 2.0].get(number).copied().unwrap_or(3.0);
        let mut path = String::new();
        let mut dots = String::new();
        for (x, y) in &self.points {
            let (x, y) = (across(*x), up(*y));
            let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { 'M' } else { 'L' });
            if !self.steps {
                let _ = write!(
                    dots,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{colour}\"/>"
                );
            }
        }
        format!("<path class=\"line\" stroke=\"{colour}\"{dashes} d=\"{path}\"/>{dots}")
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[allow(clippy::unwrap_used)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_a_log_axis_are_round() {
        assert_eq!((below(30.0), above(30.0)), (20.0, 50.0));
        assert_eq!((below(100.0), above(100.0)), (100.0, 100.0));
        let names: Vec<String> =
            chosen(Scale::Log, 1.0, 20.0).into_iter().map(|one| one.1).collect();
        assert_eq!(names, ["1", "2", "5", "10", "20"]);
    }

    #[test]
    fn every_name_and_line_is_in_the_picture_and_stays_in_its_frame() {
        let series =
            Series { name: "a<b".into(), points: vec![(1.0, 0.0), (9.0, 4.0)], steps: false };
        let panel = Panel {
            x: Axis::new("over", Scale::Log),
            y: Axis::new("up", Scale::Linear),
            series: vec![series],
            mark: Some((3.0, "here".into())),
        };
        let svg = Chart { title: "T & U".into(), panels: vec![panel] }.svg();
        for part in ["a&lt;b", ">over<", ">up<", ">here<", "T &amp; U", "M84.0 288.0"] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn nothing_to_draw_is_drawn_as_axes() {
        let panel = Panel {
            x: Axis::new("x", Scale::Log),
            y: Axis::new("y", Scale::Linear),
            series: Vec::new(),
            mark: None,
        };
        let svg = Chart { title: String::new(), panels: vec![panel] }.svg();
        assert!(!svg.contains("NaN"));
    }
}
