//! Keys: formats, sizes, uses, sets, and key pairs that sign what they verify.

use crate::vectors::verified;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
};
use runnel_jose::{
    KeyError, KeySet, MOST_KEYS, SignatureAlgorithm, SignatureKey, SignedToken, Verification,
};

/// A key pair for tests alone.
pub(crate) const RSA: &str = include_str!("rsa.pem");
const RSA_PUBLIC: &str = include_str!("rsa-public.pem");
const RSA_SMALL: &str = include_str!("rsa-1024.pem");

fn pem(label: &str, content: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(content))
}

/// A fresh key pair for an algorithm, or the fixed one for RSA.
pub(crate) fn pair(algorithm: SignatureAlgorithm) -> SignatureKey {
    let random = SystemRandom::new();
    match algorithm {
        SignatureAlgorithm::Es256 | SignatureAlgorithm::Es384 => {
            let signing = match algorithm {
                SignatureAlgorithm::Es256 => &ECDSA_P256_SHA256_FIXED_SIGNING,
                _ => &ECDSA_P384_SHA384_FIXED_SIGNING,
            };
            let content = EcdsaKeyPair::generate_pkcs8(signing, &random).unwrap();
            SignatureKey::pem(&pem("PRIVATE KEY", content.as_ref()), algorithm).unwrap()
        }
        SignatureAlgorithm::EdDsa => {
            let content = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
            SignatureKey::pem(&pem("PRIVATE KEY", content.as_ref()), algorithm).unwrap()
        }
        SignatureAlgorithm::Es512 => {
            let secret = p521::ecdsa::SigningKey::from_slice(&[1; 66]).unwrap();
            let point = secret.verifying_key().to_sec1_bytes();
            let part = |from: usize| URL_SAFE_NO_PAD.encode(&point[from..from + 66]);
            let jwk = format!(
                r#"{{"kty":"EC","crv":"P-521","x":"{}","y":"{}","d":"{}"}}"#,
                part(1),
                part(67),
                URL_SAFE_NO_PAD.encode([1; 66])
            );
            SignatureKey::jwk(&jwk, None).unwrap()
        }
        algorithm if algorithm.is_symmetric() => SignatureKey::secret(&[7; 64], algorithm).unwrap(),
        algorithm => SignatureKey::pem(RSA, algorithm).unwrap(),
    }
}

pub(crate) const ALL: [SignatureAlgorithm; 13] = [
    SignatureAlgorithm::Hs256,
    SignatureAlgorithm::Hs384,
    SignatureAlgorithm::Hs512,
    SignatureAlgorithm::Rs256,
    SignatureAlgorithm::Rs384,
    SignatureAlgorithm::Rs512,
    SignatureAlgorithm::Ps256,
    SignatureAlgorithm::Ps384,
    SignatureAlgorithm::Ps512,
    SignatureAlgorithm::Es256,
    SignatureAlgorithm::Es384,
    SignatureAlgorithm::Es512,
    SignatureAlgorithm::EdDsa,
];

#[test]
fn every_algorithm_signs_what_its_public_key_verifies() {
    for algorithm in ALL {
        let key = pair(algorithm);
        let public = key.public_jwk();
        assert_eq!(public.is_none(), algorithm.is_symmetric(), "{algorithm:?}");
        let keys = KeySet::new(vec![key]).unwrap();
        let token = keys.sign(b"{}", Some("JWT")).unwrap();
        let Some(public) = public else { continue };
        assert_eq!(verified(&public, &token), Verification::Valid(b"{}".to_vec()), "{algorithm:?}");
        let public = KeySet::jwks(&keys.public_jwks(), &[algorithm]).unwrap();
        assert!(public.sign(b"{}", None).unwrap_err().0.contains("only verifies"));
    }
}

