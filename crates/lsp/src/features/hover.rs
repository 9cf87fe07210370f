//! What the thing under the cursor is.

use super::markdown;
use crate::analysis::index::{NameIndex, NameInfo, NameKind, SentPlace};
use crate::documents::View;
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};
use runnel_catalogue::{Message, TopicKind, words};
use runnel_syntax::{Span, TokenKind};

/// Definitions that are shown for a message whose receiver is not known.
const MOST_SHOWN: usize = 3;

/// The hover at a byte; none where nothing is known.
pub(crate) fn hover(view: &View<'_>, offset: u32) -> Option<Hover> {
    let (text, span) = described(view, offset)?;
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value: text });
    Some(Hover { contents, range: Some(view.range(span)) })
}

fn described(view: &View<'_>, offset: u32) -> Option<(String, Span)> {
    let index = &view.analysis.index;
    if let Some((option, span)) = option(view, offset) {
        return Some((option, span));
    }
    if let Some((place, name)) = index.name_at(offset) {
        let text = match name.kind {
            NameKind::Message => message(view, sent_at(index, place.span), &name.name),
            NameKind::Property => {
                let class = name.class.as_deref().unwrap_or_default();
                index.property(class, &name.name).map(markdown::property)
            }
            NameKind::Class => class(view, &name.name),
            NameKind::Scheme => Some(scheme(view, name)),
            NameKind::Variable | NameKind::Parameter | NameKind::Predefined => {
                Some(variable(view, name))
            }
        };
        return text.map(|text| (text, place.span));
    }
    let token = view.analysis.token_at(offset)?;
    let word = token.span.text(view.text());
    match token.kind {
        TokenKind::Definition => Some((markdown::word(words::find(word)?), token.span)),
        TokenKind::Arrow | TokenKind::Assign | TokenKind::Caret | TokenKind::Bar => {
            Some((markdown::word(words::find(word)?), token.span))
        }
        TokenKind::Scheme => {
            let scheme = view.knowledge.schemes.get(word.trim_end_matches(':'))?;
            Some((markdown::scheme(scheme), token.span))
        }
        _ => None,
    }
}

/// The key of a literal under the cursor.
fn option(view: &View<'_>, offset: u32) -> Option<(String, Span)> {
    let index = &view.analysis.index;
    let holds = |span: &Span| span.start <= offset && offset <= span.end;
    for literal in index.literals.iter().filter(|literal| holds(&literal.span)) {
        let Some((span, key)) = literal.keys.iter().find(|(span, _)| holds(span)) else { continue };
        if let Some(property) = index.property(&literal.class, key) {
            return Some((markdown::property(property), *span));
        }
        let options = view.knowledge.options(index.kernel_class(&literal.class));
        let option = options.iter().find(|option| option.name == *key)?;
        return Some((markdown::option(&literal.class, option), *span));
    }
    None
}

/// The message whose word is at a place.
pub(crate) fn sent_at(index: &NameIndex, word: Span) -> Option<&SentPlace> {
    let end = index.sends.partition_point(|sent| sent.span.start <= word.start);
    index.sends[..end].iter().rev().find(|sent| sent.words.contains(&word))
}

