//! Tokens in real servers: Wycheproof's cases, key sets of other servers, secrets that nothing shows.

use crate::judges::{judge, programs};
use crate::openid::Provider;
use crate::support::{Server, program, run, runnel, skip};
use std::process::Command;

/// Cases of Wycheproof that contradict another case or RFC 7515, by number: 367 and 370 are the bytes of 357, which
/// is valid; 372 and 373 have a `?` within their base64url; the keys of 346 and 350 name another algorithm.
const CONTRADICTORY: [u32; 6] = [346, 350, 367, 370, 372, 373];

#[test]
fn wycheproof_finds_no_fault_but_its_own() {
    let Some(script) = judge("jwt/check.py") else { return };
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("no python3 is installed");
    }
    let text = std::fs::read_to_string(programs().join("verify.st")).unwrap();
    let server = Server::start(&text, &[]);
    let base = format!("http://127.0.0.1:{}", server.port);
    let outcome = run(Command::new("python3").arg(script).arg(base));
    let failed: Vec<u32> = (outcome.out.lines())
        .filter_map(|line| line.strip_prefix("FAIL ")?.split(' ').next()?.parse().ok())
        .collect();
    assert_eq!(failed, CONTRADICTORY, "{}", outcome.out);
    assert_eq!(outcome.out.lines().last(), Some("395 passed, 6 failed"));
}

/// A secret that no text of the tests contains otherwise.
const PLANTED: &str = "planted-secret-planted-secret-planted-secret-planted-secret-planted";

#[test]
fn nothing_shows_a_secret() {
    let text = format!(
        "secret ← '{PLANTED}'.\n\
         tokens ← #JWT{{ key: secret, algorithm: 'HS256' }}.\n\
         seal ← #Seal{{ keys: [ secret ], purpose: 'a' }}.\n\
         login ← #OpenID{{ issuer: 'http://127.0.0.1:1', client: 'c', secret: secret, \
            redirect: 'http://127.0.0.1:1/done', seal: seal }}.\n\
         [ tokens, seal, login ] do: {{ :each |\n\
         \x20  stdout println: each. stdout println: each printString. stdout println: each asJSON.\n\
         \x20  stdout println: each copy asJSON. stdout println: each class instanceVariables.\n\
         \x20  stdout println: ({{ each key }} onError: {{ :e | e message }}).\n\
         \x20  stdout println: ({{ each setKey: secret }} onError: {{ :e | e message }}).\n\
         }}.\n\
         [ {{ #JWT{{ key: secret, algorithm: 'RS256' }} }}, {{ #JWT{{ key: secret, algorithm: 'HS999' }} }},\n\
         \x20 {{ #JWT{{ key: 3, algorithm: 'HS256' }} }}, {{ #Seal{{ keys: secret }} }},\n\
         \x20 {{ #Seal{{ keys: [ 7 , secret ] }} }},\n\
         \x20 {{ #JWT{{ key: #{{ kty: 'oct', k: secret, use: 'enc' }} }} }}, {{ login start }},\n\
         \x20 {{ #JWT{{ keys: secret, algorithm: 'HS256' }} }}\n\
         ] do: {{ :block | stdout println: (block onError: {{ :e | e message }}) }}.\n\
         tokens shout.\n"
    );
    let outcome = program(&text);
    assert!(outcome.out.lines().count() >= 29, "{outcome:?}");
    assert!(!outcome.out.contains("planted"), "{}", outcome.out);
    // The line of the program that failed is shown, and holds no secret.
    assert!(!outcome.err.contains("planted"), "{}", outcome.err);
    assert_ne!(outcome.status, 0);
}

fn verifier(provider: &Provider) -> Server {
    let text = format!(
        "#-<void>serve:<int>port\n\
         tokens ← #JWT{{ keys: '{}/honest/jwks', algorithms: [ 'RS256', 'ES256' ], issuer: 'me', audience: 'api' }}.\n\
         scheme Api {{\n\
            var tokens.\n\
            guard user {{ this:tokens bearer }}\n\
            /who {{ get {{ user at: 'sub' }} }}\n\
         }}\n\
         #HTTPServer{{ port: port, scheme: #Api{{ tokens: tokens }} }} start.\n",
        provider.base()
    );
    Server::start(&text, &[])
}

#[test]
fn a_key_set_is_fetched_once_and_again_for_a_new_key() {
    let Some(provider) = Provider::fake() else { return };
    let server = verifier(&provider);
    let claims = || provider.claims("me", "api", "");
    let ask = |token: &str| {
        let header = format!("Bearer {token}");
        let headers = [("Authorization", header.as_str())];
        crate::support::http::send(server.port, "GET", "/who", &headers, b"").unwrap()
    };
    let fetches = || provider.count("/honest/jwks");
    let rsa = provider.token("rsa", &claims());
    // Many at once wait for one fetch.
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| assert_eq!(ask(&rsa).text(), "ann"));
        }
    });
    assert_eq!(fetches(), 1);
    assert_eq!(ask(&provider.token("ec", &claims())).text(), "ann");
    for key in ["other", "hs", "public", "none"] {
        assert_eq!(ask(&provider.token(key, &claims())).status, 401, "{key}");
    }
    assert_eq!(fetches(), 1);
    // Unknown keys have it fetched again, and not for each of them.
    for _ in 0..5 {
        assert_eq!(ask(&provider.token("next", &claims())).status, 401);
    }
    assert!(fetches() <= 2, "{}", fetches());
}

#[test]
fn an_unreachable_key_set_is_no_login() {
    let text = "#-<void>serve:<int>port\n\
         tokens ← #JWT{ keys: 'http://127.0.0.1:1/jwks', algorithms: [ 'RS256' ], issuer: 'me', audience: 'api' }.\n\
         scheme Api { var tokens. guard user { this:tokens bearer } /who { get { 'me' } } }\n\
         #HTTPServer{ port: port, scheme: #Api{ tokens: tokens } } start.\n";
    let server = Server::start(text, &[]);
    let headers = [("Authorization", "Bearer a.b.c")];
    let reply = crate::support::http::send(server.port, "GET", "/who", &headers, b"").unwrap();
    assert_eq!(reply.status, 503);
    assert!(!reply.text().contains("127.0.0.1:1"), "{}", reply.text());
    assert_eq!(server.get("/who").status, 401);
}

#[test]
fn the_program_of_the_judge_is_formatted_and_without_warnings() {
    for command in [&["check"][..], &["fmt", "--check"]] {
        let outcome = run(runnel().args(command).arg(programs().join("verify.st")));
        assert_eq!((outcome.status, outcome.out, outcome.err), (0, String::new(), String::new()));
    }
}
