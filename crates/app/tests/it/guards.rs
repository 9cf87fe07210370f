//! Combinators in front of stores, in real processes: guards, rate limits, headers, redirects, and pages
//! under a content security policy.

use crate::support::http::{self, Connection, Reply};
use crate::support::{Folder, Process, eventually, free_port, program, runnel};
use serde_json::json;
use std::time::Instant;

fn start(text: &str, workers: &str) -> (Folder, Process, u16) {
    let folder = Folder::new();
    let text = text.replace("FOLDER", &folder.path("").display().to_string());
    let serves = if text.contains("#HTTPServer") { "" } else { "#-serve\n" };
    let file = folder.write("site.st", format!("{serves}{text}"));
    let port = free_port();
    let mut command = runnel();
    let mut process =
        Process::start(command.args(["--workers", workers, "--port", &port.to_string()]).arg(file));
    process.listens(port);
    (folder, process, port)
}

fn get(port: u16, path: &str, headers: &[(&str, &str)]) -> Reply {
    http::send(port, "GET", path, headers, b"").unwrap()
}

fn status(port: u16, path: &str, headers: &[(&str, &str)]) -> u16 {
    get(port, path, headers).status
}

/// Requests of 64 clients at once: how many were let through, how many refused.
fn crowd(port: u16, requests: usize) -> (usize, usize) {
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..64)
            .map(|_| {
                scope.spawn(move || {
                    let mut connection = Connection::open(port).unwrap();
                    (0..requests)
                        .map(|_| connection.send("GET", "/a", b"").unwrap().status)
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let count = |status| statuses.iter().filter(|one| **one == status).count();
    assert_eq!(count(200) + count(429), statuses.len(), "{statuses:?}");
    (count(200), count(429))
}

// Rate limits ------------------------------------------------------------------------------------

#[test]
fn workers_and_clients_together_get_no_more_than_the_limit() {
    // A request comes back after a minute, so that none does during the test.
    let text = "#RateLimit{ requests: 60, per: 1 hour, burst: 100 } → #DictStore{ a: 'b' }.\n";
    let (_folder, _process, port) = start(text, "4");
    assert_eq!(crowd(port, 5), (100, 220));
    let refused = get(port, "/a", &[]);
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("ratelimit-policy"), Some("\"default\";q=60;w=3600"));
    assert!(refused.header("ratelimit").unwrap().starts_with("\"default\";r=0;t="));
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    assert!(refused.text().contains("too many requests; try again in"), "{}", refused.text());
}

#[test]
fn no_time_has_more_than_requests_and_burst() {
    let text = "#RateLimit{ requests: 50, per: 1 second, burst: 20 } → #DictStore{ a: 'b' }.\n";
    let (_folder, _process, port) = start(text, "2");
    let began = Instant::now();
    let (mut passed, mut refused) = (0, 0);
    while refused == 0 || passed < 60 {
        let (more, others) = crowd(port, 3);
        passed += more;
        refused += others;
    }
    let most = 20.0 + began.elapsed().as_secs_f64() * 50.0;
    assert!(passed as f64 <= most, "{passed} of at most {most}");
}

#[test]
fn limits_count_by_client_header_route_and_block() {
    let text = "one ← { :by | #RateLimit{ requests: 1, per: 1 hour, by: by } → #DictStore{ a: 'b' } }.\n\
        site ← #Route{ stores: #{\n\
        \x20  client: one value: 'client', header: one value: 'header:X-API-Key', route: one value: 'route',\n\
        \x20  block: one value: { header:X-User }\n\
        } }.\n\
        #HTTPServer{ trustedProxies: [ '127.0.0.1' ] } → site.\n";
    let (_folder, _process, port) = start(text, "2");
    let by = |client: &str, path: &str| status(port, path, &[("X-Forwarded-For", client)]);
    // An IPv6 client is its /64 network.
    assert_eq!(by("192.0.2.1", "/client/a"), 200);
    assert_eq!(by("192.0.2.1", "/client/a"), 429);
    assert_eq!(by("192.0.2.2", "/client/a"), 200);
    assert_eq!(by("2001:db8:0:1::1", "/client/a"), 200);
    assert_eq!(by("2001:db8:0:1:ffff::2", "/client/a"), 429);
    assert_eq!(by("2001:db8:0:2::1", "/client/a"), 200);
    let key = |key: &str, path: &str| {
        let headers = [("X-API-Key", key), ("X-User", key), ("X-Forwarded-For", "192.0.2.9")];
        status(port, path, &headers)
    };
    for path in ["/header/a", "/block/a"] {
        assert_eq!((key("ann", path), key("ann", path), key("bob", path)), (200, 429, 200));
        // Without the header, the limit counts by client address.
        assert_eq!((by("192.0.2.3", path), by("192.0.2.3", path)), (200, 429));
        assert_eq!(by("192.0.2.4", path), 200);
    }
    assert_eq!((by("192.0.2.5", "/route/a"), by("192.0.2.6", "/route/a")), (200, 429));
}

#[test]
fn a_client_cannot_choose_its_address_without_a_trusted_proxy() {
    let text = "#RateLimit{ requests: 1, per: 1 hour } → #DictStore{ a: 'b' }.\n";
    let (_folder, _process, port) = start(text, "1");
    let by = |client: &str| status(port, "/a", &[("X-Forwarded-For", client)]);
    assert_eq!((by("192.0.2.1"), by("192.0.2.2")), (200, 429));
    let other = Connection::open_from("127.0.0.2", port).unwrap().send("GET", "/a", b"").unwrap();
    assert_eq!(other.status, 200);
}

#[test]
fn a_request_counts_once_whatever_it_needs() {
    let text = "#RateLimit{ requests: 4, per: 1 hour } → #DictStore{ a: 'b' }.\n";
    let (_folder, _process, port) = start(text, "1");
    let left = |reply: &Reply| reply.header("ratelimit").unwrap().to_string();
    // A get, and a listing because there is nothing.
    assert!(left(&get(port, "/missing", &[])).contains("r=3"));
    // A get for the condition, and the write.
    let put = http::send(port, "PUT", "/a", &[("If-Match", "*")], b"c").unwrap();
    assert!(put.status < 300 && left(&put).contains("r=2"), "{put:?}");
    // What a server says of a path costs nothing.
    assert_eq!(http::send(port, "OPTIONS", "/a", &[], b"").unwrap().status, 204);
    assert!(left(&get(port, "/a", &[])).contains("r=1"));
}

// Guards -----------------------------------------------------------------------------------------

const ASKING: &str = "scheme:asked ← DictStore store.\n\
    asked:count ← 0.\n\
    guarded ← #Guard{ block: {\n\
    \x20  asked:count ← asked:count + 1.\n\
    \x20  header:X-User = 'broken' ifTrue: { Error signal: 'the block is broken' }.\n\
    \x20  header:X-User = 'slow' ifTrue: { runLoop runFor: 0.01 }.\n\
    \x20  header:X-User = 'eve' ifTrue: { false } ifFalse: { header:X-User }\n\
    } } → #StaticFiles{ symlinks: 'all' } → ref:file:FOLDER asScheme.\n\
    #Route{ stores: #{ files: guarded, asked: scheme:asked,\n\
    \x20  memo: #Guard{ block: { asked:count ← asked:count + 1. header:X-User } } → #DictStore{ a: 'b' } } }.\n";

#[test]
fn a_guard_asks_its_block_once_for_a_request() {
    let (folder, _process, port) = start(ASKING, "1");
    folder.write("notes.txt", "abcdefghij");
    let count = || http::get(port, "/asked/count").text().parse::<usize>().unwrap();
    let ann = ("X-User", "ann");
    let before = count();
    let file = get(port, "/files/notes.txt", &[ann, ("Range", "bytes=2-4")]);
    assert_eq!((file.status, file.text().as_str()), (206, "cde"));
    let tag = file.header("etag").unwrap().to_string();
    assert_eq!(status(port, "/files/notes.txt", &[ann, ("If-None-Match", &tag)]), 304);
    assert_eq!(status(port, "/files/missing", &[ann]), 404);
    assert_eq!(status(port, "/files/notes.txt", &[("X-User", "slow")]), 200);
    assert_eq!(count() - before, 4);
    let put = http::send(port, "PUT", "/memo/a", &[ann, ("If-Match", "*")], b"c").unwrap();
    assert!(put.status < 300, "{put:?}");
    assert_eq!(count() - before, 5);
}

const MEMBERS: &str = "class User { var <int> id. var <email unique> email. }\n\
    class LogIn { var <email> email. var <string> password. }\n\
    accounts ← #Accounts{ users: (ref:sqlite::memory: table: User), loginPage: '/site/login' }.\n\
    accounts register: #{ email: 'ann@example.org', password: 'correct horse' }.\n\
    scheme Site {\n\
    \x20  var accounts.\n\
    \x20  /login { post <LogIn> { this:accounts logIn: newValue. self redirectBack: '/' } }\n\
    }\n\
    members ← #Guard{ block: { accounts user } } → #DictStore{ 'plan.txt': 'the plan' }.\n\
    #Route{ stores: #{ members: members, site: #Site{ accounts: accounts } } }.\n";

#[test]
fn a_guard_of_accounts_sends_browsers_to_log_in() {
    let (_folder, _process, port) = start(MEMBERS, "1");
    let page = ("Accept", "text/html,*/*;q=0.8");
    let refused = get(port, "/members/plan.txt?a=b", &[page]);
    assert_eq!(refused.status, 303);
    assert_eq!(refused.header("location"), Some("/site/login?next=%2Fmembers%2Fplan.txt%3Fa%3Db"));
    assert!(!refused.text().contains("plan"), "{}", refused.text());
    assert_eq!(status(port, "/members/plan.txt", &[]), 401);
    assert_eq!(status(port, "/members/plan.txt", &[("Accept", "application/json")]), 401);
    // What is written is not asked for again by a GET.
    let put = http::send(port, "PUT", "/members/plan.txt", &[page], b"other").unwrap();
    assert_eq!((put.status, put.header("location")), (303, Some("/site/login")));
    let form = b"email=ann%40example.org&password=correct+horse";
    let kind = ("Content-Type", "application/x-www-form-urlencoded");
    let target = "/site/login?next=%2Fmembers%2Fplan.txt";
    let entered = http::send(port, "POST", target, &[kind], form).unwrap();
    assert_eq!((entered.status, entered.header("location")), (303, Some("/members/plan.txt")));
    let cookie = entered.header("set-cookie").unwrap().split(';').next().unwrap().to_string();
    let plan = get(port, "/members/plan.txt", &[page, ("Cookie", &cookie)]);
    assert_eq!((plan.status, plan.text().as_str()), (200, "the plan"));
}

#[test]
fn a_guard_fails_closed_for_every_method() {
    let (folder, _process, port) = start(ASKING, "2");
    folder.write("notes.txt", "secret");
    for (user, expected) in [("", 401), ("eve", 403), ("broken", 500)] {
        let headers: &[(&str, &str)] = if user.is_empty() { &[] } else { &[("X-User", user)] };
        for path in ["/files/notes.txt", "/files/missing", "/files/", "/files/../files/notes.txt"] {
            let reply = get(port, path, headers);
            assert_eq!(reply.status, expected, "{user} {path}");
            assert!(
                !reply.text().contains("secret") && !reply.text().contains("broken"),
                "{reply:?}"
            );
            assert!(reply.header("etag").is_none() && reply.header("last-modified").is_none());
        }
    }
    for method in ["GET", "HEAD", "PUT", "POST", "PATCH", "DELETE"] {
        let reply = http::send(port, method, "/memo/a", &[], b"").unwrap();
        assert_eq!(reply.status, 401, "{method}");
        assert!(reply.header("www-authenticate").is_some());
    }
    assert_eq!(get(port, "/memo/a", &[("X-User", "ann")]).text(), "b");
}

#[test]
fn passwords_and_tokens_let_in() {
    let text = "hash ← 'correct horse' passwordHash.\n\
        #Guard{ user: 'ann', passwordHash: hash, users: #{ bob: 'secret' passwordHash },\n\
        \x20  bearer: [ 'token-of-the-test-1', 'token-of-the-test-2' ], realm: 'the test' } → #DictStore{ a: 'b' }.\n";
    let (_folder, _process, port) = start(text, "2");
    let asks = |credentials: &str| status(port, "/a", &[("Authorization", credentials)]);
    assert_eq!(asks("Basic YW5uOmNvcnJlY3QgaG9yc2U="), 200);
    assert_eq!(asks("basic Ym9iOnNlY3JldA=="), 200);
    assert_eq!(asks("Bearer token-of-the-test-2"), 200);
    for wrong in [
        "Basic YW5uOndyb25n",
        "Basic YW5uOg==",
        "Basic ZXZlOmNvcnJlY3QgaG9yc2U=",
        "Basic ",
        "Basic ====",
        "Basic YW5u",
        "Bearer token-of-the-test-3",
        "Bearer token-of-the-test-",
        "Bearer",
        "Bearer correct horse",
        "token-of-the-test-1",
        "Digest username=\"ann\"",
    ] {
        assert_eq!(asks(wrong), 401, "{wrong}");
    }
    let refused = get(port, "/a", &[]);
    let challenges: Vec<&str> = refused
        .headers
        .iter()
        .filter(|(name, _)| name == "www-authenticate")
        .map(|(_, value)| value.as_str())
        .collect();
    assert_eq!(
        challenges,
        ["Basic realm=\"the test\", charset=\"UTF-8\"", "Bearer realm=\"the test\""]
    );
    // A page with many files asks at once, and one verification is enough.
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..64).map(|_| scope.spawn(|| asks("Basic Ym9iOnNlY3JldA=="))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert_eq!(statuses, [200; 64]);
}

#[test]
fn two_guards_must_both_let_in() {
    let text = "#Guard{ block: { header:X-One } } → #Guard{ bearer: 'token-of-the-test-1' } → #DictStore{ a: 'b' }.\n";
    let (_folder, _process, port) = start(text, "1");
    let (one, two) = (("X-One", "1"), ("Authorization", "Bearer token-of-the-test-1"));
    assert_eq!((status(port, "/a", &[one]), status(port, "/a", &[two])), (401, 401));
    assert_eq!(status(port, "/a", &[one, two]), 200);
}

#[test]
fn secrets_of_a_guard_are_nowhere() {
    let secrets = ["token-of-the-test-1", "short-secret", "$argon2id$v=19$wrong", "correct horse"];
    let mut seen = String::new();
    for text in [
        "guard ← #Guard{ bearer: 'token-of-the-test-1' }.\n\
         stdout println: guard. stdout println: guard printString.\n\
         scheme:a ← guard → #DictStore{ a: 1 }.\n\
         stdout println: scheme:a graph.\na:b.\n",
        "#Guard{ bearer: 'short-secret' }.\n",
        "#Guard{ bearer: [ 'token-of-the-test-1', 'short-secret' ] }.\n",
        "#Guard{ user: 'ann', passwordHash: '$argon2id$v=19$wrong' }.\n",
        "#Guard{ users: #{ ann: 'correct horse' } }.\n",
    ] {
        let outcome = program(text);
        assert_ne!(outcome.status, 0, "{text}");
        seen += &(outcome.out + &outcome.err);
    }
    let site = "hash ← 'correct horse' passwordHash.\n\
        #Guard{ user: 'ann', passwordHash: hash, bearer: 'token-of-the-test-1' } → #DictStore{ a: 'b' }.\n";
    let (_folder, process, port) = start(site, "1");
    for credentials in
        ["Bearer token-of-the-test-1", "Basic YW5uOmNvcnJlY3QgaG9yc2U=", "Basic YW5uOm4="]
    {
        let reply = get(port, "/a", &[("Authorization", credentials)]);
        seen += &format!("{reply:?}");
    }
    process.signal("TERM");
    let outcome = process.outcome();
    seen += &(outcome.out + &outcome.err);
    for secret in secrets {
        // The line of the program that is wrong may be shown, and nothing else.
        let lines = seen.lines().filter(|line| line.contains(secret) && !line.contains("#Guard{"));
        assert_eq!(lines.collect::<Vec<_>>(), [""; 0], "{secret}");
    }
    assert!(seen.contains("must be tokens of at least 16 letters and digits"), "{seen}");
}

#[test]
fn an_openapi_document_says_how_to_pass_a_guard() {
    let text = "scheme Api { /hello { get → <string> { 'hi' } } }\n\
        #OpenAPI{ title: 'Test' } → #Guard{ bearer: 'token-of-the-test-1', users: #{ ann: 'secret' passwordHash } }\n\
        \x20  → Api store.\n";
    let (_folder, _process, port) = start(text, "1");
    let document = http::get(port, "/openapi.json").json();
    let security = &document["paths"]["/hello"]["get"]["security"];
    assert_eq!(security, &json!([{ "basicAuth": [] }, { "bearerAuth": [] }]));
    assert_eq!(document["components"]["securitySchemes"]["basicAuth"]["scheme"], "basic");
    assert_eq!(status(port, "/hello", &[]), 401);
}

// Headers and redirects ------------------------------------------------------------------------------

#[test]
fn headers_hold_for_answers_and_errors() {
    let text = "scheme Site {\n\
        \x20  /a { get { response:X-Powered-By ← 'magic'. response:X-Set ← 'mine'. 'a' } }\n\
        \x20  /broken { get { Error signal: 'no' } }\n\
        }\n\
        #Headers{ set: #{ 'X-Set': 'ours', 'X-More': '1' }, remove: [ 'x-powered-by' ] } → Site store.\n";
    let (_folder, _process, port) = start(text, "1");
    for (path, expected) in [("/a", 200), ("/broken", 500), ("/missing", 404)] {
        let reply = get(port, path, &[]);
        assert_eq!(reply.status, expected);
        assert_eq!(
            (reply.header("x-set"), reply.header("x-more")),
            (Some("ours"), Some("1")),
            "{path}"
        );
        assert_eq!(reply.header("x-powered-by"), None);
        let fields = reply.headers.iter().filter(|(name, _)| name == "x-set");
        assert_eq!(fields.count(), 1);
    }
}

#[test]
fn redirects_stay_on_this_server() {
    let text = "#Redirects{ from: #{ '/go/*': '/*', '/old': '/new', '/out/*': 'https://out.example/*' },\n\
        \x20  status: 307 } → #DictStore{ new: 'here' }.\n";
    let (_folder, _process, port) = start(text, "1");
    let place = |path: &str| {
        let reply = get(port, path, &[]);
        (reply.status, reply.header("location").map(str::to_string))
    };
    let to = |path: &str| (307, Some(path.to_string()));
    assert_eq!(place("/old?a=1&b=%20"), to("/new?a=1&b=%20"));
    assert_eq!(place("/out/a%2Fb/c"), to("https://out.example/a%2Fb/c"));
    assert_eq!(place("/new").0, 200);
    for path in [
        "/go//evil.example",
        "/go///evil.example",
        "/go/%5Cevil.example",
        "/go/%5C%5Cevil.example",
        "/go/%09/evil.example",
        "/go/%0d%0aX-Evil:%201",
        "/go/https://evil.example",
        "/go/%2F%2Fevil.example",
        "/go/.%2Fevil",
    ] {
        let (status, location) = place(path);
        assert_eq!(status, 307, "{path}");
        let location = location.unwrap();
        let second = location.chars().nth(1);
        assert!(
            location.starts_with('/') && !matches!(second, Some('/' | '\\')),
            "{path}: {location}"
        );
    }
    // Dots were resolved before, and never lead out.
    assert_eq!(place("/go/../../etc/passwd").0, 404);
    for method in ["POST", "PUT", "PATCH", "DELETE", "HEAD"] {
        let reply = http::send(port, method, "/old", &[], b"").unwrap();
        assert_eq!((reply.status, reply.header("location")), (307, Some("/new")), "{method}");
    }
}

// Security headers -----------------------------------------------------------------------------------

const PAGES: &str = "scheme:model ← DictStore store.\n\
    model:count ← 1.\n\
    scheme Site {\n\
    \x20  /page { get { #html[ #head[ #title[ 'Page' ], #style[ 'p { color: rgb(1, 2, 3) }' ],\n\
    \x20     #script[ 'window.ran = true' ], #script{ src: '/code.js', defer: true }[] ],\n\
    \x20     #body[ #p{ id: 'text' }[ 'Hello' ], #Raw[ '<script>window.evil = true</script>' ] ] ] } }\n\
    \x20  /live { get { #html[ #head[ #title[ 'Live' ], #style[ 'p { color: rgb(1, 2, 3) }' ] ],\n\
    \x20     #body[ #p{ id: 'count', style: 'margin-left: 7px' }[ ref:model:count ],\n\
    \x20        #button{ click: { model:count += 1 } }[ 'More' ],\n\
    \x20        #a{ href: '/other', live: true }[ 'Other' ] ] ] } }\n\
    \x20  /other { get { #html[ #head[ #title[ 'Other' ], #style[ 'p { color: rgb(1, 2, 3) }' ] ],\n\
    \x20     #body[ #p{ id: 'count' }[ ref:model:count ], #a{ href: '/live', live: true }[ 'Back' ] ] ] } }\n\
    \x20  /typed { get → <string> { 'typed' } }\n\
    \x20  /code.js { get { response:Content-Type ← 'text/javascript'. 'window.loaded = true' } }\n\
    }\n\
    #HTTPServer{ trustedProxies: [ '127.0.0.1' ] } → #SecurityHeaders{ } → #OpenAPI{ title: 'Test' } → #Site{}.\n";

fn nonce(reply: &Reply) -> String {
    let policy = reply.header("content-security-policy").unwrap();
    let nonce = policy.split("'nonce-").nth(1).unwrap();
    nonce.split('\'').next().unwrap().to_string()
}

#[test]
fn pages_carry_the_nonce_of_their_policy() {
    let (_folder, _process, port) = start(PAGES, "2");
    let page = get(port, "/page", &[]);
    let own = nonce(&page);
    assert_eq!(own.len(), 22, "{own}");
    let text = page.text();
    assert!(text.contains(&format!("<style nonce=\"{own}\">p")), "{text}");
    assert!(text.contains(&format!("<script nonce=\"{own}\">window.ran")), "{text}");
    assert!(text.contains("<script>window.evil"), "what is not the program's has none: {text}");
    assert!(text.contains("<script src=\"/code.js\""), "{text}");
    assert_ne!(nonce(&get(port, "/page", &[])), own);
    let error = get(port, "/missing", &[("Accept", "text/html")]);
    assert_eq!(error.status, 404);
    assert!(
        error.text().contains(&format!("<style nonce=\"{}\">", nonce(&error))),
        "{}",
        error.text()
    );
    let files = "#SecurityHeaders{ } → #StaticFiles{ listing: true } → ref:file:FOLDER asScheme.\n";
    let (_other, _server, other) = start(files, "1");
    let listing = get(other, "/", &[]);
    assert!(
        listing.text().contains(&format!("<style nonce=\"{}\">", nonce(&listing))),
        "{}",
        listing.text()
    );
    // The documentation has a policy of its own, which counts more.
    let documentation = get(port, "/docs", &[]);
    assert!(!documentation.header("content-security-policy").unwrap().contains("nonce"));
    assert_eq!(documentation.header("x-frame-options"), Some("SAMEORIGIN"));
    // The page that a client has carries the nonce of the policy that it has.
    let typed = get(port, "/typed", &[]);
    assert!(typed.header("content-security-policy").is_some());
    let tag = typed.header("etag").unwrap().to_string();
    let unchanged = get(port, "/typed", &[("If-None-Match", &tag)]);
    assert_eq!((unchanged.status, unchanged.header("content-security-policy")), (304, None));
    // Over TLS alone, here as a trusted proxy says.
    let secure = get(port, "/page", &[("X-Forwarded-Proto", "https")]);
    assert_eq!(secure.header("strict-transport-security"), Some("max-age=31536000"));
    assert_eq!(page.header("strict-transport-security"), None);
}

#[test]
fn browsers_run_our_pages_under_the_policy() {
    let browser = match crate::support::browser::Browser::start() {
        Ok(browser) => browser,
        Err(reason) => return crate::support::skip(&reason),
    };
    let (_folder, _process, port) = start(PAGES, "1");
    let site = format!("http://127.0.0.1:{port}");
    let color = "getComputedStyle(document.querySelector('p')).color";
    let is = |script: &str, value: serde_json::Value| {
        eventually(script, || browser.script(&format!("return {script}")) == value);
    };
    // Live parts, events and navigation.
    browser.open(&format!("{site}/live"));
    is("document.documentElement.dataset.live", json!("on"));
    browser.click("button");
    is("document.getElementById('count').textContent", json!("2"));
    is(color, json!("rgb(1, 2, 3)"));
    is("getComputedStyle(document.querySelector('p')).marginLeft", json!("7px"));
    browser.click("a");
    is("document.title", json!("Other"));
    is(color, json!("rgb(1, 2, 3)"));
    // Documentation, with its own style and script.
    browser.open(&format!("{site}/docs"));
    is("document.getElementById('search').hidden", json!(false));
    assert_eq!(browser.complaints(), Vec::<String>::new());
    // An error page.
    browser.open(&format!("{site}/missing"));
    is("getComputedStyle(document.querySelector('.code')).fontWeight", json!("700"));
    assert_eq!(browser.complaints_but(&["404"]), Vec::<String>::new());
    // What the program wrote runs; what got in without it does not.
    browser.open(&format!("{site}/page"));
    is("window.ran === true && window.loaded === true", json!(true));
    is(color, json!("rgb(1, 2, 3)"));
    assert_eq!(browser.script("return window.evil === undefined"), true);
    let complaints = browser.complaints();
    assert!(
        complaints.len() == 1 && complaints[0].contains("Content Security Policy"),
        "{complaints:?}"
    );
}
