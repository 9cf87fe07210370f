//! A server of S3 over files or a database that is killed while clients put, copy, complete and abort: no
//! half object, nothing lost that was acknowledged, uploads in parts go on, and no parts are left of
//! those that ended.

use crate::support::http::send;
use crate::support::{self, Folder, Process, free_port, run, runnel};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The smallest part but the last, in bytes.
const PART: usize = 5 << 20;
/// How many keys are written again and again.
const KEYS: usize = 12;

/// The content of a number, whose length follows from the number: a torn one is no content of any.
fn content(n: usize) -> Vec<u8> {
    format!("{n:010}\n").repeat(1 + n * 7919 % 15_000).into_bytes()
}

/// The number of a content; none if it is not whole.
fn number(body: &[u8]) -> Option<usize> {
    let n = std::str::from_utf8(body.get(..10)?).ok()?.parse().ok()?;
    (content(n) == body).then_some(n)
}

/// The last number that a key may have, and the last one that was acknowledged.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    sent: usize,
    acknowledged: usize,
}

#[derive(Default)]
struct Clients {
    port: AtomicU16,
    stop: AtomicBool,
    keys: Mutex<HashMap<String, Written>>,
    /// Completed uploads.
    uploads: Mutex<usize>,
}

impl Clients {
    /// The answer to a request; none where the server is not there, or ends.
    fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Option<String> {
        let reply = send(self.port.load(Ordering::Relaxed), method, path, headers, body).ok();
        if reply.is_none() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let reply = reply?;
        assert!(reply.status < 500 || reply.status == 503, "{method} {path}: {}", reply.text());
        let etag = reply.header("etag").unwrap_or_default().to_string();
        Some(format!("{} {etag} {}", reply.status, reply.text()))
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn put(&self) {
        for n in 1.. {
            if self.is_over() {
                return;
            }
            let key = format!("k{}", n % KEYS);
            self.keys.lock().unwrap().entry(key.clone()).or_default().sent = n;
            let answer = self.ask("PUT", &format!("/box/{key}"), &[], &content(n));
            if answer.is_some_and(|answer| answer.starts_with("200")) {
                self.keys.lock().unwrap().get_mut(&key).unwrap().acknowledged = n;
            }
        }
    }

    fn copy(&self) {
        for n in 0.. {
            if self.is_over() {
                return;
            }
            let source = format!("/box/k{}", n % KEYS);
            let headers = [("x-amz-copy-source", source.as_str())];
            self.ask("PUT", &format!("/box/c{}", n % KEYS), &headers, b"");
        }
    }

    /// Uploads in parts, each of which is sent until it is acknowledged, by whatever process.
    fn upload(&self) {
        let part = vec![b'p'; PART];
        for n in 0.. {
            let path = format!("/box/m{}", n % 3);
            let id = self.until(|| {
                let answer = self.ask("POST", &format!("{path}?uploads"), &[], b"")?;
                Some(answer.split("<UploadId>").nth(1)?.split('<').next()?.to_string())
            });
            let Some(id) = id else { return };
            let mut list = String::new();
            for (number, body) in [(1, &part[..]), (2, b"end")] {
                let address = format!("{path}?partNumber={number}&uploadId={id}");
                let etag = self.until(|| {
                    let answer = self.ask("PUT", &address, &[], body)?;
                    assert!(answer.starts_with("200"), "the upload {id} is lost: {answer}");
                    Some(answer.split(' ').nth(1)?.to_string())
                });
                let Some(etag) = etag else { return };
                list +=
                    &format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>");
            }
            let list = format!("<CompleteMultipartUpload>{list}</CompleteMultipartUpload>");
            let address = format!("{path}?uploadId={id}");
            let done = self.until(|| self.ask("POST", &address, &[], list.as_bytes()));
            let Some(done) = done else { return };
            // One that was completed while its answer was lost is gone.
            assert!(done.starts_with("200") || done.contains("NoSuchUpload"), "{done}");
            *self.uploads.lock().unwrap() += 1;
        }
    }

    /// Begins an upload with a part. Answers the address of the upload.
    fn begin_upload(&self, path: &str, part: &[u8]) -> Option<String> {
        let answer = self.ask("POST", &format!("{path}?uploads"), &[], b"")?;
        let id = answer.split("<UploadId>").nth(1)?.split('<').next()?.to_string();
        let upload = format!("{path}?uploadId={id}");
        self.ask("PUT", &format!("{upload}&partNumber=1"), &[], part)?;
        Some(upload)
    }

    /// Aborts uploads, and deletes buckets with uploads.
    fn abort(&self) {
        let part = vec![b'a'; 200_000];
        for n in 0.. {
            let Some(upload) = self.until(|| self.begin_upload("/box/aborted", &part)) else {
                return;
            };
            let Some(done) = self.until(|| self.ask("DELETE", &upload, &[], b"")) else { return };
            // One that was aborted while its answer was lost is gone.
            assert!(done.starts_with("204") || done.contains("NoSuchUpload"), "{done}");
            let bucket = format!("/gone{}", n % 3);
            let made = || self.ask("PUT", &bucket, &[], b"");
            let (Some(_), Some(_)) = (
                self.until(made),
                self.until(|| self.begin_upload(&format!("{bucket}/key"), &part)),
            ) else {
                return;
            };
            let Some(done) = self.until(|| self.ask("DELETE", &bucket, &[], b"")) else { return };
            assert!(done.starts_with("204") || done.contains("NoSuchBucket"), "{done}");
        }
    }

    /// Tries again until it answers something, or the test is over.
    fn until<T>(&self, attempt: impl Fn() -> Option<T>) -> Option<T> {
        while !self.is_over() {
            if let Some(answer) = attempt() {
                return Some(answer);
            }
        }
        None
    }
}

/// A server of a folder, open to this machine.
const FILES: &str = "#-serve:<int>port folder:<string>folder
#S3Server{ port: port } → ref:file:{folder}/ asScheme.
";

/// The same of a database in the folder.
const DATABASE: &str = "#-serve:<int>port folder:<string>folder
#S3Server{ port: port } → (ref:sqlite:{folder}/objects.db keyValueStore: 'objects').
";

fn serve(folder: &Folder, port: u16) -> Process {
    let mut command = runnel();
    command.arg(folder.path("serve.st")).arg(port.to_string());
    command.arg(folder.path("data").display().to_string());
    let mut process = Process::start(&mut command);
    process.listens(port);
    process
}

/// Checks every object of the bucket. Answers how many there are.
fn check(clients: &Clients) -> usize {
    let port = clients.port.load(Ordering::Relaxed);
    let mut whole = 0;
    // What was sent before this is the least that is there; more may come meanwhile.
    let least = clients.keys.lock().unwrap().clone();
    for (key, before) in least {
        let reply = send(port, "GET", &format!("/box/{key}"), &[], b"").unwrap();
        let most = clients.keys.lock().unwrap()[&key].sent;
        if reply.status == 404 {
            assert_eq!(before.acknowledged, 0, "{key} is lost");
            continue;
        }
        let n = number(&reply.body).unwrap_or_else(|| panic!("{key} is torn"));
        assert!((before.acknowledged..=most).contains(&n), "{key} is {n}, not from {before:?}");
        whole += 1;
    }
    for n in 0..KEYS {
        let reply = send(port, "GET", &format!("/box/c{n}"), &[], b"").unwrap();
        assert!(reply.status == 404 || number(&reply.body).is_some(), "a copy is torn");
    }
    for n in 0..3 {
        let reply = send(port, "GET", &format!("/box/m{n}"), &[], b"").unwrap();
        assert!(reply.status == 404 || reply.body.len() == PART + 3, "{}", reply.body.len());
    }
    whole
}

/// The paths of the files below a folder, relative to it. Those that are being written are hidden.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.filter_map(Result::ok) {
        let name = PathBuf::from(entry.file_name());
        if entry.path().is_dir() {
            found.extend(files(&entry.path()).into_iter().map(|path| name.join(path)));
        } else if !name.to_string_lossy().starts_with(".runnel-") {
            found.push(name);
        }
    }
    found
}

