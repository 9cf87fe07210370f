//! Logging in through a provider: a real one, and one that does what no right provider does.

use crate::judges::programs;
use crate::support::http::{Reply, send};
use crate::support::{Folder, PATIENCE, Process, eventually, free_port, skip};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

const SECRET: &str = "the secret of the client, long enough";

/// A provider that signs what a test says (tests/programs/openid/fake.mjs).
pub(crate) struct Provider {
    _process: Process,
    port: u16,
}

impl Provider {
    pub(crate) fn fake() -> Option<Provider> {
        if Command::new("node").arg("--version").output().is_err() {
            skip("no node is installed");
            return None;
        }
        let process = Process::start(Command::new("node").arg(programs().join("openid/fake.mjs")));
        eventually("the provider prints its port", || process.out().ends_with('\n'));
        let port = process.out().trim().parse().unwrap();
        Some(Provider { _process: process, port })
    }

    pub(crate) fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn get(&self, path: &str) -> Value {
        send(self.port, "GET", path, &[], b"").unwrap().json()
    }

    /// How often a path was asked for.
    pub(crate) fn count(&self, path: &str) -> u64 {
        self.get("/counts")[path].as_u64().unwrap_or(0)
    }

    /// Claims that are good for an hour.
    pub(crate) fn claims(&self, issuer: &str, audience: &str, nonce: &str) -> Value {
        let now = seconds();
        json!({ "iss": issuer, "aud": audience, "sub": "ann", "nonce": nonce, "iat": now, "exp": now + 3600 })
    }

    /// A token that the provider signs with one of its keys.
    pub(crate) fn token(&self, key: &str, claims: &Value) -> String {
        let code = code(&json!({ "claims": claims, "key": key }));
        let form = format!(
            "grant_type=authorization_code&code={code}&client_secret={}",
            SECRET.replace(' ', "%20").replace(',', "%2C")
        );
        let reply = send(self.port, "POST", "/honest/token", &[], form.as_bytes()).unwrap();
        reply.json()["id_token"].as_str().unwrap().to_string()
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Base 64 for URLs without padding, of JSON.
fn code(value: &Value) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bytes = value.to_string().into_bytes();
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let number =
            (0..3).fold(0_u32, |sum, at| sum << 8 | u32::from(*group.get(at).unwrap_or(&0)));
        for digit in 0..=group.len() {
            text.push(DIGITS[(number >> (18 - 6 * digit) & 63) as usize] as char);
        }
    }
    text
}

/// The program under test, for a provider of this issuer.
fn shop(issuer: &str, port: u16) -> String {
    format!(
        "#-<void>serve:<int>port\n\
         seal ← #Seal{{ keys: [ 'a secret of the test, of enough length' ] }}.\n\
         provider ← #OpenID{{ issuer: '{issuer}', client: 'shop', secret: '{SECRET}', scope: 'openid email',\n\
            redirect: 'http://127.0.0.1:{port}/login/done', seal: seal }}.\n\
         scheme Site {{\n\
            var provider.\n\
            /login {{ get {{ this:provider start }} }}\n\
            /login/done {{ get {{ claims ← this:provider finish. \"hello {{claims at: 'sub'}}\" }} }}\n\
         }}\n\
         #HTTPServer{{ port: port, scheme: #Site{{ provider: provider }} }} start.\n"
    )
}

struct Shop {
    process: Process,
    port: u16,
    _folder: Folder,
}

impl Shop {
    fn start(issuer: &str) -> Shop {
        let port = free_port();
        Shop::of(&shop(issuer, port), port)
    }

    fn of(text: &str, port: u16) -> Shop {
        let folder = Folder::new();
        let file = folder.write("shop.st", text);
        let mut process = Process::start(crate::support::runnel().arg(file).arg(port.to_string()));
        process.listens(port);
        Shop { process, port, _folder: folder }
    }

    /// Begins a login: the parameters for the provider, and the cookie.
    fn begin(&self) -> Login {
        let reply = send(self.port, "GET", "/login", &[], b"").unwrap();
        assert_eq!(reply.status, 303, "{}", reply.text());
        let location = reply.header("location").unwrap().to_string();
        let cookie = reply.header("set-cookie").unwrap();
        let cookie = cookie.split(';').next().unwrap().to_string();
        Login { parameters: parameters(&location), location, cookie }
    }

