//! Accounts over HTTP: sessions, forms and their tokens, what is never told, restarts.

use crate::support::http::{self, Connection, Reply};
use crate::support::{Folder, Process, eventually, free_port, runnel};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

const PROGRAM: &str = r#"
class LogIn { var <email> email. var <string 8..200> password. }
class SignUp : LogIn { var <string 1..60> name. }
class User { var <int> id. var <email unique> email. var <string 1..60> name. }
class Note { var <int> id. var <string 1..20> text. }
scheme Site {
   var accounts, notes.
   guard user { this:accounts user }
   /me { get { user email } }
   /hello { get public { 'hello' } }
   /signup {
      get public { #html[ #body[ #Form{ class: SignUp } ] ] }
      post public <SignUp> { this:accounts logInAs: (this:accounts register: newValue). self redirect: ref:/me }
   }
   /login {
      get public { #html[ #body[ #Form{ class: LogIn } ] ] }
      post public <LogIn> { this:accounts logIn: newValue. self redirectBack: ref:/me }
   }
   /logout { post public { this:accounts logOut. self redirect: ref:/login } }
   /password { post { this:accounts setPassword: newValue of: user. nil } }
   /notes {
      get { #html[ #body[ #Flash{}, #Form{ class: Note } ] ] }
      post <Note> { this:notes insert: newValue. self flash: 'Kept <b>'. self redirect: ref:/notes }
   }
   /live { get { #html[ #body[ #p[ 'notes: ', this:notes count ],
      #form{ submit: { :form | this:notes insert: #Note{ text: (form at: 'text') } } }[
         #input{ name: 'text' }, #button[ 'Add' ] ],
      #button{ click: { (this:notes first) ifNotNil: { :note | this:notes remove: note } } }[ 'Remove' ] ] ] } }
   /broken { get { self accounts fail } }
}
database ← ref:sqlite:FILE database.
accounts ← #Accounts{ users: (database table: User), loginPage: '/login' OPTIONS }.
#HTTPServer{ SERVER } → #Site{ accounts: accounts, notes: (database table: Note) }
"#;

const PASSWORD: &str = "correct-horse-battery";
const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");
const PAGE: (&str, &str) = ("Accept", "text/html");
const EVENT: (&str, &str) = ("Content-Type", "application/vnd.runnel.event+json");

struct Site {
    folder: Folder,
    process: Process,
    port: u16,
}

fn serve(file: &Path, folder: &Folder, port: u16, arguments: &[&str], options: &str) -> Process {
    let program = PROGRAM
        .replace("FILE", &file.display().to_string())
        .replace("OPTIONS", options)
        .replace("SERVER", "");
    let mut command = runnel();
    command.args(["--port", &port.to_string()]).args(arguments);
    let mut process = Process::start(command.arg(folder.write("site.st", program)));
    process.listens(port);
    process
}

impl Site {
    fn start(arguments: &[&str], options: &str) -> Site {
        let (folder, port) = (Folder::new(), free_port());
        let process = serve(&folder.path("site.db"), &folder, port, arguments, options);
        Site { folder, process, port }
    }

    /// A request of a browser: a form for a POST.
    fn ask(&self, method: &str, target: &str, cookie: &str, body: &str) -> Reply {
        let headers = [PAGE, FORM, ("Cookie", cookie)];
        let count = if cookie.is_empty() { 2 } else { 3 };
        http::send(self.port, method, target, &headers[..count], body.as_bytes()).unwrap()
    }

    fn sign_up(&self, name: &str) -> String {
        let body = format!("email={name}%40example.org&name={name}&password={PASSWORD}");
        cookie(&self.ask("POST", "/signup", "", &body))
    }

    fn log_in(&self, name: &str, cookie: &str) -> Reply {
        let body = format!("email={name}%40example.org&password={PASSWORD}");
        self.ask("POST", "/login", cookie, &body)
    }

    /// Whether a cookie belongs to a valid session.
    fn knows(&self, cookie: &str) -> bool {
        self.ask("GET", "/me", cookie, "").status == 200
    }
}

/// The session that an answer begins.
fn cookie(reply: &Reply) -> String {
    assert_eq!(reply.status, 303, "{}", reply.text());
    let set = reply.header("set-cookie").unwrap();
    assert!(set.ends_with("; HttpOnly; SameSite=Lax; Secure"), "{set}");
    set.split(';').next().unwrap().to_string()
}

/// The token of the first form of a page.
fn token(page: &str) -> &str {
    let (_, rest) = page.split_once(r#"name="_csrf" value=""#).unwrap();
    rest.split('"').next().unwrap()
}

#[test]
fn a_log_in_begins_another_session_and_ends_the_one_before() {
    let site = Site::start(&[], "");
    let first = site.sign_up("ann");
    assert!(site.knows(&first));
    // A form of a session needs its token; the one to log in is on a page of it, too.
    let page = site.ask("GET", "/login", &first, "").text();
    let body = format!("email=ann%40example.org&password={PASSWORD}&_csrf={}", token(&page));
    let second = cookie(&site.ask("POST", "/login", &first, &body));
    assert_ne!(first, second);
    assert!(site.knows(&second) && !site.knows(&first));
    // Session fixation: a planted session id is replaced.
    let planted = "__Host-session=1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let third = cookie(&site.log_in("ann", planted));
    assert!(third != planted && !site.knows(planted) && site.knows(&third));
    let out = site.ask("POST", "/logout", &third, "");
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert!(!site.knows(&third) && site.knows(&second));
}

#[test]
fn a_new_password_ends_all_other_sessions() {
    let site = Site::start(&[], "");
    let one = site.sign_up("ann");
    let other = cookie(&site.log_in("ann", ""));
    let json = [("Content-Type", "text/plain"), ("Cookie", one.as_str())];
    let reply = http::send(site.port, "POST", "/password", &json, b"another password").unwrap();
    assert_eq!(reply.status, 204, "{}", reply.text());
    let fresh = reply.header("set-cookie").unwrap().split(';').next().unwrap().to_string();
    assert!(!site.knows(&one) && !site.knows(&other) && site.knows(&fresh));
    assert_eq!(site.log_in("ann", "").status, 401);
}

#[test]
fn what_ends_in_one_worker_ends_in_all() {
    let site = Site::start(&["--workers", "3"], "");
    let session = site.sign_up("ann");
    let ask = |session: &str| {
        let mut statuses: Vec<u16> =
            (0..12).map(|_| site.ask("GET", "/me", session, "").status).collect();
        statuses.dedup();
        statuses
    };
    assert_eq!(ask(&session), [200]);
    assert_eq!(site.ask("POST", "/logout", &session, "").status, 303);
    assert_eq!(ask(&session), [303]);
}

#[test]
fn sessions_and_passwords_survive_a_kill() {
    let mut site = Site::start(&[], "");
    let session = site.sign_up("ann");
    site.process.signal("KILL");
    site.process.end();
    site.process = serve(&site.folder.path("site.db"), &site.folder, site.port, &[], "");
    assert!(site.knows(&session));
    assert_eq!(site.log_in("ann", "").status, 303);
}

#[test]
fn sessions_end_by_themselves() {
    let site = Site::start(&[], ", idleTimeout: 3 seconds, lifetime: 8 seconds");
    let (used, start) = (site.sign_up("ann"), Instant::now());
    let idle = cookie(&site.log_in("ann", ""));
    while start.elapsed() < Duration::from_secs(5) {
        assert!(site.knows(&used), "{:?}", start.elapsed());
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(!site.knows(&idle));
    eventually("the session ends", || {
        std::thread::sleep(Duration::from_millis(200));
        !site.knows(&used)
    });
    assert!(start.elapsed() > Duration::from_secs(7), "{:?}", start.elapsed());
}

#[test]
fn forged_cookies_are_never_accepted() {
    let site = Site::start(&[], "");
    let session = site.sign_up("ann");
    let (name, value) = session.split_once('=').unwrap();
    let mut connection = Connection::open(site.port).unwrap();
    let mut number = 0x9e37_79b9_u32;
    let count = std::env::var("RUNNEL_FORGED").map_or(2_000, |count| count.parse().unwrap());
    for _ in 0..count {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let at = 2 + (number >> 8) as usize % (value.len() - 2);
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let mut forged = value.as_bytes().to_vec();
        forged[at] = letters[(number >> 3) as usize % letters.len()];
        let forged = format!("{name}={}", String::from_utf8(forged).unwrap());
        if forged == session {
            continue;
        }
        let headers = [("Cookie", forged.as_str())];
        connection.ask("GET", "/me", &headers, b"").unwrap();
        assert_eq!(connection.answer("GET").unwrap().status, 401, "{forged}");
    }
    for broken in ["", "=", "1", "1.", ".x", "../../password/1", "%2e%2e.x", "1.%00"] {
        assert!(!site.knows(&format!("{name}={broken}")), "{broken}");
    }
    assert!(site.knows(&session));
}

#[test]
fn a_form_needs_the_token_of_its_session() {
    let site = Site::start(&[], "");
    let (ann, bob) = (site.sign_up("ann"), site.sign_up("bob"));
    let page = site.ask("GET", "/notes", &ann, "");
    assert_eq!(page.header("cache-control"), Some("private, no-cache"));
    let page = page.text();
    let token = token(&page);
    let body = format!("text=a&_csrf={token}");
    assert_eq!(site.ask("POST", "/notes", &ann, "text=a").status, 403);
    assert_eq!(site.ask("POST", "/notes", &ann, "text=a&_csrf=x").status, 403);
    assert_eq!(site.ask("POST", "/notes", &bob, &body).status, 403);
    assert_eq!(site.ask("POST", "/notes", &ann, &body).status, 303);
    let headers = [FORM, ("X-CSRF-Token", token), ("Cookie", ann.as_str())];
    assert_eq!(http::send(site.port, "POST", "/notes", &headers, b"text=b").unwrap().status, 303);
    // A page of another site cannot send JSON without asking first.
    let headers = [("Content-Type", "application/json"), ("Cookie", ann.as_str())];
    let reply = http::send(site.port, "POST", "/notes", &headers, br#"{"text":"c"}"#).unwrap();
    assert_eq!(reply.status, 303);
    let headers = [FORM, ("Origin", "https://evil.example"), ("Cookie", ann.as_str())];
    let reply = http::send(site.port, "POST", "/notes", &headers, body.as_bytes()).unwrap();
    assert_eq!(reply.status, 403);
}

#[test]
fn a_refused_form_is_shown_again() {
    let site = Site::start(&[], "");
    let body = "email=%3Cb%3E&name=%22%3E%3Cscript%3E&password=short";
    let reply = site.ask("POST", "/signup", "", body);
    let page = reply.text();
    assert_eq!(reply.status, 422, "{page}");
    assert!(page.contains(r#"value="&quot;&gt;&lt;script&gt;""#), "{page}");
    assert!(page.contains("Use 8 to 200 characters."), "{page}");
    assert!(page.contains("Enter an e-mail address"), "{page}");
    assert_eq!(page.matches(r#"aria-invalid="true""#).count(), 2, "{page}");
    assert!(!page.contains("short"), "{page}");
    site.sign_up("ann");
    let taken = format!("email=ann%40example.org&name=ann&password={PASSWORD}");
    let page = site.ask("POST", "/signup", "", &taken);
    assert_eq!((page.status, page.text().contains("This is taken already.")), (409, true));
    let page = site.ask("POST", "/login", "", "email=ann%40example.org&password=wrong-password");
    assert_eq!(page.status, 401);
    assert!(page.text().contains("The email or the password is wrong."), "{}", page.text());
    // Programs get problems, not pages.
    let reply = http::send(site.port, "POST", "/signup", &[FORM], body.as_bytes()).unwrap();
    assert!(!reply.text().contains("<form"), "{}", reply.text());
}

#[test]
fn browsers_are_sent_to_the_page_to_log_in_and_back() {
    let site = Site::start(&[], "");
    site.sign_up("ann");
    let reply = site.ask("GET", "/notes?a=b&c=d", "", "");
    assert_eq!(reply.status, 303);
    assert_eq!(reply.header("location"), Some("/login?next=%2Fnotes%3Fa%3Db%26c%3Dd"));
    let back = |next: &str| {
        let body = format!("email=ann%40example.org&password={PASSWORD}");
        let reply = site.ask("POST", &format!("/login?next={next}"), "", &body);
        reply.header("location").unwrap().to_string()
    };
    assert_eq!(back("%2Fnotes%3Fa%3Db"), "/notes?a=b");
    for evil in
        ["%2F%2Fevil.example", "https%3A%2F%2Fevil.example", "%2F%5Cevil.example", "evil", ""]
    {
        assert_eq!(back(evil), "/me", "{evil}");
    }
    assert_eq!(http::get(site.port, "/notes").status, 401);
}

#[test]
fn forms_of_live_pages_have_the_token_too() {
    let site = Site::start(&[], "");
    let ann = site.sign_up("ann");
    let page = || site.ask("GET", "/live", &ann, "").text();
    let first = page();
    assert_eq!(first.matches(r#"name="_csrf""#).count(), 2, "{first}");
    let event = |of: &str| {
        let (_, rest) = first.split_once(of).unwrap();
        rest.split('"').next().unwrap().to_string()
    };
    let submit = event(r#"name="_event" value=""#);
    let send = |body: String| site.ask("POST", "/live", &ann, &body).status;
    assert_eq!(send(format!("_event={submit}&text=a")), 403);
    assert!(page().contains("notes: 0"), "{}", page());
    assert_eq!(send(format!("_event={submit}&text=a&_csrf={}", token(&first))), 303);
    assert!(page().contains("notes: 1"), "{}", page());
}

#[test]
fn a_message_is_shown_once() {
    let site = Site::start(&[], "");
    let ann = site.sign_up("ann");
    let page = site.ask("GET", "/notes", &ann, "").text();
    let reply = site.ask("POST", "/notes", &ann, &format!("text=a&_csrf={}", token(&page)));
    let flash = reply.header("set-cookie").unwrap().split(';').next().unwrap().to_string();
    let reply = site.ask("GET", "/notes", &format!("{ann}; {flash}"), "");
    assert!(reply.text().contains("Kept &lt;b&gt;"), "{}", reply.text());
    assert!(reply.header("set-cookie").unwrap().starts_with("__Host-flash=; "));
}

#[test]
fn no_secret_is_told() {
    let site = Site::start(&[], "");
    let ann = site.sign_up("ann");
    site.ask("POST", "/login", &ann, "email=ann%40example.org&password=wrong-secret-password");
    let fault = site.ask("GET", "/broken", &ann, "");
    assert_eq!(fault.status, 500);
    // The log is written beside the answer.
    site.process.err_shows("fail");
    let secret = ann.split_once('.').unwrap().1;
    let mut kept = Vec::new();
    for name in ["site.db", "site.db-wal"] {
        kept.extend(std::fs::read(site.folder.path(name)).unwrap_or_default());
    }
    let told = [site.process.err(), site.process.out(), fault.text()].concat();
    for planted in [PASSWORD, "wrong-secret-password", secret] {
        assert!(!told.contains(planted), "{planted} in {told}");
        let found = kept.windows(planted.len()).any(|part| part == planted.as_bytes());
        assert!(!found, "{planted} is in the database");
    }
    assert!(told.contains("fail"), "the fault is logged: {told}");
}

#[test]
fn many_log_ins_hold_up_nobody_else() {
    let site = Site::start(&[], ", attempts: 100");
    site.sign_up("ann");
    let port = site.port;
    let body = format!("email=ann%40example.org&password={PASSWORD}");
    let logins: Vec<_> = (0..64)
        .map(|_| {
            let body = body.clone();
            std::thread::spawn(move || {
                http::send(port, "POST", "/login", &[FORM, PAGE], body.as_bytes()).unwrap().status
            })
        })
        .collect();
    let mut answered = 0;
    let mut slowest = Duration::ZERO;
    while logins.iter().any(|login| !login.is_finished()) {
        let start = Instant::now();
        assert_eq!(http::get(port, "/hello").status, 200);
        slowest = slowest.max(start.elapsed());
        answered += 1;
    }
    assert!(answered > 64, "{answered} requests beside 64 log-ins, the slowest {slowest:?}");
    for login in logins {
        assert_eq!(login.join().unwrap(), 303);
    }
}

/// The first frames of a live page over server-sent events, up to the token of its view.
fn view_token(site: &Site, session: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", site.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let request = format!(
        "GET /live HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nCookie: {session}\r\n\
         Runnel-Live: [\"hello\",null,0,\"none\"]\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let (mut text, mut piece) = (String::new(), [0; 4096]);
    loop {
        if let Some((_, rest)) = text.split_once(r#""view":""#)
            && let Some((token, _)) = rest.split_once('"')
        {
            return (stream, token.to_string());
        }
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "{text}");
        text += std::str::from_utf8(&piece[..count]).unwrap();
    }
}

#[test]
fn the_token_of_a_view_acts_for_its_session_alone() {
    let site = Site::start(&[], "");
    let (ann, bob) = (site.sign_up("ann"), site.sign_up("bob"));
    let (_stream, token) = view_token(&site, &ann);
    let send = |token: &str, session: &str| {
        let headers = [EVENT, ("Runnel-View", token), ("Cookie", session)];
        http::send(site.port, "POST", "/live", &headers, br#"[1,"0","click",null]"#).unwrap().status
    };
    let forged: String =
        token.chars().map(|letter| if letter == 'a' { 'b' } else { 'a' }).collect();
    assert_eq!(send(&forged, &ann), 410);
    for session in [bob.as_str(), "", "__Host-session=1.forged"] {
        assert_eq!(send(&token, session), 401, "{session}");
    }
    assert!(matches!(send(&token, &ann), 200 | 204));
    // An ended session has no rights.
    site.ask("POST", "/logout", &ann, "");
    assert!(matches!(send(&token, &ann), 401 | 410));
}
