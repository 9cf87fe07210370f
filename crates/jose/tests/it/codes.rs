//! Vectors of RFC 4226 (appendix D), RFC 6238 (appendix B) and RFC 4648 (section 10).

use runnel_jose::{CodeHash, OneTimeCode, base32, base32_decoded};

#[test]
fn codes_of_rfc_4226() {
    let code = OneTimeCode { secret: b"12345678901234567890", hash: CodeHash::Sha1, digits: 6 };
    let expected = [
        "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871",
        "520489",
    ];
    for (counter, expected) in (0..).zip(expected) {
        assert_eq!(code.at(counter), expected);
    }
}

#[test]
fn codes_of_rfc_6238() {
    let secret: String = "1234567890".repeat(7);
    let code = |hash, length| OneTimeCode { secret: &secret.as_bytes()[..length], hash, digits: 8 };
    for (seconds, sha1, sha256, sha512) in [
        (59, "94287082", "46119246", "90693936"),
        (1_111_111_109, "07081804", "68084774", "25091201"),
        (1_111_111_111, "14050471", "67062674", "99943326"),
        (1_234_567_890, "89005924", "91819424", "93441116"),
        (2_000_000_000, "69279037", "90698825", "38618901"),
        (20_000_000_000, "65353130", "77737706", "47863826"),
    ] {
        assert_eq!(code(CodeHash::Sha1, 20).at(seconds / 30), sha1);
        assert_eq!(code(CodeHash::Sha256, 32).at(seconds / 30), sha256);
        assert_eq!(code(CodeHash::Sha512, 64).at(seconds / 30), sha512);
    }
}

#[test]
fn a_code_is_found_within_its_window_alone() {
    let code = OneTimeCode { secret: b"12345678901234567890", hash: CodeHash::Sha1, digits: 6 };
    assert_eq!(code.find("969429", 2..=4), Some(3));
    assert_eq!(code.find("969429", 4..=6), None);
    assert_eq!(code.find("96942", 2..=4), None);
    assert_eq!(code.find("", 2..=4), None);
}

#[test]
fn base_32_of_rfc_4648() {
    let pairs = [
        ("", ""),
        ("f", "MY"),
        ("fo", "MZXQ"),
        ("foo", "MZXW6"),
        ("foob", "MZXW6YQ"),
        ("fooba", "MZXW6YTB"),
        ("foobar", "MZXW6YTBOI"),
    ];
    for (text, encoded) in pairs {
        assert_eq!(base32(text.as_bytes()), encoded);
        assert_eq!(base32_decoded(encoded).unwrap(), text.as_bytes());
    }
    assert_eq!(base32_decoded("mzxw 6ytb-oi======").unwrap(), b"foobar");
    assert_eq!(base32_decoded("M1"), None);
}
