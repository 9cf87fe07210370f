//! Workers: connections are spread evenly, what native stores keep is shared, one that fails ends
//! the process.

use crate::support::http::Connection;
use crate::support::{Folder, Process, eventually, free_port, runnel};

const COUNTING: &str = "stdout println: 'top'.\n\
    scheme:own ← DictStore store.\n\
    own:count ← 0.\n\
    scheme Site {\n\
    \x20   /count { get { own:count ← own:count + 1. own:count stringValue } put { own:count ← 0 } }\n\
    \x20   /shared { get { memory:tests/word } put { memory:tests/word ← newValue } }\n\
    }\n";

fn start(folder: &Folder, text: &str, port: u16, workers: &str) -> Process {
    let text = format!("{text}#HTTPServer{{ port: {port} }} → #Site{{}}.\n");
    let file = folder.write("program.st", text);
    Process::start(runnel().args(["--workers", workers]).arg(file))
}

/// How many threads of a process are workers, the first one not counted.
fn others(process: &Process) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", process.id()));
    tasks
        .into_iter()
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok())
        .filter(|name| name.starts_with("worker"))
        .count()
}

#[test]
fn connections_are_spread_evenly_and_memory_is_shared() {
    let (folder, port) = (Folder::new(), free_port());
    let mut process = start(&folder, COUNTING, port, "4");
    process.listens(port);
    eventually("all workers run", || others(&process) == 3);
    // Each worker says once that it is there: all have joined when new connections get a 1.
    let mut warm = Vec::new();
    eventually("every worker takes part", || {
        let mut connection = Connection::open(port).unwrap();
        warm.push(connection.send("GET", "/count", b"").unwrap().text());
        warm.iter().filter(|count| *count == "1").count() == 4
    });
    drop(warm);
    let mut connections: Vec<Connection> =
        (0..64).map(|_| Connection::open(port).unwrap()).collect();
    for connection in &mut connections {
        assert_eq!(connection.send("PUT", "/count", b"0").unwrap().status, 200);
    }
    // Each worker counts from 1 again, so that a number comes once from each worker whose share
    // is as large: all four have more than 16 less a fifth, and none has more than a fifth above.
    let mut shares = vec![0; 65];
    for connection in &mut connections {
        let count = connection.send("GET", "/count", b"").unwrap().text();
        shares[count.parse::<usize>().unwrap()] += 1;
    }
    assert_eq!((shares[1], shares[13], shares[20]), (4, 4, 0), "{shares:?}");

    connections[0].send("PUT", "/shared", b"hello").unwrap();
    for connection in &mut connections[1..9] {
        assert_eq!(connection.send("GET", "/shared", b"").unwrap().text(), "hello");
    }
    assert_eq!(process.out(), "top\n");
    drop(connections);
    process.signal("TERM");
    assert_eq!(process.outcome().status, 0);
}

#[test]
fn what_several_do_is_said_once() {
    let (folder, port) = (Folder::new(), free_port());
    let file = folder.write("site.st", "#-serve\nscheme Site { /hi { get { 'hi' } } }\n#Site{}\n");
    let mut command = runnel();
    let mut process =
        Process::start(command.args(["--workers", "3", "--port", &port.to_string()]).arg(file));
    process.listens(port);
    eventually("all workers run", || others(&process) == 2);
    for _ in 0..12 {
        assert_eq!(Connection::open(port).unwrap().send("GET", "/hi", b"").unwrap().text(), "hi");
    }
    process.signal("TERM");
    let outcome = process.outcome();
    assert_eq!(outcome.err.matches("serving on").count(), 1, "{}", outcome.err);
}

#[test]
fn port_0_is_chosen_once() {
    let folder = Folder::new();
    let text = "scheme Site { /a { get { 'a' } } }\n\
        server ← #HTTPServer{ port: 0 }.\nserver → #Site{}.\nserver start.\n\
        stderr println: 'port ', server port stringValue.\n";
    let file = folder.write("program.st", text);
    let process = Process::start(runnel().args(["--workers", "3"]).arg(file));
    eventually("three ports are told", || process.err().matches("port ").count() == 3);
    let ports: std::collections::BTreeSet<String> = process
        .err()
        .lines()
        .filter(|line| line.starts_with("port "))
        .map(str::to_string)
        .collect();
    assert_eq!(ports.len(), 1, "{ports:?}");
    assert_eq!(process.err().matches("serving on http://127.0.0.1:").count(), 1);
}

/// Which workers ran a job: the numbers that they gave themselves, in the order of the runs.
fn runs(file: &std::path::Path) -> Vec<String> {
    std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_string).collect()
}

#[test]
fn a_job_of_one_worker_runs_in_one_worker_and_every_in_each() {
    let (folder, port) = (Folder::new(), free_port());
    let (once, each) = (folder.path("once.txt"), folder.path("each.txt"));
    let text = format!(
        "memory:tests/number isNil ifTrue: {{ memory:tests/number ← 0 }}.\n\
         me ← memory:tests/number += 1.\n\
         onceEvery: 10 milliseconds do: {{ file:{once} += \"{{me}}\\n\" }}.\n\
         every: 10 milliseconds do: {{ file:{each} += \"{{me}}\\n\" }}.\n\
         scheme Site {{ /hi {{ get {{ 'hi' }} }} }}\n",
        once = once.display(),
        each = each.display(),
    );
    let mut process = start(&folder, &text, port, "3");
    process.listens(port);
    eventually("every: runs in each worker", || {
        let seen: std::collections::BTreeSet<_> = runs(&each).into_iter().collect();
        seen.len() == 3
    });
    let before = runs(&once).len();
    eventually("onceEvery: goes on", || runs(&once).len() > before + 5);
    let seen: std::collections::BTreeSet<_> = runs(&once).into_iter().collect();
    assert_eq!(seen.len(), 1, "{seen:?}");
    process.signal("TERM");
    assert_eq!(process.outcome().status, 0);
}

#[test]
fn a_worker_that_fails_ends_the_process() {
    let (folder, port) = (Folder::new(), free_port());
    // The second worker finds what the first has left.
    let text = "memory:tests/first isNil ifTrue: [ memory:tests/first ← 1 ] \
        ifFalse: [ 1 noSuchMessage: 3 ].\n"
        .replace('[', "{")
        .replace(']', "}");
    let text = format!("{text}{COUNTING}");
    let process = start(&folder, &text, port, "2");
    let outcome = process.outcome();
    assert_eq!(outcome.status, 70, "{}", outcome.err);
    assert!(outcome.err.contains("worker 2 failed; the program ends"), "{}", outcome.err);
}
