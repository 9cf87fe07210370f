//! Bodies in every framing, cut into pieces anywhere.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::server::payload::plan::{ChunkPlan, ChunkSignatures, ChunkSigning};
use crate::signature::digest::sha256_hex;
use crate::signature::key::{SigningKey, scope};
use crate::signature::time::SigningTime;
use futures_util::{FutureExt, StreamExt, stream};
use http::{HeaderName, HeaderValue};
use proptest::prelude::*;

const SEED: &str = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9";

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&str, &str)| {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        (name, HeaderValue::from_str(value).unwrap())
    };
    pairs.iter().map(pair).collect()
}

fn signing() -> ChunkSigning {
    let time = SigningTime::parse("20130524T000000Z").unwrap();
    let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    ChunkSigning {
        key: SigningKey::derive(secret, time.date(), "us-east-1"),
        access_key: "AKIAIOSFODNN7EXAMPLE".to_string(),
        scope: scope(time.date(), "us-east-1"),
        time,
        seed: SEED.to_string(),
    }
}

fn signed(has_trailer: bool) -> PayloadPlan {
    let signatures = ChunkSignatures::Checked(Box::new(signing()));
    PayloadPlan::Chunked(ChunkPlan { signatures, has_trailer })
}

fn unsigned() -> PayloadPlan {
    PayloadPlan::Chunked(ChunkPlan { signatures: ChunkSignatures::Absent, has_trailer: true })
}

/// What is left of a body that is sent in pieces of these lengths, over and over.
fn read(
    plan: PayloadPlan,
    sent: &[u8],
    cuts: &[usize],
    asked: &[(&str, &str)],
) -> Result<(Vec<u8>, Rc<PayloadChecks>), S3Fault> {
    let (mut pieces, mut rest) = (Vec::new(), Bytes::copy_from_slice(sent));
    let mut cuts = cuts.iter().copied().cycle();
    while !rest.is_empty() {
        let length = cuts.next().unwrap_or(rest.len()).clamp(1, rest.len());
        pieces.push(Ok(rest.split_to(length)));
    }
    let raw: ByteStream = Box::pin(stream::iter(pieces));
    let body = body(plan, raw, Some(sent.len() as u64), &headers(asked), BodyOptions::default())?;
    let read = async {
        let (mut content, mut stream) = (Vec::new(), body.stream);
        while let Some(piece) = stream.next().await {
            match piece {
                Ok(piece) => content.extend_from_slice(&piece),
                Err(_) => return Err(body.checks.fault().unwrap()),
            }
        }
        assert_eq!(body.checks.length(), content.len() as u64);
        Ok((content, body.checks))
    };
    read.now_or_never().unwrap()
}

fn fault(plan: PayloadPlan, sent: &[u8], asked: &[(&str, &str)]) -> (FaultCode, String) {
    let whole = read(plan.clone(), sent, &[], asked).unwrap_err();
    let bytes = read(plan, sent, &[1], asked).unwrap_err();
    assert_eq!(whole, bytes);
    (whole.code, whole.message.into_owned())
}

/// Chunks with their signatures, and a checksum behind them.
fn signed_chunks(content: &[u8], chunk: usize, trailer: Option<&str>) -> Vec<u8> {
    let signing = signing();
    let (mut sent, mut previous) = (Vec::new(), signing.seed.clone());
    let mut pieces: Vec<&[u8]> = content.chunks(chunk.max(1)).collect();
    pieces.push(b"");
    for piece in pieces {
        let text = [
            "AWS4-HMAC-SHA256-PAYLOAD",
            signing.time.text(),
            &signing.scope,
            &previous,
            crate::signature::EMPTY_HASH,
            &sha256_hex(piece),
        ];
        previous = signing.key.sign(text.join("\n").as_bytes());
        sent.extend(format!("{:x};chunk-signature={previous}\r\n", piece.len()).bytes());
        if !piece.is_empty() {
            sent.extend_from_slice(piece);
            sent.extend_from_slice(b"\r\n");
        }
    }
    if let Some(trailer) = trailer {
        let hash = sha256_hex(format!("{trailer}\n").as_bytes());
        let (time, scope) = (signing.time.text(), &signing.scope);
        let text = format!("AWS4-HMAC-SHA256-TRAILER\n{time}\n{scope}\n{previous}\n{hash}");
        let signature = signing.key.sign(text.as_bytes());
        sent.extend(format!("{trailer}\r\nx-amz-trailer-signature:{signature}\r\n").bytes());
    }
    sent.extend_from_slice(b"\r\n");
    sent
}

