//! The TextMate grammar of the extension for VS Code, by the engine of VS Code.

use crate::programs::{programs, root};
use crate::queries::{Colour, colours_of_lexer};
use runnel_scratch::leave_out;
use runnel_syntax::{TokenKind, tokens};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// Where `.ci/run` installs `vscode-textmate` and `vscode-oniguruma`.
fn packages() -> Option<PathBuf> {
    let folder =
        PathBuf::from(std::env::var_os("HOME")?).join(".cache/runnel/editors/node_modules");
    folder.join("vscode-textmate").is_dir().then_some(folder)
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c < ' ' => write!(out, "\\u{:04x}", u32::from(c)).unwrap(),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A letter for each UTF-16 unit, as `test/colours.mjs` expects it.
fn letters(text: &str) -> String {
    let colours = colours_of_lexer(text);
    let letter = |at: usize| match colours[at] {
        Colour::Code => ".",
        Colour::Text => "t",
        Colour::Comment => "c",
        Colour::Address => "p",
    };
    let mut letters: Vec<&str> = (0..text.len()).map(letter).collect();
    // A text with values is a comment where another statement follows: a line alone does not show that.
    for token in tokens(text).iter().filter(|token| token.kind == TokenKind::Comment) {
        let written = token.span.text(text);
        if written.starts_with('"') && written.contains('{') {
            letters[token.span.start as usize..token.span.end as usize].fill("e");
        }
    }
    text.char_indices().map(|(at, c)| letters[at].repeat(c.len_utf16())).collect()
}

#[test]
fn the_grammar_of_vs_code_colours_texts_and_comments_as_the_lexer_sees_them() {
    let Some(packages) = packages() else {
        return leave_out("vscode-textmate is not installed; .ci/run does it");
    };
    let samples: Vec<String> = programs()
        .iter()
        .map(|sample| {
            let (name, text) = (quoted(&sample.name), quoted(&sample.text));
            format!("{{\"name\":{name},\"text\":{text},\"colours\":\"{}\"}}", letters(&sample.text))
        })
        .collect();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(format!("[{}]", samples.join(",")).as_bytes()).unwrap();
    let script = root().join("editors/vscode/test/colours.mjs");
    let output =
        Command::new("node").arg(script).arg(file.path()).env("NODE_PATH", packages).output();
    let output = output.unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{out}{}", String::from_utf8_lossy(&output.stderr));
    assert!(out.contains(" passed, 0 failed"), "{out}");
}

#[test]
fn the_commands_of_the_extension_make_command_lines() {
    let node = Command::new("node")
        .arg("--test")
        .arg(root().join("editors/vscode/test/commands.test.mjs"))
        .output();
    let Ok(output) = node else {
        return leave_out("Node is not installed");
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
