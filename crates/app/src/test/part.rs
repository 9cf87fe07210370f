//! The process that runs one section of a page, or one program with its tests. It writes what
//! became of them as JSON.

use super::host::TestHost;
use super::outcome::{Failure, Test, write};
use super::page::{Fence, FenceKind, Section};
use super::source::{PageProgram, format_failure};
use super::{TIME, page, shell, took_too_long};
use crate::console::Console;
use crate::event_loop::block_on;
use crate::report::Report;
use runnel_runtime::Isolate;
use std::path::Path;
use std::time::Instant;

/// The mark of a program's arguments when it is tested.
const ARGUMENTS: &str = "test with:";

/// Runs a part, and ends without taking the program apart.
pub(crate) fn run(path: &Path, section: Option<usize>, filter: Option<&str>) -> u8 {
    let tests = block_on(async {
        match section {
            Some(number) => vec![section_test(path, number).await],
            None => program_tests(path, filter).await,
        }
    });
    match tests {
        Ok(tests) => {
            Console::line(&write(&tests));
            0
        }
        Err(message) => {
            Console::error(&format!("error: {message}"));
            crate::exit_status::SOFTWARE
        }
    }
}

async fn section_test(path: &Path, number: usize) -> Test {
    let found = std::fs::read_to_string(path)
        .map_err(|error| error.to_string())
        .and_then(|text| page::read(&text).map_err(|(_, fault)| fault))
        .map(|mut sections| (number < sections.len()).then(|| sections.swap_remove(number)));
    match found {
        Ok(Some(section)) => {
            let begin = Instant::now();
            let failures = run_section(&section, path).await;
            let millis = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
            Test { name: section.name, line: section.line, failures, millis }
        }
        other => {
            let said = other.err().unwrap_or_else(|| "the page has changed".into());
            let failures = vec![Failure::plain(1, "the page cannot be read", said)];
            Test { name: "page".into(), line: 1, failures, millis: 0 }
        }
    }
}

async fn run_section(section: &Section, path: &Path) -> Vec<Failure> {
    let mut failures = Vec::new();
    for file in &section.files {
        failures.extend(write_file(file));
    }
    let mut program = None;
    let fences = &section.fences;
    for (at, fence) in fences.iter().enumerate() {
        match fence.kind {
            FenceKind::File => failures.extend(write_file(fence)),
            FenceKind::Shell => failures.extend(shell::run(fence, path).await),
            FenceKind::Source => {
                let after = &fences[at + 1..];
                let others = after
                    .iter()
                    .position(|one| {
                        matches!(one.kind, FenceKind::Source | FenceKind::Shell | FenceKind::File)
                    })
                    .map_or(after, |end| &after[..end]);
                if program.is_none() {
                    program = Some(PageProgram::new());
                }
                match &mut program {
                    Some(Ok(program)) => failures.extend(program.run(fence, others).await),
                    Some(Err(message)) => {
                        let said = std::mem::take(message);
                        failures.push(Failure::plain(fence.line, "no program", said));
                    }
                    None => {}
                }
            }
            FenceKind::Input | FenceKind::Output | FenceKind::Error | FenceKind::Conversation => {}
        }
    }
    // The process ends: nothing is taken apart.
    std::mem::forget(program);
    failures
}

/// Writes a file of a page into the current folder.
fn write_file(fence: &Fence) -> Option<Failure> {
    let name = fence.words.first().map_or("", String::as_str);
    let path = Path::new(name);
    let written = path
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(path, &fence.text));
    if let Err(error) = written {
        return Some(Failure::plain(fence.line, "the file cannot be written", error.to_string()));
    }
    match runnel_syntax::is_program(path) {
        true => format_failure(&fence.text, fence.line),
        false => None,
    }
}

async fn program_tests(path: &Path, filter: Option<&str>) -> Vec<Test> {
    let test = |name: &str, line, failures| Test { name: name.into(), line, failures, millis: 0 };
    let source = match crate::run::read(path) {
        Ok(source) => source,
        Err((message, _)) => {
            return vec![test("reads", 1, vec![Failure::plain(1, "unreadable", message)])];
        }
    };
    let mut tests = Vec::new();
    let mut failures: Vec<Failure> = format_failure(&source, 1).into_iter().collect();
    match tokio::time::timeout(TIME, run_program(path, &source, filter, &mut tests)).await {
        Ok(Ok(())) => {}
        Ok(Err(message)) => failures.push(Failure::plain(1, "the program fails", message)),
        Err(_) => failures.push(Failure::plain(1, "the program", took_too_long())),
    }
    if tests.is_empty() && filter.is_none() || !failures.is_empty() {
        tests.insert(0, test("runs", 1, failures));
    }
    tests
}

/// An argument of a program under test; `$NAME` is a variable of the environment.
fn argument(word: &str) -> String {
    let variable = word.strip_prefix('$').and_then(|name| std::env::var(name).ok());
    variable.unwrap_or_else(|| word.to_string())
}

/// Runs a program, then its tests; without any, what it declares as its result.
async fn run_program(
    path: &Path,
    source: &str,
    filter: Option<&str>,
    tests: &mut Vec<Test>,
) -> Result<(), String> {
    let host = TestHost::new();
    let isolate = Isolate::new(host.clone(), crate::memory::limits())?;
    let report = Report::plain();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(folder) = path.parent().and_then(Path::to_str) {
        isolate.set_folder(folder);
    }
    let program = runnel_syntax::parse(source).program;
    let arguments: Vec<String> = program
        .comments
        .iter()
        .find_map(|comment| comment.span.text(source).split_once(ARGUMENTS))
        .map_or(Vec::new(), |(_, rest)| rest.split_whitespace().map(argument).collect());
    let signature = program.signature.as_ref();
    crate::run::bind(&isolate, &name, signature, None, &arguments).map_err(|ending| {
        let message = ending.text;
        format!("{message}\nsay how to test it in a comment such as `// {ARGUMENTS} value value`")
    })?;
    let sources = |name: &str| isolate.source(name);
    let rendered =
        |why: &runnel_runtime::Failure| report.rendered_failure(&sources, source, &name, why);
    let outcome = isolate.run(source, &name).await.map_err(|why| rendered(&why))?;
    let found = isolate.tests().await;
    if found.is_empty()
        && signature
            .is_some_and(|one| one.result.as_ref().is_none_or(|result| result.text != "void"))
    {
        let ran = isolate.run_result(outcome.value).await;
        ran.map_err(|fault| rendered(&runnel_runtime::Failure::Fault(fault)))?;
    }
    for one in found.into_iter().filter(|one| filter.is_none_or(|name| one.name.contains(name))) {
        let begin = Instant::now();
        host.take_output();
        let line = one.line as usize;
        let mut test = Test { name: one.name, line, failures: Vec::new(), millis: 0 };
        match tokio::time::timeout(TIME, isolate.run_test(one.number)).await {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => {
                let mut said = rendered(&runnel_runtime::Failure::Fault(fault));
                let output = host.take_output();
                if !output.trim().is_empty() {
                    said.push_str("\noutput:\n");
                    said.push_str(output.trim_end());
                }
                test.failures.push(Failure::plain(line, "test", said));
            }
            Err(_) => test.failures.push(Failure::plain(line, "test", took_too_long())),
        }
        test.millis = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        tests.push(test);
    }
    std::mem::forget((isolate, host));
    Ok(())
}