#[test]
fn a_token_cannot_choose_another_algorithm() {
    for algorithm in ALL {
        let keys = KeySet::new(vec![pair(algorithm)]).unwrap();
        let token = keys.sign(b"{}", None).unwrap();
        for other in ALL.into_iter().filter(|other| *other != algorithm) {
            let token = SignedToken::parse(token.as_bytes()).unwrap();
            assert_eq!(keys.verify(token, &[other], None), Verification::Invalid, "{other:?}");
        }
    }
}

#[test]
fn a_public_key_as_a_secret_is_refused() {
    let refused = |result: Result<SignatureKey, KeyError>| result.unwrap_err().to_string();
    let hs256 = SignatureAlgorithm::Hs256;
    assert!(refused(SignatureKey::secret(RSA_PUBLIC.as_bytes(), hs256)).contains("not a PEM"));
    let spaced = format!("\n {RSA_PUBLIC}");
    assert!(refused(SignatureKey::secret(spaced.as_bytes(), hs256)).contains("not a PEM"));
    // Signed with the text of the public key, as the confusion of algorithms does.
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, RSA_PUBLIC.as_bytes());
    let head = format!("{}.e30", URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256"}"#));
    let code = ring::hmac::sign(&key, head.as_bytes());
    let token = format!("{head}.{}", URL_SAFE_NO_PAD.encode(code.as_ref()));
    let rsa = SignatureKey::pem(RSA_PUBLIC, SignatureAlgorithm::Rs256).unwrap();
    let keys = KeySet::new(vec![rsa]).unwrap();
    for allowed in [&keys.algorithms()[..], &ALL] {
        let token = SignedToken::parse(token.as_bytes()).unwrap();
        assert_eq!(keys.verify(token, allowed, None), Verification::Invalid);
    }
}

#[test]
fn keys_have_a_least_size_and_the_right_kind() {
    let refused = |result: Result<SignatureKey, KeyError>| result.unwrap_err().to_string();
    for (algorithm, least) in [
        (SignatureAlgorithm::Hs256, 32),
        (SignatureAlgorithm::Hs384, 48),
        (SignatureAlgorithm::Hs512, 64),
    ] {
        assert!(SignatureKey::secret(&vec![1; least], algorithm).is_ok());
        let message = refused(SignatureKey::secret(&vec![1; least - 1], algorithm));
        assert!(message.contains(&format!("at least {least} bytes")), "{message}");
    }
    let rs256 = SignatureAlgorithm::Rs256;
    assert!(
        refused(SignatureKey::pem(RSA_SMALL, rs256)).contains("from 2048 to 8192 bits (got 1024)")
    );
    assert!(refused(SignatureKey::pem(RSA, SignatureAlgorithm::Es256)).contains("none for ES256"));
    assert!(refused(SignatureKey::pem("text", rs256)).contains("no PEM"));
    assert!(refused(SignatureKey::secret(b"text", rs256)).contains("key pair"));
    let sec1 = pem("EC PRIVATE KEY", b"x");
    assert!(refused(SignatureKey::pem(&sec1, SignatureAlgorithm::Es256)).contains("openssl pkcs8"));
    // Line breaks of environment variables.
    let escaped = RSA.replace('\n', "\\n");
    assert!(SignatureKey::pem(&escaped, rs256).is_ok());
}

#[test]
fn messages_contain_no_part_of_a_key() {
    let secret = "a-secret-that-is-too-short";
    let message = SignatureKey::secret(secret.as_bytes(), SignatureAlgorithm::Hs256).unwrap_err();
    assert!(!message.to_string().contains(secret));
    let jwk = r#"{"kty":"oct","k":"YS1zZWNyZXQ"}"#;
    assert!(!SignatureKey::jwk(jwk, None).unwrap_err().to_string().contains("YS1zZWNyZXQ"));
    let shown = format!("{:?}", pair(SignatureAlgorithm::Hs256));
    assert_eq!(shown, "SignatureKey { id: None, algorithms: [Hs256], .. }");
}

