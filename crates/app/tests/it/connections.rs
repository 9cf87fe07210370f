//! Connections of a whole program: what follows a file keeps it running.

use crate::support::{Folder, Process, eventually, run, runnel};
use std::fs::read_to_string;

/// Writes the first file until the second one has the text: the watch may begin later.
fn follows(folder: &Folder, from: &str, to: &str, text: &str) {
    eventually(&format!("{to} has {text}"), || {
        if read_to_string(folder.path(from)).ok().as_deref() != Some(text) {
            folder.write(from, text);
        }
        read_to_string(folder.path(to)).ok().as_deref() == Some(text)
    });
}

#[test]
fn a_connection_that_follows_a_file_keeps_the_program_running() {
    let folder = Folder::new();
    folder.write("a.txt", "one");
    let file = folder.write("program.st", "ref:file:a.txt → ref:file:b.txt.\n");
    let mut process = Process::start(runnel().current_dir(folder.path(".")).arg(file));
    for text in ["one", "two", "three"] {
        follows(&folder, "a.txt", "b.txt", text);
        assert!(process.is_running());
    }
    process.signal("TERM");
    assert_eq!(process.end(), 0);
}

#[test]
fn a_program_ends_whose_connections_only_follow_its_own_variables() {
    let folder = Folder::new();
    let text = "scheme:s ← #DictStore{ }.\ns:n ← 1.\nref:s:n → ref:m.\nref:m → ref:k.\n\
                stdout println: k.\n";
    let file = folder.write("program.st", text);
    let outcome = run(runnel().arg(file));
    assert_eq!((outcome.status, outcome.out.as_str()), (0, "1\n"), "{}", outcome.err);
}

/// The targets of a text field: each gets what is typed and confirmed.
#[test]
fn a_field_reaches_every_kind_of_target() {
    let folder = Folder::new();
    let text = "text ← #TextField{ }.\n\
                filter Upcase |{ ^object uppercaseString }\n\
                text → ref:file:msg.txt.\n\
                text → ref:var:message.\n\
                text → stdout.\n\
                text → ref:file:log.txt outputStream.\n\
                text → (Upcase → ref:file:loud.txt).\n\
                text enter: 'hello wörld'.\n\
                text enter: 'again'.\n\
                stdout println: message.\n\
                shell exit.\n";
    let file = folder.write("program.st", text);
    let outcome = run(runnel().current_dir(folder.path(".")).arg(file));
    assert_eq!(outcome.out, "hello wörld\nagain\nagain\n", "{}", outcome.err);
    let read = |name: &str| read_to_string(folder.path(name)).unwrap();
    assert_eq!(read("msg.txt"), "again");
    assert_eq!(read("log.txt"), "hello wörld\nagain\n");
    assert_eq!(read("loud.txt"), "AGAIN");
}
