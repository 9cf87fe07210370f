//! Clients that people use: curl, Python's and Node's, in both versions of HTTP, with and without TLS.

use crate::support;

use crate::support::Server;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::Command;

const SITE: &str = "scheme Site {\n\
     \x20   /hi { get { 'Hello!' } }\n\
     \x20   /form { post { form:name } }\n\
     \x20   /count { get { { :out | 1 to: 3 do: { :n | out println: n. runLoop runFor: 0.01 } } streamed } }\n\
     }\n";

/// The site with the development certificate, kept in a folder of the test's own.
fn secure() -> Server {
    let folder = support::Folder::new();
    let port = support::free_port();
    let options = format!("port: {port}, certificate: 'local', scheme: #Site{{}}");
    let program = format!("{SITE}#HTTPServer{{ {options} }} start.\n");
    let file = folder.write("program.st", program);
    let mut command = support::runnel();
    command.arg(file).env("XDG_CONFIG_HOME", folder.path("config")).current_dir(folder.path("."));
    let mut process = support::Process::start(&mut command);
    process.listens(port);
    Server { process, port, folder }
}

/// What a client prints; nothing where the client is not installed.
fn says(client: &str, arguments: &[&str]) -> Option<String> {
    let output = match Command::new(client).args(arguments).output() {
        Ok(output) => output,
        Err(error) => {
            support::skip(&format!("{client} cannot be run: {error}"));
            return None;
        }
    };
    let shown = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{client} {arguments:?}: {shown}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn curl_speaks_both_versions() {
    let (plain, secure) = (Server::of_scheme(SITE, 10.0), secure());
    let address = |path: &str| format!("https://localhost:{}{path}", secure.port);
    for version in ["--http1.1", "--http2"] {
        let show = "%{http_version} %{http_code}";
        let said = says("curl", &["-sSk", version, "-w", show, &address("/hi")]);
        let Some(said) = said else { return };
        let number = if version == "--http2" { "2" } else { "1.1" };
        assert_eq!(said, format!("Hello!{number} 200"));
    }
    assert_eq!(says("curl", &["-sSkN", &address("/count")]).unwrap(), "1\n2\n3\n");
    assert_eq!(says("curl", &["-sSk", "-d", "name=J%C3%B6rg", &address("/form")]).unwrap(), "Jörg");
    let known = format!("http://localhost:{}/hi", plain.port);
    assert_eq!(says("curl", &["-sS", "--http2-prior-knowledge", &known]).unwrap(), "Hello!");
}

#[test]
fn python_and_node_are_answered() {
    let server = secure();
    let python = "import ssl, sys, urllib.request\n\
         context = ssl._create_unverified_context()\n\
         for path in ('/hi', '/count'):\n\
         \x20   url = 'https://localhost:' + sys.argv[1] + path\n\
         \x20   print(repr(urllib.request.urlopen(url, context=context).read()))\n";
    if let Some(said) = says("python3", &["-c", python, &server.port.to_string()]) {
        assert_eq!(said, "b'Hello!'\nb'1\\n2\\n3\\n'\n");
    }
    let node = "const url = 'https://localhost:' + process.argv[1];\n\
         process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';\n\
         (async () => {\n\
         \x20 console.log(await (await fetch(url + '/hi')).text());\n\
         \x20 const session = require('http2').connect(url);\n\
         \x20 const stream = session.request({ ':path': '/count' });\n\
         \x20 let text = '';\n\
         \x20 for await (const piece of stream) text += piece;\n\
         \x20 console.log(JSON.stringify(text));\n\
         \x20 session.close();\n\
         })();";
    if let Some(said) = says("node", &["-e", node, &server.port.to_string()]) {
        assert_eq!(said, "Hello!\n\"1\\n2\\n3\\n\"\n");
    }
}

/// A long text, and a page that takes its time.
const LONG: &str = "scheme Site {\n\
     \x20   /long { get { 'So it goes. ' repeated: 500 } }\n\
     \x20   /page { get { response:early-hints ← '</site.css>; rel=preload'. runLoop runFor: 0.05. 'the page' } }\n\
     }\n";

#[test]
fn clients_read_each_encoding() {
    let server = Server::of_scheme(LONG, 10.0);
    let address = format!("http://localhost:{}/long", server.port);
    let text = "So it goes. ".repeat(500);
    for encoding in ["zstd", "br", "gzip"] {
        let accepts = format!("Accept-Encoding: {encoding}");
        let arguments = ["-sS", "--compressed", "-H", &accepts, "-D", "-", &address];
        let Some(said) = says("curl", &arguments) else { return };
        assert!(said.contains(&format!("content-encoding: {encoding}\r\n")), "{said}");
        assert!(said.ends_with(&text), "{encoding}");
    }
    let node = "(async () => {\n\
         \x20 const zlib = require('zlib');\n\
         \x20 for (const encoding of ['br', 'gzip', 'zstd']) {\n\
         \x20   if (encoding == 'zstd' && !zlib.zstdDecompressSync) continue;\n\
         \x20   const headers = { 'accept-encoding': encoding };\n\
         \x20   const text = await (await fetch(process.argv[1], { headers })).text();\n\
         \x20   if (text != 'So it goes. '.repeat(500)) console.log(encoding, text.length);\n\
         \x20 }\n\
         })();";
    if let Some(said) = says("node", &["-e", node, &address]) {
        assert_eq!(said, "");
    }
    let python = "import gzip, sys, urllib.request\n\
         request = urllib.request.Request(sys.argv[1], headers={'Accept-Encoding': 'gzip'})\n\
         print(len(gzip.decompress(urllib.request.urlopen(request).read())))\n";
    if let Some(said) = says("python3", &["-c", python, &address]) {
        assert_eq!(said, "6000\n");
    }
}

#[test]
fn node_is_told_early_what_a_page_needs() {
    let folder = support::Folder::new();
    let port = support::free_port();
    let program = format!(
        "{LONG}#HTTPServer{{ port: {port}, earlyHints: true, scheme: #Site{{}} }} start.\n"
    );
    let mut process =
        support::Process::start(support::runnel().arg(folder.write("program.st", program)));
    process.listens(port);
    let node = "const headers = { 'sec-fetch-mode': 'navigate' };\n\
         const request = require('http').get(process.argv[1], { headers }, response => {\n\
         \x20 console.log(response.statusCode, response.headers.link);\n\
         \x20 response.resume();\n\
         });\n\
         request.on('information', early => console.log(early.statusCode, early.headers.link));";
    let said = says("node", &["-e", node, &format!("http://localhost:{port}/page")]);
    let link = "</site.css>; rel=preload";
    if let Some(said) = said {
        assert_eq!(said, format!("103 {link}\n200 {link}\n"));
    }
}

/// Streams in the encoding that takes 320 KiB each, of the least budget that a server may have.
#[test]
fn without_memory_a_stream_is_sent_as_it_is() {
    let folder = support::Folder::new();
    let port = support::free_port();
    let program = format!(
        "scheme Site {{ /wait {{ get {{ {{ :out | out println: 'a line'. runLoop runFor: 60 }} streamed }} }} }}\n\
         #HTTPServer{{ port: {port} }} → #Site{{ }}.\n"
    );
    let file = folder.write("program.st", program);
    let mut process =
        support::Process::start(support::runnel().args(["--request-memory", "16M"]).arg(file));
    process.listens(port);
    let request = b"GET /wait HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: zstd\r\n\r\n";
    let (mut open, mut compressed) = (Vec::new(), 0);
    for _ in 0..60 {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(support::PATIENCE)).unwrap();
        stream.write_all(request).unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        compressed += usize::from(head.contains("content-encoding: zstd"));
        open.push(reader);
    }
    assert!((1..=51).contains(&compressed), "{compressed}");
}
