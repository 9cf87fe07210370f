//! Proposals as the protocol has them.

use crate::analysis::index::MethodInfo;
use crate::documents::View;
use crate::knowledge::KnownScheme;
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionItemLabelDetails, CompletionList,
    CompletionTextEdit, Documentation, InsertTextFormat, Range, TextEdit,
};
use runnel_catalogue::{KindOption, Message, summary};
use serde_json::json;
use std::collections::HashSet;

/// Proposals of one answer; with more, the client asks again when the word is longer.
const MOST_PROPOSALS: usize = 500;

/// What a proposal is.
#[derive(Clone, Copy)]
pub(super) enum ItemKind {
    Method,
    Variable,
    Class,
    Scheme,
    Property,
    Keyword,
    File,
    Folder,
    Tag,
}

impl ItemKind {
    fn kind(self) -> CompletionItemKind {
        match self {
            ItemKind::Method => CompletionItemKind::METHOD,
            ItemKind::Variable => CompletionItemKind::VARIABLE,
            ItemKind::Class => CompletionItemKind::CLASS,
            ItemKind::Scheme => CompletionItemKind::MODULE,
            ItemKind::Property => CompletionItemKind::PROPERTY,
            ItemKind::Keyword => CompletionItemKind::KEYWORD,
            ItemKind::File => CompletionItemKind::FILE,
            ItemKind::Folder => CompletionItemKind::FOLDER,
            ItemKind::Tag => CompletionItemKind::STRUCT,
        }
    }
}

/// A list under construction.
pub(super) struct Proposals<'a> {
    view: &'a View<'a>,
    range: Range,
    prefix: String,
    snippets: bool,
    labels: HashSet<String>,
    items: Vec<(usize, CompletionItem)>,
    is_cut: bool,
}

impl<'a> Proposals<'a> {
    pub(super) fn new(
        view: &'a View<'a>,
        range: Range,
        prefix: &str,
        snippets: bool,
    ) -> Proposals<'a> {
        Proposals {
            view,
            range,
            prefix: prefix.to_lowercase(),
            snippets,
            labels: HashSet::new(),
            items: Vec::new(),
            is_cut: false,
        }
    }

    /// Whether the letters of the word so far are in a label, in their order.
    pub(super) fn fits(&self, label: &str) -> bool {
        let mut letters = label.chars().flat_map(char::to_lowercase);
        self.prefix.chars().all(|one| letters.any(|letter| letter == one))
    }

    fn push(
        &mut self,
        kind: ItemKind,
        label: &str,
        rank: usize,
        fill: impl FnOnce(&mut CompletionItem),
    ) {
        if !self.fits(label) || !self.labels.insert(label.to_owned()) {
            return;
        }
        if self.items.len() >= MOST_PROPOSALS {
            self.is_cut = true;
            return;
        }
        let begins = label.to_lowercase().starts_with(&self.prefix);
        let rank = rank.min(9);
        let edit = TextEdit { range: self.range, new_text: label.to_owned() };
        let mut item = CompletionItem {
            label: label.to_owned(),
            kind: Some(kind.kind()),
            sort_text: Some(format!("{}{rank}{label}", u8::from(!begins))),
            text_edit: Some(CompletionTextEdit::Edit(edit)),
            ..CompletionItem::default()
        };
        fill(&mut item);
        self.items.push((rank, item));
    }

    /// A proposal that is inserted as it is shown.
    pub(super) fn add(
        &mut self,
        kind: ItemKind,
        label: &str,
        detail: &str,
        text: &str,
        rank: usize,
    ) {
        self.push(kind, label, rank, |item| describe(item, detail, text));
    }

    /// A message of the kernel with its signature and first sentence; operators are left out.
    pub(super) fn add_message(&mut self, message: &Message, rank: usize) {
        if !message.selector.starts_with(|first: char| first.is_alphabetic()) {
            return;
        }
        let snippets = self.snippets;
        self.push(ItemKind::Method, &message.selector, rank, |item| {
            describe(item, &message.to_string(), summary(&message.text));
            let description = Some(message.class.clone());
            item.label_details = Some(CompletionItemLabelDetails { detail: None, description });
            item.data = Some(json!({
                "class": message.class, "selector": message.selector, "ofClass": message.is_of_class,
            }));
            let arguments: Vec<String> = message.parameters.iter().map(argument).collect();
            fill_arguments(item, &message.selector, &arguments, snippets);
        });
    }

    /// A message of a class of the text.
    pub(super) fn add_method(&mut self, method: &MethodInfo, rank: usize) {
        let snippets = self.snippets;
        self.push(ItemKind::Method, &method.selector, rank, |item| {
            describe(item, &method.signature, "");
            fill_arguments(item, &method.selector, &method.parameters, snippets);
        });
    }

    /// The keywords that are missing of a message.
    pub(super) fn add_rest(&mut self, rest: &str, signature: &str, rank: usize) {
        let snippets = self.snippets;
        let names = vec![String::new(); rest.matches(':').count()];
        self.push(ItemKind::Method, rest, rank, |item| {
            describe(item, signature, "");
            fill_arguments(item, rest, &names, snippets);
        });
    }

    pub(super) fn add_class(&mut self, name: &str, rank: usize) {
        let text =
            self.view.knowledge.catalogue.class(name).map_or("", |class| class.text.as_str());
        self.push(ItemKind::Class, name, rank, |item| {
            describe(item, "", summary(text));
            item.data = Some(json!({ "class": name }));
        });
    }

    pub(super) fn add_scheme(&mut self, scheme: &KnownScheme, rank: usize) {
        self.push(ItemKind::Scheme, &format!("{}:", scheme.name), rank, |item| {
            describe(item, &scheme.example, &scheme.help);
            item.data = Some(json!({ "scheme": scheme.name }));
        });
    }

    /// A key of a literal. `class`: the class of the kernel whose option it is.
    pub(super) fn add_key(&mut self, name: &str, detail: &str, text: &str, class: Option<&str>) {
        self.push(ItemKind::Property, &format!("{name}:"), 0, |item| {
            describe(item, detail, text);
            insert(item, format!("{name}: "));
            if let Some(class) = class {
                item.data = Some(json!({ "class": class, "option": name }));
            }
        });
    }

    /// The list; where it is cut, the client asks again.
    pub(super) fn into_list(mut self) -> CompletionList {
        self.items.sort_by_key(|(rank, _)| *rank);
        let items = self.items.into_iter().map(|(_, item)| item).collect();
        CompletionList { is_incomplete: self.is_cut, items }
    }
}

