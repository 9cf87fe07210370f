//! The raw HTTP cases of `tests/cases/http.jsonl` against the example that plays their fixture: every
//! one, in strict mode. `RUNNEL_HTTP_CASES` names another file of cases.

use crate::support::{Folder, Process, examples, free_port, runnel};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn the_fixture_answers_every_case() {
    let folder = Folder::new();
    let root = folder.path("root");
    make_root(&root);
    let port = free_port();
    let mut command = runnel();
    command.arg(examples().join("http-fixture.st")).arg(port.to_string()).arg(&root);
    let mut process = Process::start(command.stdin(Stdio::null()));
    process.listens(port);
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/http.jsonl");
    let file = std::env::var_os("RUNNEL_HTTP_CASES").map_or_else(own, PathBuf::from);
    let cases = std::fs::read_to_string(file).unwrap();
    let needs = ["any", "static", "dynamic", "ws"];
    let (count, failed) =
        runnel_scratch::run_http_cases(([127, 0, 0, 1], port).into(), &cases, &needs, true);
    assert!(failed.is_empty() && count > 100, "{} of {count}: {failed:#?}", failed.len());
    process.signal("TERM");
    assert_eq!(process.end(), 0, "{}", process.err());
}

/// The files that the cases ask for, with a link out of the folder and a FIFO.
fn make_root(root: &Path) {
    let write = |name: &str, bytes: &[u8]| std::fs::write(root.join(name), bytes).unwrap();
    for folder in ["dir", "noindex"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    write("1k.txt", &(0..1024).map(|i| b'a' + (i % 26) as u8).collect::<Vec<_>>());
    write("big.bin", &(0..8 << 20).map(|i| (i % 251) as u8).collect::<Vec<_>>());
    write("pre.txt", "hello pre-compressed\n".repeat(50).as_bytes());
    write("naïve.txt", b"naive\n");
    write("blob.zzz", b"\0\x01\x02");
    write("empty.txt", b"");
    write("dir/index.html", b"<!doctype html><title>index of dir</title>index of dir\n");
    write(".hidden", b"secret\n");
    write("noindex/a.txt", b"a");
    std::os::unix::fs::symlink("/etc/passwd", root.join("escape.txt")).unwrap();
    for command in ["gzip -nk pre.txt", "mkfifo fifo"] {
        let status = Command::new("sh").args(["-c", command]).current_dir(root).status().unwrap();
        assert!(status.success(), "{command}");
    }
}
