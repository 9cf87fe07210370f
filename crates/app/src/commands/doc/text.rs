//! Definitions as text, for a terminal or a pipe.

use super::command;
use super::groups::{kind_name, message_groups, room_name, rooms};
use super::lookup::{Proposed, Subject, Unknown};
use super::topics::DocEntry;
use crate::world::options::OptionOwner;
use crate::world::schemes::SchemeInfo;
use runnel_catalogue::{Class, Message, summary};
use runnel_check::codes::Code;
use runnel_runtime::catalogue;
use runnel_store::SettingInfo;
use std::collections::BTreeSet;

/// Columns of a pipe, and the most of a terminal.
pub(crate) const WIDTH: usize = 100;
/// The least columns that are filled.
const NARROW: usize = 40;

/// Text that is written line by line.
pub(crate) struct Sheet {
    text: String,
    width: usize,
    is_bold: bool,
}

impl Sheet {
    pub(crate) fn new(width: usize, is_bold: bool) -> Sheet {
        Sheet { text: String::new(), width: width.clamp(NARROW, WIDTH), is_bold }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    fn line(&mut self, indent: usize, text: &str) {
        self.text.push_str(&" ".repeat(indent));
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// A heading or a signature.
    fn bold(&mut self, indent: usize, text: &str) {
        match self.is_bold {
            true => self.line(indent, &format!("\x1b[1m{text}\x1b[0m")),
            false => self.line(indent, text),
        }
    }

    /// A paragraph, filled to the width.
    fn fill(&mut self, indent: usize, text: &str) {
        self.fill_after(indent, "", indent, text);
    }

    /// A paragraph after a name, whose further lines are indented by `hang`.
    fn fill_after(&mut self, indent: usize, lead: &str, hang: usize, text: &str) {
        let (mut line, mut at) = (lead.to_owned(), indent);
        let mut is_empty = lead.is_empty();
        for word in text.split_whitespace() {
            let length = line.chars().count() + 1 + word.chars().count();
            if !is_empty && at + length > self.width {
                self.line(at, line.trim_end());
                (line, at, is_empty) = (String::new(), hang, true);
            }
            if !is_empty {
                line.push(' ');
            }
            line.push_str(word);
            is_empty = false;
        }
        if !is_empty {
            self.line(at, line.trim_end());
        }
    }

    fn blank(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    pub(crate) fn subjects(&mut self, subjects: &[Subject]) {
        for subject in subjects {
            self.blank();
            match subject {
                Subject::Class(class, owner) => self.class(class, owner.as_ref()),
                Subject::Messages(messages) => self.messages(messages),
                Subject::Setting(info, owners) => {
                    let names: Vec<&str> = owners.iter().map(|owner| owner.name).collect();
                    self.bold(0, info.name);
                    self.fill(2, &format!("An option of {}.", names.join(", ")));
                    self.setting(2, info);
                    if let Some(message) = catalogue().message(owners[0].name, info.name, false) {
                        self.fill(2, &message.text);
                    }
                    let written = &owners[0].written;
                    self.line(2, &written.replace('…', &format!("{}: …", info.name)));
                }
                Subject::Owner(owner) => {
                    self.bold(0, owner.name);
                    self.settings(owner);
                }
                Subject::Scheme(scheme, owner) => self.scheme(scheme, owner.as_ref()),
                Subject::Command(one) => {
                    command::help(one).lines().for_each(|line| self.line(0, line))
                }
                Subject::Code(code) => self.code(code),
                Subject::Entry(entry) => self.entry(entry),
            }
        }
    }

    /// A finding, with a program that has it and the same one without.
    fn code(&mut self, code: &Code) {
        self.bold(0, code.name);
        self.fill(2, "A finding of `runnel check`.");
        self.fill(2, code.meaning);
        for (title, program) in [("Found in:", code.example), ("Right:", code.right)] {
            self.line(2, title);
            program.lines().for_each(|line| self.line(4, line));
        }
    }

    /// A kind of error, a name, a scheme of the language, a word: its meaning and an example.
    fn entry(&mut self, entry: &DocEntry) {
        self.bold(0, &entry.written());
        self.fill(2, &entry.subject());
        self.fill(2, &entry.text);
        for line in entry.program.lines().chain(entry.requests.lines()) {
            self.line(4, line);
        }
        if !entry.others.is_empty() {
            self.fill(2, &format!("The same: {}", entry.others.join("  ")));
        }
        if let Some(page) = entry.page {
            self.line(2, &format!("spec/{page}"));
        }
    }

    fn scheme(&mut self, scheme: &SchemeInfo, owner: Option<&OptionOwner>) {
        self.bold(0, &format!("{}:", scheme.name));
        self.fill(2, &format!("A scheme: {}.", scheme.help));
        self.line(2, scheme.example);
        if let Some(owner) = owner {
            self.settings(owner);
        }
    }

    fn settings(&mut self, owner: &OptionOwner) {
        self.blank();
        self.line(2, &format!("Options: {}", owner.written));
        for info in &owner.options {
            self.bold(4, info.name);
            self.setting(8, info);
        }
    }

    fn setting(&mut self, indent: usize, info: &SettingInfo) {
        let default =
            info.default.as_ref().map_or(String::new(), |text| format!(", default {text}"));
        let limit = info.limit.as_ref().map_or(String::new(), |text| format!(", {text}"));
        self.fill(indent, &format!("{}{default}{limit}: {}", kind_name(info.kind), info.help));
    }

    fn class(&mut self, class: &Class, owner: Option<&OptionOwner>) {
        self.bold(0, &class.name);
        self.fill(2, &class.text);
        let mut facts = Vec::new();
        if let Some(superclass) = &class.superclass {
            facts.push(format!("Superclass: {superclass}."));
        }
        if let Some(other) = &class.stands_for {
            facts.push(format!("Understands the messages of {other}."));
        }
        let names: Vec<&str> = catalogue().aliases(&class.name).collect();
        if !names.is_empty() {
            facts.push(format!("Other names: {}.", names.join(", ")));
        }
        self.fill(2, &facts.join(" "));
        if let Some(owner) = owner {
            self.settings(owner);
        }
        for (title, is_of_class) in [("Messages to the class", true), ("Messages", false)] {
            let groups = message_groups(class, owner, is_of_class);
            if !groups.is_empty() {
                self.blank();
                self.line(2, title);
            }
            for group in groups {
                group.iter().for_each(|message| self.bold(4, &message.to_string()));
                self.fill(8, group[0].summary());
            }
        }
        self.inherited(class);
    }

    /// The selectors of the classes above, each in the nearest one.
    fn inherited(&mut self, class: &Class) {
        let own = class.messages.iter().map(|message| (message.is_of_class, &message.selector));
        let mut seen: BTreeSet<_> = own.collect();
        let mut is_first = true;
        for class in catalogue().lineage(&class.name).skip(1) {
            let mut selectors: Vec<&str> = Vec::new();
            for message in &class.messages {
                if seen.insert((message.is_of_class, &message.selector)) {
                    selectors.push(&message.selector);
                }
            }
            selectors.sort_unstable();
            if selectors.is_empty() {
                continue;
            }
            if std::mem::take(&mut is_first) {
                self.blank();
                self.line(2, "Inherited");
            }
            self.fill(4, &format!("{}: {}", class.name, selectors.join(", ")));
        }
    }

    fn messages(&mut self, messages: &[&Message]) {
        for (number, message) in messages.iter().enumerate() {
            if number > 0 {
                self.blank();
            }
            self.line(0, &message.class);
            self.bold(2, &message.to_string());
            self.fill(4, &message.text);
            for example in &message.examples {
                match &example.result {
                    Some(result) => self.line(4, &format!("> {} ⇒ {result}", example.source)),
                    None => self.line(4, &format!("> {}", example.source)),
                }
            }
            if !message.synonyms.is_empty() {
                self.fill(4, &format!("The same: {}.", message.synonyms.join(", ")));
            }
        }
    }

    /// The classes by room.
    pub(crate) fn classes(&mut self) {
        for (room, classes) in rooms() {
            self.blank();
            self.bold(0, &room_name(&room));
            for class in classes {
                self.fill_after(2, &format!("{} ", class.name), 6, summary(&class.text));
            }
        }
    }

    /// What comes near to an unknown name.
    pub(crate) fn unknown(&mut self, unknown: &Unknown) {
        self.fill(0, &format!("error: {}", unknown.message));
        match unknown.near.is_empty() {
            true => self.line(2, "help: `runnel doc` lists the classes"),
            false => self.line(2, "help: did you mean"),
        }
        for Proposed { name, summary } in &unknown.near {
            self.fill_after(4, &format!("{name} "), 8, summary);
        }
    }
}