/// The paths of what the server keeps beside the objects: files, or keys of a database.
fn inner_paths(folder: &Folder) -> Vec<PathBuf> {
    let database = folder.path("data/objects.db");
    if !database.exists() {
        return files(&folder.path("data/.runnel-s3"));
    }
    let select = "select substr(key, 12) as name from objects where key like ''.runnel-s3/%''";
    let program = format!("(ref:sqlite:{} run: '{select}') collect: 'name'", database.display());
    let outcome = run(runnel().args(["-e", &program]));
    assert_eq!(outcome.status, 0, "{}", outcome.err);
    let names = outcome.out.trim().trim_start_matches('[').trim_end_matches(']').to_string();
    names.split(',').filter(|name| !name.is_empty()).map(PathBuf::from).collect()
}

/// Waits until no part is left of an upload that ended.
fn check_parts(folder: &Folder) {
    let orphans = || {
        let (of_uploads, mut others): (Vec<_>, Vec<_>) =
            inner_paths(folder).into_iter().partition(|path| path.starts_with("uploads"));
        let living: Vec<_> = of_uploads.iter().filter_map(|path| path.file_name()).collect();
        others.retain(|path| path.starts_with("parts") || path.starts_with("data"));
        others.retain(|path| !path.iter().any(|name| living.contains(&name)));
        others
    };
    assert!(inner_paths(folder).iter().any(|path| path.starts_with("buckets")));
    support::eventually_or(|| orphans().is_empty(), || format!("{:?} are left", orphans()));
}

