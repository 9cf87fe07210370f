//! `runnel html`: a page of HTML as element literals.
//!
//! What comes out writes the same page: the same elements, attributes and text. White space that a
//! browser does not show is left out, except in `pre`, `textarea`, scripts and styles. What no literal
//! says, such as an attribute with an unusual name, becomes `#Raw[ … ]`.

mod tree;

use crate::console::Console;
use crate::exit_status;
use std::io::{Read, Write};
use std::path::Path;
use tree::{Handle, HtmlNode, NodeKind};

/// Bytes of the largest page.
const LARGEST: u64 = 16 * 1024 * 1024;
/// Levels of literals in each other; what is deeper becomes raw markup.
const DEEPEST: usize = 40;

const VOID: [&str; 13] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr",
];
/// Elements whose content is text that is not escaped, besides `script` and `style`.
const RAW_TEXT: [&str; 6] = ["xmp", "iframe", "noembed", "noframes", "plaintext", "noscript"];
/// Elements in which white space between the children says nothing.
const STRUCTURE: [&str; 16] = [
    "html", "head", "table", "thead", "tbody", "tfoot", "tr", "colgroup", "ul", "ol", "dl",
    "select", "optgroup", "datalist", "picture", "fragment",
];

/// Attributes that are there or not, without a value.
const BOOLEAN: [&str; 25] = [
    "allowfullscreen",
    "async",
    "autofocus",
    "autoplay",
    "checked",
    "controls",
    "default",
    "defer",
    "disabled",
    "formnovalidate",
    "hidden",
    "inert",
    "ismap",
    "itemscope",
    "loop",
    "multiple",
    "muted",
    "nomodule",
    "novalidate",
    "open",
    "playsinline",
    "readonly",
    "required",
    "reversed",
    "selected",
];

/// Reads a page, or standard input, and writes its literals to standard output.
pub(crate) fn run(file: Option<&Path>) -> u8 {
    let mut bytes = Vec::new();
    let read = match file {
        Some(path) => std::fs::File::open(path)
            .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)),
        None => std::io::stdin().take(LARGEST + 1).read_to_end(&mut bytes),
    };
    if let Err(error) = read {
        let name = file.map_or("standard input".into(), |path| path.display().to_string());
        Console::error(&format!("error: {name} cannot be read: {error}"));
        return exit_status::NO_INPUT;
    }
    if bytes.len() as u64 > LARGEST {
        Console::error("error: a page has at most 16 MiB; convert it in parts");
        return exit_status::DATA;
    }
    let literals = convert(&String::from_utf8_lossy(&bytes));
    match std::io::stdout().write_all(literals.as_bytes()) {
        Ok(()) => 0,
        Err(_) => exit_status::CANNOT_CREATE,
    }
}

/// A page, or a part of one, as source text.
pub(crate) fn convert(source: &str) -> String {
    let (nodes, whole) = tree::read(source);
    let writer = LiteralWriter { nodes: &nodes };
    let mut top: Vec<Handle> = nodes[0].children.clone();
    if !whole && let [root] = top[..] {
        // The parser puts the parts of a fragment into an element of its own.
        top = nodes[root].children.clone();
    }
    let mut literals: Vec<String> = Vec::new();
    for (at, node) in top.iter().enumerate() {
        let edge = at == 0 || at + 1 == top.len();
        literals.extend(writer.node(*node, if whole || edge { "html" } else { "body" }, 0));
    }
    let text = match literals.as_slice() {
        [] => "#fragment[]".to_string(),
        [one] if one.starts_with('#') => one.clone(),
        _ => format!("#fragment[ {} ]", literals.join(", ")),
    };
    let mut text = runnel_syntax::format(&text).unwrap_or(text);
    // An expression, to stand in a program: not a statement.
    text.truncate(text.trim_end().trim_end_matches('.').len());
    text.push('\n');
    text
}

struct LiteralWriter<'a> {
    nodes: &'a [HtmlNode],
}

