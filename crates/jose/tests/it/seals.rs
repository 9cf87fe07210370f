//! Sealed and signed texts: rotation, purposes, expiry, limits.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use runnel_jose::{KeyError, LONGEST_SEALED, SealKeys, SealMode};

const OLD: &[u8] = b"an old secret of thirty-two bytes";
const NEW: &[u8] = b"a new secret of thirty-two bytes.";
const MODES: [SealMode; 2] = [SealMode::Sealed, SealMode::Signed];

fn keys(secrets: &[&[u8]]) -> SealKeys {
    SealKeys::new(secrets, "").unwrap()
}

#[test]
fn all_keys_open_what_the_first_one_closes() {
    for mode in MODES {
        let old = keys(&[OLD]).close(mode, "[1]", 100).unwrap();
        let both = keys(&[NEW, OLD]);
        assert_eq!(both.open(mode, old.as_bytes(), 99).as_deref(), Some("[1]"));
        let new = both.close(mode, "[2]", 100).unwrap();
        assert_eq!(keys(&[NEW]).open(mode, new.as_bytes(), 99).as_deref(), Some("[2]"));
        assert_eq!(keys(&[OLD]).open(mode, new.as_bytes(), 99), None);
    }
}

#[test]
fn a_text_expires_and_belongs_to_one_purpose_and_mode() {
    for (mode, other) in [(MODES[0], MODES[1]), (MODES[1], MODES[0])] {
        let cart = SealKeys::new(&[NEW], "cart").unwrap();
        let text = cart.close(mode, "null", 100).unwrap();
        assert_eq!(cart.open(mode, text.as_bytes(), 99).as_deref(), Some("null"));
        assert_eq!(cart.open(mode, text.as_bytes(), 100), None);
        assert_eq!(cart.open(other, text.as_bytes(), 99), None);
        assert_eq!(keys(&[NEW]).open(mode, text.as_bytes(), 99), None);
        assert_eq!(SealKeys::new(&[NEW], "car").unwrap().open(mode, text.as_bytes(), 99), None);
    }
}

#[test]
fn a_sealed_text_is_unreadable_and_never_the_same() {
    let seal = keys(&[NEW]);
    let text = seal.close(SealMode::Sealed, r#"{"card":"4111"}"#, 100).unwrap();
    assert!(!String::from_utf8_lossy(&URL_SAFE_NO_PAD.decode(&text).unwrap()).contains("card"));
    assert_ne!(text, seal.close(SealMode::Sealed, r#"{"card":"4111"}"#, 100).unwrap());
    // The holder can read a signed one.
    let signed = seal.close(SealMode::Signed, r#"{"theme":"dark"}"#, 100).unwrap();
    let content = URL_SAFE_NO_PAD.decode(signed.split('.').next().unwrap()).unwrap();
    assert_eq!(content, br#"{"exp":100,"value":{"theme":"dark"}}"#);
}

#[test]
fn limits_hold() {
    let message = |result: Result<SealKeys, KeyError>| result.unwrap_err().to_string();
    assert!(message(SealKeys::new(&[], "")).contains("from 1 to 8"));
    assert!(message(SealKeys::new(&[NEW; 9], "")).contains("from 1 to 8"));
    assert!(message(SealKeys::new(&[b"short"], "")).contains("at least 32 bytes (got 5)"));
    assert!(message(SealKeys::new(&[NEW], &"x".repeat(65))).contains("at most 64"));
    let long = format!("\"{}\"", "x".repeat(LONGEST_SEALED));
    for mode in MODES {
        assert!(keys(&[NEW]).close(mode, &long, 100).is_err());
        assert_eq!(keys(&[NEW]).open(mode, long.as_bytes(), 0), None);
        assert_eq!(keys(&[NEW]).open(mode, b"", 0), None);
    }
}

#[test]
fn texts_of_earlier_versions_still_open() {
    let seal = SealKeys::new(&[&[7; 32]], "cart").unwrap();
    let sealed = include_str!("sealed.txt").trim();
    assert_eq!(seal.open(SealMode::Sealed, sealed.as_bytes(), 0).as_deref(), Some("[1,2,3]"));
    let signed = include_str!("signed.txt").trim();
    assert_eq!(seal.open(SealMode::Signed, signed.as_bytes(), 0).as_deref(), Some("[1,2,3]"));
}
