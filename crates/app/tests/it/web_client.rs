//! Programs as clients of a real server: Node's, over HTTP/1.1 and HTTP/2, with compression, certificates, a proxy,
//! events and WebSockets (tests/programs/web-client/peer.mjs).

use crate::judges::programs;
use crate::support::{Folder, Outcome, Process, eventually, examples, run, runnel, skip};
use std::process::Command;

/// The other end, and the folder of its certificates.
struct Peer {
    _process: Process,
    folder: Folder,
    /// HTTP/1.1; HTTP/2 with TLS; HTTP/1.1 with TLS and certificates of clients; a proxy.
    ports: [u16; 4],
}

impl Peer {
    fn start() -> Option<Peer> {
        for program in ["node", "openssl"] {
            if Command::new(program).arg("version").output().is_err() {
                skip(&format!("no {program} is installed"));
                return None;
            }
        }
        let folder = Folder::new();
        // The certificate for development, as `certificate: 'local'` makes it.
        let program = "server ← #HTTPServer{ port: 0, certificate: 'local', scheme: #SiteMap{ } } start.\n\
                       server stop.";
        let made = run_in(&folder, program);
        assert_eq!(made.status, 0, "{made:?}");
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
        openssl.args([
            "-nodes",
            "-keyout",
            "me-key.pem",
            "-out",
            "me.pem",
            "-subj",
            "/CN=me",
            "-days",
            "2",
        ]);
        let made = openssl.current_dir(folder.path(".")).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        let script = programs().join("web-client/peer.mjs");
        let mut command = Command::new("node");
        let process = Process::start(command.arg(script).arg(folder.path(".")));
        eventually("the peer prints its ports", || process.out().ends_with('\n'));
        let ports: Vec<u16> =
            process.out().split_whitespace().map(|port| port.parse().unwrap()).collect();
        Some(Peer { _process: process, folder, ports: ports.try_into().unwrap() })
    }

    /// What a program prints, in which `PLAIN`, `SECURE`, `OLD` and `PROXY` stand for the ports. `say` prints what a
    /// block answers, or the message of its error.
    fn prints(&self, program: &str, lines: &[&str]) {
        let mut text = String::from(
            "say ← { :block | stdout println: (block onError: { :error | error message }) }.\n",
        );
        text.push_str(program);
        for (name, port) in ["PLAIN", "SECURE", "OLD", "PROXY"].into_iter().zip(self.ports) {
            text = text.replace(name, &format!("localhost:{port}"));
        }
        let outcome = run_in(&self.folder, &text);
        assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
        assert_eq!(outcome.out.lines().collect::<Vec<_>>(), lines);
    }

    fn port(&self, at: usize) -> u16 {
        self.ports[at]
    }
}

fn run_in(folder: &Folder, program: &str) -> Outcome {
    let file = folder.write("program.st", program);
    let mut command = runnel();
    command.arg(file).env("XDG_CONFIG_HOME", folder.path(".")).current_dir(folder.path("."));
    let mut outcome = run(&mut command);
    outcome.err = outcome.err.lines().filter(|line| !line.starts_with("serving on")).collect();
    outcome
}

const SECURE: &str =
    "scheme:s ← #HTTPStore{ base: 'https://SECURE', certificateAuthority: 'local' }.\n";

