//! `#Proxy{ }` in front of programs that people run: of this language, of Node and of Python, while they
//! restart, and while the proxy itself does.
//!
//! `RUNNEL_PROXY=full` restarts an upstream 100 times: `.ci/soak proxy`.

use crate::support;

use crate::support::http::{Connection, get, raw, send, until};
use crate::support::load::{Client, Load};
use crate::support::{Folder, Process, Server, eventually, examples, free_port, runnel};
use std::io::{Read, Write};
use std::process::Command;
use std::time::Duration;

const APP: &str = "#-<void>serve:<int>port name:name
    scheme Site {
      var name.
      /name { get { this:name } }
      /echo { get { #WebSocket{ received: { :message :socket | socket send: message }} } }
      /events { get { { :events | events writeObject: 'first'. runLoop runFor: 30 } asEvents } }
    }
    #HTTPServer{ port: port } → #Site{ name: name }.\n";

/// An upstream of the language at a port of its own.
fn app(folder: &Folder, port: u16, name: &str) -> Process {
    let file = folder.write("app.st", APP);
    let mut process = Process::start(runnel().arg(file).arg(port.to_string()).arg(name));
    process.listens(port);
    process
}

/// A proxy to these ports.
fn proxy(ports: &[u16], options: &str) -> Server {
    let to = ports.iter().map(|port| format!("'http://127.0.0.1:{port}'")).collect::<Vec<_>>();
    let program = format!(
        "#-<void>serve:<int>port\n#HTTPServer{{ port: port }} → #Proxy{{ to: [ {} ]{options} }}.\n",
        to.join(", ")
    );
    Server::start(&program, &[])
}

#[test]
fn a_restart_of_an_upstream_loses_no_request() {
    let restarts =
        if std::env::var("RUNNEL_PROXY").is_ok_and(|mode| mode == "full") { 100 } else { 3 };
    let (folder, ports) = (Folder::new(), [free_port(), free_port()]);
    let _stays = app(&folder, ports[0], "stays");
    let mut restarted = app(&folder, ports[1], "restarted");
    let server = proxy(&ports, ", failTimeout: 0.2 seconds");
    let client = |keeps| Client {
        target: "/name",
        keeps,
        pause: Duration::from_millis(1),
        ends_when_refused: false,
    };
    let load = Load::on(server.port, [client(true), client(true), client(true), client(false)]);
    for number in 0..restarts {
        load.goes_on(50);
        if number % 2 == 0 {
            restarted.signal("TERM");
            restarted.outcome();
        } else {
            // Killed: it closes connections within requests.
            restarted.signal("KILL");
            restarted.outcome();
        }
        load.goes_on(50);
        restarted = app(&folder, ports[1], "restarted");
        eventually("it gets requests again", || get(server.port, "/name").text() == "restarted");
    }
    assert_eq!(load.failures(), Vec::<String>::new());
}

#[test]
fn upstreams_with_tls_are_verified() {
    let (folder, port) = (Folder::new(), free_port());
    let settings = |command: &mut Command| {
        command.env("XDG_CONFIG_HOME", folder.path(".")).current_dir(folder.path("."));
    };
    let program = |options: &str| {
        format!(
            "#-<void>serve:<int>port\n#HTTPServer{{ port: port }} → \
             #Proxy{{ to: 'https://localhost:{port}', retries: 0{options} }}.\n"
        )
    };
    let file =
        folder.write("app.st", APP.replace("port: port }", "port: port, certificate: 'local' }"));
    let mut command = runnel();
    settings(command.arg(file).arg(port.to_string()).arg("secure"));
    let mut upstream = Process::start(&mut command);
    upstream.listens(port);
    for (options, status) in [(", certificateAuthority: 'local'", 200), ("", 502)] {
        let file = folder.write("proxy.st", program(options));
        let (mut command, port) = (runnel(), free_port());
        settings(command.arg(file).arg(port.to_string()));
        let mut process = Process::start(&mut command);
        process.listens(port);
        let reply = get(port, "/name");
        assert_eq!(reply.status, status, "{options}: {}", process.err());
        assert!(status != 200 || reply.text() == "secure");
    }
}

#[test]
fn the_example_relays_to_both_of_its_servers() {
    let outcome = support::run(runnel().arg(examples().join("proxy.st")));
    assert_eq!(outcome.status, 0, "{outcome:?}");
    let hello = |name: &str| format!("{name} for shop.example from 127.0.0.1\n");
    let alternate = hello("one") + &hello("two");
    let rest = "one got a lamp\nHello World!\n";
    assert_eq!(outcome.out, alternate + rest + &hello("two").repeat(3));
}

#[test]
fn sockets_and_events_pass_and_end_with_the_proxy() {
    let (folder, port) = (Folder::new(), free_port());
    let _app = app(&folder, port, "app");
    let server = proxy(&[port], "");
    let mut events = raw(server.port, "GET /events HTTP/1.1\r\nHost: t\r\n\r\n");
    assert!(until(&mut events, "data: first\n\n").starts_with("HTTP/1.1 200 "));
    let upgrade = "GET /echo HTTP/1.1\r\nHost: t\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let mut socket = raw(server.port, upgrade);
    assert!(until(&mut socket, "\r\n\r\n").starts_with("HTTP/1.1 101 "));
    socket.write_all(b"\x81\x82\0\0\0\0hi").unwrap();
    assert!(until(&mut socket, "hi").ends_with("\u{2}hi"));
    server.process.signal("TERM");
    assert_eq!(server.process.outcome().status, 0);
    let mut rest = Vec::new();
    let _ = socket.read_to_end(&mut rest);
    let _ = events.read_to_end(&mut rest);
}

#[test]
fn a_new_version_of_the_proxy_loses_no_request() {
    let (folder, ports) = (Folder::new(), [free_port(), free_port()]);
    let _app = app(&folder, ports[0], "app");
    let text = |number: u32| {
        format!(
            "#HTTPServer{{ port: {} }} → #Headers{{ set: #{{ 'X-Version': '{number}' }} }} → \
             #Proxy{{ to: 'http://127.0.0.1:{}' }}.\n",
            ports[1], ports[0]
        )
    };
    let file = folder.write("proxy.st", text(0));
    let mut proxy = Process::start(runnel().arg("--supervise").arg(&file));
    proxy.listens(ports[1]);
    let client = Client {
        target: "/name",
        keeps: true,
        pause: Duration::from_millis(1),
        ends_when_refused: false,
    };
    let load = Load::on(ports[1], [client, Client { keeps: false, ..client }]);
    for number in 1..=2 {
        load.goes_on(50);
        folder.write("proxy.st", text(number));
        proxy.signal("HUP");
        let version = || get(ports[1], "/name").header("x-version").map(str::to_string);
        eventually("the new version answers", || version() == Some(number.to_string()));
    }
    assert_eq!(load.failures(), Vec::<String>::new());
}

const NODE: &str = "const http = require('http');
    http.createServer((request, response) => {
      let length = 0;
      request.on('data', piece => length += piece.length);
      request.on('end', () => {
        response.setHeader('Set-Cookie', ['a=1', 'b=2']);
        response.end(JSON.stringify([request.method, request.url, request.headers['x-forwarded-for'], length]));
      });
    }).listen(+process.argv[1], '127.0.0.1');";

const PYTHON: &str = "import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'from Python')
http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()";

#[test]
fn servers_of_node_and_python_stand_behind_it() {
    for (command, option, program) in [("node", "-e", NODE), ("python3", "-c", PYTHON)] {
        if Command::new(command).arg("--version").output().is_err() {
            support::skip(&format!("{command} is not installed"));
            continue;
        }
        let port = free_port();
        let mut upstream =
            Process::start(Command::new(command).args([option, program, &port.to_string()]));
        upstream.listens(port);
        let server = proxy(&[port], "");
        let mut connection = Connection::open(server.port).unwrap();
        if command == "python3" {
            // HTTP/1.0 without a length: the content ends with the connection.
            for _ in 0..3 {
                assert_eq!(connection.send("GET", "/", b"").unwrap().text(), "from Python");
            }
            continue;
        }
        let content = vec![b'x'; 1_000_000];
        for method in ["PUT", "POST"] {
            let reply = connection.send(method, "/a%20b?c", &content).unwrap();
            let seen = serde_json::json!([method, "/a%20b?c", "127.0.0.1", 1_000_000]);
            assert_eq!(reply.json(), seen);
            assert_eq!(reply.header("set-cookie"), Some("a=1"));
        }
        let reply =
            send(server.port, "DELETE", "/", &[("X-Forwarded-For", "6.6.6.6")], b"").unwrap();
        assert_eq!(reply.json()[2], "127.0.0.1");
    }
}

#[test]
fn a_unix_socket_and_a_figure_for_each_upstream() {
    let folder = Folder::new();
    let socket = folder.path("app.sock");
    let text =
        format!("#HTTPServer{{ socket: '{}' }} → #SiteMap{{ hi: 'Hello' }}.\n", socket.display());
    let file = folder.write("app.st", text);
    let mut app = Process::start(runnel().arg(file));
    eventually("the socket is there", || socket.exists() && app.is_running());
    let admin = free_port();
    let program = format!(
        "#-<void>serve:<int>port\n#HTTPServer{{ port: port, admin: {admin} }} → \
         #Proxy{{ to: 'unix:{}' }}.\n",
        socket.display()
    );
    let server = Server::start(&program, &[]);
    assert_eq!(server.get("/hi").text(), "Hello");
    assert_eq!(server.get("/no").status, 404);
    let figures = get(admin, "/metrics").text();
    let line = format!("_requests_total{{host=\"{}\"}} 2", socket.display());
    assert!(figures.contains(&line), "{figures}");
}
