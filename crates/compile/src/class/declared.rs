//! Declared types and values of variables, as the data that the kernel reads.

use crate::code::{MethodContext, Tail};
use crate::generator::Generator;
use crate::lua::names::quoted;
use regex::Regex;
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{
    Block, DeclaredKind, DeclaredType, Expression, ExpressionKind, Statement, StatementKind,
    TypeRange, VariableDeclaration, Word,
};
use runnel_text::distance::nearest;

/// What can stand behind the type of a variable.
const MARKS: [&str; 6] = ["required", "readonly", "unique", "key", "cascade", "nullify"];
/// Numbers whose neighbours are different numbers: 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// Types that are no class and whose values are plain.
const PLAIN: [&str; 28] = [
    "int",
    "integer",
    "long",
    "nsinteger",
    "float",
    "double",
    "number",
    "decimal",
    "nsdecimalnumber",
    "bool",
    "boolean",
    "string",
    "text",
    "nsstring",
    "email",
    "url",
    "uuid",
    "date",
    "datetime",
    "nsdate",
    "time",
    "moment",
    "bytes",
    "data",
    "nsdata",
    "file",
    "image",
    "any",
];

/// What limits behind a type mean.
#[derive(Clone, Copy, PartialEq)]
enum Measure {
    Whole,
    Number,
    Decimal,
    Length,
    Nothing,
}

fn measure(name: &str) -> Measure {
    match name.to_ascii_lowercase().as_str() {
        "int" | "integer" | "long" | "nsinteger" => Measure::Whole,
        "float" | "double" | "number" => Measure::Number,
        "decimal" | "nsdecimalnumber" => Measure::Decimal,
        "string" | "text" | "nsstring" | "email" | "url" | "bytes" | "data" | "nsdata" | "file"
        | "image" | "array" => Measure::Length,
        _ => Measure::Nothing,
    }
}

fn is_text(name: &str) -> bool {
    matches!(name.to_ascii_lowercase().as_str(), "string" | "text" | "nsstring")
}