#[test]
fn a_server_that_is_killed_loses_nothing() {
    kill_again_and_again(FILES);
}

#[test]
fn a_server_of_a_database_that_is_killed_loses_nothing() {
    kill_again_and_again(DATABASE);
}

fn kill_again_and_again(program: &str) {
    let kills: usize =
        std::env::var("RUNNEL_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let folder = Folder::new();
    std::fs::create_dir(folder.path("data")).unwrap();
    folder.write("serve.st", program);
    let clients = Arc::<Clients>::default();
    let port = free_port();
    clients.port.store(port, Ordering::Relaxed);
    let mut process = serve(&folder, port);
    assert_eq!(send(port, "PUT", "/box", &[], b"").unwrap().status, 200);
    let start = |act: fn(&Clients)| {
        let clients = clients.clone();
        std::thread::spawn(move || act(&clients))
    };
    let threads: [JoinHandle<()>; 4] =
        [start(Clients::put), start(Clients::copy), start(Clients::upload), start(Clients::abort)];
    let mut whole = 0;
    for kill in 0..kills {
        std::thread::sleep(Duration::from_millis(300 + kill as u64 * 137 % 500));
        process.signal("KILL");
        process.end();
        process = serve(&folder, port);
        whole = check(&clients);
    }
    clients.stop.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().unwrap();
    }
    let sent = clients.keys.lock().unwrap().values().map(|key| key.sent).max().unwrap_or(0);
    let uploads = *clients.uploads.lock().unwrap();
    assert!(whole > 0 && sent > KEYS && uploads > 0, "{whole} {sent} {uploads}");
    // Nothing of writes that were cut is left behind among the objects.
    let listing = send(port, "GET", "/box?list-type=2", &[], b"").unwrap().text();
    assert_eq!(listing.matches("<Key>").count(), listing.matches("<Size>").count());
    let keys = listing.split("<Key>").skip(1).map(|rest| rest.split('<').next().unwrap_or(""));
    assert!(keys.clone().all(|key| key.len() <= 3), "{:?}", keys.collect::<Vec<_>>());
    // What kills have left is removed with the first request to the next process.
    process.signal("KILL");
    process.end();
    let _process = serve(&folder, port);
    assert_eq!(send(port, "GET", "/box", &[], b"").unwrap().status, 200);
    check_parts(&folder);
    support::note(&format!("| {kills} kills | {sent} puts | {uploads} uploads | {whole} keys |"));
}
