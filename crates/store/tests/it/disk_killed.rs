//! A process that writes files is killed again and again: what it was answered is there.

use futures_util::future::join_all;
use runnel_store::{Body, Content, Context, Disk, Reference, Store};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

const FOLDER: &str = "RUNNEL_TEST_FOLDER_OF_THE_WRITER";
const NAME: &str = "disk_killed::killed_while_writing_a_hundred_times";
const KILLS: usize = 100;
const WRITERS: usize = 4;

fn at(path: &str) -> Reference {
    Reference::from_path(path)
}

/// The content of a version: its number, and as often as it is long.
fn content(version: usize) -> String {
    format!("{version} ").repeat(1 + version * 7919 % 9000)
}

/// Whether a file is one version as a whole, and which.
fn version(text: &str) -> usize {
    let version = text.split(' ').next().unwrap().parse().unwrap();
    assert!(text == content(version), "version {version} is torn");
    version
}

/// Writes until it is killed, and says on a line of its own what was answered.
async fn write(folder: &Path) {
    let disk = Disk::new(folder).unwrap();
    let writer = |writer: usize| {
        let disk = &disk;
        async move {
            let path = format!("{writer}/file");
            let before = match disk.get(&at(&path), &Context::default()).await.unwrap() {
                Some(found) => {
                    let bytes = found.read(1 << 20).await.unwrap();
                    version(std::str::from_utf8(&bytes).unwrap())
                }
                None => 0,
            };
            for version in before + 1.. {
                let whole = Content::text(content(version));
                let whole = match version % 2 {
                    0 => whole,
                    _ => streamed(whole).await,
                };
                disk.put(&at(&path), whole, &Context::default()).await.unwrap();
                let line = Content::text(format!("{version}\n"));
                disk.post(&at(&format!("{writer}/log")), line, &Context::default()).await.unwrap();
                let mut out = std::io::stdout().lock();
                writeln!(out, "\nanswered {writer} {version}").unwrap();
                out.flush().unwrap();
            }
        }
    };
    join_all((0..WRITERS).map(writer)).await;
}

async fn streamed(content: Content) -> Content {
    let bytes = content.read(1 << 20).await.unwrap();
    let parts: Vec<_> = bytes.chunks(5000).map(|part| Ok(bytes.slice_ref(part))).collect();
    let stream = Box::pin(futures_util::stream::iter(parts));
    Content { body: Body::Stream(stream, None), ..Content::default() }
}

/// Lets a writer work until it was answered so often, kills it, and adds what it was answered.
fn work_and_kill(folder: &Path, answers: usize, answered: &mut HashMap<String, usize>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([NAME, "--exact", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut count = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let Ok(line) = line else { break };
        let Some((writer, version)) =
            line.strip_prefix("answered ").and_then(|rest| rest.split_once(' '))
        else {
            continue;
        };
        answered.insert(writer.to_string(), version.parse().unwrap());
        count += 1;
        if count == answers {
            child.kill().unwrap();
        }
    }
    let status = child.wait().unwrap();
    assert!(count >= answers && !status.success(), "the writer ended by itself: {status}");
}

#[test]
fn killed_while_writing_a_hundred_times() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if let Some(folder) = std::env::var_os(FOLDER) {
        return runtime.block_on(write(Path::new(&folder)));
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::new(folder.path()).unwrap();
    let mut answered = HashMap::new();
    for kill in 0..KILLS {
        work_and_kill(folder.path(), 1 + kill % 13, &mut answered);
        for (writer, answered) in &answered {
            let text = std::fs::read_to_string(folder.path().join(writer).join("file")).unwrap();
            let found = version(&text);
            assert!(found >= *answered, "version {answered} of {writer} was answered: {found}");
            let log = std::fs::read_to_string(folder.path().join(writer).join("log")).unwrap();
            assert!(log.lines().any(|line| line.parse() == Ok(*answered)), "a line is missing");
            let listed = disk.list(&at(writer), &Context::default());
            let names = runtime.block_on(listed).unwrap().unwrap();
            let names: Vec<&str> = names.iter().map(|entry| entry.name.as_str()).collect();
            assert_eq!(names, ["file", "log"]);
        }
    }
    assert_eq!(answered.len(), WRITERS);
}
