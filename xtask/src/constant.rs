//! Constants of the sources, and figures of the pages, as numbers that can be compared.
//!
//! A number of bytes counts bytes, a time counts seconds, and `true` is 1.

/// Constants that name each other are followed so far.
const DEEPEST: u32 = 8;

/// Units that a page writes behind a number.
const UNITS: [(&str, f64); 16] = [
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("bytes", 1.0),
    ("s", 1.0),
    ("seconds", 1.0),
    ("second", 1.0),
    ("ms", 0.001),
    ("milliseconds", 0.001),
    ("microseconds", 0.000_001),
    ("µs", 0.000_001),
    ("minutes", 60.0),
    ("minute", 60.0),
    ("hours", 3600.0),
    ("hour", 3600.0),
    ("days", 86_400.0),
];

/// What a page writes: `8,192`, `16 MiB`, `10 s`, `false`.
pub(crate) fn figure(text: &str) -> Option<f64> {
    let (number, unit) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let factor = match unit.trim() {
        "" => 1.0,
        unit => UNITS.iter().find(|(known, _)| *known == unit)?.1,
    };
    match number {
        "true" => Some(1.0),
        "false" => Some(0.0),
        _ => Some(number.replace(',', "").parse::<f64>().ok()? * factor),
    }
}

/// Whether two such numbers are the same, up to how fractions are kept.
pub(crate) fn same(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs())
}

/// The value of a constant of a source: `NAME` is `const NAME` in Rust and `local NAME` in Lua,
/// `Type.field` a field in `impl Default for Type`.
pub(crate) fn value(source: &str, name: &str) -> Option<f64> {
    named(source, name, DEEPEST)
}

fn named(source: &str, name: &str, deepest: u32) -> Option<f64> {
    let deepest = deepest.checked_sub(1)?;
    let mut reader = Reader { source, rest: definition(source, name)?, deepest };
    let value = reader.sum()?;
    reader.rest.trim().is_empty().then_some(value)
}

/// The text of what a name stands for.
fn definition<'a>(source: &'a str, name: &str) -> Option<&'a str> {
    if let Some((class, field)) = name.split_once('.') {
        let start = source.find(&format!("impl Default for {class} {{"))?;
        let body = &source[start..];
        let body = &body[..body.find("\n}\n").unwrap_or(body.len())];
        let at = body.find(&format!(" {field}: "))? + field.len() + 3;
        let end = at + body[at..].find([',', '}', '\n'])?;
        return Some(&body[at..end]);
    }
    if let Some(at) = source.find(&format!("const {name}: ")) {
        let (_, after) = source[at..].split_once('=')?;
        return Some(&after[..after.find(';')?]);
    }
    let at = source.find(&format!("local {name} = "))?;
    let after = &source[at + name.len() + 9..];
    let line = &after[..after.find('\n').unwrap_or(after.len())];
    Some(line.split("--").next().unwrap_or(line))
}

/// Computes a constant expression: numbers, names, `+ - * / <<`, parentheses, durations, `Some`.
struct Reader<'a> {
    source: &'a str,
    rest: &'a str,
    deepest: u32,
}

impl Reader<'_> {
    fn takes(&mut self, token: &str) -> bool {
        match self.rest.trim_start().strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Option<f64> {
        let mut value = self.product()?;
        loop {
            if self.takes("<<") {
                value *= self.product()?.exp2();
            } else if self.takes("+") {
                value += self.product()?;
            } else if self.takes("-") {
                value -= self.product()?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<f64> {
        let mut value = self.atom()?;
        loop {
            if self.takes("*") {
                value *= self.atom()?;
            } else if self.takes("/") {
                value /= self.atom()?;
            } else {
                return Some(value);
            }
        }
    }

    fn atom(&mut self) -> Option<f64> {
        if self.takes("(") {
            let value = self.sum()?;
            return self.takes(")").then_some(value);
        }
        let rest = self.rest.trim_start();
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.');
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        self.rest = after;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let digits = word.replace('_', "");
            if let Ok(number) = digits.parse() {
                return Some(number);
            }
            let digits = digits.find(char::is_alphabetic).map_or(&*digits, |at| &digits[..at]);
            return digits.parse().ok();
        }
        let factor = match word {
            "true" => return Some(1.0),
            "false" | "Duration::ZERO" => return Some(0.0),
            "Some" | "Duration::from_secs" | "Duration::from_secs_f64" => 1.0,
            "Duration::from_mins" => 60.0,
            "Duration::from_millis" => 0.001,
            "Duration::from_micros" => 0.000_001,
            _ => return named(self.source, word, self.deepest),
        };
        let inner = self.takes("(").then(|| self.sum())??;
        self.takes(")").then_some(inner * factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "const A: u64 = 64 << 20;\npub const B: usize = 2 * A + 1_000;\n\
        const C: Duration =\n    Duration::from_millis(250);\nconst LOOP: u8 = LOOP;\n\
        impl Default for Options {\n    fn default() -> Self {\n        Options { times: 3, \
        wait: Duration::from_secs(5), most: Some(A) }\n    }\n}\nlocal MOST = 2 * 10 -- twenty\n";

    #[test]
    fn constants_and_defaults_are_computed() {
        let of = |name| value(SOURCE, name);
        assert_eq!(of("A"), Some(67_108_864.0));
        assert_eq!(of("B"), Some(134_218_728.0));
        assert_eq!(of("C"), Some(0.25));
        assert_eq!(of("Options.times"), Some(3.0));
        assert_eq!(of("Options.wait"), Some(5.0));
        assert_eq!(of("Options.most"), of("A"));
        assert_eq!(of("MOST"), Some(20.0));
        assert_eq!((of("LOOP"), of("NONE"), of("Options.none")), (None, None, None));
    }

    #[test]
    fn figures_are_read_as_they_are_written() {
        let of = |text| figure(text);
        assert_eq!(
            (of("8,192"), of("16 MiB"), of("1 GiB")),
            (Some(8192.0), value(SOURCE, "A").map(|a| a / 4.0), Some(1_073_741_824.0))
        );
        assert_eq!(
            (of("100 ms"), of("5 minutes"), of("false")),
            (Some(0.1), Some(300.0), Some(0.0))
        );
        assert_eq!((of("many"), of("3 apples")), (None, None));
        assert!(same(0.1, 100.0 * 0.001) && !same(1.0, 1.001));
    }
}
