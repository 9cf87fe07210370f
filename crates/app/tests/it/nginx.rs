//! Two instances behind nginx, which runs with the configuration of `docs/deploy.md`.

use crate::support;

use crate::support::http::{Connection, Reply, raw, until};
use crate::support::{Folder, Process, eventually, free_port, runnel};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// The configuration as the page has it, with a port, places and files of ours.
fn configuration(folder: &Folder, port: u16, upstream: u16, socket: &Path) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deploy.md");
    let page = std::fs::read_to_string(page).unwrap();
    let site = page.split("```nginx\n").nth(1).unwrap().split("```").next().unwrap();
    let mut site = site.to_string();
    for (theirs, ours) in [
        ("listen 443 ssl http2;", format!("listen 127.0.0.1:{port};")),
        ("ssl_certificate /etc/ssl/site.pem;", String::new()),
        ("ssl_certificate_key /etc/ssl/site.key;", String::new()),
        ("127.0.0.1:8082", format!("127.0.0.1:{upstream}")),
        ("unix:/run/site/site.sock", format!("unix:{}", socket.display())),
    ] {
        assert_eq!(site.matches(theirs).count(), 1, "`{theirs}` in the page");
        site = site.replace(theirs, &ours);
    }
    let at = |name: &str| folder.path(name).display().to_string();
    let own: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {};\n", at(name)))
        .concat();
    // One process, so that none is left over when it is killed.
    format!(
        "daemon off;\nmaster_process off;\npid {};\nerror_log stderr;\n\
         events {{ worker_connections 64; }}\nhttp {{\naccess_log off;\n{own}{site}}}\n",
        at("nginx.pid")
    )
}

/// A program that says who it is, at a port or a socket.
fn instance(folder: &Folder, name: &str, place: &str, trusted: &str) -> Process {
    let text = format!(
        "scheme Site {{
           /who {{ get {{ #{{ name: '{name}', peer: request:peer, id: request:id,
             proto: header:x-forwarded-proto, for: header:x-forwarded-for, host: header:host }} }} }}
           /echo {{ get {{ #WebSocket{{ received: {{ :message :socket | socket send: message }} }} }} }}
           /events {{ get {{ {{ :events | events writeObject: 'first'. runLoop runFor: 30 }} asEvents }} }}
         }}
         #HTTPServer{{ {place}, trustedProxies: [ {trusted} ], requestIds: true }} → #Site{{}}.\n"
    );
    let file = folder.write(&format!("{name}.st"), text);
    Process::start(runnel().arg(file))
}

fn nginx() -> Option<&'static str> {
    let found = ["nginx", "/usr/sbin/nginx"];
    found.into_iter().find(|name| Command::new(name).arg("-v").output().is_ok())
}

fn who(connection: &mut Connection, headers: &[(&str, &str)]) -> Reply {
    connection.ask("GET", "/who", headers, b"").unwrap();
    connection.answer("GET").unwrap()
}

#[test]
fn two_instances_stand_behind_nginx() {
    let Some(nginx) = nginx() else { return support::skip("nginx is not installed") };
    let (folder, port, upstream) = (Folder::new(), free_port(), free_port());
    let socket = folder.path("site.sock");
    let mut first = instance(&folder, "first", &format!("port: {upstream}"), "'127.0.0.1'");
    let place = format!("socket: '{}', socketMode: '666'", socket.display());
    let mut second = instance(&folder, "second", &place, "'unix:'");
    first.listens(upstream);
    eventually("the socket is there", || socket.exists() && second.is_running());
    let file = folder.write("nginx.conf", configuration(&folder, port, upstream, &socket));
    let prefix = folder.path("");
    let mut proxy = Process::start(Command::new(nginx).arg("-p").arg(&prefix).arg("-c").arg(&file));
    proxy.listens(port);

    // Both answer, and are told where requests come from.
    let mut connection = Connection::open(port).unwrap();
    let claims = [("X-Forwarded-For", "6.6.6.6"), ("X-Request-Id", "mine")];
    let mut names = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let reply = who(&mut connection, &claims);
        assert_eq!(reply.status, 200, "{}", reply.text());
        let seen = reply.json();
        let text = |name: &str| seen[name].as_str().unwrap().to_string();
        names.insert(text("name"));
        // The first believes everybody on this machine, and so the client too.
        let peer = if text("name") == "first" { "6.6.6.6" } else { "127.0.0.1" };
        assert_eq!(text("peer"), peer);
        assert_eq!((text("proto"), text("host")), ("http".into(), "localhost".into()));
        assert_eq!(text("for"), "6.6.6.6, 127.0.0.1");
        let id = text("id");
        assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        assert_eq!(reply.header("x-request-id"), Some(id.as_str()));
    }
    assert_eq!(Vec::from_iter(names), ["first", "second"]);

    for _ in 0..2 {
        let mut events = raw(port, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let heard = until(&mut events, "data: first\n\n");
        assert!(heard.starts_with("HTTP/1.1 200 "), "{heard}");
        let upgrade = "GET /echo HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n\
                       Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        let mut client = raw(port, upgrade);
        let head = until(&mut client, "\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        // Masked with nothing; answers are not masked.
        client.write_all(b"\x81\x82\0\0\0\0hi").unwrap();
        assert!(until(&mut client, "hi").ends_with("\u{2}hi"));
    }

    // One of the two goes away: the other answers everything.
    first.signal("TERM");
    assert_eq!(first.outcome().status, 0);
    for _ in 0..10 {
        assert_eq!(who(&mut connection, &[]).json()["name"], "second");
    }
    second.signal("TERM");
    assert_eq!(second.outcome().status, 0);
    assert!(!socket.exists());
}