    fn done(&self, query: &str, cookie: &str) -> Reply {
        let target = format!("/login/done?{query}");
        let headers = [("Cookie", cookie)];
        send(self.port, "GET", &target, if cookie.is_empty() { &[] } else { &headers }, b"")
            .unwrap()
    }
}

struct Login {
    location: String,
    parameters: BTreeMap<String, String>,
    cookie: String,
}

fn parameters(address: &str) -> BTreeMap<String, String> {
    let query = address.split_once('?').unwrap().1;
    let pair = |pair: &str| pair.split_once('=').map(|(name, value)| (name.into(), value.into()));
    query.split('&').filter_map(pair).collect()
}

/// What a test changes in a login that would succeed.
struct Attempt {
    claims: Value,
    code: Value,
    query: String,
    cookie: String,
}

#[test]
fn a_login_sends_what_the_standards_demand() {
    let Some(provider) = Provider::fake() else { return };
    let shop = Shop::start(&format!("{}/query", provider.base()));
    let reply = send(shop.port, "GET", "/login", &[], b"").unwrap();
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let cookie = reply.header("set-cookie").unwrap();
    for part in ["; Path=/", "; Max-Age=600", "; HttpOnly", "; SameSite=Lax"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let (login, other) = (shop.begin(), shop.begin());
    assert!(login.location.starts_with(&format!("{}/query/auth?tenant=1&", provider.base())));
    let get = |name: &str| login.parameters[name].as_str();
    assert_eq!(get("response_type"), "code");
    assert_eq!(get("client_id"), "shop");
    assert_eq!(get("scope"), "openid%20email");
    assert_eq!(get("code_challenge_method"), "S256");
    assert_eq!(
        get("redirect_uri"),
        format!("http%3A%2F%2F127.0.0.1%3A{}%2Flogin%2Fdone", shop.port)
    );
    for name in ["state", "nonce", "code_challenge"] {
        assert_eq!(get(name).len(), 43, "{name}");
        assert_ne!(get(name), other.parameters[name], "{name}");
    }
    // The browser holds nothing readable.
    assert!(!login.cookie.contains(get("nonce")) && !login.cookie.contains(get("state")));
    // The description is fetched once.
    assert_eq!(provider.count("/query/.well-known/openid-configuration"), 1);
}

/// Runs a login with a change, and answers the response.
fn attempt(provider: &Provider, shop: &Shop, kind: &str, change: impl Fn(&mut Attempt)) -> Reply {
    let login = shop.begin();
    let issuer = format!("{}/{kind}", provider.base());
    let claims = provider.claims(&issuer, "shop", &login.parameters["nonce"]);
    let mut attempt = Attempt {
        claims,
        code: json!({ "challenge": login.parameters["code_challenge"] }),
        query: format!("state={}", login.parameters["state"]),
        cookie: login.cookie,
    };
    change(&mut attempt);
    if attempt.code.get("claims").is_none() {
        attempt.code["claims"] = attempt.claims.clone();
    }
    let query = match attempt.query.contains("code=") {
        true => attempt.query,
        false => format!("{}&code={}", attempt.query, code(&attempt.code)),
    };
    shop.done(&query, &attempt.cookie)
}

type Change = Box<dyn Fn(&mut Attempt)>;

/// Changes of what the provider signs, each with words of the refusal.
fn forged_tokens() -> Vec<(&'static str, &'static str, Change)> {
    let now = seconds();
    let claim = |name: &'static str, value: Value| -> Change {
        Box::new(move |attempt| attempt.claims[name] = value.clone())
    };
    let answer = |name: &'static str, value: Value| -> Change {
        Box::new(move |attempt| attempt.code[name] = value.clone())
    };
    let invalid = "the ID token is not valid";
    vec![
        ("another nonce", "nonce", claim("nonce", "x".into())),
        ("no nonce", "nonce", claim("nonce", Value::Null)),
        ("another audience", invalid, claim("aud", "another".into())),
        ("no audience", invalid, claim("aud", Value::Null)),
        ("many audiences without azp", "another client", claim("aud", json!(["shop", "b"]))),
        ("azp of another client", "another client", claim("azp", "b".into())),
        ("another issuer", invalid, claim("iss", "https://login.example".into())),
        ("expired", invalid, claim("exp", (now - 31).into())),
        ("no expiry", invalid, claim("exp", Value::Null)),
        ("expiry as text", invalid, claim("exp", "9999999999".into())),
        ("not valid yet", invalid, claim("nbf", (now + 300).into())),
        ("issued in the future", invalid, claim("iat", (now + 300).into())),
        ("no time of issue", invalid, claim("iat", Value::Null)),
        ("no subject", "`sub`", claim("sub", "".into())),
        ("alg none", invalid, answer("key", "none".into())),
        ("HMAC with the secret of the client", invalid, answer("key", "hs".into())),
        ("HMAC with the public key", invalid, answer("key", "public".into())),
        ("another key of the same name", invalid, answer("key", "other".into())),
        ("a key that is not published", invalid, answer("key", "next".into())),
        ("a critical extension", invalid, answer("header", json!({ "crit": ["x"], "x": 1 }))),
        (
            "a key within the header",
            invalid,
            answer("header", json!({ "kid": "rsa", "alg": "ES256" })),
        ),
        ("a payload changed after it was signed", invalid, answer("spoil", "payload".into())),
        ("no token", "not valid", answer("spoil", "token".into())),
        ("no ID token", "no ID token", answer("answer", json!({ "access_token": "a" }))),
        ("an answer that is no object", "no ID token", answer("answer", json!(["id_token"]))),
        ("a code that was used", "take the code", answer("status", 400.into())),
        ("another code verifier", "take the code", answer("challenge", "x".into())),
    ]
}

