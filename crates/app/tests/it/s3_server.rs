//! `#S3Server` before the clients that people use, and before cases that others wrote.

use crate::support::{Folder, Process, free_port, run, runnel, skip};
use runnel_scratch::list_as_left_out;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A server of a database: its key-value store `objects`.
const DATABASE: &str = "#-serve:<int>port database:<ref>database
users ← #{ mainkey: 'mainsecret', reader: #{ secret: 'readsecret', may: [ 'read' ] } }.
#S3Server{ port: port, users: users } → (database keyValueStore: 'objects').
";

/// A server of a store that the command line names.
const PROGRAM: &str = "#-serve:<int>port store:<ref>store
users ← #{ mainkey: 'mainsecret', reader: #{ secret: 'readsecret', may: [ 'read' ] } }.
#S3Server{ port: port, users: users } → store asScheme.
";

struct S3 {
    process: Process,
    port: u16,
    folder: Folder,
}

impl S3 {
    /// Serves a store, such as `file:data/`, which is made in a folder of its own.
    fn start(store: &str) -> S3 {
        let folder = Folder::new();
        let is_database = store.starts_with("sqlite:") || store.starts_with("postgres:");
        folder.write("serve.st", if is_database { DATABASE } else { PROGRAM });
        std::fs::create_dir(folder.path("data")).unwrap();
        let port = free_port();
        let mut process = S3::run(&folder, port, store);
        process.listens(port);
        S3 { process, port, folder }
    }

    fn run(folder: &Folder, port: u16, store: &str) -> Process {
        let store = match store.split_once(':') {
            Some((scheme, path)) if !path.is_empty() && !path.starts_with('/') => {
                format!("{scheme}:{}", folder.path(path).display())
            }
            _ => store.to_string(),
        };
        let mut command = runnel();
        command.arg(folder.path("serve.st")).arg(port.to_string()).arg(store);
        Process::start(&mut command)
    }

    /// Serves a bucket of this server.
    fn serve_bucket(&self) -> S3 {
        let folder = Folder::new();
        let of_this = |command: &mut Command| {
            command.env("AWS_ENDPOINT_URL", self.endpoint());
            command.env("AWS_ACCESS_KEY_ID", "mainkey").env("AWS_SECRET_ACCESS_KEY", "mainsecret");
        };
        let mut command = runnel();
        of_this(command.args(["-e", "s3:backing ← ''"]));
        let made = run(&mut command);
        assert_eq!(made.status, 0, "{}", made.err);
        folder.write("serve.st", PROGRAM);
        let port = free_port();
        let mut command = runnel();
        of_this(command.arg(folder.path("serve.st")).arg(port.to_string()).arg("s3:backing"));
        let mut process = Process::start(&mut command);
        process.listens(port);
        S3 { process, port, folder }
    }

    fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

/// Python with the clients of S3, which `.ci/run` installs.
pub(crate) fn python() -> Option<PathBuf> {
    let home = std::env::var_os("HOME")?;
    let python = Path::new(&home).join(".cache/runnel/s3/bin/python");
    if !python.exists() {
        skip(&format!("{} is missing; .ci/run installs it", python.display()));
        return None;
    }
    Some(python)
}

/// A file of the judge, which lies outside of the project.
fn judge(name: &str) -> Option<PathBuf> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/judges/s3").join(name);
    if !file.exists() {
        list_as_left_out(&format!("the judge {name} is not beside the project"));
        return None;
    }
    Some(file)
}