impl Generator<'_> {
    /// A type as the kernel reads it: its name, or a table where there is more to it.
    pub(super) fn declared_type(&mut self, declared: &DeclaredType) -> String {
        let mut parts = Vec::new();
        match &declared.kind {
            DeclaredKind::Named { name, limits, pattern } => {
                self.check_type_name(name);
                parts.push(format!("kind={}", quoted(&name.text)));
                if let Some(limits) = limits {
                    parts.extend(self.limits(limits, measure(&name.text), &name.text));
                }
                if let Some(pattern) = pattern {
                    self.check_pattern(name, pattern);
                    parts.push(format!("pattern={}", quoted(&pattern.text)));
                }
            }
            DeclaredKind::Enumeration(texts) => {
                self.check_enumeration(texts);
                let texts: Vec<String> = texts.iter().map(|text| quoted(&text.text)).collect();
                parts.push(format!("kind=\"enum\",values={{{}}}", texts.join(",")));
            }
            DeclaredKind::List { element, limits } => {
                let element = self.declared_type(element);
                parts.push(format!("kind=\"list\",element={element}"));
                if let Some(limits) = limits {
                    parts.extend(self.limits(limits, Measure::Length, "an array"));
                }
            }
            DeclaredKind::OneOf(options) => {
                let options: Vec<String> =
                    options.iter().map(|option| self.declared_type(option)).collect();
                parts.push(format!("kind=\"oneOf\",options={{{}}}", options.join(",")));
            }
        }
        if declared.optional {
            parts.push("optional=true".into());
        }
        match (&declared.kind, parts.len()) {
            (DeclaredKind::Named { name, .. }, 1) => quoted(&name.text),
            _ => format!("{{{}}}", parts.join(",")),
        }
    }

    /// The ends of a range, or a diagnostic for an empty range.
    fn limits(&mut self, limits: &TypeRange, measure: Measure, name: &str) -> Vec<String> {
        let fault = |title: String, hint: &str| {
            Diagnostic::error(limits.span, title, "this range").hint(hint.to_string())
        };
        if measure == Measure::Nothing {
            let title = format!("`{name}` has no range");
            self.error(fault(
                title,
                "numbers have ranges, and texts, bytes and lists have lengths",
            ));
            return Vec::new();
        }
        let ends = [("min", &limits.least), ("max", &limits.most)];
        let mut numbers = Vec::new();
        let mut parts = Vec::new();
        for (key, word) in ends {
            let Some(word) = word else { continue };
            let text = word.text.replace('_', "");
            let Ok(number) = text.parse::<f64>() else { continue };
            let whole = measure != Measure::Number && measure != Measure::Decimal;
            if number.abs() > EXACT || (whole && number.fract() != 0.0) {
                let title = format!("`{text}` cannot be the end of this range");
                self.error(fault(title, "write an integer that a number holds exactly"));
            } else if measure == Measure::Length && number < 0.0 {
                self.error(fault("a length is not negative".into(), "begin the range with 0"));
            }
            numbers.push(number);
            parts.push(match measure {
                Measure::Decimal => format!("{key}={}", quoted(&text)),
                _ => format!("{key}={text}"),
            });
        }
        if let [least, most] = numbers[..]
            && least > most
        {
            let title = "no value is in this range".to_string();
            self.error(fault(title, "write the lesser end first, as in `1..120`"));
        }
        parts
    }

    fn check_pattern(&mut self, name: &Word, pattern: &Word) {
        if !is_text(&name.text) {
            let title = format!("`{}` has no pattern", name.text);
            let fault = Diagnostic::error(pattern.span, title, "this pattern");
            self.error(fault.hint("only `string` has one: `<string /[a-z]+/>`"));
        } else if Regex::new(&format!("^(?:{})$", pattern.text)).is_err() {
            let title = "this is no regular expression";
            let fault = Diagnostic::error(pattern.span, title, "not understood");
            self.error(fault.hint(
                "the syntax is that of RE2: classes, groups and repetitions; no look-around, no back-references",
            ));
        }
    }

    fn check_enumeration(&mut self, texts: &[Word]) {
        for (at, text) in texts.iter().enumerate() {
            if let Some(first) = texts[..at].iter().find(|other| other.text == text.text) {
                let title = format!("'{}' is there twice", text.text);
                let fault = Diagnostic::error(text.span, title, "again");
                self.error(fault.also(first.span, "the first one").hint("remove one of the two"));
            }
        }
    }

    /// Warns of a type that says nothing: neither a plain one nor a class.
    fn check_type_name(&mut self, name: &Word) {
        let text = name.text.as_str();
        let plain = PLAIN.contains(&text.to_ascii_lowercase().as_str());
        let said = matches!(text, "id" | "object" | "array" | "dictionary");
        if plain || said || self.may_be_loaded(text) || self.is_class(text) {
            return;
        }
        let classes: Vec<String> = self.visible_names();
        let known = PLAIN.iter().copied().chain(classes.iter().map(String::as_str));
        let hint = match nearest(text, known) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => {
                "name a class, or a type such as int, string or date; `any` is any value".into()
            }
        };
        let title = format!("no type and no class is called `{text}`");
        let label = "any value is taken";
        self.error(Diagnostic::warning(name.span, title, label).hint(hint));
    }

    /// What stands beside the type of a variable, as fields of a table: marks, value, comment.
    pub(super) fn declared_marks(
        &mut self,
        class: &str,
        declaration: &VariableDeclaration,
        start: u32,
    ) -> String {
        self.check_marks(declaration);
        let marks = declaration.marks.iter().map(|mark| format!("{}=true", mark.text));
        let mut parts: Vec<String> = marks.collect();
        if let Some((_, value)) = &declaration.default {
            let constant = if is_constant(value) { "constant=true," } else { "" };
            let function = self.default_function(class, value);
            parts.push(format!("{constant}default={function}"));
        }
        if let Some(comment) = comment_above(self.source, start) {
            parts.push(format!("doc={}", quoted(&comment)));
        }
        parts.join(",")
    }

    fn default_function(&mut self, class: &str, value: &Expression) -> String {
        let kind = StatementKind::Expression(value.clone());
        let statements = vec![Statement { kind, span: value.span }];
        let block = Block { parameters: Vec::new(), statements, span: value.span };
        let context = MethodContext { class: class.to_string(), ..MethodContext::default() };
        self.method_function(context, &[], &block, &Tail::Return)
    }

    /// Refuses marks that variables do not have, and those that are there twice.
    fn check_marks(&mut self, declaration: &VariableDeclaration) {
        let optional = declaration.kind.as_ref().is_some_and(|kind| kind.optional);
        for (index, mark) in declaration.marks.iter().enumerate() {
            let twice = declaration.marks[..index].iter().any(|other| other.text == mark.text);
            if optional && mark.text == "required" {
                let title = "a type with `?` is not required";
                let fault = Diagnostic::error(mark.span, title, "remove this, or the `?`");
                self.error(fault.hint("`?` says that nil is a value of the variable"));
            }
            if MARKS.contains(&mark.text.as_str()) && !twice {
                continue;
            }
            let label = if twice { "there already" } else { "not known" };
            let message = format!("`{}` says nothing about a variable", mark.text);
            let (last, others) = MARKS.split_last().unwrap_or((&"", &[]));
            let hint = format!("the marks behind a type are {} and {last}", others.join(", "));
            self.error(Diagnostic::error(mark.span, message, label).hint(hint));
        }
    }
}

/// Whether a value is the same for each object.
fn is_constant(value: &Expression) -> bool {
    match &value.kind {
        ExpressionKind::Integer(_) | ExpressionKind::Float(_) | ExpressionKind::Text(_) => true,
        ExpressionKind::Name(name) => matches!(name.as_str(), "true" | "false"),
        ExpressionKind::Parenthesized(inner) => is_constant(inner),
        _ => false,
    }
}

/// The comment in the lines above a place, without its marks: the documentation of what follows.
pub(crate) fn comment_above(source: &str, start: u32) -> Option<String> {
    let before = source.get(..start as usize)?;
    let (above, line) = before.rsplit_once('\n')?;
    if !line.trim().is_empty() {
        return None;
    }
    let mut lines: Vec<&str> = Vec::new();
    for line in above.rsplit('\n') {
        match line.trim().strip_prefix("//") {
            Some(text) => lines.push(text.trim()),
            None => break,
        }
    }
    lines.reverse();
    let text = lines.join(" ");
    (!text.is_empty()).then_some(text)
}