/// Changes of the response that the browser brings.
fn forged_responses() -> Vec<(&'static str, &'static str, Change)> {
    let query =
        |text: &'static str| -> Change { Box::new(move |attempt| attempt.query = text.into()) };
    let more =
        |text: &'static str| -> Change { Box::new(move |attempt| attempt.query.push_str(text)) };
    vec![
        ("no state", "state is missing", query("a=b")),
        ("an empty state", "state is missing", query("state=")),
        ("another state", "", query("state=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")),
        ("no cookie", "browser", Box::new(|attempt| attempt.cookie.clear())),
        (
            "a changed cookie",
            "another login",
            Box::new(|attempt| {
                let last = if attempt.cookie.ends_with('A') { 'B' } else { 'A' };
                attempt.cookie.pop();
                attempt.cookie.push(last);
            }),
        ),
        ("an error of the provider", "says access_denied", more("&error=access_denied")),
        ("an error with other characters", "says no", more("&error=%3Cscript%3E")),
        ("another issuer", "another provider", more("&iss=https%3A%2F%2Flogin.example")),
        ("no code", "code is missing", more("&code=")),
    ]
}

#[test]
fn a_provider_that_lies_logs_nobody_in() {
    let Some(provider) = Provider::fake() else { return };
    let shop = Shop::start(&format!("{}/honest", provider.base()));
    let right = attempt(&provider, &shop, "honest", |_| ());
    assert_eq!((right.status, right.text().as_str()), (200, "hello ann"));
    let elliptic = attempt(&provider, &shop, "honest", |attempt| attempt.code["key"] = "ec".into());
    assert_eq!(elliptic.text(), "hello ann");
    let cases: Vec<_> = forged_tokens().into_iter().chain(forged_responses()).collect();
    assert!(cases.len() >= 36);
    for (what, words, change) in &cases {
        let reply = attempt(&provider, &shop, "honest", change);
        assert_eq!(reply.status, 401, "{what}: {}", reply.text());
        assert!(reply.text().contains(words), "{what}: {}", reply.text());
        assert!(!reply.text().contains(SECRET) && !reply.text().contains("eyJ"), "{what}");
    }
    // What went wrong is no fault of the program.
    assert!(!shop.process.err().contains("ERROR"), "{}", shop.process.err());
}

#[test]
fn a_login_is_finished_once_and_in_its_own_browser() {
    let Some(provider) = Provider::fake() else { return };
    let shop = Shop::start(&format!("{}/honest", provider.base()));
    let query = |login: &Login| {
        let issuer = format!("{}/honest", provider.base());
        let claims = provider.claims(&issuer, "shop", &login.parameters["nonce"]);
        format!("state={}&code={}", login.parameters["state"], code(&json!({ "claims": claims })))
    };
    let login = shop.begin();
    let first = shop.done(&query(&login), &login.cookie);
    assert_eq!(first.text(), "hello ann");
    assert!(first.header("set-cookie").unwrap().contains("Max-Age=0"));
    let again = shop.done(&query(&login), &login.cookie);
    assert_eq!(again.status, 401);
    assert!(again.text().contains("finished already"), "{}", again.text());
    // Login CSRF: an attacker's response in the victim's browser, with the name of its cookie.
    let (own, other) = (shop.begin(), shop.begin());
    let name = other.cookie.split('=').next().unwrap();
    let cookie = format!("{name}={}", own.cookie.split_once('=').unwrap().1);
    let reply = shop.done(&query(&other), &cookie);
    assert_eq!(reply.status, 401, "{}", reply.text());
}