/// What a message does: that of the receiver's class, or of the first classes that define it.
fn message(view: &View<'_>, sent: Option<&SentPlace>, selector: &str) -> Option<String> {
    let index = &view.analysis.index;
    let receiver = sent.and_then(|sent| sent.receiver.class.as_deref());
    if let (Some(sent), Some(class)) = (sent, receiver) {
        if let Some(method) = index.method(class, selector, sent.receiver.is_class) {
            return Some(markdown::method(
                class,
                method,
                comment_above(view, method.span).as_deref(),
            ));
        }
        let kernel = index.kernel_class(class);
        let catalogue = view.knowledge.catalogue;
        let found = catalogue.message(kernel, selector, sent.receiver.is_class);
        let found = found.or_else(|| catalogue.message("Object", selector, false));
        if let Some(found) = found {
            return Some(markdown::message(found));
        }
    }
    let own = index.classes.values().flat_map(|class| {
        let own = class.methods.iter().filter(|method| method.selector == selector);
        own.map(|method| {
            markdown::method(&class.name, method, comment_above(view, method.span).as_deref())
        })
    });
    let own: Vec<String> = own.collect();
    if !own.is_empty() {
        return Some(own.join("\n\n---\n\n"));
    }
    let all = definitions(view, selector);
    let mut texts: Vec<String> =
        all.iter().take(MOST_SHOWN).map(|one| markdown::message(one)).collect();
    if all.len() > MOST_SHOWN {
        let others: Vec<String> =
            all[MOST_SHOWN..].iter().map(|one| format!("`{}`", one.class)).collect();
        texts.push(format!("Also of {}", others.join(", ")));
    }
    (!texts.is_empty()).then(|| texts.join("\n\n---\n\n"))
}

/// The definitions of a selector; those of general classes first.
pub(crate) fn definitions<'a>(view: &View<'a>, selector: &str) -> Vec<&'a Message> {
    let mut all: Vec<&Message> = view.knowledge.catalogue.definitions(selector).collect();
    all.sort_by_key(|one| (view.knowledge.catalogue.lineage(&one.class).count(), &one.class));
    all.dedup_by(|one, other| one.text == other.text && one.answer == other.answer);
    all
}

fn class(view: &View<'_>, name: &str) -> Option<String> {
    if let Some(class) = view.analysis.index.classes.get(name) {
        return Some(markdown::own_class(class, comment_above(view, class.span).as_deref()));
    }
    view.knowledge.catalogue.class(name).map(|class| markdown::class(class, view.knowledge))
}

fn scheme(view: &View<'_>, name: &NameInfo) -> String {
    if let Some((_, definition)) = name.definition {
        let line = view.analysis.lines.line(definition.start);
        let source = view.analysis.lines.span(view.text(), line).text(view.text()).trim();
        return format!("{}\n\nA store of this program.", markdown::code(source));
    }
    match view.knowledge.schemes.get(&name.name) {
        Some(scheme) => markdown::scheme(scheme),
        None => markdown::code(&format!("{}:", name.name)),
    }
}

fn variable(view: &View<'_>, name: &NameInfo) -> String {
    let kind = match name.kind {
        NameKind::Parameter => "parameter",
        NameKind::Predefined => "predefined",
        _ => "variable",
    };
    let value = if name.value.is_known() { format!("<{}> ", name.value) } else { String::new() };
    let mut text = markdown::code(&format!("{value}{}", name.name));
    text.push_str(&format!("\n\n{kind}"));
    let mut topics = view.knowledge.catalogue.topics(TopicKind::Name);
    if let Some(topic) =
        topics.find(|one| name.kind == NameKind::Predefined && one.name == name.name)
    {
        text.push_str(&format!(": {}", topic.text));
    } else if let (NameKind::Predefined, Some(class)) = (name.kind, &name.value.class)
        && let Some(class) = view.knowledge.catalogue.class(class)
        && !class.text.is_empty()
    {
        text.push_str(&format!(": {}", class.text));
    }
    text
}

/// The comment lines directly above a definition.
pub(crate) fn comment_above(view: &View<'_>, definition: Span) -> Option<String> {
    const MOST_LINES: u32 = 30;
    let (lines, text) = (&view.analysis.lines, view.text());
    let first = lines.line(definition.start);
    let mut found = Vec::new();
    for line in (first.saturating_sub(MOST_LINES)..first).rev() {
        match lines.span(text, line).text(text).trim().strip_prefix("//") {
            Some(comment) => found.push(comment.trim().to_owned()),
            None => break,
        }
    }
    found.reverse();
    (!found.is_empty()).then(|| found.join("\n"))
}