#[test]
fn packed_answers_are_decoded() {
    let Some(peer) = Peer::start() else { return };
    peer.prints(
        "say value: { http://PLAIN/packed?coding=gzip }.\n\
         say value: { http://PLAIN/packed?coding=br }.\n\
         answer ← ref:http://PLAIN/packed?coding=br fetch.\n\
         say value: { answer text }.\n\
         say value: { answer headers at: 'content-encoding' }.\n\
         asked ← ref:http://PLAIN/packed?coding=br fetch: #{ headers: #{ 'accept-encoding': 'br' } }.\n\
         say value: { asked headers at: 'content-encoding' }.\n\
         part ← ref:http://PLAIN/echo fetch: #{ headers: #{ range: 'bytes=0-3' } }.\n\
         say value: { (part json at: 'headers') at: 'accept-encoding' }.\n\
         say value: { (ref:http://PLAIN/bomb fetch) text }.\n\
         say value: { http://PLAIN/bomb }.\n\
         say value: { file:bomb ← (ref:http://PLAIN/bomb fetch) body }.\n\
         say value: { ref:file:bomb exists }.\n\
         say value: { (ref:http://PLAIN/broken fetch) text }.\n",
        &[
            "a text that is packed, packed, packed",
            "a text that is packed, packed, packed",
            "a text that is packed, packed, packed",
            "nil",
            "br",
            "nil",
            "the body of the answer has more than 67108864 bytes after it was decoded",
            "the body of the answer has more than 67108864 bytes after it was decoded",
            "put file:bomb: the body of the answer has more than 67108864 bytes after it was decoded",
            "false",
            "the body of the answer is not in the coding that it names",
        ],
    );
}

#[test]
fn http2_shares_one_connection() {
    let Some(peer) = Peer::start() else { return };
    let program = format!(
        "{SECURE}\
         say value: {{ (ref:s:echo fetch: #{{ json: #{{ a: 1 }} }}) json at: 'version' }}.\n\
         say value: {{ (ref:s:echo fetch: #{{ method: 'PUT', body: ref:file:me.pem }}) json at: 'method' }}.\n\
         say value: {{ (((1 to: 20) collect: {{ :n | {{ s:slow }} }}) concurrently) count }}.\n\
         seen ← (ref:s:seen fetch) json.\n\
         say value: {{ \"{{seen at: 'sessions'}} {{seen at: 'most'}}\" }}.\n\
         say value: {{ s:large?size=5000000 length }}.\n\
         say value: {{ (ref:s:large?size=5000000 fetch) text length }}.\n\
         unread ← (1 to: 40) collect: {{ :n | ref:http://PLAIN/large?size=2000000 fetch }}.\n\
         say value: {{ (unread at: 39) text length }}.\n\
         say value: {{ (unread at: 0) text contains: 'x' }}.\n\
         scheme:one ← #HTTPStore{{ base: 'https://SECURE', certificateAuthority: 'local', http2: false }}.\n\
         say value: {{ (ref:one:echo fetch) json at: 'version' }}.\n"
    );
    let gave_way = format!(
        "the answer of localhost:{} was not read, and gave way to another request: read it before",
        peer.port(0)
    );
    peer.prints(
        &program,
        &["2.0", "PUT", "20", "1 5", "5000000", "5000000", "2000000", &gave_way, "1.1"],
    );
}

#[test]
fn refused_streams_and_goodbyes_are_repeated() {
    let Some(peer) = Peer::start() else { return };
    let program = format!(
        "{SECURE}\
         say value: {{ s:refuse }}.\n\
         say value: {{ s:leave }}.\n\
         say value: {{ s:leave }}.\n\
         say value: {{ s:echo isNil }}.\n\
         say value: {{ {{ ref:s:dies post: 'x' }} onError: {{ :error | error kind }} }}.\n\
         say value: {{ {{ s:dies }} onError: {{ :error | error kind }} }}.\n\
         say value: {{ s:echo isNil }}.\n"
    );
    peer.prints(
        &program,
        &["taken", "leaving", "leaving", "false", "inDoubt", "unavailable", "false"],
    );
}

