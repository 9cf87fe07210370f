//! Scripts with their values, from a table: one process of the built command for each.
//!
//! The table is `tests/cases/language.tsv`, or the file that `RUNNEL_LANGUAGE_CASES` names. Its
//! columns are separated by tabs: number, category, script, expected value, note. In scripts and
//! values `\n` is a line end and `\\` a backslash. `ERROR` means that the script must fail with a
//! place, `nil` that nothing is printed.

use std::path::{Path, PathBuf};
use std::process::Command;

struct Case {
    number: String,
    script: String,
    expected: String,
}

/// A file that some scripts read.
const READ_BY_SCRIPTS: (&str, &str) = ("/tmp/objs-case.txt", "hi");

fn table() -> PathBuf {
    match std::env::var_os("RUNNEL_LANGUAGE_CASES") {
        Some(named) => named.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/language.tsv"),
    }
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut characters = text.chars();
    while let Some(one) = characters.next() {
        match one {
            '\\' => match characters.next() {
                Some('n') => out.push('\n'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            other => out.push(other),
        }
    }
    out
}

fn cases(text: &str) -> Vec<Case> {
    text.lines()
        .skip(1)
        .filter(|line| !line.is_empty())
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            assert!(columns.len() >= 4, "a line of the table has too few columns: {line}");
            Case {
                number: columns[0].into(),
                script: unescaped(columns[2]),
                expected: unescaped(columns[3]),
            }
        })
        .collect()
}

/// What is wrong with a case, if anything.
fn fault(case: &Case) -> Option<String> {
    let output =
        Command::new(env!("CARGO_BIN_EXE_runnel")).args(["-e", &case.script]).output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    let status = output.status.code();
    let as_expected = match case.expected.as_str() {
        "ERROR" => matches!(status, Some(65 | 70)) && err.contains("--> -e:"),
        "nil" => status == Some(0) && out.is_empty(),
        expected => status == Some(0) && out.strip_suffix('\n') == Some(expected),
    };
    (!as_expected).then(|| {
        format!(
            "case {}: {}\n  expected {:?}\n  answered {out:?} with status {status:?}\n{err}",
            case.number, case.script, case.expected
        )
    })
}

#[test]
fn scripts_have_their_values() {
    let path = table();
    let cases = cases(&std::fs::read_to_string(&path).unwrap());
    assert!(!cases.is_empty(), "{} has no cases", path.display());
    std::fs::write(READ_BY_SCRIPTS.0, READ_BY_SCRIPTS.1).unwrap();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let faults: Vec<String> = std::thread::scope(|scope| {
        let parts: Vec<_> = cases
            .chunks(cases.len().div_ceil(workers))
            .map(|part| scope.spawn(move || part.iter().filter_map(fault).collect::<Vec<_>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    let _ = std::fs::remove_file(READ_BY_SCRIPTS.0);
    println!("{} passed, {} failed", cases.len() - faults.len(), faults.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn escapes_of_the_table() {
    assert_eq!(unescaped(r"a\nb\\n"), "a\nb\\n");
}
