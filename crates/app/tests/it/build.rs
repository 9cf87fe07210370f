//! `runnel build`: executables with a program inside, moved, called, damaged and refused.

use crate::support::http::{get, raw, read_reply};
use crate::support::{Folder, Outcome, Process, free_port, run, run_with, runnel};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

/// Builds a program; answers what the command said.
fn build(folder: &Folder, arguments: &[&str]) -> Outcome {
    run(runnel().arg("build").args(arguments).current_dir(folder.path("")))
}

fn built(folder: &Folder, arguments: &[&str]) {
    let outcome = build(folder, arguments);
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
}

/// Writes files with the folders above them.
fn write(folder: &Folder, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// An executable in a folder of its own, without any variable of the environment.
fn moved(executable: &Path, to: &Folder) -> Command {
    let place = to.path("moved");
    // By another process: a child of another test must not hold the new file open for writing.
    assert!(Command::new("cp").arg(executable).arg(&place).status().unwrap().success());
    let mut command = Command::new(place);
    command.env_clear().current_dir(to.path(""));
    command
}

const WORDS: &str = "#-<void>greet:<string>name times:<int>times=1\n\
    prices ← ref:file:lib/prices.st load.\n\
    later ← { ref:file:lib/later.st load }.\n\
    stdout println: [ name, times, prices, later value, args ].\n\
    stdout println: argv0.\n";

#[test]
fn an_executable_has_its_program_and_files_inside() {
    let (folder, elsewhere) = (Folder::new(), Folder::new());
    write(
        &folder,
        &[
            ("app/main.st", WORDS),
            ("app/lib/prices.st", "net ← ref:file:../../data.st load.\n#Price{ net: net } gross"),
            ("app/lib/later.st", "'later'"),
            ("data.st", "class Price { var net. -gross { this:net * 2 } }\n21"),
        ],
    );
    built(&folder, &["app/main.st", "-o", "greet"]);
    built(&folder, &["app/main.st", "-o", "again"]);
    let bytes = std::fs::read(folder.path("greet")).unwrap();
    assert!(
        bytes == std::fs::read(folder.path("again")).unwrap(),
        "the same input, the same bytes"
    );
    let mode = folder.path("greet").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    let names = std::fs::read_dir(folder.path("")).unwrap().count();
    assert_eq!(names, 4, "app, data.st, greet and again: nothing else was left");
    drop(bytes);

    // Files of the same names where it runs are not those of the program.
    write(&elsewhere, &[("lib/prices.st", "'theirs'"), ("evil/lib/prices.st", "'theirs'")]);
    write(&elsewhere, &[("evil/main.st", ""), ("lib/later.st", "'theirs'")]);
    std::os::unix::fs::symlink("evil/main.st", elsewhere.path("main.st")).unwrap();
    std::fs::remove_file(folder.path("again")).unwrap();
    let mut command = moved(&folder.path("greet"), &elsewhere);
    std::fs::remove_dir_all(folder.path("app")).unwrap();
    let done = run(command.args(["Ann", "--times", "3"]));
    let argv0 = elsewhere.path("moved").display().to_string();
    assert_eq!(done.out, format!("[Ann,3,42,later,[]]\n{argv0}\n"), "{done:?}");
    assert_eq!((done.status, done.err.as_str()), (0, ""));
    let mut command = Command::new("./moved");
    let help = run(command.arg("--help").current_dir(elsewhere.path("")));
    assert!(help.out.starts_with("usage: ./moved <name> [times]\n"), "{help:?}");
    let mut command = Command::new(elsewhere.path("moved"));
    // What would be options of Runnel are arguments of the program.
    let refused = run(command.args(["Ann", "--workers", "2"]));
    assert_eq!(refused.status, 64, "{refused:?}");
    assert!(refused.err.contains("there is no option `--workers`"), "{refused:?}");
    let same = build(&elsewhere, &["moved", "-o", "copy"]);
    assert_eq!(same.status, 65);
    assert!(same.err.contains("moved is an executable that `runnel build` has made"), "{same:?}");
    assert!(!elsewhere.path("copy").exists());
}

#[test]
fn static_files_and_included_ones_are_read_from_inside() {
    let (folder, elsewhere) = (Folder::new(), Folder::new());
    let program = "#-<void>serve:<int>port\n\
        scheme Pages {\n\
        \x20  /greeting { get { file:texts/greeting.txt stringValue } put { file:texts/greeting.txt ← 'x'. 'y' } }\n\
        \x20  /count { get { file:count.txt stringValue } put { file:count.txt ← 'new'. nil } }\n\
        }\n\
        files ← #StaticFiles{ } → ref:file:www asScheme.\n\
        (#HTTPServer{ port: port } → #Route{ stores: #{ www: files }, otherwise: #Pages{ } }) start.\n";
    write(
        &folder,
        &[
            ("main.st", program),
            ("www/index.html", "<h1>Inside</h1>"),
            ("www/deep/a.css", "body{}"),
            ("www/.hidden", "hidden"),
            ("texts/greeting.txt", "hello"),
        ],
    );
    built(&folder, &["main.st", "--include", "texts", "--workers", "2"]);
    write(&elsewhere, &[("www/other.txt", "theirs"), ("texts/greeting.txt", "theirs")]);
    let port = free_port();
    let mut command = moved(&folder.path("main"), &elsewhere);
    let mut server = Process::start(command.arg(port.to_string()));
    server.listens(port);
    assert_eq!(get(port, "/www/").text(), "<h1>Inside</h1>");
    let style = get(port, "/www/deep/a.css");
    assert_eq!(style.header("content-type"), Some("text/css; charset=utf-8"));
    assert_eq!(get(port, "/greeting").text(), "hello");
    for missing in ["/www/other.txt", "/www/.hidden", "/www/nothing"] {
        assert_eq!(get(port, missing).status, 404, "{missing}");
    }
    for path in
        ["/www/../moved", "/www/%2e%2e/moved", "/www/..%2fmoved", "/www/deep/%2e%2e/%2e%2e/moved"]
    {
        let stream = raw(port, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        assert_ne!(read_reply(stream).unwrap().status, 200, "{path}");
    }
    // What is not inside is a file of the folder where it runs.
    let put = |path: &str| crate::support::http::send(port, "PUT", path, &[], b"").unwrap().status;
    assert_eq!(put("/count"), 204);
    assert_eq!(get(port, "/count").text(), "new");
    assert_eq!(std::fs::read_to_string(elsewhere.path("count.txt")).unwrap(), "new");
    assert!(put("/greeting") >= 400, "what is inside cannot be changed");
    assert_eq!(get(port, "/greeting").text(), "hello");
    assert_eq!(std::fs::read_to_string(elsewhere.path("texts/greeting.txt")).unwrap(), "theirs");
}

#[test]
fn a_new_site_becomes_one_executable() {
    let (folder, elsewhere) = (Folder::new(), Folder::new());
    let made = run(runnel().args(["new", "site", "shop"]).current_dir(folder.path("")));
    assert_eq!(made.status, 0, "{made:?}");
    built(&folder, &["shop/main.rnl", "-o", "site", "--port", "0"]);
    let mut command = moved(&folder.path("site"), &elsewhere);
    let server = Process::start(&mut command);
    server.err_shows("serving on http://127.0.0.1:");
    let port = server.err();
    let port = port.split("127.0.0.1:").nth(1).unwrap().split('/').next().unwrap();
    let port = port.parse().unwrap();
    assert!(get(port, "/").text().contains("<h1>Welcome</h1>"));
    assert_eq!(get(port, "/static/site.css").status, 200);
    assert!(elsewhere.path("site.db").exists(), "data lie where it runs");
}

#[test]
fn a_damaged_executable_runs_nothing() {
    let (folder, elsewhere) = (Folder::new(), Folder::new());
    write(&folder, &[("main.st", "stdout println: 'ran'. stdout println: (stdin lines) count")]);
    built(&folder, &["main.st"]);
    let mut command = moved(&folder.path("main"), &elsewhere);
    assert_eq!(run_with(&mut command, b"a\nb\n").out, "ran\n2\n");
    let path = elsewhere.path("moved");
    let size = path.metadata().unwrap().len();
    let refused = |what: &str| {
        let outcome = run(Command::new(&path).arg("--version"));
        assert_eq!((outcome.status, outcome.out.as_str()), (65, ""), "{what}: {outcome:?}");
        assert!(outcome.err.contains("the program in this executable is damaged"), "{outcome:?}");
    };
    let change = |script: &str| {
        let changed = run(Command::new("sh").args(["-c", script]).current_dir(elsewhere.path("")));
        assert_eq!(changed.status, 0, "{changed:?}");
    };
    let set = |at: u64, byte: u8| {
        change(&format!("printf '\\{byte:03o}' | dd of=moved bs=1 seek={at} conv=notrunc"));
    };
    for from_end in [1, 20, 50, 60, 100] {
        let (file, mut byte) = (std::fs::File::open(&path).unwrap(), [0]);
        file.read_exact_at(&mut byte, size - from_end).unwrap();
        set(size - from_end, byte[0] ^ 1);
        refused(&format!("{from_end} bytes before the end"));
        set(size - from_end, byte[0]);
    }
    change("printf x >> moved");
    refused("a byte more");
    change(&format!("truncate -s {} moved", size - 7));
    refused("seven bytes less");
}

#[test]
fn what_cannot_be_built_is_said() {
    let folder = Folder::new();
    write(
        &folder,
        &[
            ("app/main.st", "ref:file:part.st load. 3"),
            ("app/part.st", "3 +\n"),
            ("app/missing.st", "ref:file:none.st load"),
            ("app/well.st", "3"),
            ("app/folder/a.txt", "a"),
            ("beside.txt", "b"),
        ],
    );
    std::os::unix::fs::symlink("../beside.txt", folder.path("app/link.txt")).unwrap();
    for (arguments, status, message) in [
        (&["app/main.st", "-o", "out"][..], 65, "error: something is missing after `+`"),
        (&["app/missing.st", "-o", "out"], 66, "none.st cannot be read"),
        (&["app/none.st", "-o", "out"], 66, "app/none.st cannot be read"),
        (&["app/well.st", "-o", "app"], 73, "app is a folder"),
        (&["app/well.st", "-o", "app/well.st"], 73, "is the program itself"),
        (&["app/well.st", "-o", "none/out"], 73, "No such file or directory"),
        (&["app/well.st", "-o", "out", "--include", "beside.txt"], 64, "is not below the folder"),
        (&["app/well.st", "-o", "out", "--include", "app"], 64, "is not below the folder"),
        (&["app/well.st", "-o", "out", "--include", "app/none"], 66, "app/none cannot be read"),
        (&["app/well.st", "-o", "out", "--workers", "0"], 64, "a number from 1 to 256, or auto"),
    ] {
        let outcome = build(&folder, arguments);
        assert_eq!(outcome.status, status, "{arguments:?}: {outcome:?}");
        assert!(outcome.err.contains(message), "{arguments:?}: {outcome:?}");
        assert!(!folder.path("out").exists(), "{arguments:?}");
    }
    std::os::unix::fs::symlink("../../beside.txt", folder.path("app/folder/link.txt")).unwrap();
    let linked = build(&folder, &["app/well.st", "-o", "out", "--include", "app/folder"]);
    assert!(linked.status == 66 && linked.err.contains("this is a link"), "{linked:?}");
    assert_eq!(std::fs::read_to_string(folder.path("app/well.st")).unwrap(), "3");
}
