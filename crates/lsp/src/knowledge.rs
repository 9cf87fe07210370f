//! What is known of the language before a program is read.

use runnel_catalogue::{Catalogue, TopicKind};
use runnel_check::Kernel;
use runnel_compile::Known;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// An option of a literal such as `#HTTPServer{ port: 8080 }`.
#[derive(Clone, Debug, Default)]
pub struct KnownOption {
    /// `port`
    pub name: String,
    /// What a program writes for it: `whole Number`.
    pub kind: String,
    /// What holds without it.
    pub default: Option<String>,
    /// What it does, in one line.
    pub help: String,
}

/// A built-in scheme.
#[derive(Clone, Debug, Default)]
pub struct KnownScheme {
    /// `file`
    pub name: String,
    /// Its resources, in one line.
    pub help: String,
    /// `file:notes/today.txt`
    pub example: String,
}

/// The language as the server knows it. It does not change, so that threads share it.
#[derive(Debug)]
pub struct Knowledge {
    pub(crate) catalogue: &'static Catalogue,
    pub(crate) kernel: Kernel,
    pub(crate) names: KernelNames,
    options: HashMap<String, Vec<KnownOption>>,
    pub(crate) schemes: BTreeMap<String, KnownScheme>,
}

/// A predefined name: its class, and whether it is the class itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PredefinedName {
    pub(crate) class: String,
    pub(crate) is_class: bool,
}

#[derive(Debug, Default)]
struct KernelClass {
    above: Option<String>,
    variables: Vec<String>,
    selectors: BTreeSet<String>,
    class_selectors: BTreeSet<String>,
}

/// The names of the kernel, as the compiler asks for them.
#[derive(Debug, Default)]
pub(crate) struct KernelNames {
    classes: BTreeMap<String, KernelClass>,
    aliases: BTreeMap<String, String>,
    pub(crate) predefined: BTreeMap<String, PredefinedName>,
    schemes: BTreeSet<String>,
}

impl Knowledge {
    /// Puts together what the kernel says of itself (`facts`), its schemes, and the options of classes.
    pub fn new(
        catalogue: &'static Catalogue,
        facts: &str,
        scheme_names: Vec<String>,
        schemes: Vec<KnownScheme>,
        options: Vec<(String, Vec<KnownOption>)>,
    ) -> Knowledge {
        let own = catalogue.topics(TopicKind::Scheme).map(|topic| KnownScheme {
            name: topic.name.clone(),
            help: topic.text.clone(),
            example: topic.program(),
        });
        let mut described: BTreeMap<String, KnownScheme> = BTreeMap::new();
        for scheme in own.into_iter().chain(schemes) {
            described.insert(scheme.name.clone(), scheme);
        }
        for name in &scheme_names {
            let plain = KnownScheme { name: name.clone(), ..KnownScheme::default() };
            described.entry(name.clone()).or_insert(plain);
        }
        let names = KernelNames::read(facts, described.keys().cloned().collect());
        let kernel = Kernel::parse(facts);
        let options = options.into_iter().collect();
        Knowledge { catalogue, kernel, names, options, schemes: described }
    }

    /// The options of a class; for a class without a table, what its literals set.
    pub(crate) fn options(&self, class: &str) -> Vec<KnownOption> {
        let class = self.names.plain(class);
        if let Some(options) = self.options.get(class) {
            return options.clone();
        }
        self.names
            .settable(class)
            .into_iter()
            .map(|name| self.described_option(class, name))
            .collect()
    }

    fn described_option(&self, class: &str, name: String) -> KnownOption {
        let read = self.catalogue.message(class, &name, false);
        let written = || self.catalogue.message(class, &format!("{name}:"), false);
        let help = read.or_else(written).map_or_else(String::new, |message| message.text.clone());
        let kind = read.map_or_else(String::new, |message| message.answer.to_string());
        KnownOption { name, kind, default: None, help }
    }
}

