//! Small pieces of markup.

use runnel_store::{Value, json};
use runnel_text::escape::html;

/// Text of the program as HTML.
pub(super) fn escaped(text: &str) -> String {
    html(text)
}

/// An id of an element that an address can name.
pub(super) fn slug(kind: &str, name: &str) -> String {
    let kept = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    // Another character becomes its code, so that ids stay different.
    let name: String = name
        .chars()
        .map(|one| if kept(one) { one.to_string() } else { format!(".{:x}", u32::from(one)) })
        .collect();
    format!("{kind}-{name}")
}

/// Appends a text in paragraphs. Words between backticks are code.
pub(super) fn paragraphs(text: &str, out: &mut String) {
    let parts = text.split("\n\n").map(str::trim).filter(|part| !part.is_empty());
    for part in parts {
        *out += &format!("<p>{}</p>\n", inline(part));
    }
}

/// A line of text with its code.
pub(super) fn inline(text: &str) -> String {
    let mut made = String::new();
    let pieces: Vec<&str> = text.split('`').collect();
    for (at, piece) in pieces.iter().enumerate() {
        let code = at % 2 == 1 && at + 1 < pieces.len();
        match (code, at % 2 == 1) {
            (true, _) => made += &format!("<code>{}</code>", html(piece)),
            (false, true) => made += &format!("`{}", html(piece)),
            (false, false) => made += &html(piece),
        }
    }
    made
}

/// A method as a badge.
pub(super) fn method(name: &str) -> String {
    let tone = match name {
        "GET" | "HEAD" => "read",
        "POST" => "good",
        "DELETE" => "bad",
        _ => "warn",
    };
    format!("<b class=\"method {tone}\">{}</b>", html(name))
}

/// Appends a table that scrolls on a narrow screen. The label is unique on the page.
pub(super) fn table(label: &str, columns: &[&str], rows: &[Vec<String>], out: &mut String) {
    *out += &format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table>\n<thead><tr>",
        html(label)
    );
    columns.iter().for_each(|column| *out += &format!("<th scope=\"col\">{column}</th>"));
    *out += "</tr></thead>\n<tbody>\n";
    for row in rows {
        *out += "<tr>";
        for (at, cell) in row.iter().enumerate() {
            *out += &match at {
                0 => format!("<th scope=\"row\">{cell}</th>"),
                _ => format!("<td>{cell}</td>"),
            };
        }
        *out += "</tr>\n";
    }
    *out += "</tbody>\n</table>\n</div>\n";
}

/// Appends an example as a block that can be scrolled with the keyboard.
pub(super) fn example(label: &str, text: &str, out: &mut String) {
    *out += &format!(
        "<details><summary>Example</summary>\n<pre class=\"card\" tabindex=\"0\" role=\"region\" \
         aria-label=\"{}\"><code>{}</code></pre></details>\n",
        html(label),
        html(text),
    );
}

/// A value in the text of a page.
pub(super) fn code(value: &Value) -> String {
    format!("<code>{}</code>", html(&json_text(value)))
}

/// A value as JSON on one line.
pub(super) fn json_text(value: &Value) -> String {
    String::from_utf8_lossy(&json::text(value)).into_owned()
}
