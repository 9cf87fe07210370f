//! `runnel routes`: which paths a program serves, and where they stand.

use crate::support::{Folder, free_port, runnel_with};

#[test]
fn the_paths_of_each_server_are_listed_with_their_places() {
    let (folder, port) = (Folder::new(), free_port());
    let text = format!(
        "stdout println: 'not shown'.\n\
         scheme Tasks {{\n\
         \x20   /tasks {{ get {{ 'all' }}\n\
         \x20            post {{ newValue }} }}\n\
         \x20   /tasks/:<int>id {{ get {{ id }} delete {{ 1 }} }}\n\
         }}\n\
         #HTTPServer{{ port: {port} }} → #Tasks{{}}.\n"
    );
    let path = folder.write("tasks.st", text).display().to_string();
    let outcome = runnel_with(&["routes", &path]);
    assert_eq!(outcome.status, 0, "{}", outcome.err);
    let rows: Vec<Vec<&str>> =
        outcome.out.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    let (number, place) = (port.to_string(), |line: u32| format!("{path}:{line}"));
    assert_eq!(rows[0], ["port", &number, "GET", "/tasks", &place(3)]);
    assert_eq!(rows[1], ["port", &number, "POST", "/tasks", &place(3)]);
    assert_eq!(rows[2], ["port", &number, "GET", "/tasks/:<int>id", "id", "<int>", &place(5)]);
    assert_eq!(rows[3], ["port", &number, "DELETE", "/tasks/:<int>id", "id", "<int>", &place(5)]);
    assert_eq!(rows.len(), 4);

    let json = runnel_with(&["routes", "--json", &path]).out;
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((&first["method"], &first["path"]), (&"GET".into(), &"/tasks".into()));
}

#[test]
fn a_program_without_paths_is_said_to_have_none() {
    let folder = Folder::new();
    let path = folder.write("none.st", "3 + 4.").display().to_string();
    let outcome = runnel_with(&["routes", &path]);
    assert_eq!((outcome.status, outcome.out.as_str()), (0, ""));
    assert!(outcome.err.contains("no scheme with property paths, and no table"));
}
