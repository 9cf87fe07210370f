//! The raw HTTP cases, where they lie beside the project, against the example that plays their
//! fixture: every one, in strict mode. `RUNNEL_HTTP_CASES` names another file of cases.

use crate::support::{Folder, Process, examples, free_port, runnel};
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn the_fixture_answers_every_case() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/tools/http");
    let runner = beside.join("http_case_runner.py");
    let has_python = Command::new("python3").arg("--version").output().is_ok();
    if !runner.exists() || !has_python {
        println!("skipped: the raw HTTP cases do not lie beside the project, or no python3");
        return;
    }
    let folder = Folder::new();
    let root = folder.path("root");
    let made = Command::new("sh").arg(beside.join("mkroot.sh")).arg(&root).status().unwrap();
    assert!(made.success(), "the folder of the cases could not be made");

    let port = free_port();
    let mut command = runnel();
    command.arg(examples().join("http-fixture.st")).arg(port.to_string()).arg(&root);
    let mut process = Process::start(command.stdin(Stdio::null()));
    process.listens(port);
    let mut cases = Command::new("python3");
    cases.arg(runner).arg(format!("127.0.0.1:{port}")).arg("--strict");
    if let Some(file) = std::env::var_os("RUNNEL_HTTP_CASES") {
        cases.arg("--cases").arg(file);
    }
    let output = cases.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let summary = text.lines().find(|line| line.ends_with(" passed"));
    let Some((passed, all)) =
        summary.and_then(|line| line.strip_suffix(" passed")?.split_once('/'))
    else {
        panic!("no summary: {text}{}", String::from_utf8_lossy(&output.stderr));
    };
    assert!(passed == all && all.parse::<usize>().unwrap() > 100, "{text}");
    process.signal("TERM");
    assert_eq!(process.end(), 0, "{}", process.err());
}
