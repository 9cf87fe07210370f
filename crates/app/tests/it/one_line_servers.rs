//! `runnel serve`: servers without a program.

use crate::support::http::{Connection, Reply};
use crate::support::{Folder, Process, free_port, runnel, runnel_with};

/// Serves what these arguments say in a folder, with the environment of a test.
fn start(folder: &Folder, arguments: &[&str], variables: &[(&str, &str)]) -> (Process, u16) {
    let port = free_port();
    let mut command = runnel();
    command.current_dir(folder.path("")).arg("serve").args(arguments);
    command.env_remove("RUNNEL_S3_KEY").env_remove("RUNNEL_S3_SECRET");
    command.envs(variables.iter().copied()).arg(format!("--port={port}"));
    let mut process = Process::start(&mut command);
    process.listens(port);
    process.err_shows(&format!("serving on http://127.0.0.1:{port}/"));
    (process, port)
}

fn ask(port: u16, method: &str, target: &str, body: &str) -> Reply {
    let mut connection = Connection::open(port).unwrap();
    connection.ask(method, target, &[], body.as_bytes()).unwrap();
    connection.answer(method).unwrap()
}

#[test]
fn a_folder_is_served_as_a_web_site() {
    let folder = Folder::new();
    let name = "a b?c%41#d{x}ü";
    std::fs::create_dir(folder.path(name)).unwrap();
    folder.write(&format!("{name}/notes.txt"), "some notes");
    folder.write(&format!("{name}/.hidden"), "hidden");
    let (process, port) = start(&folder, &["files", name], &[]);
    assert_eq!(ask(port, "GET", "/notes.txt", "").text(), "some notes");
    assert!(ask(port, "GET", "/", "").text().contains("notes.txt"));
    assert_eq!(ask(port, "GET", "/.hidden", "").status, 404);
    assert_eq!(ask(port, "PUT", "/notes.txt", "other").status, 405);
    process.signal("TERM");
    assert_eq!(process.outcome().status, 0);
}

#[test]
fn a_database_is_served_as_s3() {
    let folder = Folder::new();
    for start_number in 0..2 {
        let (process, port) = start(&folder, &["s3", "sqlite:data.db", "--workers=2"], &[]);
        process.err_shows("everybody on this machine may read and write");
        if start_number == 0 {
            assert_eq!(ask(port, "PUT", "/photos", "").status, 200);
            assert_eq!(ask(port, "PUT", "/photos/a/tom.txt", "purr").status, 200);
        }
        assert_eq!(ask(port, "GET", "/photos/a/tom.txt", "").text(), "purr");
        assert!(
            ask(port, "GET", "/photos?list-type=2", "").text().contains("<Key>a/tom.txt</Key>")
        );
        process.signal("TERM");
        assert_eq!(process.outcome().status, 0);
    }
    // The same file as JSON shows nothing of it.
    let (_process, port) = start(&folder, &["data.db"], &[]);
    assert_eq!(ask(port, "GET", "/", "").status, 404);
    assert_eq!(ask(port, "GET", "/objects", "").status, 405);
    assert_eq!(ask(port, "PUT", "/objects/photos", "{\"key\":\"x\"}").status, 405);
}

#[test]
fn the_tables_of_a_database_are_served() {
    let folder = Folder::new();
    let mut make = runnel();
    make.current_dir(folder.path("")).args([
        "-e",
        "tasks ← ref:sqlite:tasks.db. \
         tasks run: 'create table tasks (id integer primary key, title text)'. \
         tasks run: 'insert into tasks (title) values (''sow'')'",
    ]);
    assert!(make.status().unwrap().success());
    let (_process, port) = start(&folder, &["tasks.db", "--workers=2"], &[]);
    // Which tables there are is for their owner to say.
    assert_eq!(ask(port, "GET", "/", "").status, 404);
    assert_eq!(ask(port, "GET", "/sqlite_schema", "").status, 404);
    assert_eq!(ask(port, "GET", "/tasks/1", "").text(), "{\"id\":1,\"title\":\"sow\"}");
    assert_eq!(ask(port, "POST", "/tasks", "{\"title\":\"reap\"}").status, 201);
    assert_eq!(ask(port, "GET", "/tasks/2", "").text(), "{\"id\":2,\"title\":\"reap\"}");
    assert_eq!(ask(port, "GET", "/other", "").status, 404);
}

#[test]
fn s3_asks_for_a_key_where_one_is_given() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("data")).unwrap();
    let (open, port) = start(&folder, &["s3", "data"], &[]);
    open.err_shows("note: without --key and --secret everybody on this machine may read and write");
    assert_eq!(ask(port, "PUT", "/photos", "").status, 200);
    assert_eq!(ask(port, "PUT", "/photos/cat.txt", "purr").status, 200);
    let file = std::fs::read_to_string(folder.path("data/photos/cat.txt"));
    assert_eq!(file.unwrap(), "purr");
    drop(open);
    let variables = [("RUNNEL_S3_KEY", "k"), ("RUNNEL_S3_SECRET", "s")];
    let options = ["s3", "data", "--key", "k", "--secret", "s"];
    for (arguments, variables) in [(&options[..2], &variables[..]), (&options[..], &[])] {
        let (process, port) = start(&folder, arguments, variables);
        assert!(!process.err().contains("note:"), "{}", process.err());
        let refused = ask(port, "GET", "/photos/cat.txt", "");
        assert_eq!(refused.status, 403);
        assert!(refused.text().contains("<Code>AccessDenied</Code>"), "{}", refused.text());
    }
}

#[test]
fn what_cannot_be_served_is_an_error() {
    let folder = Folder::new();
    let file = folder.write("notes.txt", "some text").display().to_string();
    let data = folder.path("").display().to_string();
    let missing = folder.path("missing").display().to_string();
    let cases: [(&[&str], i32, &str); 9] = [
        (&[], 64, "required arguments"),
        (&["files"], 64, "say what is served"),
        (&[&data], 64, "say what is served"),
        (&["files", &missing], 66, "cannot be read"),
        (&["files", &file], 66, "is no folder"),
        (&[&file], 65, "is no SQLite database"),
        (&[&missing], 66, "there is no such database"),
        (&["s3", &data, "--key", "k"], 64, "a key has a secret"),
        (&["s3", &data, "--address", "0.0.0.0"], 70, "without users is open to everybody"),
    ];
    for (arguments, status, message) in cases {
        let all: Vec<&str> = ["serve"].into_iter().chain(arguments.iter().copied()).collect();
        let outcome = runnel_with(&all);
        assert_eq!(outcome.status, status, "{arguments:?}: {outcome:?}");
        assert!(outcome.err.contains(message), "{arguments:?}: {outcome:?}");
    }
}
