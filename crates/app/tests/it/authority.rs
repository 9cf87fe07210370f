//! Audiences of answers: each combinator in front of a scheme with accounts, asked by two users, an anonymous
//! visitor, an ended session and a user who has lost a right. None of them ever gets the answer of another one.
//! A combinator that refuses to start in front of such a scheme passes.

use crate::support::http::{self, Reply};
use crate::support::{Folder, Process, free_port, runnel};

/// The site behind each combinator: paths that read a session, a right, a header or a cookie, and one without reads.
const SITE: &str = "\
class User { var <int> id. var <email unique> email. var <string> role. }
database ← ref:sqlite:site.db database.
users ← database table: User.
accounts ← #Accounts{ users: users, secure: false, minPasswordLength: 4 }.
(accounts userNamed: 'ann@example.org') isNil ifTrue: {
   accounts register: #{ email: 'ann@example.org', password: 'correct', role: 'editor' }.
   accounts register: #{ email: 'bob@example.org', password: 'correct', role: 'reader' }.
}.
kept ← #DictStore{ }.
scheme Site {
   var accounts. var users. var kept.
   guard user { this:accounts user }
   /open { get public { 'open' } }
   /login { post public { this:accounts logIn: newValue parseJSON. 'in' } }
   /logout { post public { this:accounts logOut. 'out' } }
   /demote { post public { this:users at: 1 merge: #{ role: 'reader' }. 'demoted' } }
   /me { get any { user email } }
   /mine { get public { (this:accounts user) isNil ifTrue: { 'nobody' } ifFalse: { (this:accounts user) email } } }
   /edit { get for: { user role = 'editor' } { 'editor' } }
   /language { get public { header:x-language } }
   /theme { get public { cookie:theme } }
   /key { get public { header:x-key = 'k3y' ifTrue: { 'secret' } ifFalse: { 'none' } } }
   /private { get public { response:cache-control := 'private'. header:x-any } }
   /teapot { get public { response:status := 418. 'teapot' } }
   /note { get public { this:kept at: 'note' }
           put { this:kept at: 'note' put: newValue. 'noted' } }
}
";

/// Lines of combinators in front of `SITE`, to which a line that does not name it is connected.
const LAYERS: &[&str] = &[
    "#Cache{ }",
    "#Cache{ ttl: 1 hour, staleWhileRevalidate: 1 hour, staleIfError: 1 hour }",
    "#Cache{ ttl: 1 milliseconds, staleWhileRevalidate: 1 hour }",
    "#Cache{ ttl: 1 milliseconds, staleIfError: 1 hour }",
    "#Cache{ writeThrough: true }",
    "#Cache{ readOnlySource: true }",
    "#WriteBack{ delay: 1 hour }",
    "#StaticFiles{ cached: true }",
    "#Idempotent{ database: database }",
    "#ReadOnly{ }",
    "#Ensure{ }",
    "#Merge{ }",
    "#RelativeStore{ }",
    "#FormatChoice{ }",
    "#JSONConverter{ }",
    "#TextConverter{ }",
    "#Retry{ }",
    "#Timeout{ timeout: 1 minute }",
    "#Limit{ maxConcurrent: 100 }",
    "#CircuitBreaker{ }",
    "#Polling{ }",
    "#RateLimit{ requests: 100000, per: 1 minute }",
    "#Guard{ block: { :path | 'anyone' } }",
    "#Headers{ }",
    "#Redirects{ }",
    "#SecurityHeaders{ }",
    "#Cache{ } → #Retry{ }",
    "#Retry{ } → #Cache{ }",
    "#Cache{ } → #Cache{ }",
    "#WriteBack{ } → #Cache{ }",
    "#Cache{ } → #RelativeStore{ }",
    "#Names{ names: #{ people: 'users' } }",
    "#Sequence{ stores: [ SITE, #DictStore{ } ] }",
    "#Fallback{ stores: [ SITE, #DictStore{ } ] }",
    "#Cache{ } → #Sequence{ stores: [ SITE, #DictStore{ } ] }",
    "#Route{ stores: #{ a: #DictStore{ } }, otherwise: SITE }",
    "#Cache{ } → #Route{ stores: #{ a: #DictStore{ } }, otherwise: SITE }",
    "#Shard{ stores: [ SITE ] }",
    "#Mirror{ stores: [ SITE, #DictStore{ } ] }",
    "#Compressed{ }",
    "#CSVConverter{ }",
    "#Extension{ extension: 'txt' }",
];

/// Combinators through which no request reaches the site as it is: their answers are only looked at for leaks.
const OTHER_PATHS: &[&str] = &["Mirror", "Compressed", "CSVConverter", "Extension"];

struct Visitors<'a> {
    layer: &'a str,
    /// The port behind the layer, and that of the bare site.
    port: u16,
    direct: u16,
    /// Requests reach the site as they are.
    passes: bool,
}

impl Visitors<'_> {
    fn get(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        http::send(self.port, "GET", path, headers, b"").unwrap()
    }

    /// Posts to the bare site, so that the layer learns nothing of a change.
    fn post(&self, path: &str, cookie: &str, body: &str) -> Reply {
        let headers = [("Content-Type", "text/plain"), ("Cookie", cookie)];
        let reply = http::send(self.direct, "POST", path, &headers, body.as_bytes()).unwrap();
        assert!(reply.status < 300, "{path}: {}", reply.text());
        reply
    }

    fn log_in(&self, name: &str) -> String {
        let body = format!(r#"{{"email":"{name}@example.org","password":"correct"}}"#);
        let reply = self.post("/login", "", &body);
        let cookie = reply.header("set-cookie").and_then(|cookie| cookie.split(';').next());
        cookie.expect("a session").to_string()
    }

    /// A visitor gets his own answer where requests pass, and never one with these words of others.
    fn gets(&self, path: &str, headers: &[(&str, &str)], own: (u16, &str), others: &[&str]) {
        let reply = self.get(path, headers);
        let (text, layer) = (reply.text(), self.layer);
        let shown = format!("{layer} {path} {headers:?}: {} {text}", reply.status);
        if self.passes {
            assert_eq!(reply.status, own.0, "{shown}");
            assert!(text.contains(own.1), "{shown}");
        }
        let leaked = others.iter().find(|word| reply.status < 300 && text.contains(**word));
        assert_eq!(leaked, None, "{shown}");
    }
}

/// Asks twice, so that whatever is kept of the first answer may show in the second.
fn check(layer: &str) {
    let folder = Folder::new();
    let (port, direct) = (free_port(), free_port());
    let site = "#Site{ accounts: accounts, users: users, kept: kept }";
    let line = if layer.contains("SITE") { layer.to_string() } else { format!("{layer} → SITE") };
    let line = line.replace("SITE", site);
    let program = format!(
        "{SITE}(#HTTPServer{{ port: {direct} }} → {site}) start.\n#HTTPServer{{ port: {port} }} → {line}.\n"
    );
    let file = folder.write("site.st", program);
    let mut process = Process::start(runnel().current_dir(folder.path("")).arg(file));
    if !process.listens_or_ends(port) {
        // Refused at the start.
        return;
    }
    let passes = !OTHER_PATHS.iter().any(|class| layer.contains(class));
    let visitors = Visitors { layer, port, direct, passes };
    let (ann, bob) = (visitors.log_in("ann"), visitors.log_in("bob"));
    for _ in 0..2 {
        asks_for_users(&visitors, &ann, &bob);
        asks_for_values(&visitors);
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
    ends(&visitors, &ann, &bob);
}

fn asks_for_users(visitors: &Visitors, ann: &str, bob: &str) {
    let (ann, bob) = ([("Cookie", ann)], [("Cookie", bob)]);
    for (path, anonymous) in [("/me", (401, "")), ("/mine", (200, "nobody"))] {
        visitors.gets(path, &ann, (200, "ann@"), &["bob@", "nobody"]);
        visitors.gets(path, &[], anonymous, &["ann@", "bob@"]);
        visitors.gets(path, &bob, (200, "bob@"), &["ann@", "nobody"]);
    }
    visitors.gets("/edit", &ann, (200, "editor"), &[]);
    visitors.gets("/edit", &bob, (403, ""), &["editor"]);
    visitors.gets("/edit", &[], (401, ""), &["editor"]);
}

fn asks_for_values(visitors: &Visitors) {
    for (language, other) in [("de", "en"), ("en", "de"), ("de", "en")] {
        visitors.gets("/language", &[("X-Language", language)], (200, language), &[other]);
        let cookie = format!("theme={language}");
        visitors.gets("/theme", &[("Cookie", &cookie)], (200, language), &[other]);
        visitors.gets("/private", &[("X-Any", language)], (200, language), &[other]);
        visitors.gets("/teapot", &[], (418, ""), &[]);
    }
    let private = visitors.get("/private", &[("X-Any", "de")]);
    assert!(!visitors.passes || private.header("cache-control") == Some("private"));
    visitors.gets("/key", &[("X-Key", "k3y")], (200, "secret"), &[]);
    visitors.gets("/key", &[], (200, "none"), &["secret"]);
    visitors.gets("/open", &[], (200, "open"), &[]);
    let headers = [("Content-Type", "text/plain")];
    let forged = http::send(visitors.port, "PUT", "/note", &headers, b"EVIL").unwrap();
    assert!(forged.status >= 400 || !visitors.passes, "{}: an anonymous write", visitors.layer);
    let note = visitors.get("/note", &[]);
    assert!(!note.text().contains("EVIL") || !visitors.passes, "{}: is read", visitors.layer);
}

/// A right that is taken away, and a session that ends.
fn ends(visitors: &Visitors, ann: &str, bob: &str) {
    visitors.post("/demote", "", "");
    visitors.gets("/edit", &[("Cookie", ann)], (403, ""), &["editor"]);
    visitors.post("/logout", bob, "");
    visitors.gets("/me", &[("Cookie", bob)], (401, ""), &["ann@", "bob@"]);
    visitors.gets("/mine", &[("Cookie", bob)], (200, "nobody"), &["ann@", "bob@"]);
}

#[test]
fn no_combinator_gives_the_answer_of_one_visitor_to_another() {
    for layer in LAYERS {
        check(layer);
    }
}

#[test]
fn every_combinator_is_asked() {
    for combinator in runnel_store::combinators() {
        let name = format!("#{}{{", combinator.class);
        assert!(LAYERS.iter().any(|layer| layer.contains(&name)), "{name} is in no line");
    }
}
