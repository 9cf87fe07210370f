//! Definitions of messages: their examples are true, and `runnel doc` shows them.

use runnel_catalogue::TopicKind;
use runnel_catalogue::words::WORDS;
use runnel_runtime::catalogue;
use runnel_store::Kind;
use serde_json::Value;
use std::collections::BTreeSet;
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

/// A page of the manual with one example; where no value is known, the program is only compiled.
fn page(program: &str, requests: &str, runs: bool) -> String {
    let program = if runs { program.to_owned() } else { format!("{{ {program} }}") };
    let mut text = format!("# Example\n\n```runnel\n{program}\n```\n");
    if !requests.is_empty() {
        write!(text, "\n```http\n{requests}\n```\n").unwrap();
    }
    text
}

/// The examples of words, names, schemes of the language and kinds of errors, as `runnel doc` shows them.
fn pages() -> Vec<(String, String)> {
    let mut pages = Vec::new();
    for (number, word) in WORDS.iter().enumerate() {
        let text = page(word.program(), word.request().unwrap_or_default(), true);
        pages.push((format!("word-{number}"), text));
    }
    for kind in [TopicKind::Name, TopicKind::Scheme] {
        for topic in catalogue().topics(kind) {
            let (program, requests) = (topic.program(), topic.requests());
            assert!(!program.is_empty() && !topic.text.is_empty(), "{} has no example", topic.name);
            let runs =
                kind == TopicKind::Scheme || program.contains("// =>") || !requests.is_empty();
            pages.push((format!("{kind:?}-{}", topic.name), page(&program, &requests, runs)));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let kinds = Kind::all().map(Kind::name);
    let kernel = catalogue().topics(TopicKind::Error).map(|topic| topic.name.as_str());
    for name in kinds.chain(kernel) {
        let shown = runnel(folder.path(), &["doc", "--json", name]);
        let lines = String::from_utf8(shown.stdout).unwrap();
        let subjects = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let error = subjects.into_iter().find(|one| one["kind"] == "error");
        let error = error.unwrap_or_else(|| panic!("runnel doc {name} has no error"));
        let status = error["status"].as_u64().unwrap();
        assert!((400..600).contains(&status) && error["text"] != "", "{error}");
        pages.push((format!("error-{name}"), page(error["example"].as_str().unwrap(), "", true)));
    }
    pages
}

#[test]
fn examples_of_words_names_schemes_and_errors_are_true() {
    let folder = tempfile::tempdir().unwrap();
    let pages = pages();
    assert!(pages.len() > 120, "{} pages", pages.len());
    for (name, text) in pages {
        std::fs::write(folder.path().join(format!("{name}.md")), text).unwrap();
    }
    let output = runnel(folder.path(), &["test", "."]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

/// Each kind that the kernel raises has a definition: of a store, or `--- error` in the kernel.
#[test]
fn each_kind_of_error_of_the_kernel_is_defined() {
    // The end of a program, which no handler catches.
    let mut known: BTreeSet<&str> = BTreeSet::from(["exit"]);
    known.extend(Kind::all().map(Kind::name));
    known.extend(catalogue().topics(TopicKind::Error).map(|topic| topic.name.as_str()));
    let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/src/kernel");
    let (mut raised, mut unknown) = (0, BTreeSet::new());
    for folder in std::fs::read_dir(kernel).unwrap() {
        let folder = folder.unwrap().path();
        for file in
            folder.is_dir().then(|| std::fs::read_dir(folder).unwrap()).into_iter().flatten()
        {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let starts = ["throw(\"", "newError(\""].into_iter();
            for rest in starts.flat_map(|start| text.split(start).skip(1)) {
                let kind = rest.split('"').next().unwrap();
                raised += 1;
                if !known.contains(kind) {
                    unknown.insert(kind.to_owned());
                }
            }
        }
    }
    assert!(
        raised > 400 && unknown.is_empty(),
        "{raised} raised, {unknown:?} without a definition"
    );
}

#[test]
fn words_names_and_errors_are_found() {
    let folder = tempfile::tempdir().unwrap();
    for (name, wanted) in [
        ("notFound", "A kind of error. Over HTTP it is the status 404."),
        ("typeError", "the status 500."),
        ("stdout", "A name of every program."),
        ("query:", "A scheme of the language."),
        ("scheme", "A word of the language."),
        ("→", "A mark of the language."),
        ("⇨", "A connection"),
        ("#{}", "A dictionary."),
    ] {
        let output = runnel(folder.path(), &["doc", name]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(wanted), "{name}: {said}");
    }
    // A word that a class or a message has too keeps both.
    let output = runnel(folder.path(), &["doc", "filter"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("A word of the language."), "{said}");
    let output = runnel(folder.path(), &["doc", "HTTPServer"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("1 ms to 1 d: "), "{said}");
}

#[test]
fn examples_of_definitions_are_true() {
    let wrong: Vec<String> = examples().chunks(TOGETHER).flat_map(faults).collect();
    assert!(wrong.is_empty(), "examples of the kernel's definitions:\n{}", wrong.join("\n"));
}