/// Runs a judge of a server.
fn judged(
    python: &Path,
    script: &Path,
    server: &S3,
    more: &[&str],
    gateway: Option<&Path>,
) -> String {
    // It takes longer than others do, and ends by itself: each step of it has a time limit.
    let mut command = Command::new(python);
    command.arg(script).args(["--endpoint", &server.endpoint()]);
    command.args(["--access", "mainkey", "--secret", "mainsecret"]).args(more);
    if let Some(gateway) = gateway {
        command.env("VERSITYGW", gateway);
    }
    let output = command.env_remove("AWS_CA_BUNDLE").output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_clients_that_people_use_work_over_files() {
    let (Some(python), Some(script)) = (python(), judge("clients.py")) else { return };
    let server = S3::start("file:data");
    let report = judged(&python, &script, &server, &[], None);
    assert!(report.trim_end().ends_with("passed, 0 failed"), "{report}{}", server.process.err());
    assert!(!report.contains("absent"), "{report}");
}

#[test]
fn the_clients_that_people_use_work_over_sqlite() {
    let (Some(python), Some(script)) = (python(), judge("clients.py")) else { return };
    let server = S3::start("sqlite:data/objects.db");
    let report = judged(&python, &script, &server, &[], None);
    assert!(report.trim_end().ends_with("passed, 0 failed"), "{report}{}", server.process.err());
    assert!(!report.contains("absent"), "{report}");
}

#[test]
fn the_clients_that_people_use_work_over_memory() {
    let (Some(python), Some(script)) = (python(), judge("clients.py")) else { return };
    let server = S3::start("memory:");
    let report = judged(&python, &script, &server, &["--only", "aws,boto3,minio,raw"], None);
    assert!(report.trim_end().ends_with("passed, 0 failed"), "{report}{}", server.process.err());
}

#[test]
fn the_clients_that_people_use_work_over_another_server() {
    let (Some(python), Some(script)) = (python(), judge("clients.py")) else { return };
    let below = S3::start("file:data");
    let server = below.serve_bucket();
    let report = judged(&python, &script, &server, &["--only", "boto3,minio,raw"], None);
    assert!(report.trim_end().ends_with("passed, 0 failed"), "{report}{}", server.process.err());
}

/// Every eighth case; `RUNNEL_S3_CASES=1` runs all of them.
#[test]
fn cases_of_another_server_pass() {
    let (Some(python), Some(script)) = (python(), judge("gateway.py")) else { return };
    let Some(cases) = judge("cases/gateway-visible.txt") else { return };
    let home = std::env::var_os("HOME").unwrap_or_default();
    let gateway = Path::new(&home).join("go/bin/versitygw");
    if !gateway.exists() {
        return skip("versitygw is not installed; .ci/run installs it");
    }
    let each =
        std::env::var("RUNNEL_S3_CASES").ok().and_then(|each| each.parse().ok()).unwrap_or(8);
    let server = S3::start("file:data");
    let all = std::fs::read_to_string(cases).unwrap();
    let some: Vec<&str> = all.lines().filter(|line| !line.is_empty()).step_by(each).collect();
    let list = server.folder.write("cases.txt", some.join("\n"));
    // Without this flag the cases delete no versions at their end, and then fail to delete their bucket.
    let text = format!("#!/bin/sh\nexec '{}' \"$@\" --versioning-enabled\n", gateway.display());
    let wrapper = server.folder.write("versitygw", text);
    std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
    let more = ["--cases", list.to_str().unwrap()];
    let report = judged(&python, &script, &server, &more, Some(&wrapper));
    let failed = report.lines().filter(|line| line.starts_with("failed ")).count();
    assert!(report.trim_end().ends_with("failed"), "{report}");
    assert!(failed * 20 <= some.len(), "{failed} of {}: {report}", some.len());
}

#[test]
fn what_was_synchronised_is_not_sent_again() {
    let Some(python) = python() else { return };
    let server = S3::start("file:data");
    let source = server.folder.path("source");
    std::fs::create_dir_all(source.join("deep")).unwrap();
    for (name, text) in [("a.txt", "one"), ("deep/größe.txt", "two"), ("with space", "three")] {
        std::fs::write(source.join(name), text).unwrap();
    }
    let aws = |arguments: &[&str]| {
        let mut command = Command::new(python.with_file_name("aws"));
        command.arg("--endpoint-url").arg(server.endpoint()).args(arguments);
        command.env("AWS_ACCESS_KEY_ID", "mainkey").env("AWS_SECRET_ACCESS_KEY", "mainsecret");
        command.env("AWS_DEFAULT_REGION", "us-east-1");
        let outcome = run(&mut command);
        assert_eq!(outcome.status, 0, "{arguments:?}: {}{}", outcome.err, server.process.err());
        outcome.out
    };
    let source = source.to_str().unwrap();
    aws(&["s3", "mb", "s3://copies"]);
    assert!(aws(&["s3", "sync", source, "s3://copies"]).contains("upload: "));
    assert_eq!(aws(&["s3", "sync", source, "s3://copies"]), "");
    // What was put is an ordinary file.
    let file = server.folder.path("data/copies/deep/größe.txt");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "two");
    if Command::new("rclone").arg("version").output().is_err() {
        return skip("no rclone is installed");
    }
    let rclone = || {
        let mut command = Command::new("rclone");
        command.args(["sync", source, ":s3:copies", "-v", "--s3-provider=Other"]);
        command.arg(format!("--s3-endpoint={}", server.endpoint()));
        command.args(["--s3-access-key-id=mainkey", "--s3-secret-access-key=mainsecret"]);
        command.env("RCLONE_CONFIG", "/dev/null").env_remove("AWS_CA_BUNDLE");
        let outcome = run(&mut command);
        assert_eq!(outcome.status, 0, "{}", outcome.err);
        outcome.err
    };
    rclone();
    assert!(!rclone().contains("Copied"), "the second run sent something");
}

#[test]
fn a_backup_is_made_and_restored() {
    if Command::new("restic").arg("version").output().is_err() {
        return skip("no restic is installed");
    }
    let server = S3::start("file:data");
    let source = server.folder.path("source");
    std::fs::create_dir(&source).unwrap();
    let text = "backed up\n".repeat(10_000);
    std::fs::write(source.join("a.txt"), &text).unwrap();
    let restic = |arguments: &[&str]| {
        let mut command = Command::new("restic");
        command.args(["-r", &format!("s3:{}/backups", server.endpoint()), "--no-cache"]);
        command.args(arguments).env("RESTIC_PASSWORD", "password");
        command.env("AWS_ACCESS_KEY_ID", "mainkey").env("AWS_SECRET_ACCESS_KEY", "mainsecret");
        let outcome = run(&mut command);
        assert_eq!(outcome.status, 0, "{arguments:?}: {}{}", outcome.err, server.process.err());
        outcome.out
    };
    restic(&["init"]);
    restic(&["backup", source.to_str().unwrap()]);
    let again = restic(&["backup", "--json", source.to_str().unwrap()]);
    assert!(again.contains("\"files_new\":0"), "{again}");
    restic(&["check", "--read-data"]);
    let restored = server.folder.path("restored");
    restic(&["restore", "latest", "--target", restored.to_str().unwrap()]);
    let file = restored.join(source.strip_prefix("/").unwrap()).join("a.txt");
    assert_eq!(std::fs::read_to_string(file).unwrap(), text);
}

#[test]
fn without_users_it_serves_this_machine_alone() {
    let folder = Folder::new();
    let program = "#S3Server{ port: 0, address: '0.0.0.0' } → #MemoryStore{}.";
    let outcome = run(runnel().arg(folder.write("open.st", program)));
    assert_ne!(outcome.status, 0);
    assert!(
        outcome.err.contains("an S3Server without users is open to everybody"),
        "{}",
        outcome.err
    );
}
