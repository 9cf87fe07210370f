//! Uploads: bodies as streams, forms part after part, and files of strangers.
//!
//! `RUNNEL_UPLOADS=full` sends as much as the manual says: `.ci/soak uploads`.

use crate::support::browser::Browser;
use crate::support::http::{self, Connection, Reply};
use crate::support::{
    Folder, Process, Server, eventually, examples, free_port, note, run, runnel, skip,
};
use serde_json::json;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::Command;

const PROGRAM: &str = r"#-<void>serve:<int>port
scheme Uploads {
   /files/:name { put streamed {
      { file:kept/{name} ← body:stream } ensure: { stdout println: 'put ended' }.
      'stored' } }
   /objects/:name { put streamed { s3:uploads/{name} ← body:stream. 'stored' } }
   /small/:name { put streamed { file:kept/{name} ← (body:stream atMost: 1000 bytes). 'stored' } }
   /value { put streamed { newValue text } post streamed { newValue mediaType } }
   /pieces { post streamed { count ← 0. body:stream do: { :piece | count ← count + piece size }. count } }
   /echo { post streamed { body:stream } }
   /unread { put streamed { response:status ← 403. 'no' } }
   /twice { put streamed { body:stream text , body:stream text } }
   /whole { put streamed { body:text } post streamed { form:name } }
   /usual { put { body:stream text } }
   /form { post streamed {
      told ← [].
      parts:stream do: { :part |
         told add: (part isFile
            ifTrue: { file:kept/{part fileName} ← part. part fileName }
            ifFalse: { part field , '=' , part text }) }.
      told } }
   /names { post streamed { names ← []. parts:stream do: { :part | names add: part field }. names } }
   /late { post streamed { first ← nil. parts:stream do: { :part | first ifNil: { first ← part } }. first text } }
   /image { post streamed { told ← ''. parts:stream do: { :part |
      told ← (part imageType ifNil: { 'none' }) , ' ' , part data size stringValue }. told } }
   /forgiving { put streamed { { (body:stream atMost: 3 bytes) text } onError: { :error | error kind } } }
   /get { get { 'here' } }
}
server ← #HTTPServer{ port: port, scheme: #Uploads{}, maxBodySize: 40 gigabytes, bodyTimeout: 2 seconds }.
server start.
";

fn server() -> Server {
    let server = Server::start(PROGRAM, &[]);
    // Temporary files lie beside the file that they become.
    std::fs::create_dir(server.folder.path("kept")).unwrap();
    server
}

fn put(server: &Server, target: &str, body: &[u8]) -> Reply {
    http::send(server.port, "PUT", target, &[], body).unwrap()
}

const FORM: (&str, &str) = ("Content-Type", "multipart/form-data; boundary=x");

fn post_form(server: &Server, target: &str, body: &[u8]) -> Reply {
    http::send(server.port, "POST", target, &[FORM], body).unwrap()
}

fn part(disposition: &str, data: &str) -> String {
    format!("--x\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{data}\r\n")
}

/// The names in the folder that handlers write to, temporary files included.
fn kept(server: &Server) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(server.folder.path("kept")) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_body_is_a_stream() {
    let server = server();
    let large = vec![b'a'; 3_000_000];
    assert_eq!(put(&server, "/files/large", &large).text(), "stored");
    assert_eq!(std::fs::read(server.folder.path("kept/large")).unwrap(), large);
    assert_eq!(put(&server, "/files/small", b"abc").text(), "stored");
    assert_eq!(put(&server, "/files/none", b"").text(), "stored");
    assert_eq!(std::fs::read(server.folder.path("kept/small")).unwrap(), b"abc");
    assert_eq!(std::fs::read(server.folder.path("kept/none")).unwrap(), b"");
    assert_eq!(put(&server, "/value", b"text").text(), "text");
    assert_eq!(put(&server, "/value", b"\xff").status, 400);
    assert_eq!(post_form(&server, "/value", b"").text(), FORM.1);
    assert_eq!(server.send("POST", "/pieces", &"a".repeat(3_000_000)).text(), "3000000");
    assert_eq!(server.send("POST", "/echo", &"a".repeat(300_000)).text().len(), 300_000);
}