#[test]
fn a_client_shows_its_certificate() {
    let Some(peer) = Peer::start() else { return };
    let unknown = format!(
        "get https://localhost:{0}/me: localhost:{0} has no trustworthy secure connection: received fatal alert: \
         CertificateRequired",
        peer.port(2)
    );
    let untrusted = format!(
        "get https://localhost:{0}/me: localhost:{0} has no trustworthy secure connection: invalid peer certificate: \
         UnknownIssuer",
        peer.port(2)
    );
    peer.prints(
        "scheme:me ← #HTTPStore{ base: 'https://OLD', certificateAuthority: 'local', certificate: 'me.pem',\n\
         key: 'me-key.pem' }.\n\
         say value: { me:me }.\n\
         say value: { (ref:me:echo fetch) json at: 'version' }.\n\
         scheme:nobody ← #HTTPStore{ base: 'https://OLD', certificateAuthority: 'local' }.\n\
         say value: { nobody:me }.\n\
         say value: { https://OLD/me }.\n\
         say value: { #HTTPStore{ base: 'https://OLD', certificate: 'me.pem', key: 'runnel/local-key.pem' } }.\n\
         say value: { #HTTPStore{ base: 'https://OLD', certificate: 'me-key.pem', key: 'me-key.pem' } }.\n\
         say value: { #HTTPStore{ base: 'https://OLD', certificateAuthority: 'no.pem' } }.\n",
        &[
            "me",
            "1.1",
            &unknown,
            &untrusted,
            "the file me.pem and its key cannot be used together",
            "the file me-key.pem has no certificate in PEM",
            "get no.pem: there is no such file or directory",
        ],
    );
}

#[test]
fn a_proxy_gets_whole_addresses_and_tunnels() {
    let Some(peer) = Peer::start() else { return };
    let [plain, secure, ..] = peer.ports;
    let refused = format!(
        "get https://localhost:{secure}/echo: the proxy for localhost:{secure} answered 407"
    );
    let seen = format!("[http://localhost:{plain}/echo?a=b,Basic YWRhOnB3]");
    let tunnel = format!("localhost:{secure}");
    peer.prints(
        "scheme:p ← #HTTPStore{ base: 'http://PLAIN', proxy: 'http://ada:pw@PROXY' }.\n\
         echo ← (ref:p:echo?a=b fetch: #{ body: 'hi' }) json.\n\
         say value: { echo at: 'body' }.\n\
         scheme:s ← #HTTPStore{ base: 'https://SECURE', proxy: 'http://ada:pw@PROXY',\n\
         certificateAuthority: 'local' }.\n\
         answer ← (ref:s:echo fetch) json.\n\
         say value: { answer at: 'version' }.\n\
         say value: { (answer at: 'headers') at: 'proxy-authorization' }.\n\
         scheme:no ← #HTTPStore{ base: 'https://SECURE', proxy: 'http://PROXY', certificateAuthority: 'local' }.\n\
         say value: { no:echo }.\n\
         seen ← (ref:http://PLAIN/seen fetch) json.\n\
         say value: { (seen at: 'proxied') at: 0 }.\n\
         say value: { (seen at: 'connects') at: 0 }.\n",
        &["hi", "2.0", "nil", &refused, &seen, &tunnel],
    );
}

#[test]
fn cookies_go_to_their_host_alone() {
    let Some(peer) = Peer::start() else { return };
    peer.prints(
        "scheme:jar ← #HTTPStore{ base: 'http://PLAIN', cookies: true }.\n\
         say value: { jar:login }.\n\
         cookie ← { :answer | (answer json at: 'headers') at: 'cookie' }.\n\
         say value: { cookie value: (ref:jar:echo fetch) }.\n\
         say value: { cookie value: (ref:jar:echo fetch: #{ headers: #{ cookie: 'own=1' } }) }.\n\
         say value: { cookie value: (ref:http://PLAIN/echo fetch) }.\n",
        &["in", "sid=1; theme=dark", "own=1", "nil"],
    );
}

