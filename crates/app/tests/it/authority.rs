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

/// What stands in front of the site: a line of combinators, which may name it.
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
];

struct Visitors {
    port: u16,
    ann: String,
    bob: String,
}

impl Visitors {
    fn get(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        http::send(self.port, "GET", path, headers, b"").unwrap()
    }

    fn as_user(&self, path: &str, cookie: &str) -> Reply {
        self.get(path, &[("Cookie", cookie)])
    }

    fn post(&self, path: &str, cookie: &str) -> u16 {
        http::send(self.port, "POST", path, &[("Cookie", cookie)], b"").unwrap().status
    }
}

fn log_in(port: u16, name: &str) -> Option<String> {
    let body = format!(r#"{{"email":"{name}@example.org","password":"correct"}}"#);
    let headers = [("Content-Type", "text/plain")];
    let reply = http::send(port, "POST", "/login", &headers, body.as_bytes()).unwrap();
    let cookie = reply.header("set-cookie")?;
    cookie.split(';').next().map(str::to_string)
}

/// Whether a reply has something that belongs to one visitor.
fn leaks(reply: &Reply, words: &[&str]) -> bool {
    reply.status < 300 && words.iter().any(|word| reply.text().contains(word))
}

/// Asks twice, so that whatever is kept of the first answer may show in the second.
fn check(layer: &str) {
    let folder = Folder::new();
    let port = free_port();
    let program = format!(
        "{SITE}#HTTPServer{{ port: {port} }} → {layer} → #Site{{ accounts: accounts, users: users, kept: kept }}.\n"
    );
    let file = folder.write("site.st", program);
    let mut process = Process::start(runnel().current_dir(folder.path("")).arg(file));
    if !process.listens_or_ends(port) {
        // Refused at the start.
        return;
    }
    // A layer that takes no writes lets nobody log in: then there is nothing to tell apart.
    let (Some(ann), Some(bob)) = (log_in(port, "ann"), log_in(port, "bob")) else {
        assert_eq!(layer, "#ReadOnly{ }", "nobody logs in");
        return;
    };
    let visitors = Visitors { port, ann, bob };
    for _ in 0..2 {
        asks_for_users(layer, &visitors);
        asks_for_values(layer, &visitors);
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
    ends(layer, &visitors);
}

fn asks_for_users(layer: &str, visitors: &Visitors) {
    let Visitors { ann, bob, .. } = visitors;
    for path in ["/me", "/mine"] {
        assert!(visitors.as_user(path, ann).text().contains("ann@"), "{layer} {path}: ann");
        let reply = visitors.get(path, &[]);
        assert!(!leaks(&reply, &["ann@", "bob@"]), "{layer} {path}: anonymous {}", reply.text());
        assert!(visitors.as_user(path, bob).text().contains("bob@"), "{layer} {path}: bob");
    }
    assert!(visitors.as_user("/edit", ann).text().contains("editor"), "{layer}: ann may edit");
    assert_eq!(visitors.as_user("/edit", bob).status, 403, "{layer}: bob may not");
    assert_eq!(visitors.get("/edit", &[]).status, 401, "{layer}: an anonymous visitor may not");
}

fn asks_for_values(layer: &str, visitors: &Visitors) {
    for language in ["de", "en", "de"] {
        let reply = visitors.get("/language", &[("X-Language", language)]);
        assert!(reply.text().contains(language), "{layer}: {language} {}", reply.text());
        let theme = visitors.get("/theme", &[("Cookie", &format!("theme={language}"))]);
        assert!(theme.text().contains(language), "{layer}: theme {language} {}", theme.text());
        let private = visitors.get("/private", &[("X-Any", language)]);
        assert!(private.text().contains(language), "{layer}: private {}", private.text());
        assert_eq!(private.header("cache-control"), Some("private"), "{layer}");
        assert_eq!(visitors.get("/teapot", &[]).status, 418, "{layer}");
    }
    assert!(visitors.get("/key", &[("X-Key", "k3y")]).text().contains("secret"), "{layer}: key");
    assert!(!leaks(&visitors.get("/key", &[]), &["secret"]), "{layer}: without a key");
    assert!(visitors.get("/open", &[]).text().contains("open"), "{layer}: open");
    let forged =
        http::send(visitors.port, "PUT", "/note", &[("Content-Type", "text/plain")], b"EVIL");
    assert!(forged.unwrap().status >= 400, "{layer}: an anonymous write");
    assert!(!leaks(&visitors.get("/note", &[]), &["EVIL"]), "{layer}: an anonymous write is read");
}

/// A right that is taken away, and a session that ends.
fn ends(layer: &str, visitors: &Visitors) {
    let Visitors { ann, bob, .. } = visitors;
    assert!(visitors.post("/demote", "") < 300, "{layer}: demote");
    assert!(!leaks(&visitors.as_user("/edit", ann), &["editor"]), "{layer}: the right is gone");
    assert!(visitors.post("/logout", bob) < 300, "{layer}: log out");
    for path in ["/me", "/mine"] {
        let reply = visitors.as_user(path, bob);
        assert!(!leaks(&reply, &["bob@", "ann@"]), "{layer} {path}: ended {}", reply.text());
    }
}

#[test]
fn no_combinator_gives_the_answer_of_one_visitor_to_another() {
    for layer in LAYERS {
        check(layer);
    }
}
