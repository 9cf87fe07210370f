//! Definitions as Markdown: a page for each class, one each for the schemes, the commands, the findings, the kinds of
//! errors, the names and the words, an index.

use super::command;
use super::entries;
use super::groups::{kind_name, message_groups, room_name, rooms};
use super::links::{cell, code, escape, link, linked};
use crate::world::options::{OptionOwner, owners};
use crate::world::schemes::SCHEMES;
use runnel_catalogue::{Class, KindOption, Message, summary};
use runnel_runtime::catalogue;
use std::path::Path;

/// Writes the pages into a folder; the same definitions make the same bytes.
pub(crate) fn write(folder: &Path) -> std::io::Result<usize> {
    std::fs::create_dir_all(folder)?;
    let owners = owners();
    let classes: Vec<&Class> = rooms().into_values().flatten().collect();
    for class in &classes {
        let owner = owners.iter().find(|owner| owner.name == class.name);
        std::fs::write(folder.join(format!("{}.md", class.name)), page(class, owner))?;
    }
    std::fs::write(folder.join("schemes.md"), schemes(&owners))?;
    std::fs::write(folder.join("commands.md"), commands())?;
    std::fs::write(folder.join("findings.md"), findings())?;
    std::fs::write(folder.join("errors.md"), entries::errors())?;
    std::fs::write(folder.join("names.md"), entries::names())?;
    std::fs::write(folder.join("words.md"), entries::words())?;
    std::fs::write(folder.join("index.md"), index())?;
    Ok(classes.len() + 7)
}

fn index() -> String {
    let mut text = String::from(
        "# Reference\n\nEach class with its messages, the [words](words.md) and [names](names.md) of the language, \
         the [schemes](schemes.md), the [kinds of errors](errors.md), the [commands](commands.md) and the \
         [findings of `runnel check`](findings.md). In an example, `⇒` stands before the value; each runs as a test.\n",
    );
    for (room, classes) in rooms() {
        text.push_str(&format!("\n## {}\n\n", room_name(&room)));
        for class in classes {
            text.push_str(&format!("- {} {}\n", link(&class.name), linked(summary(&class.text))));
        }
    }
    text
}

fn schemes(owners: &[OptionOwner]) -> String {
    let mut text =
        String::from("# Schemes\n\nA reference begins with its scheme, `file:notes/today.txt`.\n");
    for scheme in &SCHEMES {
        text.push_str(&format!(
            "\n## {}:\n\nFor {}.\n\n```runnel\n{}\n```\n",
            scheme.name, scheme.help, scheme.example
        ));
        if let Some(store) = scheme.same_as {
            text.push_str(&format!("\nThe same as [`{store}:`](#{store}).\n"));
        }
        for owner in owners.iter().filter(|one| !one.is_class() && one.scheme == Some(scheme.name))
        {
            text.push_str(&options(owner));
        }
    }
    text.push_str(&entries::schemes());
    text
}

fn commands() -> String {
    let mut text = String::from("# Commands\n\nThe texts of `runnel COMMAND --help`.\n");
    for one in command::commands() {
        text.push_str(&format!(
            "\n## {}\n\n```text\n{}\n```\n",
            one.get_name(),
            command::help(&one)
        ));
    }
    text
}

fn findings() -> String {
    let mut text =
        String::from("# Findings\n\nWhat `runnel check` finds, by the code of each finding.\n");
    for code in runnel_check::codes::CODES {
        text.push_str(&format!(
            "\n## {}\n\n{}\n\n```runnel\n{}\n```\n\nRight:\n\n```runnel\n{}\n```\n",
            code.name,
            escape(code.meaning),
            code.example,
            code.right
        ));
    }
    text
}

fn page(class: &Class, owner: Option<&OptionOwner>) -> String {
    let mut text = format!("# {}\n\n{}\n", class.name, linked(&class.text));
    if let Some(superclass) = &class.superclass {
        text.push_str(&format!("\nSuperclass: {}\n", link(superclass)));
    }
    if let Some(other) = &class.stands_for {
        text.push_str(&format!("\nUnderstands the messages of {}\n", link(other)));
    }
    let names: Vec<String> =
        catalogue().aliases(&class.name).map(|one| format!("`{one}`")).collect();
    if !names.is_empty() {
        text.push_str(&format!("\nOther names: {}\n", names.join(", ")));
    }
    if let Some(owner) = owner {
        text.push_str("\n## Options\n");
        text.push_str(&options(owner));
    }
    let sides = [("Messages to the class", true), ("Messages", false)];
    for (title, is_of_class) in sides {
        let groups = message_groups(class, owner, is_of_class);
        if !groups.is_empty() {
            text.push_str(&format!("\n## {title}\n\n{}\n", contents(&groups)));
        }
        for group in groups {
            text.push_str(&messages(&group));
        }
    }
    text
}