/// The example of "Transferring Payload in Multiple Chunks".
#[test]
fn chunks_are_signed_as_in_the_example() {
    let content = vec![b'a'; 66_560];
    let sent = signed_chunks(&content, 65_536, None);
    let text = String::from_utf8_lossy(&sent);
    for signature in [
        "10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
        "400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
        "0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
    ] {
        assert!(text.contains(signature), "{signature}");
    }
    let asked = [("x-amz-decoded-content-length", "66560")];
    assert_eq!(read(signed(false), &sent, &[], &asked).unwrap().0, content);
}

#[test]
fn a_body_without_chunks_is_checked_at_its_end() {
    let (content, checks) = read(PayloadPlan::Unsigned, b"hello", &[2], &[]).unwrap();
    assert_eq!(content, b"hello");
    assert_eq!(hex(&checks.md5().unwrap()), "5d41402abc4b2a76b9719d911017c592");
    assert_eq!(checks.checksum().unwrap().text(), "M3eFcAZSQlc=");
    let whole = |content| PayloadPlan::Whole(sha256_hex(content));
    assert!(read(whole(b"hello"), b"hello", &[1], &[]).is_ok());
    let (code, _) = fault(whole(b"hello"), b"hellp", &[]);
    assert_eq!(code, FaultCode::XAmzContentSHA256Mismatch);
    for (name, value, expected) in [
        ("content-md5", "XUFAKrxLKna5cZ2REBfFkg==", None),
        ("content-md5", "XUFAKrxLKna5cZ2REBfFkh==", None),
        ("content-md5", "AAAAAAAAAAAAAAAAAAAAAA==", Some(FaultCode::BadDigest)),
        ("content-md5", "", Some(FaultCode::InvalidDigest)),
        ("content-md5", "AAAA", Some(FaultCode::InvalidDigest)),
        ("x-amz-checksum-crc32", "NhCmhg==", None),
        ("x-amz-checksum-crc32", "AAAAAA==", Some(FaultCode::BadDigest)),
        ("x-amz-checksum-crc32", "", Some(FaultCode::InvalidRequest)),
        ("x-amz-checksum-crc99", "AAAAAA==", Some(FaultCode::InvalidRequest)),
        ("x-amz-sdk-checksum-algorithm", "CRC32", Some(FaultCode::InvalidRequest)),
        ("x-amz-sdk-checksum-algorithm", "CRC99", Some(FaultCode::InvalidRequest)),
        ("x-amz-trailer", "x-amz-meta-a", Some(FaultCode::InvalidRequest)),
    ] {
        let found = read(PayloadPlan::Unsigned, b"hello", &[], &[(name, value)]);
        assert_eq!(found.err().map(|fault| fault.code), expected, "{name}: {value}");
    }
    for pairs in [
        [("x-amz-checksum-crc32", "NhCmhg=="), ("x-amz-checksum-crc32c", "mnG7TA==")],
        [("x-amz-checksum-crc32", "NhCmhg=="), ("x-amz-trailer", "x-amz-checksum-crc32")],
        [("x-amz-checksum-crc32", "NhCmhg=="), ("x-amz-sdk-checksum-algorithm", "SHA1")],
    ] {
        let (code, _) = fault(PayloadPlan::Unsigned, b"hello", &pairs);
        assert_eq!(code, FaultCode::InvalidRequest);
    }
}

const TRAILER: (&str, &str) = ("x-amz-trailer", "x-amz-checksum-crc64nvme");

