//! Clients that people use: curl, Python's and Node's, in both versions of HTTP, with and without TLS.

use crate::support;

use crate::support::Server;
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