impl LiteralWriter<'_> {
    /// A node as an element of the list of children; nothing where it says nothing.
    fn node(&self, node: Handle, parent: &str, depth: usize) -> Option<String> {
        match &self.nodes[node].kind {
            NodeKind::Document => None,
            NodeKind::Comment(text) => Some(raw(&format!("<!--{text}-->"))),
            NodeKind::Text(text) => text_child(text, parent),
            NodeKind::Element { .. } => Some(self.element(node, depth)),
        }
    }

    fn element(&self, node: Handle, depth: usize) -> String {
        let NodeKind::Element { name, attributes, contents } = &self.nodes[node].kind else {
            return String::new();
        };
        let tag = name.local.to_string();
        let is_named = tag.starts_with(|c: char| c.is_ascii_lowercase())
            && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !tag.ends_with('-')
            && tag != "fragment"
            && tag != "xml";
        let pairs: Option<Vec<String>> = attributes.iter().map(pair).collect();
        let Some(pairs) =
            pairs.filter(|_| is_named && depth < DEEPEST && !RAW_TEXT.contains(&tag.as_str()))
        else {
            let mut markup = String::new();
            self.markup(node, &mut markup);
            return raw(&markup);
        };
        let held = contents.unwrap_or(node);
        let mut children: Vec<String> = Vec::new();
        for child in &self.nodes[held].children {
            children.extend(self.node(*child, &tag, depth + 1));
        }
        if tag == "pre" || tag == "textarea" {
            keep_first_line(&mut children);
        }
        let pairs =
            if pairs.is_empty() { String::new() } else { format!("{{ {} }}", pairs.join(", ")) };
        if children.is_empty() {
            return format!("#{tag}{pairs}[]");
        }
        format!("#{tag}{pairs}[ {} ]", children.join(", "))
    }

    /// The markup of a node as it is.
    fn markup(&self, node: Handle, out: &mut String) {
        // Markup may be nested deeper than the stack: what is left to write is kept in a list.
        enum Left {
            HtmlNode(Handle, bool),
            End(String),
        }
        let mut left = vec![Left::HtmlNode(node, false)];
        while let Some(next) = left.pop() {
            let (node, is_raw) = match next {
                Left::End(text) => {
                    out.push_str(&text);
                    continue;
                }
                Left::HtmlNode(node, is_raw) => (node, is_raw),
            };
            match &self.nodes[node].kind {
                NodeKind::Document => {}
                NodeKind::Comment(text) => out.push_str(&format!("<!--{text}-->")),
                NodeKind::Text(text) if is_raw => out.push_str(text),
                NodeKind::Text(text) => out.push_str(&escape(text)),
                NodeKind::Element { name, attributes, contents } => {
                    let tag = name.local.to_string();
                    out.push_str(&format!("<{tag}"));
                    for (name, value) in attributes {
                        out.push_str(&format!(" {name}=\"{}\"", escape(value)));
                    }
                    out.push('>');
                    if VOID.contains(&tag.as_str()) {
                        continue;
                    }
                    let is_raw =
                        matches!(tag.as_str(), "script" | "style" | "xmp" | "iframe" | "noembed")
                            || matches!(tag.as_str(), "noframes" | "plaintext");
                    left.push(Left::End(format!("</{tag}>")));
                    let held = &self.nodes[contents.unwrap_or(node)];
                    left.extend(held.children.iter().rev().map(|one| Left::HtmlNode(*one, is_raw)));
                }
            }
        }
    }
}

/// The parser leaves out a line end that comes first here: one more keeps it.
fn keep_first_line(children: &mut [String]) {
    if let Some(first) = children.first_mut()
        && first.starts_with("'\\n")
    {
        first.insert_str(1, "\\n");
    }
}

fn text_child(text: &str, parent: &str) -> Option<String> {
    match parent {
        "script" if text.to_ascii_lowercase().contains("<!--") => return Some(raw(text)),
        "script" | "style" | "pre" | "textarea" => {}
        _ => {
            let shown = collapsed(text);
            if shown == " " && STRUCTURE.contains(&parent) {
                return None;
            }
            return Some(quoted(&shown));
        }
    }
    Some(quoted(text))
}

/// Each run of white space as one space: ASCII white space only, as in HTML.
fn collapsed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if !c.is_ascii_whitespace() {
            out.push(c);
        } else if !out.ends_with(' ') {
            out.push(' ');
        }
    }
    out
}

/// An attribute as a pair; nothing when its name cannot be said.
fn pair((name, value): &(String, String)) -> Option<String> {
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == ':' || c == '@');
    let rest =
        name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b':' | b'.' | b'@'));
    if !first || !rest {
        return None;
    }
    let is_word = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        && !name.ends_with('-');
    let key = if is_word { name.clone() } else { quoted(name) };
    let folded = name.to_ascii_lowercase();
    let code = folded == "srcdoc"
        || (folded.starts_with("on") && folded.bytes().all(|b| b.is_ascii_alphabetic()));
    let scheme: String =
        value.chars().filter(|c| !c.is_control() && !c.is_whitespace()).take(16).collect();
    let scheme = scheme.to_ascii_lowercase();
    let dangerous =
        ["javascript:", "vbscript:", "data:"].iter().any(|start| scheme.starts_with(start));
    let value = if code || dangerous {
        raw(&escape(value))
    } else if value.is_empty() && BOOLEAN.contains(&folded.as_str()) {
        "true".to_string()
    } else {
        quoted(value)
    };
    Some(format!("{key}: {value}"))
}

fn raw(markup: &str) -> String {
    format!("#Raw[ {} ]", quoted(markup))
}

/// A text as the language writes it, on one line.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() || is_invisible(c) => {
                out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Characters that a source text must not hold as they are.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parts_become_literals() {
        for (html, literals) in [
            ("<p class=a>x &amp; y</p>", "#p{ class: 'a' }[ 'x & y' ]"),
            ("<br>", "#br[]"),
            ("a <b>c</b>", "#fragment[ 'a ', #b[ 'c' ] ]"),
            (
                "<a onclick='x()' href='javascript:y'>z</a>",
                "#a{ onclick: #Raw[ 'x()' ], href: #Raw[ 'javascript:y' ] }[ 'z' ]",
            ),
            ("<p a_b=1>x</p>", "#Raw[ '<p a_b=\"1\">x</p>' ]"),
        ] {
            assert_eq!(convert(html).trim_end(), literals, "{html}");
        }
    }

    #[test]
    fn depth_and_nonsense_are_no_trouble() {
        let deep = "<div>".repeat(5_000);
        assert!(convert(&deep).contains("#Raw["));
        for nonsense in ["", "<", "<!--", "</p>", "<![CDATA[", "<p <p>", "\u{0}", "<table><p>x"] {
            assert!(convert(nonsense).starts_with('#'), "{nonsense}");
        }
    }
}