#[test]
fn chunks_without_signatures_are_decoded() {
    let length = ("x-amz-decoded-content-length", "5");
    let sent = b"5\r\nhello\r\n0\r\nx-amz-checksum-crc64nvme:M3eFcAZSQlc=\r\n\r\n";
    for cuts in [&[][..], &[1], &[2, 3], &[7]] {
        let (content, checks) = read(unsigned(), sent, cuts, &[length, TRAILER]).unwrap();
        assert_eq!(content, b"hello");
        assert_eq!(checks.checksum().unwrap().text(), "M3eFcAZSQlc=");
    }
    assert!(read(unsigned(), b"5\r\nhello\r\n0\r\n\r\n", &[], &[length]).is_ok());
    for wrong in ["", "abc", "12x", "-1"] {
        let asked = [("x-amz-decoded-content-length", wrong)];
        assert_eq!(fault(unsigned(), sent, &asked).0, FaultCode::MissingContentLength);
    }
    let asked = [("x-amz-decoded-content-length", "5368709121")];
    assert_eq!(fault(unsigned(), sent, &asked).0, FaultCode::EntityTooLarge);
}

#[test]
fn malformed_chunks_are_refused() {
    let asked = [("x-amz-decoded-content-length", "10"), TRAILER];
    for sent in [
        "A\ndummy data\r\n0\r\n\r\n",
        "A\r\ndummy data0\r\n\r\n",
        "A\r\nXYZ\r\ndummy data\r\n0\r\n\r\n",
        "B\r\ndummy data\r\n0\r\n\r\n",
        "A\r\ndummy data\r\n0\r\n",
        "A\r\ndummy data\r\n0\r\nx-amz-checksum-crc64nvme:dPVWc2vU1+Q=\r\n",
        "A\r\n",
        "",
        "A\r\nA\r\ndummy data\r\n0\r\n\r\n",
        "invalid_chunk_size\r\ndummy data\r\n0\r\nx-amz-checksum-crc64nvme:dPVWc2vU1+Q=\r\n\r\n",
        "A\r\ndummy data\r\nJ\r\nx-amz-checksum-crc64nvme:dPVWc2vU1+Q=\r\n\r\n",
        "A\r\ndummy data\r\n0\r\nx-amz-checksum-crc64nvme:dPVWc2vU1+Q=\r\n\r\n!",
        &"A".repeat(2000),
    ] {
        let message = "The request body terminated unexpectedly".to_string();
        let found = fault(unsigned(), sent.as_bytes(), &asked);
        assert_eq!(found, (FaultCode::IncompleteBody, message), "{sent}");
    }
    for (length, sent) in [
        ("5", "b\r\nabcdefghijk\r\n0\r\n\r\n"),
        ("200", "b\r\nabcdefghijk\r\n0\r\n\r\n"),
        ("18446744073709551615", "b\r\nabcdefghijk\r\n0\r\n\r\n"),
        ("5", "ffffffffffffffff\r\nabcdefghijk\r\n0\r\n\r\n"),
        ("0", "1\r\nx\r\n0\r\n\r\n"),
    ] {
        let (code, message) =
            fault(unsigned(), sent.as_bytes(), &[("x-amz-decoded-content-length", length)]);
        let is_length = code == FaultCode::EntityTooLarge || message.starts_with("You did not");
        assert!(is_length, "{length} {sent} {message}");
    }
}