#[test]
fn what_a_login_begins_with_comes_back() {
    let Some(provider) = Provider::fake() else { return };
    let (issuer, port) = (format!("{}/honest", provider.base()), free_port());
    let text = shop(&issuer, port)
        .replace("this:provider start }", "this:provider start: #{ next: query:next } }")
        .replace(
            "claims ← this:provider finish. \"hello {claims at: 'sub'}\"",
            "this:provider finish: { :claims :begun | \"{claims at: 'sub'} at {begun at: 'next'}\" }",
        );
    let shop = Shop::of(&text, port);
    let reply = send(port, "GET", "/login?next=/orders/7", &[], b"").unwrap();
    assert_eq!(reply.status, 303, "{}", reply.text());
    assert!(!reply.header("location").unwrap().contains("orders"), "the provider is not told");
    let (location, cookie) =
        (reply.header("location").unwrap(), reply.header("set-cookie").unwrap());
    let cookie = cookie.split(';').next().unwrap().to_string();
    assert!(!cookie.contains("orders"), "it is sealed");
    let asked = parameters(location);
    let claims = provider.claims(&issuer, "shop", &asked["nonce"]);
    let query = format!("state={}&code={}", asked["state"], code(&json!({ "claims": claims })));
    assert_eq!(shop.done(&query, &cookie).text(), "ann at /orders/7");
    let long = format!("/login?next=/{}", "a".repeat(1100));
    assert_eq!(send(port, "GET", &long, &[], b"").unwrap().status, 400);
}

#[test]
fn providers_differ_in_what_they_support() {
    let Some(provider) = Provider::fake() else { return };
    // The secret in the form, where the provider takes it there only.
    let shop = Shop::start(&format!("{}/post", provider.base()));
    assert_eq!(attempt(&provider, &shop, "post", |_| ()).text(), "hello ann");
    // A promised issuer must be there.
    let shop = Shop::start(&format!("{}/issuing", provider.base()));
    assert_eq!(attempt(&provider, &shop, "issuing", |_| ()).status, 401);
    let issuer = format!("&iss=http%3A%2F%2F127.0.0.1%3A{}%2Fissuing", provider.port);
    let named = attempt(&provider, &shop, "issuing", |attempt| attempt.query.push_str(&issuer));
    assert_eq!(named.text(), "hello ann");
    // A redirect of the token endpoint is not followed: it would carry the secret elsewhere.
    let shop = Shop::start(&format!("{}/honest", provider.base()));
    let away = format!("{}/honest/stolen", provider.base());
    let reply = attempt(&provider, &shop, "honest", |attempt| {
        attempt.code["location"] = away.clone().into()
    });
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert_eq!(provider.count("/honest/stolen"), 0);
    // A provider that fails, describes another issuer, or names an address without encryption.
    for kind in ["broken", "liar", "plain"] {
        let shop = Shop::start(&format!("{}/{kind}", provider.base()));
        let reply = send(shop.port, "GET", "/login", &[], b"").unwrap();
        assert_eq!(reply.status, 503, "{kind}: {}", reply.text());
        assert!(!reply.text().contains(&provider.base()), "{kind}: {}", reply.text());
    }
}

