//! The definitions of messages agree with the kernel: nothing is missing, and nothing is defined that there is not.
//!
//! `BLESS=1 cargo test -p runnel-runtime --test it catalogue` writes both lists anew: the classes, and what has no
//! definition yet. A build reads the first one.

#![allow(clippy::unwrap_used)]

use crate::support::Lab;
use runnel_catalogue::{Message, TopicKind};
use runnel_runtime::catalogue;
use std::collections::{BTreeMap, BTreeSet};

/// The classes of the kernel and their other names, which the catalogue reads when it is built.
const CLASSES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernel/classes.txt");
/// Messages without a definition, and classes without a text.
const UNDOCUMENTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/kernel/undocumented.txt");
/// How to write both.
const REWRITE: &str = "BLESS=1 cargo test -p runnel-runtime --test it catalogue";

/// A message that the loaded kernel has.
struct KernelMethod {
    class: String,
    is_of_class: bool,
    /// Its name in Lua, which all spellings of a selector share.
    name: String,
    selector: String,
}

/// What the loaded kernel says of itself.
#[derive(Default)]
struct Kernel {
    /// Lines of [`CLASSES`].
    classes: String,
    /// Names in Lua by selectors that are defined.
    names: BTreeMap<String, String>,
    methods: Vec<KernelMethod>,
    /// Definitions of what their class does not understand.
    absent: Vec<String>,
}

impl Kernel {
    fn of_lab() -> Kernel {
        let selectors: String =
            catalogue().selectors().map(|selector| format!("{selector:?}, ")).collect();
        let defined: String = catalogue()
            .classes()
            .flat_map(|class| &class.messages)
            .map(|one| {
                let side = if one.is_of_class { '+' } else { '-' };
                format!("{{ {:?}, '{side}', {:?} }}, ", one.class, one.selector)
            })
            .collect();
        let script = format!(
            "local SELECTORS, DEFINED = {{ {selectors} }}, {{ {defined} }}\n{}",
            include_str!("kernel/catalogue.lua")
        );
        let facts = Lab::new().isolate.run_lua(&script, "kernel/catalogue.lua").unwrap_err();
        let mut kernel = Kernel { classes: "classes\n".into(), ..Kernel::default() };
        for line in facts.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words.as_slice() {
                ["selector", selector, name] => {
                    kernel.names.insert((*selector).into(), (*name).into());
                }
                ["method", class, side, name, selector] => {
                    kernel.methods.push(KernelMethod {
                        class: (*class).into(),
                        is_of_class: *side == "+",
                        name: (*name).into(),
                        selector: (*selector).into(),
                    });
                }
                ["absent", definition @ ..] => kernel.absent.push(definition.join(" ")),
                ["class" | "alias" | "stands", ..] => {
                    kernel.classes.push_str(line.trim_end());
                    kernel.classes.push('\n');
                }
                _ => panic!("{facts}"),
            }
        }
        kernel
    }

    /// The definition of a message, in its class or one above it.
    fn definition(&self, one: &KernelMethod) -> Option<&'static Message> {
        let is = |message: &&Message| {
            message.is_of_class == one.is_of_class && self.names[&message.selector] == one.name
        };
        catalogue().lineage(&one.class).find_map(|class| class.messages.iter().find(is))
    }
}

/// Compares with a file, or writes it where `BLESS` is set.
fn agrees(path: &str, text: &str, what: &str) {
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        std::fs::write(path, text).unwrap();
        return;
    }
    let known = std::fs::read_to_string(path).unwrap();
    let (known, found): (BTreeSet<&str>, BTreeSet<&str>) =
        (known.lines().collect(), text.lines().collect());
    let lacks: Vec<_> = found.difference(&known).collect();
    let keeps: Vec<_> = known.difference(&found).collect();
    assert!(
        lacks.is_empty() && keeps.is_empty(),
        "{what}\nnot in {path}: {lacks:#?}\nno longer so: {keeps:#?}\nwrite it anew: {REWRITE}"
    );
}

#[test]
fn the_classes_are_those_of_the_kernel() {
    agrees(CLASSES, &Kernel::of_lab().classes, "the kernel has other classes than its catalogue");
}

#[test]
fn each_message_is_defined() {
    let kernel = Kernel::of_lab();
    let lacking = kernel.methods.iter().filter(|one| kernel.definition(one).is_none());
    let mut missing: BTreeSet<String> = lacking
        .map(|one| {
            let side = if one.is_of_class { " class" } else { "" };
            format!("{}{side}>>{}\n", one.class, one.selector)
        })
        .collect();
    // A class that has public messages has a text of its own.
    let classes = catalogue().classes();
    let without = classes.filter(|class| !class.messages.is_empty() && class.text.is_empty());
    missing.extend(without.map(|class| format!("{}\n", class.name)));
    let text: String = missing.into_iter().collect();
    agrees(UNDOCUMENTED, &text, "no definition (`---` above a message or a class in the kernel)");
}

#[test]
fn each_definition_is_of_a_message_of_its_class() {
    let absent = Kernel::of_lab().absent;
    assert!(absent.is_empty(), "definitions of what the class does not understand: {absent:#?}");
}

/// The names of the topics of a kind.
fn topics(kind: TopicKind) -> BTreeSet<String> {
    catalogue().topics(kind).map(|topic| topic.name.clone()).collect()
}

#[test]
fn each_scheme_and_name_of_the_kernel_is_defined() {
    let lab = Lab::new();
    // Those of the host have their definition in the app.
    let names = lab.isolate.scheme_names().into_iter().filter(|name| name != "memory");
    assert_eq!(names.collect::<BTreeSet<_>>(), topics(TopicKind::Scheme));
    let facts = lab.isolate.kernel_facts();
    let names = facts.lines().filter_map(|line| line.strip_prefix("name ")?.split(' ').next());
    let defined = topics(TopicKind::Name);
    let missing: Vec<&str> = names.filter(|name| !defined.contains(*name)).collect();
    assert!(missing.is_empty() && defined.contains("self"), "{missing:?} without `--- name`");
}
