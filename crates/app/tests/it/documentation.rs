//! Definitions of messages: their examples are true, and `runnel doc` shows them.

use runnel_runtime::catalogue;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Examples that one program evaluates: a mistake in one of them stops the others of the same program.
const TOGETHER: usize = 100;

/// An example, with the message that it belongs to.
struct CatalogueExample {
    of: String,
    source: String,
    result: Option<String>,
}

/// All examples, those of synonyms and of messages that refer to others once.
fn examples() -> Vec<CatalogueExample> {
    let mut examples: Vec<CatalogueExample> = Vec::new();
    for class in catalogue().classes() {
        for message in &class.messages {
            for example in &message.examples {
                if examples
                    .iter()
                    .any(|known| known.source == example.source && known.result == example.result)
                {
                    continue;
                }
                examples.push(CatalogueExample {
                    of: format!("{}>>{}", class.name, message.selector),
                    source: example.source.clone(),
                    result: example.result.clone(),
                });
            }
        }
    }
    examples
}

/// A program with a line for each example, which prints what differs.
fn program(examples: &[CatalogueExample]) -> String {
    let mut text = String::new();
    for (number, CatalogueExample { source, result, .. }) in examples.iter().enumerate() {
        match result {
            None => writeln!(text, "block{number} := {{ {source} }}."),
            Some(result) => {
                let wanted = match result.starts_with("error:") {
                    true => format!("'{}'", result.replace('\'', "''")),
                    false => format!("({result})"),
                };
                writeln!(
                    text,
                    "seen{number} := {{ {source} }} onError: {{ :problem | 'error: ' , problem message }}. \
                     (seen{number} = {wanted}) ifFalse: {{ \
                     stdout println: '{number} ' , [ seen{number} ] printString }}."
                )
            }
        }
        .unwrap();
    }
    text
}

fn runnel(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.env("NO_COLOR", "1").output().unwrap()
}

/// What is wrong with some examples; alone, when a program of several cannot run.
fn faults(examples: &[CatalogueExample]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("examples.st"), program(examples)).unwrap();
    let output = runnel(folder.path(), &["examples.st"]);
    if !output.status.success() {
        return match examples {
            [one] => {
                let why = String::from_utf8_lossy(&output.stderr).into_owned();
                vec![format!("{}: {}\n{why}", one.of, one.source)]
            }
            several => several.chunks(several.len().div_ceil(8)).flat_map(faults).collect(),
        };
    }
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = printed.lines().filter_map(|line| {
        let (number, seen) = line.split_once(' ')?;
        let example = examples.get(number.parse::<usize>().ok()?)?;
        Some(format!("{}: {} is {seen}", example.of, example.source))
    });
    lines.collect()
}

#[test]
fn examples_of_definitions_are_true() {
    let wrong: Vec<String> = examples().chunks(TOGETHER).flat_map(faults).collect();
    assert!(wrong.is_empty(), "examples of the kernel's definitions:\n{}", wrong.join("\n"));
}