#[test]
fn a_login_of_one_provider_is_not_finished_with_another() {
    let Some(provider) = Provider::fake() else { return };
    let port = free_port();
    let other = format!(
        "other ← #OpenID{{ issuer: '{}/query', client: 'shop', secret: '{SECRET}',\n\
            redirect: 'http://127.0.0.1:{port}/other/done', seal: seal }}.\n\
         scheme Site {{\n\
            var other.\n\
            /other {{ get {{ this:other start }} }}\n\
            /other/done {{ get {{ (this:other finish) at: 'sub' }} }}\n",
        provider.base()
    );
    let text = shop(&format!("{}/honest", provider.base()), port)
        .replace("scheme Site {", &other)
        .replace("provider: provider }", "provider: provider, other: other }");
    let shop = Shop::of(&text, port);
    let login = shop.begin();
    let issuer = format!("{}/query", provider.base());
    let claims = provider.claims(&issuer, "shop", &login.parameters["nonce"]);
    let code = code(&json!({ "claims": claims }));
    let target = format!("/other/done?state={}&code={code}", login.parameters["state"]);
    let reply = send(port, "GET", &target, &[("Cookie", &login.cookie)], b"").unwrap();
    assert_eq!(reply.status, 401, "{}", reply.text());
    assert!(reply.text().contains("did not begin"), "{}", reply.text());
    // Nor with its cookie under another name: the text is sealed for one provider.
    let (own, value) = login.cookie.split_once('=').unwrap();
    let begun = send(port, "GET", "/other", &[], b"").unwrap();
    let name = begun.header("set-cookie").unwrap().split('=').next().unwrap();
    // The last character of the name follows from the state.
    let cookie = format!("{}{}={value}", &name[..name.len() - 1], &own[own.len() - 1..]);
    let reply = send(port, "GET", &target, &[("Cookie", &cookie)], b"").unwrap();
    assert_eq!(reply.status, 401, "{}", reply.text());
    assert!(reply.text().contains("of another login"), "{}", reply.text());
}

/// The folder of the package that `.ci/run` installs.
fn modules() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("HOME")?).join(".cache/runnel/openid/node_modules");
    if !folder.join("oidc-provider").exists() {
        skip(&format!("oidc-provider is not in {}; .ci/run installs it", folder.display()));
        return None;
    }
    Some(folder)
}

/// A browser: it keeps the cookies of a host and follows redirects to the own machine.
#[derive(Default)]
struct Browser(BTreeMap<String, String>);

impl Browser {
    /// Follows redirects from an address; the address and the response where they end or leave the port.
    fn follow(&mut self, mut address: String, until: &str) -> String {
        for _ in 0..10 {
            if address.starts_with(until) {
                return address;
            }
            let (port, target) = split(&address);
            let cookies: Vec<String> =
                self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let cookies = cookies.join("; ");
            let host = format!("127.0.0.1:{port}");
            let headers = [("Cookie", cookies.as_str()), ("X-Forwarded-Host", host.as_str())];
            let reply = send_to(&host, port, &target, &headers);
            for (_, value) in reply.headers.iter().filter(|(name, _)| name == "set-cookie") {
                let pair = value.split(';').next().unwrap_or_default();
                if let Some((name, value)) = pair.split_once('=') {
                    self.0.insert(name.into(), value.into());
                }
            }
            let Some(location) = reply.header("location") else {
                panic!("{address} answers {}: {}", reply.status, reply.text())
            };
            address = match location.starts_with('/') {
                true => format!("http://{host}{location}"),
                false => location.to_string(),
            };
        }
        panic!("too many redirects, the last to {address}")
    }
}

fn split(address: &str) -> (u16, String) {
    let rest = address.strip_prefix("http://127.0.0.1:").unwrap_or_else(|| panic!("{address}"));
    let (port, path) = rest.split_once('/').unwrap();
    (port.parse().unwrap(), format!("/{path}"))
}

/// A GET that names its host: a provider makes addresses of it.
fn send_to(host: &str, port: u16, target: &str, headers: &[(&str, &str)]) -> Reply {
    use std::io::Write;
    let mut head = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    crate::support::http::read_reply(stream).unwrap()
}

#[test]
fn a_real_provider_logs_in() {
    let Some(modules) = modules() else { return };
    let port = free_port();
    let issuer = format!("http://127.0.0.1:{port}");
    let shop = Shop::start(&issuer);
    let done = format!("http://127.0.0.1:{}/login/done", shop.port);
    let mut command = Command::new("node");
    command.arg(programs().join("openid/real.mjs")).arg(modules).arg(port.to_string()).arg(&done);
    let mut provider = Process::start(&mut command);
    provider.listens(port);

    let login = shop.begin();
    let returned = Browser::default().follow(login.location.clone(), &done);
    let query = returned.split_once('?').unwrap().1;
    assert!(query.contains("iss="), "{query}");
    // The provider notices a code verifier of another login.
    let other = shop.begin();
    assert_eq!(shop.done(query, &other.cookie).status, 401);
    let reply = shop.done(query, &login.cookie);
    assert_eq!((reply.status, reply.text().as_str()), (200, "hello ann"), "{}", provider.out());
    assert_eq!(shop.done(query, &login.cookie).status, 401);
    provider.signal("TERM");
}
