//! Texts of definitions as Markdown: code, links to the pages of classes, and what must be escaped.

use runnel_runtime::catalogue;

/// The name of a class that has a page, as a link to it.
pub(super) fn link(name: &str) -> String {
    match catalogue()
        .class(name)
        .filter(|class| !class.text.is_empty() || !class.messages.is_empty())
    {
        Some(class) => format!("[{name}]({}.md)", class.name),
        None => escape(name),
    }
}

/// A text in a cell of a table.
pub(super) fn cell(text: &str) -> String {
    let part = |(number, part): (usize, &str)| match number % 2 {
        1 => code(&part.replace('|', "\\|")),
        _ => escape(part),
    };
    text.split('`').enumerate().map(part).collect()
}

/// A text in which names of classes are links.
pub(super) fn linked(text: &str) -> String {
    let mut out = String::new();
    for (number, part) in text.split('`').enumerate() {
        match number % 2 {
            1 => out.push_str(&code(part)),
            _ => {
                let words: Vec<String> = part.split(' ').map(word).collect();
                out.push_str(&words.join(" "));
            }
        }
    }
    out
}

/// `Array,` as a link with its comma; the class must look like a name, not like the begin of a sentence.
fn word(text: &str) -> String {
    let name = text.trim_end_matches(['.', ',', ':', ';', ')']);
    let is_class = catalogue().class(name).is_some_and(|class| class.name == name);
    match is_class && name.len() > 2 {
        true => format!("{}{}", link(name), &text[name.len()..]),
        false => escape(text),
    }
}

pub(super) fn code(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

pub(super) fn escape(text: &str) -> String {
    let mut out = String::new();
    for one in text.chars() {
        match one {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '*' | '_' | '|' | '[' | ']' | '\\' => out.extend(['\\', one]),
            one => out.push(one),
        }
    }
    out
}
