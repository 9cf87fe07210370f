//! The pages of the kinds of errors, the names and the words, and the part of the schemes of the language.

use super::links::{code, linked};
use super::topics::{self, DocEntry, EntryKind};

pub(super) fn errors() -> String {
    let mut text = String::from(
        "# Kinds of errors\n\nEach error has a kind, `e kind`. `on:do:` catches the errors of one kind, \
         and `onError:` those of each kind: [errors](../spec/language/errors.md). A server answers an \
         error that nothing catches with the status of its kind: \
         [errors of a server](../spec/server/errors.md).\n\n| kind | status |\n| --- | --- |\n",
    );
    for one in topics::errors() {
        let status = one.status.unwrap_or_default();
        text.push_str(&format!(
            "| [`{0}`](#{1}) | {status} |\n",
            one.name,
            one.name.to_lowercase()
        ));
    }
    for one in topics::errors() {
        text.push_str(&entry(&one, "##"));
        text.push_str(&format!("\nStatus: {}\n", one.status.unwrap_or_default()));
    }
    text
}

pub(super) fn names() -> String {
    let text = "# Names\n\nNames that each program has without a definition.\n";
    topics::names().iter().fold(text.to_owned(), |text, one| text + &entry(one, "##"))
}

pub(super) fn words() -> String {
    let text = "# Words and marks\n\nThe words that begin definitions and parts of them, and the marks of \
                expressions. Most operators, such as `+`, are [messages](index.md).\n";
    let (words, marks): (Vec<_>, Vec<_>) = topics::words().into_iter().partition(DocEntry::is_word);
    let pages = |list: &[DocEntry]| list.iter().map(|one| entry(one, "###")).collect::<String>();
    format!("{text}\n## Words\n{}\n## Marks\n{}", pages(&words), pages(&marks))
}

/// Behind the schemes of stores.
pub(super) fn schemes() -> String {
    topics::schemes().iter().map(|one| entry(one, "##")).collect()
}

/// A heading, the meaning, the example, a link to the manual.
fn entry(entry: &DocEntry, level: &str) -> String {
    let mut text = format!("\n{level} {}\n\n{}\n", heading(entry), linked(&entry.text));
    if !entry.program.is_empty() {
        text.push_str(&format!("\n```runnel\n{}\n```\n", entry.program));
    }
    if !entry.requests.is_empty() {
        text.push_str(&format!("\n```http\n{}\n```\n", entry.requests));
    }
    if !entry.others.is_empty() {
        let others: Vec<String> = entry.others.iter().map(|one| code(one)).collect();
        text.push_str(&format!("\nThe same: {}\n", others.join(" ")));
    }
    if let Some(page) = entry.page {
        text.push_str(&format!("\n[The manual](../spec/{page})\n"));
    }
    text
}

/// The name; a mark has an anchor of its own, since the site makes anchors of letters.
fn heading(entry: &DocEntry) -> String {
    let written = entry.written();
    if entry.kind != EntryKind::Word || entry.is_word() {
        return written;
    }
    let anchor: Vec<String> =
        entry.name.chars().map(|one| format!("x{:x}", u32::from(one))).collect();
    format!("<a id=\"{}\"></a>{}", anchor.join(""), code(&written))
}
