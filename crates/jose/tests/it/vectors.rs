//! Test vectors of RFC 7515 and RFC 8037, and refusals of the header.

use runnel_jose::{KeySet, SignatureAlgorithm, SignatureKey, SignedToken, Verification};

pub(crate) fn verified(key: &str, token: &str) -> Verification {
    let keys = KeySet::new(vec![SignatureKey::jwk(key, None).unwrap()]).unwrap();
    let allowed = keys.algorithms();
    SignedToken::parse(token.as_bytes())
        .map_or(Verification::Invalid, |token| keys.verify(token, &allowed, None))
}

/// RFC 7515, appendix A.1.
const HS256_KEY: &str = r#"{"kty":"oct",
    "k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}"#;
const HS256_TOKEN: &str = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\
    eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.\
    dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

#[test]
fn the_hmac_of_rfc_7515_verifies() {
    let Verification::Valid(payload) = verified(HS256_KEY, HS256_TOKEN) else { panic!("refused") };
    assert!(String::from_utf8(payload).unwrap().contains("\"iss\":\"joe\""));
    let other = HS256_TOKEN.replace("dBjf", "dBjg");
    assert_eq!(verified(HS256_KEY, &other), Verification::Invalid);
}

/// RFC 8037, appendix A.
#[test]
fn ed25519_of_rfc_8037_signs_and_verifies() {
    let key = r#"{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
        "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
    let token = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.\
        hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    let expected = Verification::Valid(b"Example of Ed25519 signing".to_vec());
    assert_eq!(verified(key, token), expected);
    let keys = KeySet::new(vec![SignatureKey::jwk(key, None).unwrap()]).unwrap();
    assert_eq!(keys.sign(b"Example of Ed25519 signing", None).unwrap(), token);
}

#[test]
fn headers_with_extensions_are_refused() {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let signed = |header: &str| {
        let secret = URL_SAFE_NO_PAD
            .decode("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow")
            .unwrap();
        let head = format!("{}.e30", URL_SAFE_NO_PAD.encode(header));
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &secret);
        let tag = ring::hmac::sign(&key, head.as_bytes());
        format!("{head}.{}", URL_SAFE_NO_PAD.encode(tag.as_ref()))
    };
    let valid = Verification::Valid(b"{}".to_vec());
    assert_eq!(verified(HS256_KEY, &signed(r#"{"alg":"HS256"}"#)), valid);
    for header in [
        r#"{"alg":"HS256","crit":["exp"]}"#,
        r#"{"alg":"HS256","crit":[]}"#,
        r#"{"alg":"HS256","b64":true}"#,
        r#"{"alg":"hs256"}"#,
        r#"{"alg":["HS256"]}"#,
        r#"{"alg":"HS256","kid":7}"#,
        r#"{"alg":"HS256","typ":null}"#,
        r#"{"alg":"none"}"#,
        r#"["HS256"]"#,
        r#"{"alg":"HS256"} x"#,
        "{}",
    ] {
        assert_eq!(verified(HS256_KEY, &signed(header)), Verification::Invalid, "{header}");
    }
}

#[test]
fn a_token_is_bounded_and_strictly_encoded() {
    assert!(SignedToken::parse(HS256_TOKEN.as_bytes()).is_some());
    let long = format!("{}{HS256_TOKEN}", "A".repeat(runnel_jose::LONGEST_TOKEN));
    assert!(SignedToken::parse(long.as_bytes()).is_none());
    for (from, to) in
        [("dBjf", "dBj="), ("dBjf", "dBj\n"), ("dBjf", "dBj+"), ("OEjXk", "OEjXl"), (".", "..")]
    {
        let other = HS256_TOKEN.replacen(from, to, 1);
        assert!(SignedToken::parse(other.as_bytes()).is_none(), "{other}");
    }
}

#[test]
fn the_type_of_a_token_can_be_demanded() {
    let secret = SignatureKey::secret(&[7; 32], SignatureAlgorithm::Hs256).unwrap();
    let keys = KeySet::new(vec![secret]).unwrap();
    let token = keys.sign(b"{}", Some("at+jwt")).unwrap();
    let with = |wanted: &str| {
        let token = SignedToken::parse(token.as_bytes()).unwrap();
        keys.verify(token, &keys.algorithms(), Some(wanted))
    };
    assert_eq!(with("application/AT+JWT"), Verification::Valid(b"{}".to_vec()));
    assert_eq!(with("JWT"), Verification::Invalid);
}
