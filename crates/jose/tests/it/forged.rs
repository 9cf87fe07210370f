//! Forged tokens and sealed texts: none is accepted. `RUNNEL_FORGERIES` says how many, for each kind.

use crate::keys::{ALL, pair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use runnel_jose::{KeySet, SealKeys, SealMode, SignatureAlgorithm, SignedToken, Verification};

/// Default number of forgeries of each kind.
const FORGERIES: usize = 2_000;

#[allow(clippy::disallowed_methods)] // the sources are pure, their tests are not
fn forgeries() -> usize {
    let wanted = std::env::var("RUNNEL_FORGERIES").ok();
    wanted.and_then(|count| count.parse().ok()).unwrap_or(FORGERIES)
}

/// Reproducible numbers: SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=";

/// A text with a few bytes changed, removed, added, doubled or cut.
fn mutated(text: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..=numbers.below(3) {
        let at = numbers.below(text.len());
        let digit = DIGITS[numbers.below(DIGITS.len())];
        match numbers.below(6) {
            0 | 1 => text[at] = digit,
            2 => text[at] ^= 1 << numbers.below(8),
            3 => text.insert(at, digit),
            4 if text.len() > 2 => drop(text.remove(at)),
            _ => text.truncate(at.max(1)),
        }
    }
    text
}

#[test]
fn no_mutated_token_is_accepted() {
    let mut numbers = Numbers(1);
    let cheap = [
        SignatureAlgorithm::Hs256,
        SignatureAlgorithm::Rs256,
        SignatureAlgorithm::Ps256,
        SignatureAlgorithm::Es256,
        SignatureAlgorithm::EdDsa,
    ];
    for algorithm in cheap {
        let keys = KeySet::new(vec![pair(algorithm)]).unwrap();
        let token = keys.sign(br#"{"sub":"ann","admin":false}"#, Some("JWT")).unwrap();
        for _ in 0..forgeries() {
            let forged = mutated(token.as_bytes(), &mut numbers);
            let Some(parsed) = SignedToken::parse(&forged) else { continue };
            let verification = keys.verify(parsed, &ALL, None);
            let is_refused = verification == Verification::Invalid;
            assert!(is_refused || forged == token.as_bytes(), "{algorithm:?} {forged:?}");
        }
    }
}

#[test]
fn no_token_with_another_payload_or_header_is_accepted() {
    for algorithm in ALL {
        let keys = KeySet::new(vec![pair(algorithm)]).unwrap();
        let token = keys.sign(br#"{"sub":"ann"}"#, None).unwrap();
        let [header, payload, signature] = token.split('.').collect::<Vec<_>>()[..] else {
            panic!()
        };
        let other = URL_SAFE_NO_PAD.encode(br#"{"sub":"bob"}"#);
        let encoded = |header: &str| URL_SAFE_NO_PAD.encode(header);
        let mut forged = vec![
            format!("{header}.{other}.{signature}"),
            format!("{header}.{payload}."),
            format!("{header}.{payload}"),
            format!("{}.{payload}.", encoded(r#"{"alg":"none"}"#)),
            format!("{}.{payload}.{signature}", encoded(r#"{"alg":"NONE"}"#)),
            format!("{header}.{payload}.{signature}.{signature}"),
            format!("{header}.{payload}.{}", URL_SAFE_NO_PAD.encode([0; 64])),
            format!("{header}.{payload}.{}", URL_SAFE_NO_PAD.encode([0; 256])),
        ];
        forged.extend(ALL.into_iter().filter(|one| *one != algorithm).map(|one| {
            let header = encoded(&format!(r#"{{"alg":"{}"}}"#, one.name()));
            format!("{header}.{payload}.{signature}")
        }));
        for token in forged {
            let verification = SignedToken::parse(token.as_bytes())
                .map_or(Verification::Invalid, |token| keys.verify(token, &ALL, None));
            assert_eq!(verification, Verification::Invalid, "{algorithm:?} {token}");
        }
    }
}

#[test]
fn no_mutated_seal_opens() {
    let mut numbers = Numbers(2);
    let keys = SealKeys::new(&[&[7; 32]], "cart").unwrap();
    for mode in [SealMode::Sealed, SealMode::Signed] {
        let text = keys.close(mode, r#"{"user":7}"#, 100).unwrap();
        assert!(keys.open(mode, text.as_bytes(), 99).is_some());
        for _ in 0..forgeries() {
            let forged = mutated(text.as_bytes(), &mut numbers);
            let is_refused = keys.open(mode, &forged, 99).is_none();
            assert!(is_refused || forged == text.as_bytes(), "{mode:?} {forged:?}");
        }
    }
}
