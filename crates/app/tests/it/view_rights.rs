//! Views and WebSockets whose visitor loses the right to them: they end within a second, whatever ended it, with
//! 1008 (RFC 6455 section 7.4.1). Each test waits for the end, and for no time.

use crate::live::Client;
use crate::live_client;
use crate::support::browser::Browser;
use crate::support::live_server::{LiveServer, Offer};
use crate::support::{Folder, Process, eventually, free_port, http, runnel, skip};
use serde_json::json;
use std::time::Duration;

/// A page and a WebSocket for a user, for an editor, for everybody; and paths that take a right away.
const SITE: &str = "\
class User { var <int> id. var <email unique> email. var <string> role. }
users ← ref:sqlite:site.db database table: User.
accounts ← #Accounts{ users: users, secure: false, minPasswordLength: 4 }.
scheme:model ← DictStore store.
model:n ← 0.
scheme Site {
   var accounts. var users.
   guard user { this:accounts userFor: 'read' }
   /sign-up { post public { this:accounts register: newValue parseJSON. nil } }
   /login { post public { this:accounts logIn: newValue parseJSON. nil } }
   /logout { post { this:accounts logOut. nil } }
   /everywhere { post { this:accounts logOutEverywhere: user. nil } }
   /password { post { this:accounts setPassword: 'another' of: user. this:accounts logOutEverywhere: user. nil } }
   /gone { post { this:users removeAt: user id. nil } }
   /demote { post { this:users at: user id merge: #{ role: 'reader' }. nil } }
   /key { post { this:accounts createKey: #{ name: 'ci', scopes: [ 'read' ] } for: user } }
   /unkey { post { this:accounts removeKey: (((this:accounts keysOf: user) at: 0) at: 'id') of: user. nil } }
   /page { get { #html[ #body[ #p[ ref:model:n ], #p[ user email ] ] ] } }
   /edit { get for: { user role = 'editor' } { #html[ #body[ #p[ ref:model:n ] ] ] } }
   /socket { get { #WebSocket{ received: { :text :socket | socket send: text , user email } } } }
   /open { get public { #html[ #body[ #p[ ref:model:n ], #button{ click: { model:n += 1 } }[ 'x' ] ] ] } }
   /n { get public { model:n } }
}
";

struct Site {
    port: u16,
    _process: Process,
    folder: Folder,
}

impl Site {
    fn start(options: &[&str]) -> Site {
        Site::start_behind("", options)
    }

    /// With combinators in front of the scheme.
    fn start_behind(front: &str, options: &[&str]) -> Site {
        let folder = Folder::new();
        let port = free_port();
        let program = format!(
            "{SITE}#HTTPServer{{ port: {port}, accessLog: 'json', accessLogTo: 'access.log' }} → {front} \
             #Site{{ accounts: accounts, users: users }}.\n"
        );
        let file = folder.write("site.st", program);
        let mut process =
            Process::start(runnel().args(options).arg(file).current_dir(folder.path("")));
        process.listens(port);
        let site = Site { port, _process: process, folder };
        assert_eq!(site.post("/sign-up", "", &user("ann")).status, 204);
        site
    }

    fn post(&self, path: &str, cookie: &str, body: &str) -> http::Reply {
        let headers = [("Cookie", cookie), ("Content-Type", "text/plain")];
        http::send(self.port, "POST", path, &headers, body.as_bytes()).unwrap()
    }

    fn log_in(&self) -> String {
        let reply = self.post("/login", "", &user("ann"));
        let cookie = reply.header("set-cookie").unwrap_or_else(|| panic!("{reply:?}"));
        cookie.split(';').next().unwrap().to_string()
    }

    /// Opens a live page, and waits for its first frame.
    fn view(&self, path: &str, headers: &str) -> Client {
        let headers = format!("Sec-WebSocket-Protocol: live.runnel\r\n{headers}");
        let mut client = Client::open_with(self.port, path, &headers);
        client.say(r#"["hello",null,0,""]"#);
        token_of(&mut client);
        client
    }
}

fn user(name: &str) -> String {
    format!(r#"{{"email":"{name}@example.org","password":"correct","role":"editor"}}"#)
}

fn cookie_line(cookie: &str) -> String {
    format!("Cookie: {cookie}\r\n")
}

/// The token of a view in its first frame.
fn token_of(client: &mut Client) -> String {
    let frame = String::from_utf8(client.next().1).unwrap();
    let (_, rest) = frame.split_once(r#""view":""#).unwrap_or_else(|| panic!("{frame}"));
    rest.split('"').next().unwrap().to_string()
}

/// Waits for the end of a connection, past what it still sends.
fn ends(mut client: Client, what: &str) {
    loop {
        let (operation, payload) = client.next();
        if operation == 8 {
            let code = u16::from_be_bytes([payload[0], payload[1]]);
            return assert_eq!(code, 1008, "{what}");
        }
    }
}

/// Paths of a user that end the right to a page.
const ENDS: &[(&str, &str)] = &[
    ("/logout", "/page"),
    ("/everywhere", "/page"),
    ("/password", "/page"),
    ("/gone", "/page"),
    ("/demote", "/edit"),
];

fn each_end_ends_its_views(options: &[&str]) {
    for (path, page) in ENDS {
        let site = Site::start(options);
        let cookie = site.log_in();
        let line = cookie_line(&cookie);
        let (view, other) = (site.view(page, &line), site.view(page, &line));
        let mut socket = Client::open_with(site.port, "/socket", &line);
        socket.say("I am ");
        socket.hears("I am ann@example.org");
        assert_eq!(site.post(path, &cookie, "").status, 204, "{path}");
        ends(view, path);
        ends(other, path);
        if *page == "/page" {
            ends(socket, path);
        }
    }
}

#[test]
fn views_and_sockets_end_with_their_session_user_and_right() {
    each_end_ends_its_views(&[]);
}

#[test]
fn views_and_sockets_end_on_each_worker() {
    each_end_ends_its_views(&["--workers", "2"]);
}

/// Longer than a view is not asked.
const ASKED: Duration = Duration::from_millis(1500);

/// A page and a WebSocket that have their right are still open after they were asked again.
fn stay(mut view: Client, mut socket: Client, what: &str) -> (Client, Client) {
    std::thread::sleep(ASKED);
    socket.say("I am ");
    socket.hears("I am ann@example.org");
    view.say(r#"[1,"9","click",null]"#);
    let (operation, frame) = view.next();
    let frame = String::from_utf8_lossy(&frame).into_owned();
    assert!(operation == 1 && frame.contains(r#""ack":1"#), "{what}: {operation} {frame}");
    (view, socket)
}

#[test]
fn views_and_sockets_stay_while_they_have_their_right() {
    let site = Site::start(&[]);
    let cookie = site.log_in();
    let key = site.post("/key", &cookie, "").text();
    let key = format!("X-API-Key: {}\r\n", key.trim_matches('"'));
    for line in [cookie_line(&cookie), key] {
        let socket = Client::open_with(site.port, "/socket", &line);
        stay(site.view("/page", &line), socket, &line);
    }
}

#[test]
fn a_view_of_an_api_key_ends_with_the_key() {
    let site = Site::start(&[]);
    let cookie = site.log_in();
    let key = site.post("/key", &cookie, "").text();
    let view = site.view("/page", &format!("X-API-Key: {}\r\n", key.trim_matches('"')));
    assert_eq!(site.post("/unkey", &cookie, "").status, 204);
    ends(view, "a removed key");
}

/// A guard who lets in those who log in, and users.
const GUARD: &str = "#Guard{ block: { :path |
   (path = '/login') or: { (path = '/sign-up') or: { accounts user } } } } →";

#[test]
fn a_guard_in_front_is_asked_again() {
    for front in [GUARD.to_string(), format!("{GUARD} #Headers{{ }} →")] {
        let site = Site::start_behind(&front, &[]);
        let cookie = site.log_in();
        let line = cookie_line(&cookie);
        let socket = Client::open_with(site.port, "/socket", &line);
        let (view, socket) = stay(site.view("/open", &line), socket, &front);
        assert_eq!(site.post("/logout", &cookie, "").status, 204);
        ends(view, &front);
        ends(socket, &front);
    }
}

#[test]
fn a_token_acts_for_the_visitor_who_opened_its_view() {
    let site = Site::start(&[]);
    let cookie = site.log_in();
    let event = |token: &str, cookie: &str| {
        let headers = [
            ("Cookie", cookie),
            ("Content-Type", "application/vnd.runnel.event+json"),
            ("Runnel-View", token),
        ];
        let body = br#"[1,"2","click",null]"#;
        http::send(site.port, "POST", "/open", &headers, body).unwrap().status
    };
    let open = |headers: &str| {
        let headers = format!("Sec-WebSocket-Protocol: live.runnel\r\n{headers}");
        let mut client = Client::open_with(site.port, "/open", &headers);
        client.say(r#"["hello",null,0,""]"#);
        let token = token_of(&mut client);
        (client, token)
    };
    let (_anonymous, token) = open("");
    assert_eq!(event(&token, ""), 204, "a view of an anonymous visitor lives by its token");
    assert_eq!(event(&token, &cookie), 401, "an anonymous view is not of this session");
    let (_own, token_of_ann) = open(&cookie_line(&cookie));
    assert_eq!(event(&token_of_ann, ""), 401, "the token alone acts for nobody");
    assert_eq!(event(&token_of_ann, &cookie), 204);
    assert_eq!(http::get(site.port, "/n").text(), "2");
    let log = || std::fs::read_to_string(site.folder.path("access.log")).unwrap();
    eventually("the log has the last request", || log().contains(r#""target":"/n""#));
    let log = log();
    assert!(log.contains(r#""target":"/open""#), "{log}");
    for token in [token, token_of_ann] {
        assert!(!log.contains(&token), "{log}");
    }
}

#[test]
fn a_view_that_has_ended_loads_its_page_again() {
    let Some((browser, server)) = live_client::start("<p id=p><!--[1-->secret<!--]--></p>") else {
        return;
    };
    server.show("<p id=p>log in</p>");
    server.close(1008);
    live_client::shows(&browser, "document.getElementById('p').textContent", json!("log in"));
}

#[test]
fn a_view_whose_right_ended_without_a_connection_loads_its_page_again() {
    let browser = match Browser::start() {
        Ok(browser) => browser,
        Err(reason) => return skip(&reason),
    };
    let server = LiveServer::start("<p id=p><!--[1-->secret<!--]--></p>");
    server.offer(Offer::Events);
    browser.open(&server.address());
    server.begin("v1");
    server.show("<p id=p>log in</p>");
    server.offer(Offer::Unauthorized);
    server.cut();
    live_client::shows(&browser, "document.getElementById('p').textContent", json!("log in"));
}
