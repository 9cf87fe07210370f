//! All classes and messages.

use crate::message::{MessageDefinition, Signature, example, signature};
use crate::topic::{Topic, TopicKind};
use std::collections::BTreeMap;

/// A class of the kernel.
#[derive(Clone, Debug, Default)]
pub struct Class {
    /// Its plain name.
    pub name: String,
    /// The class above it; none for the root.
    pub superclass: Option<String>,
    /// A class whose messages its values understand too, because they stand for one of its values.
    pub stands_for: Option<String>,
    /// The folder of the kernel that defines it, such as `collections`.
    pub room: String,
    /// What it is, in a sentence or two; empty where it is internal.
    pub text: String,
    /// The messages that it defines itself, in the order of the source.
    pub messages: Vec<MessageDefinition>,
}

/// All classes and messages of the kernel.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    classes: BTreeMap<String, Class>,
    /// Plain names by other names, such as `NSString`.
    aliases: BTreeMap<String, String>,
    /// The classes that define a selector, with the position of the message in the class.
    by_selector: BTreeMap<String, Vec<(String, usize)>>,
    /// Kinds of errors, names and schemes.
    topics: Vec<Topic>,
}

impl Catalogue {
    /// Reads what [`extract`](crate::extract::extract) collected.
    pub fn parse(text: &str) -> Self {
        let mut catalogue = Catalogue::default();
        let mut referred = Vec::new();
        let mut room = ""; // of the file that is read
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            if let Some(name) = line.strip_prefix("room ") {
                room = name;
            } else if line == "classes" {
                room = "";
            } else if let Some(rest) = line.strip_prefix("class ") {
                let mut names = rest.split(' ').map(str::to_owned);
                let name = names.next().unwrap_or_default();
                let class = catalogue.class_entry(&name);
                if !room.is_empty() {
                    room.clone_into(&mut class.room);
                }
                class.superclass = names.next().or(class.superclass.take());
            } else if let Some((class, other)) =
                line.strip_prefix("stands ").and_then(|rest| rest.split_once(' '))
            {
                catalogue.class_entry(class).stands_for = Some(other.to_owned());
            } else if let Some((alias, class)) =
                line.strip_prefix("alias ").and_then(|rest| rest.split_once(' '))
            {
                catalogue.aliases.insert(alias.to_owned(), class.to_owned());
            } else if let Some(rest) = line.strip_prefix("as ") {
                referred.push(rest.split(' ').map(str::to_owned).collect::<Vec<_>>());
            } else if let Some(name) = line.strip_prefix("about ") {
                catalogue.class_entry(name).text = lines.next().unwrap_or_default().to_owned();
            } else if !line.is_empty() {
                let mut block = vec![line];
                while let Some(line) = lines.next_if(|line| !line.is_empty()) {
                    block.push(line);
                }
                match Topic::parse(&block) {
                    Some(topic) => catalogue.topics.push(topic),
                    None => catalogue.add(&block),
                }
            }
        }
        catalogue.index();
        for parts in referred {
            if let [own, class, selector] = parts.as_slice() {
                catalogue.refer(own, class, selector);
            }
        }
        catalogue.index();
        catalogue
    }

    fn class_entry(&mut self, name: &str) -> &mut Class {
        let class = self.classes.entry(name.to_owned()).or_default();
        class.name = name.to_owned();
        class
    }

    /// Adds the messages of one definition.
    fn add(&mut self, block: &[&str]) {
        let (mut signatures, mut text, mut examples) = (Vec::new(), Vec::new(), Vec::new());
        for line in block {
            match signature(line) {
                Some(Ok(signature)) => signatures.push(signature),
                Some(Err(_)) => {}
                None => match line.strip_prefix('>') {
                    Some(source) => examples.push(example(source)),
                    None => text.push(*line),
                },
            }
        }
        let text = text.join(" ");
        let all: Vec<String> = signatures.iter().map(|one| one.selector.clone()).collect();
        for Signature { class, is_of_class, selector, parameters, answer } in signatures {
            let Some(class) = class else { continue };
            let synonyms = all.iter().filter(|one| **one != selector).cloned().collect();
            let message = MessageDefinition {
                class: class.clone(),
                is_of_class,
                selector,
                parameters,
                answer,
                text: text.clone(),
                examples: examples.clone(),
                synonyms,
            };
            self.class_entry(&class).messages.push(message);
        }
    }

    /// A message of a class that means what it means in another one.
    fn refer(&mut self, own: &str, class: &str, selector: &str) {
        if let Some(message) = self.message(class, selector, false) {
            let message = MessageDefinition { class: own.to_owned(), ..message.clone() };
            self.class_entry(own).messages.push(message);
        }
    }

    fn index(&mut self) {
        self.by_selector.clear();
        for class in self.classes.values() {
            for (number, message) in class.messages.iter().enumerate() {
                let list = self.by_selector.entry(message.selector.clone()).or_default();
                list.push((class.name.clone(), number));
            }
        }
    }

    /// Gives a class a text where it has none.
    pub fn describe(&mut self, name: &str, text: &str) {
        let class = self.class_entry(name);
        if class.text.is_empty() {
            text.clone_into(&mut class.text);
        }
    }

    /// The kinds of errors, the names or the schemes of the kernel, in the order of its source.
    pub fn topics(&self, kind: TopicKind) -> impl Iterator<Item = &Topic> {
        self.topics.iter().filter(move |topic| topic.kind == kind)
    }

    /// A class by its plain name or another one.
    pub fn class(&self, name: &str) -> Option<&Class> {
        let name = self.aliases.get(name).map_or(name, String::as_str);
        self.classes.get(name)
    }

    /// Other names of a class, by the alphabet.
    pub fn aliases<'a>(&'a self, class: &'a str) -> impl Iterator<Item = &'a str> {
        let of_class = move |(alias, of): (&'a String, &'a String)| (of == class).then_some(alias);
        self.aliases.iter().filter_map(of_class).map(String::as_str)
    }

    /// All classes, by name.
    pub fn classes(&self) -> impl Iterator<Item = &Class> {
        self.classes.values()
    }

    /// A class and those whose messages it understands: the one that it stands for, those above it.
    pub fn lineage<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Class> {
        let above = |class: &&'a Class| class.stands_for.as_ref().or(class.superclass.as_ref());
        let next = move |class: &&'a Class| self.class(above(class)?);
        // A circle of classes cannot be written in the kernel; the bound is for a wrong file.
        std::iter::successors(self.class(name), next).take(64)
    }

    /// Whether values of a class are values of another one too.
    pub fn is_below(&self, name: &str, above: &str) -> bool {
        let above = self.aliases.get(above).map_or(above, String::as_str);
        self.lineage(name).any(|class| class.name == above)
    }

    /// The message that a class, or one above it, understands.
    pub fn message(
        &self,
        class: &str,
        selector: &str,
        is_of_class: bool,
    ) -> Option<&MessageDefinition> {
        let is =
            |one: &&MessageDefinition| one.selector == selector && one.is_of_class == is_of_class;
        self.lineage(class).find_map(|class| class.messages.iter().find(is))
    }

    /// All definitions of a selector.
    pub fn definitions<'a>(
        &'a self,
        selector: &str,
    ) -> impl Iterator<Item = &'a MessageDefinition> {
        let places = self.by_selector.get(selector).map_or(&[][..], Vec::as_slice);
        places.iter().filter_map(|(class, number)| self.classes.get(class)?.messages.get(*number))
    }

    /// All selectors, in the order of the alphabet.
    pub fn selectors(&self) -> impl Iterator<Item = &str> {
        self.by_selector.keys().map(String::as_str)
    }
}
