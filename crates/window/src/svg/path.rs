//! The attribute `d` of a path, and lists of points (SVG 2 section 9.3).

use super::step::Step;

/// The largest number.
const NUMBER: f64 = 100_000.0;

/// Numbers and letters of a path.
enum Token {
    Command(char),
    Number(f64),
}

fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let byte = bytes[at];
        if byte.is_ascii_alphabetic() && byte != b'e' && byte != b'E' {
            found.push(Token::Command(byte.into()));
            at += 1;
            continue;
        }
        if !(byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.')) {
            at += 1;
            continue;
        }
        at += 1;
        let mut has_point = byte == b'.';
        while at < bytes.len() {
            let is_part = match bytes[at] {
                b'0'..=b'9' | b'e' | b'E' => true,
                b'.' => !std::mem::replace(&mut has_point, true),
                b'-' | b'+' => matches!(bytes[at - 1], b'e' | b'E'),
                _ => false,
            };
            if !is_part {
                break;
            }
            at += 1;
        }
        let number = text.get(start..at).and_then(|text| text.parse().ok());
        let number = number.filter(|number: &f64| number.is_finite());
        found.extend(number.map(|number| Token::Number(number.clamp(-NUMBER, NUMBER))));
    }
    found
}

/// All numbers of a text.
pub(super) fn numbers(text: &str) -> Vec<f64> {
    let tokens = tokens(text).into_iter();
    tokens
        .filter_map(|token| if let Token::Number(number) = token { Some(number) } else { None })
        .collect()
}

/// How many numbers a command takes at once.
fn arity(command: char) -> usize {
    match command.to_ascii_lowercase() {
        'h' | 'v' => 1,
        'm' | 'l' | 't' => 2,
        's' | 'q' => 4,
        'c' => 6,
        'a' => 7,
        _ => 0,
    }
}

/// Where the pen is, where its figure began, and the last control point.
#[derive(Default)]
struct Pen {
    at: [f64; 2],
    start: [f64; 2],
    control: Option<[f64; 2]>,
}

/// The steps of a path.
pub(super) fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut pen = Pen::default();
    let mut command = ' ';
    let mut numbers: Vec<f64> = Vec::new();
    for token in tokens(text) {
        match token {
            Token::Command(letter) => {
                command = letter;
                numbers.clear();
                if command.eq_ignore_ascii_case(&'z') {
                    steps.push(Step::Close);
                    pen.at = pen.start;
                }
            }
            Token::Number(number) => {
                numbers.push(number);
                if numbers.len() == arity(command) {
                    pen.run(command, &numbers, &mut steps);
                    numbers.clear();
                    // Further points of a move are lines.
                    command = match command {
                        'm' => 'l',
                        'M' => 'L',
                        other => other,
                    };
                }
            }
        }
    }
    steps
}

impl Pen {
    fn run(&mut self, command: char, numbers: &[f64], steps: &mut Vec<Step>) {
        let base = if command.is_ascii_lowercase() { self.at } else { [0.0; 2] };
        let point = |at: usize| [base[0] + numbers[at], base[1] + numbers[at + 1]];
        let reflected = match self.control.take() {
            Some(control) => [2.0 * self.at[0] - control[0], 2.0 * self.at[1] - control[1]],
            None => self.at,
        };
        let from = self.at;
        match command.to_ascii_lowercase() {
            'm' => {
                self.at = point(0);
                self.start = self.at;
                steps.push(Step::Move(self.at));
                return;
            }
            'h' => self.at[0] = base[0] + numbers[0],
            'v' => self.at[1] = base[1] + numbers[0],
            'l' => self.at = point(0),
            'a' => self.at = point(5),
            'c' => return self.curve([point(0), point(2), point(4)], steps),
            's' => return self.curve([reflected, point(0), point(2)], steps),
            'q' => return self.bend(from, point(0), point(2), steps),
            't' => return self.bend(from, reflected, point(0), steps),
            _ => return,
        }
        steps.push(Step::Line(self.at));
    }

    fn curve(&mut self, points: [[f64; 2]; 3], steps: &mut Vec<Step>) {
        self.control = Some(points[1]);
        self.at = points[2];
        steps.push(Step::Curve(points));
    }

    /// A quadratic curve as a cubic one.
    fn bend(&mut self, from: [f64; 2], control: [f64; 2], to: [f64; 2], steps: &mut Vec<Step>) {
        let between = |end: [f64; 2]| [0, 1].map(|i| end[i] + (control[i] - end[i]) * 2.0 / 3.0);
        steps.push(Step::Curve([between(from), between(to), to]));
        self.control = Some(control);
        self.at = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_lines() {
        let found = steps("M10-5l5 5 1,1H0v.5.5z");
        let expected = [
            Step::Move([10.0, -5.0]),
            Step::Line([15.0, 0.0]),
            Step::Line([16.0, 1.0]),
            Step::Line([0.0, 1.0]),
            Step::Line([0.0, 1.5]),
            Step::Line([0.0, 2.0]),
            Step::Close,
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn broken_paths_draw_what_is_whole() {
        for text in ["", "M", "Mx", "M1", "C1 2 3", "q..1e", "1 2 3", "M1e999 2", "\u{e4}M1 1"] {
            steps(text);
        }
    }
}
