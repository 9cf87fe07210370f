//! Elements as steps: shapes, colours, and what an element inherits.

use super::markup::{Part, parts};
use super::path;
use super::step::Step;
use std::collections::HashMap;
use std::f64::consts::TAU;

/// Depth of elements.
const DEPTH: usize = 64;

/// A drawing, and the size that it asks for.
#[derive(Default)]
pub(crate) struct Drawing {
    pub(crate) size: [Option<f64>; 2],
    pub(crate) steps: Vec<Step>,
}

/// The largest length, and the largest and smallest scale of nested elements: with more, drawing a
/// circle takes without end.
const LENGTH: f64 = 100_000.0;
const SCALE: f64 = 1_000.0;

/// What an element hands on to those inside.
#[derive(Clone)]
struct Style {
    fill: Option<[f64; 4]>,
    stroke: Option<[f64; 4]>,
    width: f64,
    font_size: f64,
    anchor: f64,
    opacity: f64,
    /// The scale of all elements around.
    scale: f64,
}

impl Default for Style {
    fn default() -> Style {
        let black = [0.0, 0.0, 0.0, 1.0];
        Style {
            fill: Some(black),
            stroke: None,
            width: 1.0,
            font_size: 16.0,
            anchor: 0.0,
            opacity: 1.0,
            scale: 1.0,
        }
    }
}

type Attributes = HashMap<String, String>;

/// Reads a drawing.
pub(crate) fn draw(text: &str) -> Drawing {
    let mut drawing = Drawing::default();
    let mut styles = vec![Style::default()];
    let mut text_at: Option<[f64; 2]> = None;
    for part in parts(text) {
        match part {
            Part::Open(_, _) if styles.len() > DEPTH => break,
            Part::Open(name, attributes) => {
                let mut style = styles.last().cloned().unwrap_or_default().inside(&attributes);
                drawing.steps.push(Step::Save);
                style.transform(attributes.get("transform"), &mut drawing.steps);
                if name == "svg" && styles.len() == 1 {
                    drawing.size = ["width", "height"].map(|name| length(attributes.get(name)));
                }
                if name == "text" || name == "tspan" {
                    let point = [number(&attributes, "x"), number(&attributes, "y")];
                    text_at = Some(if name == "text" { point } else { text_at.unwrap_or(point) });
                }
                shape(&name, &attributes, &style, &mut drawing.steps);
                styles.push(style);
            }
            Part::Close if styles.len() > 1 => {
                styles.pop();
                drawing.steps.push(Step::Restore);
            }
            Part::Close => {}
            Part::Text(text) => {
                if let (Some(style), Some(at)) = (styles.last(), text_at)
                    && let Some(fill) = style.fill
                {
                    let fill = style.faded(fill);
                    drawing.steps.push(Step::Text(text, at, style.font_size, fill, style.anchor));
                }
            }
        }
    }
    let open = styles.len() - 1;
    drawing.steps.extend(std::iter::repeat_n(Step::Restore, open));
    drawing
}

impl Style {
    fn inside(mut self, attributes: &Attributes) -> Style {
        if let Some(colour) = attributes.get("fill") {
            self.fill = paint(colour);
        }
        if let Some(colour) = attributes.get("stroke") {
            self.stroke = paint(colour);
        }
        self.width = length(attributes.get("stroke-width")).unwrap_or(self.width);
        self.font_size = length(attributes.get("font-size")).unwrap_or(self.font_size);
        self.opacity *= length(attributes.get("opacity")).unwrap_or(1.0).clamp(0.0, 1.0);
        match attributes.get("text-anchor").map(String::as_str) {
            Some("middle") => self.anchor = 0.5,
            Some("end") => self.anchor = 1.0,
            Some("start") => self.anchor = 0.0,
            _ => {}
        }
        self
    }

    fn transform(&mut self, text: Option<&String>, steps: &mut Vec<Step>) {
        for part in text.map_or("", String::as_str).split(')') {
            let Some((name, numbers)) = part.split_once('(') else { continue };
            let numbers = path::numbers(numbers);
            match (name.trim_matches([' ', ',']), numbers.as_slice()) {
                ("translate", [x, rest @ ..]) => {
                    steps.push(Step::Translate([*x, rest.first().copied().unwrap_or(0.0)]));
                }
                ("scale", [x, rest @ ..]) => {
                    let y = rest.first().unwrap_or(x);
                    let larger = self.scale * x.abs().max(y.abs());
                    let smaller = self.scale * x.abs().min(y.abs());
                    if smaller >= 1.0 / SCALE && larger <= SCALE {
                        self.scale = larger;
                        steps.push(Step::Scale([*x, *y]));
                    }
                }
                ("rotate", [angle]) => steps.push(Step::Rotate(angle.to_radians())),
                _ => {}
            }
        }
    }

    fn faded(&self, colour: [f64; 4]) -> [f64; 4] {
        [colour[0], colour[1], colour[2], colour[3] * self.opacity]
    }
}

/// A length in pixels.
fn length(text: Option<&String>) -> Option<f64> {
    let text = text?.trim().trim_end_matches("px");
    let length = text.parse().ok().filter(|length: &f64| length.is_finite());
    length.map(|length| length.clamp(-LENGTH, LENGTH))
}

fn number(attributes: &Attributes, name: &str) -> f64 {
    length(attributes.get(name)).unwrap_or(0.0)
}