#[test]
fn a_json_web_key_is_used_for_what_it_says() {
    let key = |members: &str| {
        let k = URL_SAFE_NO_PAD.encode([7; 32]);
        SignatureKey::jwk(&format!(r#"{{"kty":"oct","k":"{k}"{members}}}"#), None)
    };
    let algorithms = |members: &str| KeySet::new(vec![key(members).unwrap()]).unwrap().algorithms();
    // Its size allows no longer hash.
    assert_eq!(algorithms(""), [SignatureAlgorithm::Hs256]);
    assert_eq!(algorithms(r#","alg":"HS256","use":"sig""#), [SignatureAlgorithm::Hs256]);
    for members in [
        r#","alg":"HS512""#,
        r#","alg":"RS256""#,
        r#","alg":"none""#,
        r#","alg":7"#,
        r#","use":"enc""#,
        r#","key_ops":["encrypt"]"#,
        r#","key_ops":"verify""#,
        r#","kid":7"#,
    ] {
        assert!(key(members).is_err(), "{members}");
    }
    let only_signs = KeySet::new(vec![key(r#","key_ops":["sign"]"#).unwrap()]).unwrap();
    let token = only_signs.sign(b"{}", None).unwrap();
    let parsed = SignedToken::parse(token.as_bytes()).unwrap();
    assert_eq!(only_signs.verify(parsed, &ALL, None), Verification::Invalid);
    let only_verifies = KeySet::new(vec![key(r#","key_ops":["verify"]"#).unwrap()]).unwrap();
    assert!(only_verifies.sign(b"{}", None).is_err());
    for wrong in [
        "[]",
        "{}",
        r#"{"kty":"EC","crv":"secp256k1"}"#,
        r#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#,
        r#"{"kty":"EC","crv":"P-521","x":"AA","y":"AA"}"#,
        r#"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#,
        r#"{"kty":"RSA","n":"AA","e":"AQAB"}"#,
        r#"{"kty":"oct","k":"not base64url!"}"#,
    ] {
        assert!(SignatureKey::jwk(wrong, None).is_err(), "{wrong}");
    }
}

#[test]
fn a_set_is_bounded_and_selects_by_name() {
    let algorithm = SignatureAlgorithm::EdDsa;
    let named = |name: &str| {
        let text = pair(algorithm).public_jwk().unwrap();
        text.replacen('{', &format!(r#"{{"kid":"{name}","#), 1)
    };
    let set = |keys: &[String]| {
        KeySet::jwks(&format!(r#"{{"keys":[{}]}}"#, keys.join(",")), &[algorithm])
    };
    let many: Vec<String> = (0..=MOST_KEYS).map(|number| named(&number.to_string())).collect();
    assert!(set(&many[..MOST_KEYS]).is_ok());
    assert!(set(&many).is_err());
    // Keys that cannot be used are ignored; a set without others is an error.
    let odd = vec![r#"{"kty":"new"}"#.to_string(), "7".into(), named("a")];
    assert!(set(&odd).is_ok());
    assert!(set(&odd[..2]).is_err());
    let secret =
        format!(r#"{{"keys":[{{"kty":"oct","k":"{}"}}]}}"#, URL_SAFE_NO_PAD.encode([7; 64]));
    assert!(KeySet::jwks(&secret, &ALL).is_err());
    assert!(KeySet::jwks("{}", &ALL).is_err());
    assert!(KeySet::new(Vec::new()).is_err());

    let token = r#"{"alg":"EdDSA","kid":"b"}"#;
    let token = format!("{}.e30.AAAA", URL_SAFE_NO_PAD.encode(token));
    let verify = |set: &KeySet| {
        set.verify(SignedToken::parse(token.as_bytes()).unwrap(), &[algorithm], None)
    };
    assert_eq!(verify(&set(&[named("a")]).unwrap()), Verification::UnknownKey);
    assert_eq!(verify(&set(&[named("a"), named("b")]).unwrap()), Verification::Invalid);
}
