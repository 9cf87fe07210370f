//! The programs of `tests/programs` before judges that others wrote: RealWorld's collection of requests,
//! Todo-Backend's specification and TechEmpower's rules, where these lie beside the project.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Folder, Process, free_port, note, run, runnel, skip};

/// A program that a judge asks, on a fresh database.
struct Judged {
    process: Process,
    port: u16,
    folder: Folder,
}

impl Judged {
    fn start(program: &str) -> Judged {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
        let folder = Folder::new();
        let port = free_port();
        let database = format!("sqlite:{}", folder.path("judged.db").display());
        let mut command = runnel();
        command.arg(programs.join(program)).arg(database).arg(port.to_string());
        let mut process = Process::start(&mut command);
        process.listens(port);
        Judged { process, port, folder }
    }

    fn address(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Ends the program, which reported no failed request.
    fn end(mut self) {
        self.process.signal("TERM");
        assert_eq!(self.process.end(), 0, "{}", self.process.err());
        assert!(!self.process.err().contains("ERROR"), "{}", self.process.err());
    }
}

/// A file of a judge, which lies outside of the project.
fn judge(name: &str) -> Option<PathBuf> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/judges").join(name);
    if !file.exists() {
        note(&format!("left out: there is no judge {}", file.display()));
        return None;
    }
    Some(file)
}

/// The folder of the packages for Node that `.ci/run` installs.
fn packages() -> Option<PathBuf> {
    let home = std::env::var_os("HOME")?;
    let folder = Path::new(&home).join(".cache/runnel/node/node_modules");
    let complete = [".bin/newman", ".bin/mocha", "chai", "chai-as-promised", "q", "underscore"];
    if let Some(missing) = complete.iter().find(|name| !folder.join(name).exists()) {
        skip(&format!("{missing} is not in {}; .ci/run installs it", folder.display()));
        return None;
    }
    Some(folder)
}

#[test]
fn realworld_passes_every_assertion_of_its_collection() {
    let Some(script) = judge("realworld/run.sh") else { return };
    let Some(packages) = packages() else { return };
    let judged = Judged::start("realworld.st");
    let report = judged.folder.path("report.json");
    let mut command = Command::new("sh");
    command
        .arg(script)
        .args(["--reporters", "cli,json", "--reporter-json-export"])
        .arg(&report)
        .env("BASE", judged.address("/api"))
        .env("NEWMAN", packages.join(".bin/newman"));
    let outcome = run(&mut command);
    assert_eq!(outcome.status, 0, "{}{}", outcome.out, outcome.err);
    let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    let assertions = &report["run"]["stats"]["assertions"];
    assert_eq!((&assertions["total"], &assertions["failed"]), (&311.into(), &0.into()));
    assert_eq!(report["run"]["failures"], Value::Array(Vec::new()));
    judged.end();
}

#[test]
fn todo_backend_passes_its_specification() {
    let Some(script) = judge("todo-backend/run.cjs") else { return };
    let Some(packages) = packages() else { return };
    let judged = Judged::start("todo-backend.st");
    let mut command = Command::new(packages.join(".bin/mocha"));
    command
        .arg(script)
        .args(["--reporter", "json"])
        .env("BASE", judged.address("/todos"))
        .env("NODE_PATH", packages);
    let outcome = run(&mut command);
    assert_eq!(outcome.status, 0, "{}{}", outcome.out, outcome.err);
    let report: Value = serde_json::from_str(&outcome.out).unwrap();
    let stats = &report["stats"];
    assert_eq!(
        (&stats["tests"], &stats["passes"], &stats["failures"]),
        (&16.into(), &16.into(), &0.into())
    );
    judged.end();
}

#[test]
fn techempower_finds_its_rules_kept() {
    let Some(script) = judge("techempower/verify.py") else { return };
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("no python3 is installed");
    }
    let judged = Judged::start("techempower.st");
    let outcome = run(Command::new("python3").arg(script).arg(judged.address("")));
    assert_eq!(outcome.out.lines().last(), Some("53 passed, 0 failed"), "{}", outcome.out);
    assert_eq!(outcome.status, 0, "{}", outcome.err);
    judged.end();
}