/// Adds the steps of an element.
fn shape(name: &str, attributes: &Attributes, style: &Style, steps: &mut Vec<Step>) {
    let at = |name: &str| number(attributes, name);
    let before = steps.len();
    steps.push(Step::Clear);
    match name {
        "line" => {
            steps.push(Step::Move([at("x1"), at("y1")]));
            steps.push(Step::Line([at("x2"), at("y2")]));
        }
        "rect" => {
            let [x, y, w, h] = [at("x"), at("y"), at("width"), at("height")];
            steps.push(Step::Move([x, y]));
            steps.extend([[x + w, y], [x + w, y + h], [x, y + h]].map(Step::Line));
            steps.push(Step::Close);
        }
        "circle" if at("r") > 0.0 => {
            steps.push(Step::Arc([at("cx"), at("cy")], at("r"), [0.0, TAU]));
            steps.push(Step::Close);
        }
        "ellipse" if at("rx") > 0.0 && at("ry") > 0.0 => {
            steps.push(Step::Save);
            steps.push(Step::Translate([at("cx"), at("cy")]));
            steps.push(Step::Scale([at("rx"), at("ry")]));
            steps.push(Step::Arc([0.0; 2], 1.0, [0.0, TAU]));
            steps.push(Step::Close);
            steps.push(Step::Restore);
        }
        "polyline" | "polygon" => {
            let points = path::numbers(attributes.get("points").map_or("", String::as_str));
            for (index, point) in points.chunks_exact(2).enumerate() {
                let point = [point[0], point[1]];
                steps.push(if index == 0 { Step::Move(point) } else { Step::Line(point) });
            }
            steps.extend((name == "polygon").then_some(Step::Close));
        }
        "path" => steps.extend(path::steps(attributes.get("d").map_or("", String::as_str))),
        _ => {
            steps.truncate(before);
            return;
        }
    }
    if let Some(fill) = style.fill.filter(|_| name != "line") {
        steps.push(Step::Fill(style.faded(fill)));
    }
    if let Some(stroke) = style.stroke {
        steps.push(Step::Stroke(style.faded(stroke), style.width));
    }
}

/// Names of colours and their values; others are black.
const COLOURS: [(&str, u32); 20] = [
    ("black", 0x0000_0000),
    ("white", 0x00ff_ffff),
    ("red", 0x00ff_0000),
    ("green", 0x0000_8000),
    ("lime", 0x0000_ff00),
    ("blue", 0x0000_00ff),
    ("yellow", 0x00ff_ff00),
    ("orange", 0x00ff_a500),
    ("purple", 0x0080_0080),
    ("gray", 0x0080_8080),
    ("grey", 0x0080_8080),
    ("lightgray", 0x00d3_d3d3),
    ("lightgrey", 0x00d3_d3d3),
    ("silver", 0x00c0_c0c0),
    ("navy", 0x0000_0080),
    ("teal", 0x0000_8080),
    ("maroon", 0x0080_0000),
    ("steelblue", 0x0046_82b4),
    ("lightblue", 0x00ad_d8e6),
    ("pink", 0x00ff_c0cb),
];

/// A colour; nothing for `none`.
fn paint(text: &str) -> Option<[f64; 4]> {
    let text = text.trim();
    let of = |rgb: u32| [16, 8, 0].map(|shift| f64::from(rgb >> shift & 0xff) / 255.0);
    let [red, green, blue] = match text {
        "none" | "transparent" => return None,
        _ if text.starts_with('#') && text.len() == 4 => {
            let rgb = u32::from_str_radix(&text[1..], 16).unwrap_or(0);
            [8, 4, 0].map(|shift| f64::from(rgb >> shift & 0xf) / 15.0)
        }
        _ if text.starts_with('#') => of(u32::from_str_radix(&text[1..], 16).unwrap_or(0)),
        _ if text.starts_with("rgb(") => {
            let parts = path::numbers(text);
            [0, 1, 2].map(|at| parts.get(at).map_or(0.0, |part| (part / 255.0).clamp(0.0, 1.0)))
        }
        name => of(COLOURS.iter().find(|(known, _)| *known == name).map_or(0, |(_, rgb)| *rgb)),
    };
    Some([red, green, blue, 1.0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_with_inherited_colours() {
        let drawing = draw(
            "<svg width='40px' height='30'><g fill='#f00'><circle cx='5' cy='6' r='7'/></g></svg>",
        );
        assert_eq!(drawing.size, [Some(40.0), Some(30.0)]);
        assert!(drawing.steps.contains(&Step::Arc([5.0, 6.0], 7.0, [0.0, TAU])));
        assert!(drawing.steps.contains(&Step::Fill([1.0, 0.0, 0.0, 1.0])));
    }

    #[test]
    fn sizes_are_bounded() {
        let nested = "<g transform='scale(100)'>".repeat(9) + "<circle r='1e300'/>";
        let steps = draw(&nested).steps;
        assert_eq!(steps.iter().filter(|step| matches!(step, Step::Scale(_))).count(), 1);
        assert!(steps.contains(&Step::Arc([0.0; 2], LENGTH, [0.0, TAU])));
    }

    #[test]
    fn saved_states_are_restored() {
        for text in ["<svg><g><rect/>", "</g></svg>", "<svg>a<text x='1'>b</text>", "<g><g><g>"] {
            let steps = draw(text).steps;
            let count = |wanted: Step| steps.iter().filter(|step| **step == wanted).count();
            assert_eq!(count(Step::Save), count(Step::Restore), "{text}");
        }
    }

    #[test]
    fn nonsense_is_left_out() {
        for text in [
            "<svg width='NaN'",
            "<rect width='1e400'/>",
            "<circle r='-1'/>",
            "<g transform='scale(1e9) scale(0) translate('/>",
            "<path d='\u{1F600}'/>",
            "<rect fill='#\u{e4}\u{e4}'/>",
        ] {
            draw(text);
        }
    }
}
