//! Types as definitions of messages write them.

use std::fmt;

/// One alternative of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KindOption {
    /// A value of this class or one below it.
    Class(String),
    /// A block with parameters of these names; `None` when any number is taken.
    Block(Option<Vec<String>>),
    /// A value of the receiver's class, `self`.
    Receiver,
    /// Anything, `any`.
    Any,
    /// No useful value, `nothing`.
    Nothing,
}

/// A type: alternatives, and whether nil is an ordinary value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueKind {
    /// The alternatives; at least one.
    pub options: Vec<KindOption>,
    /// Written `?`: nil is an ordinary value.
    pub may_be_nil: bool,
}

impl ValueKind {
    /// Anything at all.
    pub fn any() -> Self {
        ValueKind { options: vec![KindOption::Any], may_be_nil: true }
    }

    /// Reads `String?`, `Number|String`, `Block(sum, each)`, `self`, `any`, `nothing`.
    pub fn parse(text: &str) -> Option<Self> {
        let (text, may_be_nil) = match text.strip_suffix('?') {
            Some(text) => (text, true),
            None => (text, false),
        };
        let options: Option<Vec<KindOption>> = text.split('|').map(option).collect();
        options.map(|options| ValueKind { options, may_be_nil })
    }

    /// Whether nothing is known of a value of this type.
    pub fn is_any(&self) -> bool {
        self.options.contains(&KindOption::Any)
    }
}

fn option(text: &str) -> Option<KindOption> {
    let text = text.trim();
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    match text {
        "self" => return Some(KindOption::Receiver),
        "any" => return Some(KindOption::Any),
        "nothing" => return Some(KindOption::Nothing),
        "Block" => return Some(KindOption::Block(None)),
        _ => {}
    }
    if let Some(names) = text.strip_prefix("Block(").and_then(|rest| rest.strip_suffix(')')) {
        let names: Vec<String> = names
            .split(',')
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect();
        return names.iter().all(|name| is_name(name)).then_some(KindOption::Block(Some(names)));
    }
    let is_class = is_name(text) && text.starts_with(|first: char| first.is_uppercase());
    is_class.then(|| KindOption::Class(text.to_owned()))
}

impl fmt::Display for KindOption {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KindOption::Class(name) => out.write_str(name),
            KindOption::Block(None) => out.write_str("Block"),
            KindOption::Block(Some(names)) => write!(out, "Block({})", names.join(", ")),
            KindOption::Receiver => out.write_str("self"),
            KindOption::Any => out.write_str("any"),
            KindOption::Nothing => out.write_str("nothing"),
        }
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, option) in self.options.iter().enumerate() {
            if number > 0 {
                out.write_str("|")?;
            }
            write!(out, "{option}")?;
        }
        if self.may_be_nil && !self.is_any() { out.write_str("?") } else { Ok(()) }
    }
}
