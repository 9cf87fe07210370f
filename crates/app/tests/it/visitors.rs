//! Random sequences of what two users and an anonymous visitor do, compared with a model of who may see what: each
//! visitor gets its own answers alone, through every layer between a client and its handler.
//!
//! `RUNNEL_SEQUENCES` is the number of sequences, `RUNNEL_SEED` the first one.

use crate::support::http::{self, Connection, Reply};
use crate::support::{Folder, Process, free_port, runnel};
use std::collections::HashMap;

/// Actions of a sequence.
const STEPS: usize = 12;

/// Everything that keeps or passes on answers stands in front of one site, each on a port of its own.
const SITE: &str = "\
class User { var <int> id. var <email unique> email. var <string> role. }
database ← ref:sqlite:site.db database.
users ← database table: User.
accounts ← #Accounts{ users: users, secure: false }.
accounts register: #{ email: 'ann@example.org', password: 'correct horse', role: 'reader' }.
accounts register: #{ email: 'bob@example.org', password: 'correct horse', role: 'reader' }.
scheme:model ← DictStore store.
model:clicks ← ''.
scheme Site {
   var accounts. var users.
   guard user closed { this:accounts user }
   /login/:<int>id { post public { this:accounts logInAs: (this:users at: id). 'in' } }
   /logout { post public { this:accounts logOut. 'out' } }
   /everywhere { post any { this:accounts logOutEverywhere: user. 'out' } }
   /role/:<int>id/:role { post public { this:users at: id merge: #{ role: role }. 'changed' } }
   /clicks { get public { model:clicks } delete public { model:clicks ← '' } }
   /open { get public { 'open' } }
   /me { get any { user email } }
   /mine { get public { (this:accounts user) isNil ifTrue: { 'nobody' } ifFalse: { (this:accounts user) email } } }
   /edit { get for: { user role = 'editor' } { \"edit {user email}\" }
           post for: { user role = 'editor' } { \"edited {user email}\" } }
   /note { post any { \"noted {user email}\" } }
   /seen { post public { (this:accounts user) isNil ifTrue: { 'nobody' } ifFalse: { (this:accounts user) email } } }
   /page { get any { #html[ #body[ #p[ user email ], #button{ click: { model:clicks ← user email } }[ 'x' ] ] ] } }
}
";

/// The ports of a program, and what each stands for.
struct Ports {
    cache: u16,
    proxy: u16,
    idempotent: u16,
}

/// A generator of numbers (xorshift64*), so that a sequence can be run again by its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % end
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// A session as its browser knows it: the cookie outlives the session.
#[derive(Clone, PartialEq)]
struct Session {
    cookie: String,
    user: usize,
    is_open: bool,
}

/// A view that a visitor has opened.
struct View {
    token: String,
    /// The number of its session.
    session: usize,
}

const NAMES: [&str; 2] = ["ann@example.org", "bob@example.org"];

/// The model: what is known of each visitor, and the site with its connections.
struct Model<'a> {
    ports: &'a Ports,
    connections: HashMap<u16, Connection>,
    sessions: Vec<Session>,
    is_editor: [bool; 2],
    views: Vec<View>,
    log: Vec<String>,
    events: u32,
    /// Events that ran.
    clicks: u32,
}

impl Model<'_> {
    fn send(
        &mut self,
        port: u16,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let connection =
            self.connections.entry(port).or_insert_with(|| Connection::open(port).unwrap());
        connection.ask(method, path, headers, body.as_bytes()).unwrap();
        let reply = connection.answer(method).unwrap();
        self.log.push(format!(
            "{method} {port}{path} {headers:?} → {} {}",
            reply.status,
            reply.text()
        ));
        reply
    }

    fn complain(&self, what: &str) -> ! {
        panic!("{what}\n{}", self.log.join("\n"));
    }

    /// A visitor: the number of a session, open or over; `None` is anonymous.
    fn visitor(&self, random: &mut Random) -> Option<usize> {
        let number = random.below(self.sessions.len() + 1);
        (number < self.sessions.len()).then_some(number)
    }

    /// The user that a visitor is now.
    fn user(&self, visitor: Option<usize>) -> Option<usize> {
        let session = &self.sessions[visitor?];
        session.is_open.then_some(session.user)
    }

    fn as_visitor(
        &mut self,
        port: u16,
        method: &str,
        path: &str,
        visitor: Option<usize>,
        key: Option<&str>,
    ) -> Reply {
        let cookie = visitor.map(|number| self.sessions[number].cookie.clone());
        let cookie = cookie.iter().map(|cookie| ("Cookie", cookie.as_str()));
        let headers: Vec<_> = cookie.chain(key.map(|key| ("Idempotency-Key", key))).collect();
        self.send(port, method, path, &headers, "")
    }

    fn log_in(&mut self, user: usize) {
        let path = format!("/login/{}", user + 1);
        let reply = self.send(self.ports.cache, "POST", &path, &[], "");
        let cookie = reply.header("set-cookie").and_then(|cookie| cookie.split(';').next());
        let Some(cookie) = cookie else { self.complain("no session") };
        self.sessions.push(Session { cookie: cookie.to_string(), user, is_open: true });
    }

    fn log_out(&mut self, random: &mut Random) {
        let visitor = self.visitor(random);
        let (Some(number), Some(user)) = (visitor, self.user(visitor)) else { return };
        let path = random.of(&["/logout", "/everywhere"]);
        let port = random.of(&[self.ports.cache, self.ports.proxy, self.ports.idempotent]);
        self.as_visitor(port, "POST", path, Some(number), None);
        for (at, session) in self.sessions.iter_mut().enumerate() {
            session.is_open &= !(at == number || path == "/everywhere" && session.user == user);
        }
    }

    fn change_right(&mut self, random: &mut Random) {
        let user = random.below(2);
        self.is_editor[user] = !self.is_editor[user];
        let role = if self.is_editor[user] { "editor" } else { "reader" };
        self.send(self.ports.cache, "POST", &format!("/role/{}/{role}", user + 1), &[], "");
    }

    /// Compares an answer with the one that a handler has for this visitor.
    fn expect(&self, path: &str, user: Option<usize>, reply: &Reply) {
        let (status, text) = match (path, user) {
            ("/open", _) => (200, "open".to_string()),
            ("/mine" | "/seen", None) => (200, "nobody".to_string()),
            (_, None) => (401, String::new()),
            ("/edit" | "/edit+", Some(user)) if !self.is_editor[user] => (403, String::new()),
            ("/edit", Some(user)) => (200, format!("edit {}", NAMES[user])),
            ("/edit+", Some(user)) => (200, format!("edited {}", NAMES[user])),
            ("/note", Some(user)) => (200, format!("noted {}", NAMES[user])),
            (_, Some(user)) => (200, NAMES[user].to_string()),
        };
        if reply.status != status || status == 200 && reply.text() != text {
            self.complain(&format!("{path}: {status} {text} was expected"));
        }
    }

    fn read(&mut self, random: &mut Random) {
        let (visitor, path) =
            (self.visitor(random), random.of(&["/open", "/me", "/mine", "/edit"]));
        let port = random.of(&[self.ports.cache, self.ports.proxy, self.ports.idempotent]);
        let reply = self.as_visitor(port, "GET", path, visitor, None);
        self.expect(path, self.user(visitor), &reply);
    }

    fn repeat(&mut self, random: &mut Random, name: usize) {
        let (visitor, path) = (self.visitor(random), random.of(&["/note", "/edit", "/seen"]));
        let key = format!("{path}-{name}-{}", random.below(2));
        let reply = self.as_visitor(self.ports.idempotent, "POST", path, visitor, Some(&key));
        let ended = visitor.is_some_and(|number| !self.sessions[number].is_open);
        if path == "/seen" && ended {
            // A new request of an ended session is one of an anonymous visitor, a repeated one is refused.
            let is_right = reply.status == 401 || reply.text() == "nobody";
            if !is_right {
                self.complain("an answer of an ended session");
            }
            return;
        }
        self.expect(if path == "/edit" { "/edit+" } else { path }, self.user(visitor), &reply);
    }

    /// Opens a view, or resumes one of any visitor.
    fn open_view(&mut self, random: &mut Random) {
        let visitor = self.visitor(random);
        let again = (!self.views.is_empty() && random.below(2) == 0)
            .then(|| random.below(self.views.len()));
        let hello = match again {
            Some(view) => format!("[\"hello\",\"{}\",1,\"x\"]", self.views[view].token),
            None => "[\"hello\",null,0,\"\"]".to_string(),
        };
        let cookie = visitor.map(|number| format!("Cookie: {}\r\n", self.sessions[number].cookie));
        let mut stream = http::raw(
            self.ports.proxy,
            &format!(
                "GET /page HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nRunnel-Live: {hello}\r\n{}\r\n",
                cookie.unwrap_or_default()
            ),
        );
        let head = http::until(&mut stream, "\r\n\r\n");
        let user = self.user(visitor);
        self.log.push(format!(
            "view {hello} of {visitor:?} {user:?} → {}",
            head.lines().next().unwrap_or_default()
        ));
        let Some(user) = user else {
            if head.contains(" 200 ") {
                self.complain("a view without a session");
            }
            return;
        };
        let frame = http::until(&mut stream, "\n\n");
        self.log.push(frame.clone());
        if frame.contains(NAMES[1 - user]) {
            self.complain("a view shows another user");
        }
        if let Some(at) = frame.find("\"view\":\"") {
            let token = frame[at + 8..].split('"').next().unwrap_or_default().to_string();
            self.views.push(View { token, session: visitor.unwrap_or_default() });
        } else if again.is_some_and(|view| Some(self.views[view].session) != visitor) {
            self.complain("a view of another session was resumed");
        }
    }

    fn event(&mut self, random: &mut Random) {
        if self.views.is_empty() {
            return;
        }
        let (view, visitor) = (random.below(self.views.len()), self.visitor(random));
        self.send(self.ports.cache, "DELETE", "/clicks", &[], "");
        let cookie = visitor.map(|number| self.sessions[number].cookie.clone());
        let (token, session) = (self.views[view].token.clone(), self.views[view].session);
        let mut headers = vec![
            ("Content-Type", "application/vnd.runnel.event+json"),
            ("Runnel-View", token.as_str()),
        ];
        headers.extend(cookie.iter().map(|cookie| ("Cookie", cookie.as_str())));
        self.events += 1;
        let event = format!("[{},\"1\",\"click\",null]", self.events);
        self.send(self.ports.proxy, "POST", "/page", &headers, &event);
        let clicks = self.send(self.ports.cache, "GET", "/clicks", &[], "").text();
        let may = visitor == Some(session) && self.sessions[session].is_open;
        self.clicks += u32::from(!clicks.is_empty());
        let own = self.user(visitor).map(|user| NAMES[user]);
        if clicks != own.filter(|_| may).unwrap_or_default() {
            self.complain(&format!(
                "an event of {visitor:?} on the view of {session} ran as {clicks}"
            ));
        }
    }
}

fn run(ports: &Ports, seed: u64) -> u32 {
    let random = &mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (connections, log) = (HashMap::new(), vec![format!("seed {seed}")]);
    let (sessions, views) = (Vec::new(), Vec::new());
    let mut model = Model {
        ports,
        connections,
        sessions,
        is_editor: [false; 2],
        views,
        log,
        events: 0,
        clicks: 0,
    };
    for user in 1..=2 {
        model.send(ports.cache, "POST", &format!("/role/{user}/reader"), &[], "");
    }
    model.log_in(0);
    model.log_in(1);
    for _ in 0..STEPS {
        match random.below(16) {
            0 => model.log_in(random.below(2)),
            1 | 2 => model.log_out(random),
            3 | 4 => model.change_right(random),
            5..=8 => model.read(random),
            9 | 10 => model.repeat(random, seed as usize),
            11 | 12 => model.open_view(random),
            _ => model.event(random),
        }
    }
    model.clicks
}

#[test]
fn no_answer_of_one_visitor_reaches_another() {
    let number =
        |name: &str, usual| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let (count, first): (u64, u64) = (number("RUNNEL_SEQUENCES", 1_000), number("RUNNEL_SEED", 1));
    let folder = Folder::new();
    let ports = Ports { cache: free_port(), proxy: free_port(), idempotent: free_port() };
    let Ports { cache, proxy, idempotent } = ports;
    let site = "#Site{ accounts: accounts, users: users }";
    let file = folder.write(
        "site.st",
        format!(
            "{SITE}(#HTTPServer{{ port: {cache} }} → \
             #Cache{{ ttl: 1 hour, staleWhileRevalidate: 1 hour, staleIfError: 1 hour }} → {site}) start.\n\
             (#HTTPServer{{ port: {idempotent} }} → #Idempotent{{ database: database }} → {site}) start.\n\
             #HTTPServer{{ port: {proxy} }} → #Proxy{{ to: 'http://127.0.0.1:{cache}' }}.\n"
        ),
    );
    let mut process = Process::start(runnel().current_dir(folder.path("")).arg(file));
    process.listens(proxy);
    let clicks: u32 = (first..first + count).map(|seed| run(&ports, seed)).sum();
    println!("| sequences | {count} |\n| events that ran | {clicks} |");
    assert!(clicks > 0, "no event of a view ran");
}