#[test]
fn events_continue_where_they_broke_off() {
    let Some(peer) = Peer::start() else { return };
    peer.prints(
        "told ← [].\n\
         ref:http://PLAIN/events events do: { :event | told add: \"{event id} {event name} {event data}\" }.\n\
         say value: { told }.\n\
         say value: { (((ref:http://PLAIN/seen fetch) json) at: 'events') }.\n\
         say value: { (ref:http://PLAIN/events eventsAfter: '4') do: { :event | stdout println: event }. 'over' }.\n\
         say value: { ref:http://PLAIN/echo events do: { :event | event } }.\n\
         source ← ref:http://PLAIN/events events.\n\
         count ← 0.\n\
         source do: { :event | count ← count + 1. source stop }.\n\
         say value: { count }.\n",
        &[
            "[1 tick one",
            "more,2 nil ,3 tick one",
            "more,4 nil ]",
            "[nil,2,4]",
            "over",
            &format!(
                "http://localhost:{}/echo gives no events: status 200, application/json",
                peer.port(0)
            ),
            "1",
        ],
    );
}

#[test]
fn sockets_end_with_their_codes() {
    let Some(peer) = Peer::start() else { return };
    let place = |path: &str, what: &str| {
        format!("get ws://localhost:{0}/{path}: {what}", peer.port(0))
            .replace("HOST", &format!("localhost:{}", peer.port(0)))
    };
    peer.prints(
        "socket ← ref:ws://PLAIN/closes connect.\n\
         say value: { socket next }.\n\
         say value: { socket next }.\n\
         ended ← { :one | { one closeCode isNil } whileTrue: { runLoop runFor: 0.01 }. one closeCode }.\n\
         say value: { ended value: socket }.\n\
         say value: { socket send: 'late' }.\n\
         say value: { ended value: ref:ws://PLAIN/vanishes connect }.\n\
         say value: { ended value: ref:ws://PLAIN/masks connect }.\n\
         say value: { ended value: ref:ws://PLAIN/large connect }.\n\
         say value: { ref:ws://PLAIN/unproved connect }.\n\
         say value: { ref:ws://PLAIN/extends connect }.\n\
         say value: { ref:ws://PLAIN/no connect }.\n",
        &[
            "hi",
            "nil",
            "4001",
            "false",
            "1006",
            "1002",
            "1009",
            &place("unproved", "HOST does not speak HTTP"),
            &place("extends", "HOST does not speak HTTP"),
            &place("no", "the server answered 403 Forbidden: it opens no WebSocket here"),
        ],
    );
}

#[test]
fn sockets_of_our_own_server_carry_messages_of_any_size() {
    let folder = Folder::new();
    let outcome = run_in(
        &folder,
        "scheme Chat { /echo { get { #WebSocket{ received: { :message :socket | socket send: message } } } } }\n\
         server ← #HTTPServer{ port: 0, websocketCompression: true, maxMessageSize: 3 megabytes,\n\
         scheme: #Chat{} } start.\n\
         socket ← ref:ws://127.0.0.1:{server port}/echo connect.\n\
         [ 'a', ('text ' repeated: 100000), 'ü' asData, ('bytes ' repeated: 1000) asData ] do: { :message |\n\
            socket send: message.\n\
            stdout println: socket next = message }.\n\
         stdout println: (({ socket next } timeout: 50 milliseconds onError: 'too late')).\n\
         socket send: 'still open'.\n\
         stdout println: socket next.\n\
         closed ← nil.\n\
         { ref:ws://127.0.0.1:{server port}/echo connectDo: { :other |\n\
         closed ← other. nil x } } onError: { :e | nil }.\n\
         stdout println: closed isOpen.\n\
         server stop.\n",
    );
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    let lines: Vec<_> = outcome.out.lines().collect();
    assert_eq!(lines, ["true", "true", "true", "true", "too late", "still open", "false"]);
}

#[test]
fn the_example_asks_its_own_server() {
    let outcome = run(runnel().arg(examples().join("web-client.st")));
    assert_eq!(outcome.status, 0, "{outcome:?}");
    let lines: Vec<_> = outcome.out.lines().collect();
    assert_eq!(
        lines,
        [
            "201 order 1",
            "200 \"1\" [tea]",
            "404 false no such order",
            "[\"title nil Tea\",\"file note a picture\"]",
            "1 news: tea number 1",
            "2 news: tea number 2",
            "3 news: tea number 3",
            "you said hello",
        ]
    );
}
