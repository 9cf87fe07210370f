//! `runnel profile`, and the page of the admin port.

use crate::support::http::{get, send};
use crate::support::{Folder, Process, free_port, run, runnel};

const BUSY: &str = "class Work {
    -hot: n { sum ← 0. 1 to: n do: { :i | sum ← sum + (i sqrt) }. sum }
    -cold { 3 + 4 }
}
work ← Work new.
work cold.
end ← Date now + 1 second.
{ Date now < end } whileTrue: { work hot: 100000 }.
stdout println: 'done'.
";

#[test]
fn the_hot_line_of_a_program_is_shown() {
    let folder = Folder::new();
    let file = folder.write("busy.st", BUSY);
    let page = folder.path("flame.html");
    let mut command = runnel();
    command.current_dir(folder.path(".")).args(["profile", "-o", "flame.html", "busy.st"]);
    let outcome = run(&mut command);
    assert_eq!((outcome.status, outcome.out.as_str()), (0, "done\n"), "{outcome:?}");
    let lines: Vec<&str> = outcome.err.lines().collect();
    assert!(
        lines[0].starts_with("profile: ") && lines[0].ends_with(" s of running time"),
        "{lines:?}"
    );
    assert_eq!(lines[1], "   self   total  line");
    assert!(lines[2].contains("%  busy.st:2  -hot: n { sum ← 0."), "{lines:?}");
    assert!(
        lines.iter().any(|line| line.contains("%  busy.st:8  { Date now < end }")),
        "{lines:?}"
    );
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("title=\"busy.st:2: "));
    assert!(!page.contains("<script"));
    let mut command = runnel();
    command.arg("profile").arg("--output").arg(folder.path("stacks.txt")).arg(&file);
    assert_eq!(run(&mut command).status, 0);
    let stacks = std::fs::read_to_string(folder.path("stacks.txt")).unwrap();
    assert!(stacks.lines().next().unwrap().contains("busy.st:8;"), "{stacks}");
}

#[test]
fn what_cannot_be_profiled_or_written_is_an_error() {
    let folder = Folder::new();
    let missing = run(runnel().arg("profile").arg(folder.path("none.st")));
    assert!(missing.status != 0 && missing.err.contains("none.st"), "{missing:?}");
    let file = folder.write("one.st", "stdout println: 'ran'.");
    let mut command = runnel();
    command.arg("profile").arg("-o").arg(folder.path("no/where.html")).arg(file);
    let outcome = run(&mut command);
    assert_eq!((outcome.status, outcome.out.as_str()), (70, "ran\n"));
    assert!(outcome.err.contains("cannot be written"), "{outcome:?}");
}

#[test]
fn the_admin_port_profiles_a_running_server() {
    let folder = Folder::new();
    let (port, admin) = (free_port(), free_port());
    let file = folder.write(
        "server.st",
        "#-<void>serve:<int>port admin:<int>admin
scheme Site { /sum { get { sum ← 0. 1 to: 300000 do: { :i | sum ← sum + (i sqrt) }. \"{sum}\" } } }
#HTTPServer{ port: port, admin: admin } → #Site{}.
",
    );
    let mut process =
        Process::start(runnel().arg(&file).arg(port.to_string()).arg(admin.to_string()));
    process.listens(port);
    process.listens(admin);
    let ends = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(std::sync::atomic::Ordering::Relaxed) {
                assert_eq!(get(port, "/sum").status, 200);
            }
        });
        let taken = scope.spawn(move || get(admin, "/profile?seconds=3&format=folded"));
        std::thread::sleep(std::time::Duration::from_millis(500));
        let second = get(admin, "/profile?seconds=1");
        let (taken, page) = (taken.join().unwrap(), get(admin, "/profile?seconds=0.5"));
        ends.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(second.status, 409, "{}", second.text());
        assert_eq!(taken.status, 200);
        assert!(taken.text().contains("server.st:2"), "{}", taken.text());
        assert_eq!(page.status, 200);
        assert!(page.text().contains("<h1>Profile</h1>"));
    });
    for wrong in ["0", "31", "x"] {
        assert_eq!(get(admin, &format!("/profile?seconds={wrong}")).status, 400, "{wrong}");
    }
    assert_eq!(send(admin, "POST", "/profile", &[], b"").unwrap().status, 405);
}
