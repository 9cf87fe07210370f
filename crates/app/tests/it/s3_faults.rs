//! `#S3Server` over files that cannot be written: a full disk, a folder that can only be read, a limit
//! of the system. And what of that stands in the log.

use crate::support::http::{Reply, send};
use crate::support::{Folder, Process, free_port, runnel, skip};
use std::io::Write;
use std::net::TcpStream;
use std::process::Command;

/// A server of the store that its arguments name.
const PROGRAM: &str =
    "#-serve:<int>port store:<ref>store\n#S3Server{ port: port } → store asScheme.\n";

struct Faulty {
    process: Process,
    port: u16,
    folder: Folder,
}

impl Faulty {
    /// Serves the folder `data`, after commands of a shell in a namespace of mounts where they need
    /// one. `$1` is the folder. The objects are there before.
    fn start(before: &str, objects: &[(&str, &str)]) -> Option<Faulty> {
        let folder = Folder::new();
        folder.write("serve.st", PROGRAM);
        for (path, text) in objects {
            let path = folder.path("data").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut command = match before.contains("mount ") {
            true => in_namespace()?,
            false => Command::new("sh"),
        };
        let port = free_port();
        let server = runnel();
        let data = folder.path("data");
        command.arg("-c").arg(format!("{before}; shift; exec \"$@\"")).arg("sh").arg(&data);
        command.arg(server.get_program()).arg(folder.path("serve.st")).arg(port.to_string());
        command.arg(format!("file:{}/", data.display())).env_remove("RUNNEL_LOG");
        let mut process = Process::start(&mut command);
        process.listens(port);
        Some(Faulty { process, port, folder })
    }

    fn ask(&self, method: &str, target: &str, body: &[u8]) -> Reply {
        send(self.port, method, target, &[], body).unwrap()
    }

    /// The status and the code of a request that is refused.
    fn refused(&self, method: &str, target: &str, body: &[u8]) -> (u16, String) {
        let reply = self.ask(method, target, body);
        let text = reply.text();
        assert!(!text.contains(self.folder.path("").to_str().unwrap()), "{text}");
        let code = text.split("<Code>").nth(1).and_then(|rest| rest.split('<').next());
        (reply.status, code.unwrap_or_default().to_string())
    }

    /// Lines of the log about failed requests.
    fn log(&self) -> Vec<String> {
        let log = self.process.err();
        let is_record = |line: &&str| line.contains(" WARN ") || line.contains(" ERROR ");
        log.lines().filter(is_record).map(String::from).collect()
    }
}

/// A shell in which file systems can be mounted.
fn in_namespace() -> Option<Command> {
    for flags in ["-m", "-rm"] {
        let mut shell = Command::new("unshare");
        let mut may = Command::new("unshare");
        may.args([flags, "sh", "-c", "mount -t tmpfs none /mnt"]);
        if may.output().is_ok_and(|output| output.status.success()) {
            shell.args([flags, "sh"]);
            return Some(shell);
        }
    }
    skip("no file system can be mounted here");
    None
}

const LARGE: usize = 3 << 20;

#[test]
fn a_full_disk_keeps_what_was_there() {
    let mount = "mkdir -p $1 && mount -t tmpfs -o size=4m none $1";
    let Some(server) = Faulty::start(mount, &[]) else { return };
    assert_eq!(server.ask("PUT", "/bucket", b"").status, 200);
    assert_eq!(server.ask("PUT", "/bucket/key", &[b'a'; LARGE]).status, 200);
    let full = (507, "InsufficientStorage".to_string());
    assert_eq!(server.refused("PUT", "/bucket/key", &[b'b'; LARGE]), full);
    assert_eq!(server.refused("PUT", "/bucket/other", &[b'b'; LARGE]), full);
    let begun = server.ask("POST", "/bucket/parts?uploads", b"").text();
    let id = begun.split("<UploadId>").nth(1).unwrap().split('<').next().unwrap().to_string();
    let part = format!("/bucket/parts?partNumber=1&uploadId={id}");
    assert_eq!(server.refused("PUT", &part, &[b'b'; LARGE]), full);
    assert_eq!(server.ask("GET", "/bucket/key", b"").body, [b'a'; LARGE]);
    assert_eq!(server.ask("GET", "/bucket/other", b"").status, 404);
    let listing = server.ask("GET", "/bucket", b"").text();
    assert_eq!(listing.matches("<Key>").count(), 1, "{listing}");
    // There is room again for all of it: nothing was left of what was refused.
    assert_eq!(server.ask("DELETE", "/bucket/key", b"").status, 204);
    assert_eq!(server.ask("PUT", "/bucket/other", &[b'c'; LARGE]).status, 200);
    assert_eq!(server.ask("GET", "/bucket/other", b"").body, [b'c'; LARGE]);
}

#[test]
fn a_folder_that_can_only_be_read_is_served() {
    let mount = "mkdir -p $1 && mount --bind $1 $1 && mount -o remount,ro,bind $1";
    let objects = [("bucket/key", "old"), ("bucket/sub/other", "other")];
    let Some(server) = Faulty::start(mount, &objects) else { return };
    let denied = (403, "AccessDenied".to_string());
    for (method, target) in [
        ("PUT", "/bucket/key"),
        ("PUT", "/bucket/new"),
        ("PUT", "/another"),
        ("DELETE", "/bucket/key"),
        ("POST", "/bucket/key?uploads"),
    ] {
        let body: &[u8] =
            if target.starts_with("/bucket") && method == "PUT" { b"new" } else { b"" };
        assert_eq!(server.refused(method, target, body), denied, "{method} {target}");
    }
    assert_eq!(server.refused("PUT", "/bucket/large", &[b'x'; LARGE]), denied);
    assert_eq!(server.ask("GET", "/bucket/key", b"").text(), "old");
    let listing = server.ask("GET", "/bucket?list-type=2", b"").text();
    assert_eq!(listing.matches("<Key>").count(), 2, "{listing}");
    assert_eq!(server.log(), Vec::<String>::new());
}

#[test]
fn a_limit_of_the_system_ends_no_server() {
    // In blocks of 512 or 1,024 bytes, as the shell has it.
    let server = Faulty::start("ulimit -f 1024", &[]).unwrap();
    assert_eq!(server.ask("PUT", "/bucket", b"").status, 200);
    assert_eq!(server.ask("PUT", "/bucket/key", b"old").status, 200);
    let too_large = (400, "EntityTooLarge".to_string());
    assert_eq!(server.refused("PUT", "/bucket/key", &[b'x'; LARGE]), too_large);
    assert_eq!(server.ask("GET", "/bucket/key", b"").text(), "old");
    assert_eq!(server.ask("PUT", "/bucket/key", b"new").status, 200);
    assert_eq!(server.ask("GET", "/bucket/key", b"").text(), "new");
}

#[test]
fn the_log_has_the_faults_of_the_server_and_no_others() {
    let mut server = Faulty::start("true", &[]).unwrap();
    assert_eq!(server.ask("PUT", "/bucket", b"").status, 200);
    assert_eq!(server.ask("PUT", "/bucket/key", b"old").status, 200);
    // Faults of clients.
    let digest = [("Content-MD5", "1B2M2Y8AsgTpgAmY7PhCfg==")];
    assert_eq!(send(server.port, "PUT", "/bucket/key", &digest, b"new").unwrap().status, 400);
    assert_eq!(server.refused("GET", "/bucket/none", b""), (404, "NoSuchKey".to_string()));
    assert_eq!(server.refused("GET", "/nobody/none", b""), (404, "NoSuchBucket".to_string()));
    assert_eq!(server.ask("GET", "/bucket?torrent", b"").status, 501);
    let not_there = format!("/bucket/{}", "k".repeat(300));
    assert_eq!(server.refused("GET", &not_there, b""), (404, "NoSuchKey".to_string()));
    for length in [1_000, LARGE] {
        let mut gone = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        let head = "PUT /bucket/key HTTP/1.1\r\nHost: localhost\r\nContent-Length:";
        gone.write_all(format!("{head} {length}\r\n\r\nhalf").as_bytes()).unwrap();
        gone.shutdown(std::net::Shutdown::Write).unwrap();
        // The answer comes, or the connection is closed without one.
        let _ = std::io::Read::read_to_end(&mut gone, &mut Vec::new());
    }
    assert_eq!(server.ask("GET", "/bucket/key", b"").text(), "old");
    assert_eq!(server.log(), Vec::<String>::new());
    // A fault of the server.
    let record = server.folder.path("data/.runnel-s3/buckets/bucket");
    std::fs::write(record, "damaged").unwrap();
    let broken = (500, "InternalError".to_string());
    // What other programs change is seen after a moment.
    let answer = loop {
        let answer = server.refused("GET", "/bucket/key", b"");
        if answer.0 != 200 {
            break answer;
        }
    };
    assert_eq!(answer, broken);
    server.process.err_shows("the record of the bucket bucket cannot be read");
    let log = server.log();
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(log[0].contains(" ERROR ") && log[0].contains("path=/bucket/key"), "{log:?}");
    assert!(server.process.is_running());
}