/// Links to the messages of one side, in a row.
fn contents(groups: &[Vec<&Message>]) -> String {
    let link =
        |group: &Vec<&Message>| format!("[{}](#{})", code(&group[0].selector), anchor(group[0]));
    groups.iter().map(link).collect::<Vec<_>>().join(" · ")
}

/// Messages of one meaning: a heading for the first, and the names of the others, each with its anchor.
fn messages(group: &[&Message]) -> String {
    let message = group[0];
    let anchors: String =
        group.iter().map(|one| format!("<a id=\"{}\"></a>", anchor(one))).collect();
    let mut text = format!(
        "\n### {anchors}{}\n\n{}\n\n{}\n",
        code(&message.selector),
        signature(message),
        linked(&message.text)
    );
    let others: Vec<String> = group[1..].iter().map(|one| code(&one.selector)).collect();
    if !others.is_empty() {
        text.push_str(&format!("\nThe same: {}.\n", others.join(", ")));
    }
    if !message.examples.is_empty() {
        text.push_str("\n```\n");
        for example in &message.examples {
            match &example.result {
                Some(result) => text.push_str(&format!("{} ⇒ {result}\n", example.source)),
                None => text.push_str(&format!("{}\n", example.source)),
            }
        }
        text.push_str("```\n");
    }
    text
}

/// A table of options, each with an anchor; databases stand on one page, with their scheme in the anchors.
fn options(owner: &OptionOwner) -> String {
    let scope = owner.scheme.map_or("option-".to_owned(), |scheme| format!("option-{scheme}-"));
    let mut text = format!(
        "\n`{}`\n\n| option | type | default | limit | meaning |\n| --- | --- | --- | --- | --- |\n",
        owner.written
    );
    for info in &owner.options {
        let default = info.default.as_deref().unwrap_or("");
        let message = catalogue().message(owner.name, info.name, false);
        let meaning = message.map_or(info.help, |message| &message.text);
        text.push_str(&format!(
            "| <a id=\"{scope}{}\"></a>`{}` | {} | {} | {} | {} |\n",
            info.name,
            info.name,
            kind_name(info.kind),
            escape(default),
            info.limit.as_deref().unwrap_or(""),
            cell(meaning)
        ));
    }
    text
}

/// A signature whose types are links.
fn signature(message: &Message) -> String {
    let kind = |kind: &runnel_catalogue::Kind| {
        let options: Vec<String> =
            kind.options.iter().map(|one| option(one, &message.class)).collect();
        let mark = if kind.may_be_nil && !kind.is_any() { "?" } else { "" };
        format!("&lt;{}{mark}&gt;", options.join("\\|"))
    };
    let mut text =
        format!("{}{} ", if message.is_of_class { '+' } else { '-' }, kind(&message.answer));
    if message.parameters.is_empty() {
        text.push_str(&format!("**{}**", escape(&message.selector)));
    }
    let parts = message.selector.split_inclusive(':');
    for (number, (part, parameter)) in parts.zip(&message.parameters).enumerate() {
        let space = if number > 0 { " " } else { "" };
        let name = escape(&parameter.name);
        text.push_str(&format!("{space}**{}** {}{name}", escape(part), kind(&parameter.kind)));
    }
    // A `-` at the beginning of a line would be a list.
    text.replacen('-', "\\-", 1)
}

/// A class as a link to its page, except on its own.
fn option(option: &KindOption, page: &str) -> String {
    match option {
        KindOption::Class(name) if name != page => link(name),
        other => escape(&other.to_string()),
    }
}

/// `-replace-with-`, or `+new` for a message to the class: the sign keeps it apart from the ids of headings.
fn anchor(message: &Message) -> String {
    let mut out = String::from(if message.is_of_class { '+' } else { '-' });
    for one in message.selector.chars() {
        match one {
            ':' => out.push('-'),
            one if one.is_ascii_alphanumeric() => out.push(one),
            one => out.push_str(&format!("x{:x}", u32::from(one))),
        }
    }
    out
}
