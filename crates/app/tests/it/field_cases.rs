//! Borders that gave way in the field: the programs of `cases/field`, each with its client, where these lie beside the
//! project.

use crate::support::{free_port, runnel, skip};
use std::path::Path;
use std::process::Command;

/// Cases of which `expected.txt` allows several outcomes, with the lines of the one that was chosen.
const CHOSEN: &[(&str, &[&str])] = &[
    // Three of the four lines do not compile, so that the program does not start.
    (
        "safety-05-sql-from-request-unwarned",
        &[
            "check: 0 warnings",
            "q?t=%27%20or%201=1%20--",
            "sh?a=;id",
            "raw?a=%3Cscript%3Ealert(1)%3C/script%3E",
            "ref?a=file:/etc/hostname",
        ],
    ),
    // An error of `check` and at the start.
    (
        "safety-09-cache-answers-everybody",
        &["check: 1 findings", "before: 000", "ann:", "anonymous:"],
    ),
    // Numbers without a unit, in both programs.
    (
        "safety-15-a-number-is-seconds-or-milliseconds",
        &[
            "check: 3 findings",
            "the server itself: 000  through the proxy: 000",
            "RateLimit requests: 5, per: 60 let in 0 of 15 within a second or so",
        ],
    ),
];

/// The scripts give a program one second to start, which a busy machine may not.
const TRIES: usize = 3;

/// The first of three ports in a row: what a script takes.
fn three_ports() -> u16 {
    loop {
        let first = free_port();
        if free_port() == first + 1 && free_port() == first + 2 {
            return first;
        }
    }
}

/// The output of a case, without the error output of its shell.
fn outcome(folder: &Path) -> Vec<String> {
    let program = runnel().get_program().to_owned();
    let port = three_ports().to_string();
    let mut command = Command::new("sh");
    command.arg("./run.sh").arg(port).current_dir(folder).env("RUNNEL", program);
    let output = command.output().unwrap();
    lines(&String::from_utf8_lossy(&output.stdout))
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.trim_end().to_string()).filter(|line| !line.is_empty()).collect()
}

#[test]
fn borders_hold() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases/field");
    let Ok(found) = std::fs::read_dir(&cases) else { return skip("the cases of the field") };
    let mut wrong = Vec::new();
    for folder in found.map(|entry| entry.unwrap().path()) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with("safety-") || !folder.join("run.sh").exists() {
            continue;
        }
        let chosen = CHOSEN.iter().find(|(known, _)| *known == name);
        let expected = match chosen {
            Some((_, lines)) => lines.iter().map(|line| (*line).to_string()).collect(),
            None => lines(&std::fs::read_to_string(folder.join("expected.txt")).unwrap()),
        };
        let mut seen = Vec::new();
        let held = (0..TRIES).any(|_| {
            seen = outcome(&folder);
            seen == expected
        });
        if !held {
            wrong.push(format!("{name}\n  expected {expected:#?}\n  seen {seen:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
