//! Byte ranges of a request (RFC 9110 section 14).

/// The most ranges of one request. With more, the field is ignored: serving them costs more than
/// asking.
const MOST_RANGES: usize = 16;

/// A half-open range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteRange {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl ByteRange {
    pub(crate) fn length(self) -> u64 {
        self.to - self.from
    }
}

/// The result of reading a `Range` field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RequestedRanges {
    /// Unusable, or all of the content: respond with 200.
    Whole,
    /// Outside of the content: 416.
    Beyond,
    /// The requested ranges, non-empty, in the order of the request.
    Spans(Vec<ByteRange>),
}

/// Reads a `Range` field for content of this length. Units other than `bytes` and malformed fields
/// are ignored; overlapping and adjacent ranges are merged.
pub(crate) fn parse(field: &[u8], length: u64) -> RequestedRanges {
    let Some(spans) = parse_spans(field, length) else { return RequestedRanges::Whole };
    let spans = merge(spans);
    let total: u64 = spans.iter().map(|span| span.length()).sum();
    match spans.len() {
        0 => RequestedRanges::Beyond,
        // A suffix range of empty content.
        _ if total == 0 => RequestedRanges::Whole,
        1 => RequestedRanges::Spans(spans),
        _ if total >= length => RequestedRanges::Whole,
        _ => RequestedRanges::Spans(spans),
    }
}

/// The satisfiable ranges in written order; `None` for a malformed field.
fn parse_spans(field: &[u8], length: u64) -> Option<Vec<ByteRange>> {
    let text = std::str::from_utf8(field).ok()?;
    let (unit, set) = text.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (mut spans, mut count) = (Vec::new(), 0);
    for written in set.split(',').map(|written| written.trim_matches([' ', '\t'])) {
        // A list may have empty elements (RFC 9110 section 5.6.1.2).
        if written.is_empty() {
            continue;
        }
        count += 1;
        if count > MOST_RANGES {
            return None;
        }
        let (first, last) = written.split_once('-')?;
        let span = match (first, last) {
            ("", last) => {
                let last = position(last)?;
                (last > 0).then(|| ByteRange { from: length.saturating_sub(last), to: length })
            }
            (first, "") => {
                let from = position(first)?;
                (from < length).then_some(ByteRange { from, to: length })
            }
            (first, last) => {
                let (from, last) = (position(first)?, position(last)?);
                if last < from {
                    return None;
                }
                (from < length).then(|| ByteRange { from, to: last.saturating_add(1).min(length) })
            }
        };
        spans.extend(span);
    }
    (count > 0).then_some(spans)
}

/// A position. One beyond 64 bits lies after all content.
fn position(digits: &str) -> Option<u64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(u64::MAX))
}

/// Merges overlapping and adjacent ranges, in the place of the first of them.
fn merge(spans: Vec<ByteRange>) -> Vec<ByteRange> {
    let mut joined: Vec<ByteRange> = Vec::with_capacity(spans.len());
    for mut span in spans {
        let mut place = joined.len();
        // A grown range may touch others.
        while let Some(at) = joined.iter().position(|other| overlap(*other, span)) {
            let other = joined.remove(at);
            span = ByteRange { from: other.from.min(span.from), to: other.to.max(span.to) };
            place = place.min(at);
        }
        joined.insert(place.min(joined.len()), span);
    }
    joined
}

fn overlap(one: ByteRange, other: ByteRange) -> bool {
    one.from <= other.to && other.from <= one.to
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(list: &[(u64, u64)]) -> RequestedRanges {
        RequestedRanges::Spans(list.iter().map(|&(from, to)| ByteRange { from, to }).collect())
    }

    #[test]
    fn what_is_asked_for() {
        for (field, expected) in [
            ("bytes=0-99", spans(&[(0, 100)])),
            ("BYTES=1000-", spans(&[(1000, 1024)])),
            ("bytes=-10", spans(&[(1014, 1024)])),
            ("bytes=-99999", spans(&[(0, 1024)])),
            ("bytes=0-99999999999999999999999999", spans(&[(0, 1024)])),
            ("bytes=0-18446744073709551615", spans(&[(0, 1024)])),
            ("bytes=99999999999999999999999999-", RequestedRanges::Beyond),
            ("bytes=1024-", RequestedRanges::Beyond),
            ("bytes=-0", RequestedRanges::Beyond),
            ("bytes=1024-,-0", RequestedRanges::Beyond),
            ("bytes=0-0,-1", spans(&[(0, 1), (1023, 1024)])),
            ("bytes= 0-0 ,\t, 5-5 ", spans(&[(0, 1), (5, 6)])),
            ("bytes=5-9,0-3,2000-", spans(&[(5, 10), (0, 4)])),
            ("bytes=0-9,20-29,5-24", spans(&[(0, 30)])),
            ("bytes=0-9,10-19", spans(&[(0, 20)])),
            ("bytes=0-1022,1023-", spans(&[(0, 1024)])),
        ] {
            assert_eq!(parse(field.as_bytes(), 1024), expected, "{field}");
        }
        for field in [
            "bytes=5-2",
            "bytes=",
            "bytes",
            "bytes=,",
            "lines=0-9",
            "bytes=a-b",
            "bytes=-",
            "bytes=1",
            "bytes=+1-2",
            "bytes=1-2-3",
            "bytes=0-9,x",
            "bytes=0x1-2",
            "",
            "=",
            "bytes=--1",
        ] {
            assert_eq!(parse(field.as_bytes(), 1024), RequestedRanges::Whole, "{field}");
        }
        assert_eq!(parse(b"bytes=\xff-", 1024), RequestedRanges::Whole);
    }

    #[test]
    fn nothing_has_no_parts() {
        assert_eq!(parse(b"bytes=0-", 0), RequestedRanges::Beyond);
        assert_eq!(parse(b"bytes=-5", 0), RequestedRanges::Whole);
    }

    #[test]
    fn many_ranges_are_no_ranges() {
        let many = |count: u64| {
            let ranges: Vec<_> = (0..count).map(|at| format!("{0}-{0}", at * 2)).collect();
            parse(format!("bytes={}", ranges.join(",")).as_bytes(), 1024)
        };
        assert!(matches!(many(16), RequestedRanges::Spans(spans) if spans.len() == 16));
        assert_eq!(many(17), RequestedRanges::Whole);
    }

    #[test]
    fn whatever_is_asked_lies_within() {
        let mut seed = 7_u64;
        let mut next = |below: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..20_000 {
            let length = next(40);
            let one = |next: &mut dyn FnMut(u64) -> u64| match next(3) {
                0 => format!("-{}", next(50)),
                1 => format!("{}-", next(50)),
                _ => format!("{}-{}", next(50), next(50)),
            };
            let field: Vec<_> = (0..=next(5)).map(|_| one(&mut next)).collect();
            let field = format!("bytes={}", field.join(","));
            let RequestedRanges::Spans(spans) = parse(field.as_bytes(), length) else { continue };
            assert!(!spans.is_empty());
            for (at, span) in spans.iter().enumerate() {
                assert!(span.from < span.to && span.to <= length, "{field} of {length}");
                assert!(spans[at + 1..].iter().all(|other| !overlap(*other, *span)), "{field}");
            }
        }
    }
}