impl KernelNames {
    /// Reads the lines that the kernel writes of itself (`kernel/program/facts.lua`).
    fn read(facts: &str, schemes: BTreeSet<String>) -> KernelNames {
        let mut names = KernelNames { schemes, ..KernelNames::default() };
        let mut class = String::new();
        for line in facts.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let all = || rest.split(' ').filter(|one| !one.is_empty()).map(str::to_owned);
            match word {
                "class" => {
                    let mut words = all();
                    class = words.next().unwrap_or_default();
                    let above = words.next();
                    names
                        .classes
                        .insert(class.clone(), KernelClass { above, ..KernelClass::default() });
                }
                "own" | "meta" | "variables" => {
                    let Some(class) = names.classes.get_mut(&class) else { continue };
                    match word {
                        "own" => class.selectors.extend(all()),
                        "meta" => class.class_selectors.extend(all()),
                        _ => class.variables.extend(all()),
                    }
                }
                "alias" => names.aliases.extend(pair(rest)),
                "name" => names.predefined.extend(pair(rest).map(|(name, value)| {
                    let (class, is_class) = match value.strip_prefix("class ") {
                        Some(class) => (class.to_owned(), true),
                        None => (value, false),
                    };
                    (name, PredefinedName { class, is_class })
                })),
                _ => {}
            }
        }
        names
    }

    /// The plain name of a class.
    pub(crate) fn plain<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases.get(name).map_or(name, String::as_str)
    }

    pub(crate) fn class_names(&self) -> impl Iterator<Item = &str> {
        self.classes.keys().map(String::as_str)
    }

    fn lineage<'a>(&'a self, class: &'a str) -> impl Iterator<Item = &'a KernelClass> {
        let above = |class: &&'a KernelClass| self.classes.get(self.plain(class.above.as_deref()?));
        std::iter::successors(self.classes.get(self.plain(class)), above).take(64)
    }

    /// Whether a class of the kernel, or any of them, understands a message.
    pub(crate) fn understands(&self, class: Option<&str>, selector: &str) -> bool {
        let has = |class: &KernelClass| {
            class.selectors.contains(selector) || class.class_selectors.contains(selector)
        };
        match class {
            Some(class) => self.lineage(class).any(has),
            None => self.classes.values().any(has),
        }
    }

    /// The variables of a class, and what its own messages of one argument set.
    fn settable(&self, class: &str) -> Vec<String> {
        let mut names = BTreeSet::new();
        for one in self.lineage(class) {
            if one.above.is_none() {
                break;
            }
            names.extend(one.variables.iter().filter(|name| !name.starts_with('_')).cloned());
            let sets = |selector: &&String| {
                selector.strip_suffix(':').is_some_and(|name| {
                    !name.contains(':')
                        && (one.selectors.contains(name)
                            || one.variables.iter().any(|it| it == name))
                })
            };
            names.extend(
                one.selectors.iter().filter(sets).map(|name| name.trim_end_matches(':').to_owned()),
            );
        }
        names.into_iter().collect()
    }
}

fn pair(text: &str) -> Option<(String, String)> {
    text.split_once(' ').map(|(name, value)| (name.to_owned(), value.to_owned()))
}

impl Known for KernelNames {
    fn is_class(&self, name: &str) -> bool {
        self.classes.contains_key(name) || self.aliases.contains_key(name)
    }

    fn is_predefined(&self, name: &str) -> bool {
        self.predefined.contains_key(name)
    }

    fn is_variable(&self, _: &str) -> bool {
        false
    }

    fn is_scheme(&self, name: &str) -> bool {
        self.schemes.contains(name)
    }

    fn instance_variables(&self, class: &str) -> Vec<String> {
        self.classes.get(self.plain(class)).map_or_else(Vec::new, |class| class.variables.clone())
    }

    fn names(&self) -> Vec<String> {
        let all = self.predefined.keys().chain(self.classes.keys()).chain(self.aliases.keys());
        all.cloned().collect()
    }

    fn schemes(&self) -> Vec<String> {
        self.schemes.iter().cloned().collect()
    }
}
