//! Markup as a list of tags: just enough XML for drawings.

use std::collections::HashMap;

/// Tags of a drawing; what follows is left out.
const TAGS: usize = 100_000;

/// A part of markup.
#[derive(Debug, PartialEq)]
pub(super) enum Part {
    Open(String, HashMap<String, String>),
    Close,
    Text(String),
}

/// The parts of a text. An element without content is opened and closed.
pub(super) fn parts(text: &str) -> Vec<Part> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        if found.len() >= TAGS {
            break;
        }
        let before = rest[..start].trim();
        if !before.is_empty() {
            found.push(Part::Text(decoded(before)));
        }
        rest = &rest[start..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let Some(end) = end_of_tag(rest) else { break };
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        if tag.starts_with('/') {
            found.push(Part::Close);
        } else if !tag.starts_with(['?', '!']) {
            let is_empty = tag.ends_with('/');
            let tag = tag.trim_end_matches('/');
            let end = tag.find(char::is_whitespace).unwrap_or(tag.len());
            found.push(Part::Open(tag[..end].to_string(), attributes(&tag[end..])));
            if is_empty {
                found.push(Part::Close);
            }
        }
    }
    found
}

/// Where a tag ends: `>` outside of quotes.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None if letter == '"' || letter == '\'' => quote = Some(letter),
            None if letter == '>' => return Some(at),
            None => {}
        }
    }
    None
}

fn attributes(text: &str) -> HashMap<String, String> {
    let mut found = HashMap::new();
    let mut rest = text;
    while let Some(equals) = rest.find('=') {
        let name = rest[..equals].trim().to_string();
        let value = rest[equals + 1..].trim_start();
        let Some(quote) = value.chars().next().filter(|letter| matches!(letter, '"' | '\'')) else {
            break;
        };
        let Some(end) = value[1..].find(quote) else { break };
        let value_text = decoded(&value[1..=end]);
        if name == "style" {
            for (name, value) in value_text.split(';').filter_map(|one| one.split_once(':')) {
                found.insert(name.trim().to_string(), value.trim().to_string());
            }
        } else {
            found.insert(name, value_text);
        }
        rest = &value[end + 2..];
    }
    found
}

/// A text without character references.
fn decoded(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        result.push_str(&rest[..start]);
        rest = &rest[start..];
        let Some(end) = rest.find(';').filter(|end| *end <= 10) else {
            result.push('&');
            rest = &rest[1..];
            continue;
        };
        let name = &rest[1..end];
        let code = name.strip_prefix("#x").map(|hex| u32::from_str_radix(hex, 16).ok());
        let code = code.or_else(|| name.strip_prefix('#').map(|number| number.parse().ok()));
        let letter = match name {
            "lt" => Some('<'),
            "gt" => Some('>'),
            "amp" => Some('&'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => code.flatten().and_then(char::from_u32),
        };
        result.extend(letter);
        rest = &rest[end + 1..];
    }
    result.push_str(rest);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_attributes_and_texts() {
        let found = parts("<!-- < --><a b='1>2' style=\"fill: red; x:y\"><c/>t &lt;&#65;&</a>");
        let Part::Open(name, attributes) = &found[0] else { panic!("{found:?}") };
        assert_eq!((name.as_str(), attributes["b"].as_str()), ("a", "1>2"));
        assert_eq!(attributes["fill"], "red");
        assert_eq!(found[3], Part::Text("t <A&".into()));
        assert_eq!(found.len(), 5);
    }

    #[test]
    fn broken_markup_ends_the_list() {
        for text in ["<", "<a", "<a b", "<a b='", "<a b=c>", "&", "<!--", "</", "<a>&#xffffffff;<b"]
        {
            parts(text);
        }
    }
}