#[test]
fn trailers_are_checked() {
    let length = ("x-amz-decoded-content-length", "5");
    let chunks = "5\r\nhello\r\n0\r\n";
    for (asked, trailer, code) in [
        (&[length, TRAILER][..], "", FaultCode::MalformedTrailerError),
        (&[length, TRAILER], ":M3eFcAZSQlc=\r\n", FaultCode::MalformedTrailerError),
        (&[length], "x-amz-checksum-crc64nvme:M3eFcAZSQlc=\r\n", FaultCode::MalformedTrailerError),
        (&[length, TRAILER], "x-amz-checksum-crc32:NhCmhg==\r\n", FaultCode::MalformedTrailerError),
        (&[length, TRAILER], "x-amz-checksum-crc64nvme:invalid\r\n", FaultCode::InvalidRequest),
        (&[length, TRAILER], "x-amz-checksum-crc64nvme:QFRKMGE3tuw=\r\n", FaultCode::BadDigest),
    ] {
        let sent = format!("{chunks}{trailer}\r\n");
        assert_eq!(fault(unsigned(), sent.as_bytes(), asked).0, code, "{trailer}");
    }
    let trailer = "x-amz-checksum-crc64nvme:SmzZ/LTp1CA=";
    let sent = signed_chunks(b"abcdefg", 8192, Some(trailer));
    let asked = [("x-amz-decoded-content-length", "7"), TRAILER];
    assert_eq!(read(signed(true), &sent, &[1], &asked).unwrap().0, b"abcdefg");
    for (from, to, by) in [
        (175, 176, "k"),
        (175, 177, "cc"),
        (215, 216, "bcd"),
        (220, 223, "invalid"),
        (230, 235, "abcd"),
        (241, 245, "abcde"),
        (306, 308, "pp"),
        (304, 308, "erty"),
    ] {
        let changed = [&sent[..from], by.as_bytes(), &sent[to..]].concat();
        assert_eq!(fault(signed(true), &changed, &asked).0, FaultCode::IncompleteBody, "{from}");
    }
}

#[test]
fn only_the_last_chunk_may_be_small() {
    let chunks = |lengths: &[usize]| -> Vec<u8> {
        let chunk = |length: &usize| format!("{length:x}\r\n{}\r\n", "x".repeat(*length));
        lengths.iter().map(chunk).collect::<String>().into_bytes()
    };
    for (lengths, is_right) in [
        (&[8192, 8192, 100][..], true),
        (&[100], true),
        (&[8200, 8201, 10_000, 10], true),
        (&[100, 8192, 100], false),
        (&[8192, 10, 100], false),
    ] {
        let sent = [chunks(lengths), b"0\r\n\r\n".to_vec()].concat();
        let length = lengths.iter().sum::<usize>().to_string();
        let found = read(unsigned(), &sent, &[], &[("x-amz-decoded-content-length", &length)]);
        let code = found.err().map(|fault| fault.code);
        assert_eq!(code, (!is_right).then_some(FaultCode::InvalidChunkSizeError), "{lengths:?}");
    }
}

proptest! {
    #[test]
    fn chunks_give_the_content_however_they_are_cut(
        content in prop::collection::vec(any::<u8>(), 0..40_000),
        chunk in 8192_usize..20_000,
        cuts in prop::collection::vec(1_usize..9000, 1..8),
    ) {
        let checksum = Checksum::of(ChecksumAlgorithm::Crc32c, &content);
        let trailer = format!("x-amz-checksum-crc32c:{}", checksum.text());
        let length = content.len().to_string();
        let asked = [
            ("x-amz-decoded-content-length", length.as_str()),
            ("x-amz-trailer", "x-amz-checksum-crc32c"),
        ];
        let sent = signed_chunks(&content, chunk, Some(&trailer));
        let (found, checks) = read(signed(true), &sent, &cuts, &asked).unwrap();
        prop_assert_eq!(&found, &content);
        prop_assert_eq!(checks.checksum(), Some(checksum));
        prop_assert_eq!(checks.md5(), Some(fast_md5::digest(&content)));
    }

    #[test]
    fn a_changed_bit_is_refused(
        content in prop::collection::vec(any::<u8>(), 1..300),
        at in any::<prop::sample::Index>(),
        bit in 0_u8..8,
    ) {
        let checksum = Checksum::of(ChecksumAlgorithm::Crc32c, &content);
        let trailer = format!("x-amz-checksum-crc32c:{}", checksum.text());
        let length = content.len().to_string();
        let asked = [
            ("x-amz-decoded-content-length", length.as_str()),
            ("x-amz-trailer", "x-amz-checksum-crc32c"),
        ];
        let sent = signed_chunks(&content, 8192, Some(&trailer));
        let mut changed = sent.clone();
        changed[at.index(sent.len())] ^= 1 << bit;
        // The length of a chunk is a number: `A` and `a` are the same digit.
        let is_same = changed.eq_ignore_ascii_case(&sent) && at.index(sent.len()) < 3;
        if !is_same {
            prop_assert!(read(signed(true), &changed, &[], &asked).is_err());
        }
    }
}