fn describe(item: &mut CompletionItem, detail: &str, text: &str) {
    item.detail = (!detail.is_empty()).then(|| detail.to_owned());
    item.documentation = (!text.is_empty()).then(|| Documentation::String(text.to_owned()));
}

/// Inserts another text than the label.
fn insert(item: &mut CompletionItem, text: String) {
    if let Some(CompletionTextEdit::Edit(edit)) = &mut item.text_edit {
        edit.new_text = text;
    }
}

/// What stands for an argument until it is written.
fn argument(parameter: &runnel_catalogue::Parameter) -> String {
    for option in &parameter.kind.options {
        if let KindOption::Block(names) = option {
            let names: String = names.iter().flatten().map(|name| format!(":{name} ")).collect();
            let bar = if names.is_empty() { "" } else { "| " };
            return format!("{{ {names}{bar}}}");
        }
    }
    parameter.name.clone()
}

/// The text of a keyword message: with places to fill where the client has these.
fn fill_arguments(item: &mut CompletionItem, selector: &str, arguments: &[String], snippets: bool) {
    if !selector.ends_with(':') {
        return;
    }
    let mut text = String::new();
    for (number, (keyword, argument)) in selector.split_inclusive(':').zip(arguments).enumerate() {
        let space = if number > 0 { " " } else { "" };
        let argument = argument.replace('\\', "\\\\").replace('$', "\\$").replace('}', "\\}");
        match snippets {
            true => text.push_str(&format!("{space}{keyword} ${{{}:{argument}}}", number + 1)),
            false => text.push_str(&format!("{space}{keyword} ")),
        }
    }
    if snippets {
        item.insert_text_format = Some(InsertTextFormat::SNIPPET);
    }
    insert(item, text);
    item.filter_text = Some(selector.to_owned());
}
