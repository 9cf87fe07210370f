//! APIs and their OpenAPI documents before judges that others wrote: a validator, linters, generators of clients,
//! a compiler, and a fuzzer that compares what the document says with what the server does.
//!
//! `.ci/soak openapi` runs these with 500 examples for each operation (`RUNNEL_OPENAPI_EXAMPLES`).

use crate::judges::{judge, programs};
use crate::leaderboards::{Boards, Sample};
use crate::support::{Folder, Process, examples, free_port, run, runnel, skip};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Default number of examples for each operation.
const EXAMPLES: &str = "3";

/// Tables without handlers.
const TABLES: &str = "#-serve:<ref>database
class Author { var <string> id. var <string 1..40 unique> name. }
class Book {
    var <int> id.
    var <string 1..80 required> title.
    var <decimal 0..999> price.
    var <int? 1..2000> pages.
    var <'new' 'used'> state.
    var <bool> sold.
    var <date> bought.
}
tables ← #Route{ stores: #{ authors: (database table: Author), books: (database table: Book) } }.
#HTTPServer{} → #OpenAPI{ title: 'Books', contact: 'books@example.org' } → tables.
";

/// The folder of the tools that `.ci/run` installs.
pub(crate) fn tools() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("HOME")?).join(".cache/runnel/openapi");
    let all = [
        "py/bin/st",
        "py/bin/python",
        "node/node_modules/.bin/orval",
        "node/node_modules/.bin/tsc",
    ];
    if let Some(missing) = all.iter().find(|tool| !folder.join(tool).exists()) {
        skip(&format!("{missing} is not in {}; .ci/run installs it", folder.display()));
        return None;
    }
    Some(folder)
}

/// Serves a program on a fresh database, and asks the judges about it.
fn passes(program: &Path, folder: &Folder, options: &[&str]) {
    let port = free_port();
    let database = format!("sqlite:{}", folder.path("judged.db").display());
    let mut command = runnel();
    command.args(["--port", &port.to_string()]).arg(program).arg(database);
    let mut process = Process::start(&mut command);
    process.listens(port);
    judged(&program.file_stem().unwrap().to_string_lossy(), port, folder, options);
    process.signal("TERM");
    assert_eq!(process.end(), 0, "{}", process.err());
    assert!(!process.err().contains("ERROR"), "{}", process.err());
}

/// Asks the judges about a server. The fuzzer leaves files where it runs.
fn judged(name: &str, port: u16, folder: &Folder, options: &[&str]) {
    let Some(script) = judge("openapi/check.sh") else { return };
    let Some(tools) = tools() else { return };
    let base = format!("http://127.0.0.1:{port}");
    let wanted = std::env::var("RUNNEL_OPENAPI_EXAMPLES").ok();
    // The same examples each time, unless somebody looks for faults.
    let seed: &[&str] = if wanted.is_some() { &[] } else { &["--seed", "1"] };
    let count = wanted.unwrap_or_else(|| EXAMPLES.into());
    let mut check = Command::new("sh");
    check
        .arg(std::path::absolute(script).unwrap())
        .args([&format!("{base}/openapi.json"), &base])
        .args(options)
        .args(seed)
        .current_dir(folder.path(""))
        .env("NODE", tools.join("node"))
        .env("PY", tools.join("py"))
        .env("EXAMPLES", &count)
        .env("LINES_SHOWN", "80");
    let outcome = run(&mut check);
    let verdicts: Vec<&str> = outcome.out.lines().filter(|line| !line.starts_with(' ')).collect();
    let passed = verdicts.iter().filter(|line| line.starts_with("ok ")).count();
    assert_eq!(
        (passed, verdicts.len(), outcome.status),
        (7, 7, 0),
        "{}{}",
        outcome.out,
        outcome.err
    );
    println!("| {name:<12} | {count:>4} examples | {passed} of 7 |");
}

#[test]
fn judges_find_nothing_in_the_list_of_things_to_do() {
    passes(&examples().join("todos.st"), &Folder::new(), &[]);
}

#[test]
fn judges_find_nothing_in_realworld() {
    passes(&examples().join("conduit.st"), &Folder::new(), &["-H", "Authorization: Token ada"]);
}

#[test]
fn judges_find_nothing_in_leaderboards() {
    // Ten million hashes take longer than a fuzzer waits.
    let boards = Boards::sqlite(1, &Sample([1, 10, 100, 1000]), &[("1..10000000", "1..1000")]);
    judged("leaderboards", boards.port, &Folder::new(), &[]);
    assert!(!boards.process.err().contains("ERROR"), "{}", boards.process.err());
}

#[test]
fn judges_find_nothing_in_sixty_paths_of_all_types() {
    let token = ["-H", "Authorization: Bearer root"];
    passes(&programs().join("api.st"), &Folder::new(), &token);
}

#[test]
fn judges_find_nothing_in_tables() {
    let folder = Folder::new();
    let program = folder.write("tables.st", TABLES);
    passes(&program, &folder, &[]);
}
