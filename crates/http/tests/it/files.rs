//! Large files, which the system sends by itself where it can: their bytes, in whatever order they
//! are asked for, readers that are slow or go away, and files that change on the way.

use crate::helper::{Peer, get, run, send, soon, start};
use runnel_http::{ClientOptions, HttpServer, Limits, ServerOptions, UnixAddress, client, serve};
use runnel_store::{Context, Disk, Reference};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::AsyncReadExt;

/// Not a multiple of anything that files are cut into.
const LENGTH: usize = 3_333_333;

/// A folder that is gone after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("runnel-files-{name}-{}", std::process::id());
        let root = std::env::temp_dir().canonicalize().unwrap().join(name);
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(root.join("large.bin"), numbers(LENGTH)).unwrap();
        std::fs::write(root.join("small.txt"), "small").unwrap();
        Folder(root)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    async fn serve(&self) -> HttpServer {
        start(Rc::new(Disk::new(self.0.clone()).unwrap())).await
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Content in which every place looks different.
fn numbers(length: usize) -> Vec<u8> {
    (0u32..)
        .flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes())
        .take(length)
        .collect()
}

/// Compares without printing megabytes.
#[track_caller]
fn same(got: &[u8], expected: &[u8]) {
    assert_eq!(got.len(), expected.len());
    let differs = got.iter().zip(expected).position(|(got, expected)| got != expected);
    assert_eq!(differs, None, "the first byte that differs");
}

fn asking(path: &str, fields: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: t\r\n{fields}\r\n")
}

#[test]
fn one_after_another_and_all_at_once() {
    run(async {
        let (folder, numbers) = (Folder::new("order"), numbers(LENGTH));
        let server = folder.serve().await;
        let mut peer = Peer::connect(&server).await;
        for _ in 0..3 {
            peer.send(asking("/large.bin", "")).await;
            same(&peer.receive().await.body, &numbers);
            peer.send(asking("/small.txt", "")).await;
            assert_eq!(peer.receive().await.text(), "small");
        }
        let part = asking("/large.bin", "Range: bytes=70000-1600000\r\n");
        let head = asking("/large.bin", "").replace("GET", "HEAD");
        let all = [asking("/small.txt", ""), asking("/large.bin", ""), part, head];
        peer.send(all.concat() + &asking("/small.txt", "") + &asking("/large.bin", "")).await;
        assert_eq!(peer.receive().await.text(), "small");
        same(&peer.receive().await.body, &numbers);
        let part = peer.receive().await;
        assert_eq!(part.status, 206);
        same(&part.body, &numbers[70_000..=1_600_000]);
        let head = peer.receive_head().await;
        assert_eq!(head.header("content-length"), Some(&*LENGTH.to_string()));
        assert_eq!(peer.receive().await.text(), "small");
        same(&peer.receive().await.body, &numbers);
    });
}

#[test]
fn parts() {
    run(async {
        let (folder, numbers) = (Folder::new("parts"), numbers(LENGTH));
        let server = folder.serve().await;
        let mut peer = Peer::connect(&server).await;
        for (range, from, to) in [
            ("0-0", 0, 1),
            ("1-65536", 1, 65_537),
            ("524287-524289", 524_287, 524_290),
            ("3333332-", LENGTH - 1, LENGTH),
            ("-100000", LENGTH - 100_000, LENGTH),
        ] {
            peer.send(asking("/large.bin", &format!("Range: bytes={range}\r\n"))).await;
            let part = peer.receive().await;
            assert_eq!(part.status, 206, "{range}");
            same(&part.body, &numbers[from..to]);
        }
        peer.send(asking("/large.bin", "Range: bytes=5-9,2000000-2000004\r\n")).await;
        let several = peer.receive().await;
        assert!(several.header("content-type").unwrap().starts_with("multipart/byteranges"));
        let has = |part: &[u8]| several.body.windows(part.len()).any(|window| window == part);
        assert!(has(&numbers[5..10]) && has(&numbers[2_000_000..2_000_005]));
        peer.send("GET /large.bin HTTP/1.0\r\n\r\n").await;
        same(&peer.receive().await.body, &numbers);
        assert!(peer.is_closed().await);
    });
}

#[test]
fn a_slow_reader_gets_all_and_holds_up_nobody() {
    run(async {
        let (folder, numbers) = (Folder::new("slow"), numbers(LENGTH));
        // More than sockets keep, so that the server has to wait for this reader.
        let huge = numbers.repeat(8);
        std::fs::write(folder.path("huge.bin"), &huge).unwrap();
        let server = folder.serve().await;
        let mut slow = Peer::connect(&server).await;
        slow.send(asking("/huge.bin", "")).await;
        for _ in 0..20 {
            assert_eq!(get(&server, "/small.txt").await.text(), "small");
        }
        // One that goes away in the middle.
        let mut gone = Peer::connect(&server).await;
        gone.send(asking("/huge.bin", "")).await;
        let mut some = [0; 1000];
        soon("the beginning", gone.stream.read_exact(&mut some)).await.unwrap();
        drop(gone);
        same(&get(&server, "/large.bin").await.body, &numbers);
        same(&slow.receive().await.body, &huge);
        slow.send(asking("/small.txt", "")).await;
        assert_eq!(slow.receive().await.text(), "small");
    });
}