#[test]
fn a_chunked_body_is_a_stream() {
    let server = server();
    let mut client = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    client
        .write_all(b"PUT /files/chunked HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        .unwrap();
    for piece in ["first ", "second"] {
        client.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes()).unwrap();
    }
    client.write_all(b"0\r\n\r\n").unwrap();
    eventually("the file is there", || kept(&server) == ["chunked"]);
    assert_eq!(std::fs::read(server.folder.path("kept/chunked")).unwrap(), b"first second");
}

#[test]
fn a_body_over_http2_is_a_stream() {
    let server = server();
    let file = server.folder.write("large", vec![b'a'; 3_000_000]);
    let address = format!("http://127.0.0.1:{}/files/two", server.port);
    let form = format!("f=@{};filename=three", file.display());
    let upload = |arguments: &[&str], address: &str| {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--http2-prior-knowledge"]).args(arguments).arg(address);
        curl.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    match upload(&["-T", &file.display().to_string()], &address) {
        Ok(answer) => assert_eq!(answer, "stored"),
        Err(error) => return skip(&format!("curl cannot be run: {error}")),
    }
    let to_form = address.replace("files/two", "form");
    assert_eq!(upload(&["-F", "a=b", "-F", &form], &to_form).unwrap(), "[\"a=b\",\"three\"]");
    let refused = address.replace("files/two", "unread");
    // The answer may be there before the body is sent, and then curl 7.88 sometimes loses it with the
    // stream, which ends without an error (RFC 9113 section 8.1).
    let mut answers = (0..5).map(|_| upload(&["-X", "PUT", "-d", "unread"], &refused).unwrap());
    assert_eq!(answers.find(|answer| !answer.is_empty()).as_deref(), Some("no"));
    for name in ["kept/two", "kept/three"] {
        assert_eq!(std::fs::metadata(server.folder.path(name)).unwrap().len(), 3_000_000);
    }
}

#[test]
fn a_handler_runs_when_the_head_has_arrived() {
    let server = server();
    let ask = |head: &str| {
        let mut client = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        client.write_all(head.as_bytes()).unwrap();
        let mut start = [0; 12];
        client.read_exact(&mut start).unwrap();
        String::from_utf8_lossy(&start).into_owned()
    };
    // Nothing of the body was sent.
    let length = "Host: a\r\nContent-Length: 1000000\r\n";
    assert_eq!(ask(&format!("PUT /unread HTTP/1.1\r\n{length}\r\n")), "HTTP/1.1 403");
    let waits = format!("{length}Expect: 100-continue\r\n\r\n");
    assert_eq!(ask(&format!("PUT /unread HTTP/1.1\r\n{waits}")), "HTTP/1.1 403");
    assert_eq!(ask(&format!("PUT /files/a HTTP/1.1\r\n{waits}")), "HTTP/1.1 100");
    let huge = "Host: a\r\nContent-Length: 50000000000\r\n\r\n";
    assert_eq!(ask(&format!("PUT /files/a HTTP/1.1\r\n{huge}")), "HTTP/1.1 413");
}

#[test]
fn what_a_handler_leaves_is_passed_over_or_closes_the_connection() {
    let server = server();
    let mut client = Connection::open(server.port).unwrap();
    assert_eq!(client.send("PUT", "/unread", &[b'a'; 10_000]).unwrap().status, 403);
    assert_eq!(client.send("GET", "/get", b"").unwrap().text(), "here");
    let mut client = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    client
        .write_all(b"PUT /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 30000000\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    let sent = client.write_all(&vec![b'a'; 30_000_000]);
    let read = client.read_to_end(&mut answer);
    let is_closed = sent.is_err() || read.is_ok();
    assert!(is_closed, "the connection is still open");
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 403"));
}

#[test]
fn a_disconnect_leaves_nothing_and_ends_the_handler() {
    let server = server();
    for target in ["/files/half", "/form"] {
        let mut client = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        let verb = if target == "/form" { "POST" } else { "PUT" };
        let head = format!(
            "{verb} {target} HTTP/1.1\r\nHost: a\r\n{}: {}\r\nContent-Length: 90000000\r\n\r\n",
            FORM.0, FORM.1
        );
        client.write_all(head.as_bytes()).unwrap();
        let start = part("name=a; filename=half", "");
        client.write_all(start.trim_end_matches("\r\n").as_bytes()).unwrap();
        client.write_all(b"\r\n\r\n").unwrap();
        client.write_all(&vec![b'a'; 3_000_000]).unwrap();
        eventually("a temporary file is there", || kept(&server).len() == 1);
        drop(client);
        eventually("nothing is left", || kept(&server).is_empty());
    }
    server.process.out_shows("put ended");
    assert_eq!(put(&server, "/files/half", b"whole").text(), "stored");
}

#[test]
fn a_client_that_stops_sending_is_ended() {
    let server = server();
    let mut client = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    client
        .write_all(b"PUT /files/slow HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc")
        .unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    eventually("nothing is left", || kept(&server).is_empty());
}

#[test]
fn a_stream_is_read_once_and_where_it_is_one() {
    let server = server();
    let wrong = |target: &str, message: &str| {
        assert_eq!(put(&server, target, b"abc").status, 500, "{target}");
        server.process.err_shows(message);
    };
    wrong("/twice", "this stream was read already: a stream can be read once");
    wrong("/whole", "the body of a `streamed` handler has not arrived");
    wrong("/usual", "`body:stream` is known in a `streamed` handler alone");
    assert_eq!(post_form(&server, "/whole", b"--x--").status, 500);
    server.process.err_shows("read it by `parts:stream`");
    let form = part("name=a", "1") + &part("name=b", "2") + "--x--";
    assert_eq!(post_form(&server, "/late", form.as_bytes()).status, 500);
    server.process.err_shows("this part is over");
}

#[test]
fn a_limit_of_the_handler_is_an_error_of_the_client() {
    let server = server();
    assert_eq!(put(&server, "/small/a", &[b'a'; 1000]).text(), "stored");
    assert_eq!(put(&server, "/small/b", &[b'a'; 1001]).status, 413);
    assert_eq!(put(&server, "/forgiving", b"abcd").text(), "tooLarge");
    assert_eq!(put(&server, "/value", &vec![b'a'; 1 << 20]).status, 200);
    assert_eq!(put(&server, "/value", &vec![b'a'; (1 << 20) + 1]).status, 413);
    assert_eq!(kept(&server), ["a"]);
}

#[test]
fn parts_come_one_after_another() {
    let server = server();
    let large = "a".repeat(3_000_000);
    let form = part("name=title", "Ada")
        + &part("name=file; filename=\"one.txt\"", &large)
        + &part("name=none; filename=\"\"", "")
        + &part("name=file; filename=\"C:\\\\folder\\\\two.txt\"", "two")
        + "--x--\r\n";
    let told = post_form(&server, "/form", form.as_bytes()).text();
    assert_eq!(told, "[\"title=Ada\",\"one.txt\",\"two.txt\"]");
    assert_eq!(std::fs::read(server.folder.path("kept/one.txt")).unwrap(), large.as_bytes());
    assert_eq!(kept(&server), ["one.txt", "two.txt"]);
    // What a block does not read is passed over.
    assert_eq!(
        post_form(&server, "/names", form.as_bytes()).text(),
        "[\"title\",\"file\",\"file\"]"
    );
    let image = part("name=a; filename=a.txt", "GIF89a-and-some-more-bytes-of-an-image");
    let told = post_form(&server, "/image", (image + "--x--").as_bytes());
    assert_eq!(told.text(), "image/gif 38");
}

#[test]
fn limits_of_parts_hold() {
    let server = server();
    let status = |body: &str| post_form(&server, "/form", body.as_bytes()).status;
    let many = |count: usize| part("name=a", "1").repeat(count) + "--x--";
    assert_eq!((status(&many(256)), status(&many(257))), (200, 413));
    let text = |count: usize| part("name=a", &"a".repeat(count)) + "--x--";
    assert_eq!((status(&text(1 << 20)), status(&text((1 << 20) + 1))), (200, 413));
    let head = format!("name=a; b=\"{}\"", "c".repeat(8 * 1024));
    assert_eq!(status(&(part(&head, "1") + "--x--")), 413);
    assert_eq!(status(&(part("name=a", "\u{1}") + "--x")), 400);
    for malformed in ["", "nonsense", "--x\r\n\r\n1\r\n--x--", "--x--y"] {
        let expected = if malformed == "--x--y" { 200 } else { 400 };
        assert_eq!(status(malformed), expected, "{malformed:?}");
    }
    let plain = http::send(server.port, "POST", "/form", &[("Content-Type", "text/plain")], b"a");
    assert_eq!(plain.unwrap().status, 415);
    let data = |count: usize| {
        let body = part("name=a; filename=a", &"a".repeat(count)) + "--x--";
        post_form(&server, "/image", body.as_bytes()).status
    };
    assert_eq!((data(8 << 20), data((8 << 20) + 1)), (200, 413));
}

#[test]
fn names_of_files_are_never_paths() {
    let server = server();
    let named = |name: &str| {
        let body = part(&format!("name=a; filename=\"{name}\""), "data") + "--x--";
        post_form(&server, "/form", body.as_bytes())
    };
    for name in ["..", ".", "a/..", "a\\\\..", "a\u{0}b", "a%0Ab", "a/"] {
        assert_eq!(named(name).status, 400, "{name:?}");
    }
    assert_eq!(named(&"a".repeat(256)).status, 400);
    for name in ["../../away", "/etc/away", "folder\\\\away", "%2e%2e%2faway"] {
        assert_eq!(named(name).status, 200, "{name:?}");
    }
    assert_eq!(kept(&server), ["%2e%2e%2faway", "away"]);
    assert!(!server.folder.path("away").exists());
}

#[test]
fn documents_say_what_a_stream_takes() {
    let folder = Folder::new();
    let file = folder.write("program.st", PROGRAM);
    let outcome = run(runnel().arg("openapi").arg(file).arg("0"));
    let document: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
    let content = |path: &str, verb: &str| {
        let content = &document["paths"][path][verb]["requestBody"]["content"];
        let media: Vec<&String> = content.as_object().unwrap().keys().collect();
        format!("{media:?}")
    };
    assert_eq!(content("/files/{name}", "put"), "[\"application/octet-stream\"]");
    assert_eq!(content("/form", "post"), "[\"multipart/form-data\"]");
}

/// Sends a body of one byte many times, in front of it and behind it what belongs to a form. Answers the status
/// line.
fn send_large(port: u16, head: &str, start: &str, size: u64, end: &str) -> String {
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let length = size + (start.len() + end.len()) as u64;
    let head = format!("{head}Host: a\r\nContent-Length: {length}\r\n\r\n{start}");
    client.write_all(head.as_bytes()).unwrap();
    let piece = vec![b'a'; 1 << 20];
    let mut left = size;
    while left > 0 {
        let count = left.min(piece.len() as u64) as usize;
        match client.write_all(&piece[..count]) {
            Ok(()) => left -= count as u64,
            // The answer says why.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            Err(error) => panic!("{left} bytes are left: {error}"),
        }
    }
    client.write_all(end.as_bytes()).unwrap();
    let mut answer = [0; 12];
    client.read_exact(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// The most memory that the process has held, in bytes.
fn peak(process: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn memory_does_not_grow_with_an_upload() {
    let is_full = std::env::var("RUNNEL_UPLOADS").is_ok_and(|size| size == "full");
    let (large, form) = if is_full { (10 << 30, 1 << 30) } else { (192 << 20, 96 << 20) };
    let s3 = S3::start();
    let folder = Folder::new();
    let port = free_port();
    let mut command = runnel();
    command.arg(folder.write("program.st", PROGRAM)).arg(port.to_string());
    let mut process = Process::start(s3.of_this(command.current_dir(folder.path("."))));
    process.listens(port);
    let start = "--x\r\nContent-Disposition: form-data; name=a; filename=form\r\n\r\n";
    let type_line = format!("{}: {}\r\n", FORM.0, FORM.1);
    // Once with little, so that buffers and code are there.
    for target in ["files", "objects"] {
        let answer = send_large(port, &format!("PUT /{target}/a HTTP/1.1\r\n"), "", 24 << 20, "");
        assert_eq!(answer, "HTTP/1.1 200", "{}", process.err());
    }
    let before = peak(&process);
    note("| upload | MiB | more memory at most, MiB |\n| --- | --- | --- |");
    let show = |what: &str, size: u64| {
        let more = peak(&process).saturating_sub(before);
        note(&format!("| {what} | {} | {} |", size >> 20, more >> 20));
        assert!(more < 48 << 20, "{what}: {more} bytes more");
    };
    let sent = send_large(port, "PUT /files/large HTTP/1.1\r\n", "", large, "");
    assert_eq!(sent, "HTTP/1.1 200");
    assert_eq!(std::fs::metadata(folder.path("kept/large")).unwrap().len(), large);
    show("PUT to a file", large);
    std::fs::remove_file(folder.path("kept/large")).unwrap();
    let head = format!("POST /form HTTP/1.1\r\n{type_line}");
    let sent = send_large(port, &head, start, form, "\r\n--x--\r\n");
    assert_eq!(sent, "HTTP/1.1 200");
    assert_eq!(std::fs::metadata(folder.path("kept/form")).unwrap().len(), form);
    show("form to a file", form);
    std::fs::remove_file(folder.path("kept/form")).unwrap();
    let sent = send_large(port, "PUT /objects/large HTTP/1.1\r\n", "", large, "");
    assert_eq!(sent, "HTTP/1.1 200", "{}", process.err());
    assert_eq!(std::fs::metadata(s3.folder.path("data/uploads/large")).unwrap().len(), large);
    show("PUT to S3", large);
}

/// A server of object storage.
struct S3 {
    _process: Process,
    port: u16,
    folder: Folder,
}

impl S3 {
    fn start() -> S3 {
        let folder = Folder::new();
        let text = "#-serve:<int>port\n#S3Server{ port: port, maxBodySize: 40 gigabytes } → ref:file:data asScheme\n";
        std::fs::create_dir_all(folder.path("data/uploads")).unwrap();
        let port = free_port();
        let mut command = runnel();
        command.arg(folder.write("serve.st", text)).arg(port.to_string());
        let mut process = Process::start(command.current_dir(folder.path(".")));
        process.listens(port);
        S3 { _process: process, port, folder }
    }

    /// The command with this server as its object storage.
    fn of_this<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port))
            .env("AWS_ACCESS_KEY_ID", "any")
            .env("AWS_SECRET_ACCESS_KEY", "any")
    }
}

const STRANGERS: &str = "#-serve:<int>port
#HTTPServer{ port: port } → #StaticFiles{ untrusted: true } → ref:file:kept asScheme
";

#[test]
fn files_of_strangers_run_nothing() {
    let server = Server::start(STRANGERS, &[]);
    std::fs::create_dir(server.folder.path("kept")).unwrap();
    for name in ["a.png", "a.html", "index.html", "a.svg", "a.js", "a.pdf", "a.mp4", "none"] {
        server.folder.write(&format!("kept/{name}"), "<script>alert(1)</script>");
    }
    for (name, kind) in [("a.png", "image/png"), ("a.mp4", "video/mp4")] {
        let reply = server.get(&format!("/{name}"));
        assert_eq!(reply.header("content-type"), Some(kind));
        assert_eq!(reply.header("content-disposition"), None, "{name}");
    }
    for name in ["a.html", "", "a.svg", "a.js", "a.pdf", "none"] {
        let reply = server.get(&format!("/{name}"));
        assert_eq!(reply.header("content-type"), Some("application/octet-stream"), "{name}");
        assert_eq!(reply.header("content-disposition"), Some("attachment"), "{name}");
    }
    for name in ["a.png", "a.html"] {
        let reply = server.get(&format!("/{name}"));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.ends_with("; sandbox"), "{policy}");
        let tag = reply.header("etag").unwrap();
        let again =
            http::send(server.port, "GET", &format!("/{name}"), &[("If-None-Match", tag)], b"");
        let again = again.unwrap();
        let is_download = again.header("content-disposition").is_some();
        assert!(again.status == 304 && (name == "a.html" || !is_download), "{name}");
    }
    let part = http::send(server.port, "GET", "/a.mp4", &[("Range", "bytes=0-3")], b"").unwrap();
    assert_eq!((part.status, part.text().as_str()), (206, "<scr"));
}

/// Handlers that pass on what a client sends, each to a page of a folder, and one that writes a page of its own.
const PASSES_ON: &str = "#-serve:<int>port
scheme Pages {
   /files/:name { get { file:kept/{name} } }
   /streamed { put streamed { file:kept/streamed.html ← body:stream. 'ok' } }
   /whole { put { file:kept/whole.html ← newValue. 'ok' } }
   /text { put { file:kept/text.svg ← body:text. 'ok' } }
   /field { post { file:kept/field.html ← form:text. 'ok' } }
   /file { post { file:kept/file.html ← form:file data. 'ok' } }
   /own { put { file:kept/own.html ← \"<p>{newValue}</p>\". 'ok' } }
}
#HTTPServer{ port: port } → #Pages{ }
";

#[test]
fn what_a_handler_passes_on_runs_nothing() {
    let server = Server::start(PASSES_ON, &[]);
    std::fs::create_dir(server.folder.path("kept")).unwrap();
    let page = "<script>alert(1)</script>";
    let multipart = format!(
        "--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\n{page}\r\n\
         --b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x.html\"\r\n\
         Content-Type: text/html\r\n\r\n{page}\r\n--b--\r\n"
    );
    for (path, name, kind, body) in [
        ("/streamed", "streamed.html", "text/html", page),
        ("/whole", "whole.html", "text/html", page),
        ("/whole", "whole.html", "application/octet-stream", page),
        ("/text", "text.svg", "text/plain", page),
        ("/field", "field.html", "multipart/form-data; boundary=b", &multipart),
        ("/file", "file.html", "multipart/form-data; boundary=b", &multipart),
    ] {
        let method = if kind.starts_with("multipart") { "POST" } else { "PUT" };
        let sent =
            http::send(server.port, method, path, &[("Content-Type", kind)], body.as_bytes());
        assert!(sent.as_ref().is_ok_and(|reply| reply.status < 300), "{path}: {sent:?}");
        let reply = server.get(&format!("/files/{name}"));
        assert_eq!(reply.text(), page, "{path}");
        assert_eq!(reply.header("content-disposition"), Some("attachment"), "{path} as {kind}");
        assert_eq!(reply.header("content-type"), Some("application/octet-stream"), "{path}");
    }
    // A page that the program makes of the content is its own.
    let headers = [("Content-Type", "text/plain")];
    assert!(http::send(server.port, "PUT", "/own", &headers, b"hi").unwrap().status < 300);
    let own = server.get("/files/own.html");
    assert!(own.header("content-type").unwrap().starts_with("text/html"));
}

/// The drop box of the examples.
fn drop_box() -> (Folder, Process, u16) {
    let (folder, port) = (Folder::new(), free_port());
    let mut command = runnel();
    command.args(["--port", &port.to_string()]).arg(examples().join("uploads.st"));
    let mut process = Process::start(command.current_dir(folder.path(".")));
    process.listens(port);
    (folder, process, port)
}

#[test]
fn the_example_takes_and_gives_files() {
    let (folder, _process, port) = drop_box();
    assert!(http::get(port, "/").text().contains("Nothing here yet."));
    let stored = http::send(port, "PUT", "/files/a%20b.html", &[], b"<b>hi</b>").unwrap();
    assert_eq!(stored.status, 201);
    assert_eq!(std::fs::read(folder.path("uploads/a b.html")).unwrap(), b"<b>hi</b>");
    let page = http::get(port, "/").text();
    assert!(page.contains("<a href=\"/files/a%20b.html\">a b.html</a>"), "{page}");
    let given = http::get(port, "/files/a%20b.html");
    assert_eq!((given.status, given.text().as_str()), (200, "<b>hi</b>"));
    assert_eq!(given.header("content-disposition"), Some("attachment"));
    assert_eq!(http::send(port, "PUT", "/files/..%2Faway", &[], b"a").unwrap().status, 400);
}

#[test]
fn a_form_shows_its_progress_and_then_the_answer() {
    let browser = match Browser::start() {
        Ok(browser) => browser,
        Err(reason) => return skip(&reason),
    };
    let (folder, _process, port) = drop_box();
    let file = folder.write("note.txt", "a".repeat(2_000_000));
    browser.open(&format!("http://127.0.0.1:{port}/"));
    browser.script(
        "const bar = document.querySelector('progress');
         new MutationObserver(() => sessionStorage.seen = bar.value).observe(bar, { attributes: true });",
    );
    browser.type_into("#file", &file.display().to_string());
    browser.click("form button");
    let shown =
        "return [...document.querySelectorAll('.list li')].map((one) => one.textContent).join()";
    eventually("the file is in the list", || browser.script(shown) == "note.txt");
    assert_eq!(browser.script("return sessionStorage.seen"), json!("1"));
    assert_eq!(std::fs::metadata(folder.path("uploads/note.txt")).unwrap().len(), 2_000_000);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_form_works_without_javascript() {
    let browser = match Browser::without_javascript() {
        Ok(browser) => browser,
        Err(reason) => return skip(&reason),
    };
    let (folder, _process, port) = drop_box();
    let file = folder.write("note.txt", "a note");
    browser.open(&format!("http://127.0.0.1:{port}/"));
    browser.type_into("#file", &file.display().to_string());
    browser.click("form button");
    eventually("the file is in the list", || browser.labels(".list a") == ["note.txt"]);
    assert_eq!(std::fs::read(folder.path("uploads/note.txt")).unwrap(), b"a note");
}
