//! The classes of a running kernel, with every message they understand: also those without a definition
//! in the catalogue.

use rustc_hash::{FxHashMap, FxHashSet};

/// A class of the kernel.
#[derive(Debug, Default)]
pub(crate) struct KernelClass {
    pub(crate) above: Option<String>,
    /// Selectors of its instances that it defines itself, operators by their names (`add:`).
    pub(crate) own: FxHashSet<String>,
    /// Selectors of the class.
    pub(crate) meta: FxHashSet<String>,
    /// All instance variables, inherited ones too.
    pub(crate) variables: Vec<String>,
    /// Options that take a duration.
    pub(crate) durations: FxHashSet<String>,
    /// Options that take a size.
    pub(crate) sizes: FxHashSet<String>,
    /// It reads the pairs of its literals itself.
    pub(crate) takes_any: bool,
}

/// What a predefined name holds.
#[derive(Debug)]
pub(crate) enum Predefined {
    /// An object of this class.
    Object(String),
    /// The class itself.
    Class(String),
}

/// The classes and predefined names of the kernel.
#[derive(Debug, Default)]
pub struct Kernel {
    pub(crate) classes: FxHashMap<String, KernelClass>,
    /// Plain names by other names, such as `NSString`.
    pub(crate) aliases: FxHashMap<String, String>,
    pub(crate) names: FxHashMap<String, Predefined>,
}

impl Kernel {
    /// Reads the lines that the kernel writes of itself (`kernel/program/facts.lua`).
    pub fn parse(text: &str) -> Self {
        let mut kernel = Kernel::default();
        let mut class: Option<(String, KernelClass)> = None;
        for line in text.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match (word, &mut class) {
                ("class", _) => {
                    kernel.classes.extend(class.take());
                    let mut names = words(rest);
                    let name = names.next().unwrap_or_default();
                    class = Some((name, KernelClass { above: names.next(), ..Default::default() }));
                }
                ("own", Some((_, class))) => class.own.extend(words(rest)),
                ("meta", Some((_, class))) => class.meta.extend(words(rest)),
                ("variables", Some((_, class))) => class.variables.extend(words(rest)),
                ("durations", Some((_, class))) => class.durations.extend(words(rest)),
                ("sizes", Some((_, class))) => class.sizes.extend(words(rest)),
                ("literal", Some((_, class))) => class.takes_any = true,
                ("alias", _) => kernel.aliases.extend(pair(rest)),
                ("name", _) => kernel.names.extend(pair(rest).map(|(name, value)| {
                    let value = match value.strip_prefix("class ") {
                        Some(class) => Predefined::Class(class.to_owned()),
                        None => Predefined::Object(value),
                    };
                    (name, value)
                })),
                _ => {}
            }
        }
        kernel.classes.extend(class);
        kernel
    }
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(' ').filter(|one| !one.is_empty()).map(str::to_owned)
}

fn pair(text: &str) -> Option<(String, String)> {
    text.split_once(' ').map(|(name, value)| (name.to_owned(), value.to_owned()))
}

/// The selector by which classes know a message: operators have names.
pub(crate) fn canonical(selector: &str) -> &str {
    match selector {
        "+" => "add:",
        "-" => "sub:",
        "*" | "×" => "mul:",
        "/" | "÷" => "div:",
        "=" | "==" => "isEqual:",
        "≠" | "~=" | "!=" => "isNotEqualTo:",
        "<" => "isLessThan:",
        ">" => "isGreaterThan:",
        "≤" | "<=" => "isLessThanOrEqualTo:",
        "≥" | ">=" => "isGreaterThanOrEqualTo:",
        "," => "concat:",
        "@" => "pointWith:",
        "!" => "writeObject:",
        "!!" => "sendmsg:",
        "%" => "mod:",
        "&" => "and:",
        other => other,
    }
}