/// Asks for a file that no socket can keep, and reads nothing yet.
async fn begun(server: &HttpServer, folder: &Folder, content: &[u8]) -> Peer {
    std::fs::write(folder.path("huge.bin"), content).unwrap();
    let mut peer = Peer::connect(server).await;
    peer.send(asking("/huge.bin", "")).await;
    let mut some = [0; 1];
    soon("the beginning", peer.stream.read_exact(&mut some)).await.unwrap();
    peer
}

#[test]
fn a_file_that_becomes_shorter_breaks_its_answer_off() {
    run(async {
        let folder = Folder::new("short");
        let server = folder.serve().await;
        let huge = vec![7; 32 << 20];
        let mut peer = begun(&server, &folder, &huge).await;
        let file = std::fs::File::options().write(true).open(folder.path("huge.bin")).unwrap();
        file.set_len(100).unwrap();
        let rest = peer.rest().await;
        let (_, body) = rest.split_once("\r\n\r\n").unwrap();
        assert!(body.len() < huge.len());
        // What was cut off while it was on its way may arrive as zeros: the memory is the file's.
        assert!(body.bytes().all(|byte| matches!(byte, 0 | 7)));
        assert_eq!(get(&server, "/huge.bin").await.body.len(), 100);
    });
}

#[test]
fn a_file_that_is_replaced_is_sent_as_it_was() {
    run(async {
        let folder = Folder::new("replaced");
        let server = folder.serve().await;
        let huge = numbers(LENGTH).repeat(8);
        let mut peer = begun(&server, &folder, &huge).await;
        std::fs::write(folder.path("new"), "new").unwrap();
        std::fs::rename(folder.path("new"), folder.path("huge.bin")).unwrap();
        assert_eq!(get(&server, "/huge.bin").await.text(), "new");
        same(&peer.receive().await.body, &huge);
    });
}

#[test]
fn who_packs_it_reads_it() {
    run(async {
        let folder = Folder::new("read");
        std::fs::write(folder.path("large.txt"), "0123456789".repeat(100_000)).unwrap();
        let server = folder.serve().await;
        let mut peer = Peer::connect(&server).await;
        peer.send(asking("/large.txt", "Accept-Encoding: gzip\r\n")).await;
        let packed = peer.receive().await;
        assert_eq!(packed.header("content-encoding"), Some("gzip"));
        assert!(packed.body.starts_with(&[0x1f, 0x8b]) && packed.body.len() < 100_000);
        peer.send(asking("/large.txt", "")).await;
        assert_eq!(peer.receive().await.body.len(), 1_000_000);
    });
}

#[test]
fn who_takes_nothing_is_left() {
    run(async {
        let folder = Folder::new("stuck");
        let limits = Limits { write_idle: Duration::from_millis(300), ..Limits::default() };
        let store = Rc::new(Disk::new(folder.0.clone()).unwrap());
        let server = crate::helper::start_with(store, limits).await;
        let mut peer = begun(&server, &folder, &vec![7; 32 << 20]).await;
        while server.connections() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(peer.rest().await.len() < 32 << 20);
    });
}

#[test]
fn over_a_unix_socket() {
    run(async {
        let folder = Folder::new("unix");
        let socket = folder.path("http.sock");
        let address = UnixAddress { path: socket.clone(), mode: 0o600 };
        let store = Rc::new(Disk::new(folder.0.clone()).unwrap());
        let options = ServerOptions { socket: Some(address), ..ServerOptions::default() };
        let _server = serve(store, options).await.unwrap();
        let client = client(ClientOptions { socket: Some(socket), ..ClientOptions::default() });
        let large = Reference::parse("//localhost/large.bin").with_scheme("http");
        let found = client.get(&large, &Context::default()).await.unwrap().unwrap();
        same(&soon("the file", found.read(4 << 20)).await.unwrap(), &numbers(LENGTH));
    });
}

#[test]
fn the_media_type_of_a_put_is_served() {
    run(async {
        let folder = Folder::new("typed");
        let server = folder.serve().await;
        let fields = "Content-Type: image/png\r\n";
        assert_eq!(send(&server, "PUT", "/avatar", fields, "png").await.status, 201);
        let got = get(&server, "/avatar").await;
        assert_eq!((got.text(), got.header("content-type")), ("png", Some("image/png")));
        let tag = format!("If-None-Match: {}\r\n", got.header("etag").unwrap());
        assert_eq!(send(&server, "GET", "/avatar", &tag, "").await.status, 304);
        // A client's page is a download, by its name or by its type, and stays one.
        let html = "Content-Type: text/html\r\n";
        for (path, fields) in [("/page.html", fields), ("/page", html)] {
            assert_eq!(send(&server, "PUT", path, fields, "html").await.status, 201);
            let got = get(&server, path).await;
            assert_eq!(got.header("content-type"), Some("application/octet-stream"), "{path}");
            assert_eq!(got.header("content-disposition"), Some("attachment"), "{path}");
        }
        send(&server, "POST", "/page.html", fields, "more").await;
        let got = get(&server, "/page.html").await;
        assert_eq!(
            (got.text(), got.header("content-disposition")),
            ("htmlmore", Some("attachment"))
        );
    });
}
