//! `runnel run --watch`: changes are served, errors are shown, the old program goes on meanwhile.

use crate::support::http::{Connection, Reply};
use crate::support::{Folder, Process, eventually, free_port, runnel};

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

#[test]
fn files_that_are_read_at_the_start_are_followed() {
    let (folder, port) = (Folder::new(), free_port());
    let of = |name: &str| folder.path(name).display().to_string();
    folder.write("words.st", "class Words { -word { 'first' } }\n");
    folder.write("settings.txt", "one");
    folder.write("state.txt", "0");
    let text = format!(
        "ref:file:{} load.\n\
         settings ← file:{} stringValue.\n\
         state ← file:{} stringValue.\n\
         file:{} ← 'started'.\n\
         ref:file:{} post: 'x'.\n\
         scheme Site {{ var settings. /word {{ get {{ \"{{#Words{{}} word}} {{this:settings}}\" }} }} }}\n\
         #HTTPServer{{ port: {port} }} → #Site{{ settings: settings }}.\n",
        of("words.st"),
        of("settings.txt"),
        of("state.txt"),
        of("state.txt"),
        of("starts.txt")
    );
    let file = folder.write("program.st", text);
    let mut process = Process::start(runnel().args(["run", "--watch"]).arg(&file));
    process.listens(port);
    eventually("it serves", || get(port, "*/*").text() == "first one");
    // What the program writes itself does not start it again.
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(std::fs::read_to_string(folder.path("starts.txt")).unwrap(), "x");
    folder.write("words.st", "class Words { -word { 'second' } }\n");
    eventually("the source is loaded again", || get(port, "*/*").text() == "second one");
    folder.write("settings.txt", "two");
    eventually("the settings are read again", || get(port, "*/*").text() == "second two");
    // A source that does not load is shown, and its repair is noticed.
    folder.write("words.st", "class Words { -word { 3 +  } }\n");
    eventually("the page shows the error", || get(port, "text/html").status == 500);
    folder.write("words.st", "class Words { -word { 'third' } }\n");
    eventually("the repair is served", || get(port, "text/html").text() == "third two");
    process.signal("TERM");
    let outcome = process.outcome();
    assert_eq!(outcome.status, 0);
}
