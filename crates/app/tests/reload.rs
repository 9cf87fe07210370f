//! `runnel run --watch`: changes are served, errors are shown, the old program goes on meanwhile.
#![allow(clippy::unwrap_used)]

mod support;

use support::http::{Connection, Reply};
use support::{Folder, Process, eventually, free_port, runnel};

fn text(word: &str, port: u16) -> String {
    format!(
        "scheme Site {{ /word {{ get {{ '{word}' }} }} }}\n\
         #HTTPServer{{ port: {port} }} → #Site{{}}.\n"
    )
}

fn get(port: u16, accept: &str) -> Reply {
    let mut connection = Connection::open(port).unwrap();
    connection.ask("GET", "/word", &[("Accept", accept)], b"").unwrap();
    connection.answer("GET").unwrap()
}

#[test]
fn changes_are_served_and_errors_shown_in_the_page() {
    let (folder, port) = (Folder::new(), free_port());
    let file = folder.write("program.st", text("first", port));
    let mut process = Process::start(runnel().args(["run", "--watch"]).arg(&file));
    process.listens(port);
    eventually("it serves", || get(port, "*/*").text() == "first");
    folder.write("program.st", text("second!", port));
    eventually("the change is served", || get(port, "*/*").text() == "second!");

    folder.write("program.st", "x ← 3 + <b>.\n");
    process.err_shows("the old one goes on");
    process.err_shows("program.st:1");
    eventually("the page shows the error", || {
        let reply = get(port, "text/html,*/*;q=0.8");
        reply.status == 500 && reply.text().contains("program.st:1")
    });
    assert!(!get(port, "text/html").text().contains("<b>"));
    let other = get(port, "application/json, */*");
    assert_eq!((other.status, other.text().as_str()), (200, "second!"));

    folder.write("program.st", text("repaired", port));
    eventually("the repair is served", || get(port, "text/html").text() == "repaired");
    process.signal("TERM");
    assert_eq!(process.outcome().status, 0);
}

#[test]
fn a_program_with_an_error_is_waited_for() {
    let (folder, port) = (Folder::new(), free_port());
    let file = folder.write("program.st", "scheme {");
    let mut process = Process::start(runnel().args(["--watch"]).arg(&file));
    process.err_shows("waiting for a change");
    folder.write("program.st", text("here", port));
    process.listens(port);
    eventually("it serves", || get(port, "text/html").text() == "here");
}
