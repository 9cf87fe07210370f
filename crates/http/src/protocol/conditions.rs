//! Conditional requests: entity tags and dates (RFC 9110 section 13).

use crate::protocol::encoding::ContentEncoding;
use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use runnel_store::{Condition, EntityTag, Error};
use std::time::{Duration, SystemTime};
use xxhash_rust::xxh3::xxh3_128;

/// The validators of the current content.
#[derive(Clone, Debug, Default)]
pub(crate) struct Validators {
    pub(crate) tag: Option<EntityTag>,
    pub(crate) modified: Option<SystemTime>,
}

/// The result of evaluating the conditions of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The conditions hold.
    Proceed,
    /// The client has the current content: 304.
    Unchanged,
    /// A precondition failed: 412.
    Failed,
}

/// The tag that a read passes to its store: the first one in `If-None-Match`.
pub(crate) fn known_tag(headers: &HeaderMap) -> Option<EntityTag> {
    match Tags::of(headers, &header::IF_NONE_MATCH)? {
        Tags::Any => None,
        Tags::List(tags) => tags.into_iter().next(),
    }
}

/// Evaluates the conditions in the order of RFC 9110 section 13.2.2. `present` is `None` where no
/// content exists; `reads` means GET or HEAD.
pub(crate) fn evaluate(headers: &HeaderMap, present: Option<&Validators>, reads: bool) -> Verdict {
    let tag = present.and_then(|validators| validators.tag.as_ref());
    let modified = present.and_then(|validators| validators.modified).map(whole_seconds);
    if let Some(wanted) = Tags::of(headers, &header::IF_MATCH) {
        if !wanted.hold(present.is_some(), tag, EntityTagComparison::Strong) {
            return Verdict::Failed;
        }
    } else if let Some(date) = date(headers, &header::IF_UNMODIFIED_SINCE)
        && modified.is_none_or(|modified| modified > date)
    {
        return Verdict::Failed;
    }
    if let Some(had) = Tags::of(headers, &header::IF_NONE_MATCH) {
        if had.hold(present.is_some(), tag, EntityTagComparison::Weak) {
            return if reads { Verdict::Unchanged } else { Verdict::Failed };
        }
    } else if reads
        && let Some(date) = date(headers, &header::IF_MODIFIED_SINCE)
        && modified.is_some_and(|modified| modified <= date)
    {
        return Verdict::Unchanged;
    }
    Verdict::Proceed
}

/// The conditions of a write as a single condition for the store to check atomically: `If-Match` with one tag or
/// `*`, or `If-None-Match` with `*`. Others, and several together, are evaluated before the write.
pub(crate) fn for_store(headers: &HeaderMap) -> Option<Condition> {
    if headers.contains_key(header::IF_UNMODIFIED_SINCE) {
        return None;
    }
    let wanted = Tags::of(headers, &header::IF_MATCH);
    match (wanted, Tags::of(headers, &header::IF_NONE_MATCH)) {
        (Some(Tags::Any), None) => Some(Condition::Present),
        (Some(Tags::List(tags)), None) => match <[EntityTag; 1]>::try_from(tags) {
            Ok([tag]) => Some(Condition::Tag(tag)),
            Err(_) => None,
        },
        (None, Some(Tags::Any)) => Some(Condition::Absent),
        _ => None,
    }
}

/// The header of a condition.
///
/// # Errors
/// [`Kind::Precondition`] for a tag that never matches: a weak tag, or a tag with invalid characters.
///
/// [`Kind::Precondition`]: runnel_store::Kind::Precondition
pub(crate) fn of_condition(condition: &Condition) -> Result<(HeaderName, HeaderValue), Error> {
    let any = HeaderValue::from_static("*");
    match condition {
        Condition::Absent => Ok((header::IF_NONE_MATCH, any)),
        Condition::Present => Ok((header::IF_MATCH, any)),
        Condition::Tag(tag) => match tag_header(tag).filter(|_| !tag.weak) {
            Some(tag) => Ok((header::IF_MATCH, tag)),
            None => Err(condition.failed()),
        },
    }
}

/// A list of tags, or `*`.
enum Tags {
    Any,
    List(Vec<EntityTag>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntityTagComparison {
    Strong,
    Weak,
}

/// The most tags of one request that are read.
const MOST_TAGS: usize = 64;

impl Tags {
    fn of(headers: &HeaderMap, name: &HeaderName) -> Option<Tags> {
        let mut tags = Vec::new();
        let mut lines = headers.get_all(name).iter().peekable();
        lines.peek()?;
        for line in lines {
            let text = line.to_str().unwrap_or_default().trim();
            if text == "*" {
                return Some(Tags::Any);
            }
            parse_list(text, &mut tags);
        }
        Some(Tags::List(tags))
    }

    fn hold(&self, present: bool, tag: Option<&EntityTag>, how: EntityTagComparison) -> bool {
        match (self, tag) {
            (Tags::Any, _) => present,
            (Tags::List(_), None) => false,
            (Tags::List(list), Some(tag)) => list.iter().any(|other| {
                other.text == tag.text
                    && (how == EntityTagComparison::Weak || !(other.weak || tag.weak))
            }),
        }
    }
}

/// Reads `W/"a", "b"`; stops at the first malformed tag.
fn parse_list(mut text: &str, tags: &mut Vec<EntityTag>) {
    loop {
        text = text.trim_start_matches([' ', '\t', ',']);
        let Some((tag, rest)) = parse_one(text) else { return };
        if tags.len() >= MOST_TAGS {
            return;
        }
        tags.push(of_content(tag));
        text = rest;
    }
}

/// The tag of the content itself, from the tag of its compressed form.
fn of_content(tag: EntityTag) -> EntityTag {
    let suffixes = ContentEncoding::ALL.map(ContentEncoding::tag_suffix);
    match suffixes.iter().find_map(|suffix| tag.text.strip_suffix(suffix)) {
        Some(text) => EntityTag { text: text.into(), weak: tag.weak },
        None => tag,
    }
}

/// The strong tag of bytes.
pub(crate) fn tag_of_bytes(bytes: &[u8]) -> EntityTag {
    EntityTag::strong(format!("{:032x}", xxh3_128(bytes)))
}

/// The strong tag of content in an encoding.
pub(crate) fn encoded_tag(tag: &EntityTag, encoding: ContentEncoding) -> EntityTag {
    EntityTag::strong(format!("{}{}", &*tag.text, encoding.tag_suffix()))
}

/// The tag of the compressed form that a client has: the 304 then carries it.
pub(crate) fn compressed_form(headers: &HeaderMap, tag: &EntityTag) -> Option<EntityTag> {
    if tag.weak {
        return None;
    }
    ContentEncoding::ALL.into_iter().map(|encoding| encoded_tag(tag, encoding)).find(|encoded| {
        let quoted = format!("\"{}\"", &*encoded.text);
        let mut lines = headers.get_all(header::IF_NONE_MATCH).iter();
        lines.any(|line| line.to_str().is_ok_and(|line| line.contains(&quoted)))
    })
}

fn parse_one(text: &str) -> Option<(EntityTag, &str)> {
    let (weak, text) = match text.strip_prefix("W/") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (opaque, rest) = text.strip_prefix('"')?.split_once('"')?;
    Some((EntityTag { text: opaque.into(), weak }, rest))
}

/// A tag from an `ETag` header.
pub(crate) fn parse_tag(text: &str) -> Option<EntityTag> {
    let (tag, rest) = parse_one(text.trim())?;
    rest.is_empty().then_some(tag)
}

/// The header value of a tag; `None` when it contains characters that no header may have.
pub(crate) fn tag_header(tag: &EntityTag) -> Option<HeaderValue> {
    // Checks every byte without an early exit, so that the compiler vectorizes the loop.
    let odd = tag.text.bytes().fold(false, |odd, byte| odd | (byte <= b' ') | (byte == b'"'));
    if odd {
        return None;
    }
    let start: &[u8] = if tag.weak { b"W/\"" } else { b"\"" };
    // The exact capacity: the buffer is taken over without another allocation.
    let mut text = Vec::with_capacity(start.len() + tag.text.len() + 1);
    text.extend_from_slice(start);
    text.extend_from_slice(tag.text.as_bytes());
    text.push(b'"');
    HeaderValue::from_maybe_shared(Bytes::from(text)).ok()
}

/// The header value of a date. Dates before 1970 and after 9999 have none.
pub(crate) fn date_header(time: SystemTime) -> Option<HeaderValue> {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    if seconds >= YEAR_10000 {
        return None;
    }
    HeaderValue::try_from(httpdate::fmt_http_date(time)).ok()
}

/// The first second of the year 10,000.
const YEAR_10000: u64 = 253_402_300_800;

fn date(headers: &HeaderMap, name: &HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()
}

/// Truncates to whole seconds, the resolution of HTTP dates.
fn whole_seconds(time: SystemTime) -> SystemTime {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => SystemTime::UNIX_EPOCH + Duration::from_secs(since.as_secs()),
        Err(_) => SystemTime::UNIX_EPOCH,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn present(tag: &str, seconds: u64) -> Validators {
        Validators {
            tag: parse_tag(tag),
            modified: Some(SystemTime::UNIX_EPOCH + Duration::from_millis(seconds * 1000 + 700)),
        }
    }

    const DATE: &str = "Thu, 01 Jan 1970 00:01:40 GMT";

    #[test]
    fn reads() {
        let there = present("\"a\"", 100);
        for (field, value, verdict) in [
            ("if-none-match", "\"a\"", Verdict::Unchanged),
            ("if-none-match", "W/\"a\"", Verdict::Unchanged),
            ("if-none-match", "\"b\", \"a\"", Verdict::Unchanged),
            ("if-none-match", "*", Verdict::Unchanged),
            ("if-none-match", "\"b\"", Verdict::Proceed),
            ("if-none-match", "rubbish", Verdict::Proceed),
            ("if-modified-since", DATE, Verdict::Unchanged),
            ("if-modified-since", "Thu, 01 Jan 1970 00:01:39 GMT", Verdict::Proceed),
            ("if-modified-since", "rubbish", Verdict::Proceed),
            ("if-match", "\"a\"", Verdict::Proceed),
            ("if-match", "W/\"a\"", Verdict::Failed),
            ("if-match", "\"b\"", Verdict::Failed),
            ("if-unmodified-since", DATE, Verdict::Proceed),
            ("if-unmodified-since", "Thu, 01 Jan 1970 00:01:39 GMT", Verdict::Failed),
        ] {
            assert_eq!(
                evaluate(&headers(&[(field, value)]), Some(&there), true),
                verdict,
                "{value}"
            );
        }
    }

    #[test]
    fn a_tag_outranks_a_date() {
        let there = present("\"a\"", 100);
        let asked = headers(&[("if-none-match", "\"b\""), ("if-modified-since", DATE)]);
        assert_eq!(evaluate(&asked, Some(&there), true), Verdict::Proceed);
    }

    #[test]
    fn packed_content_is_the_same_content() {
        let there = present("\"a\"", 100);
        let asked = headers(&[("if-none-match", "\"b\", \"a--gzip\"")]);
        assert_eq!(evaluate(&asked, Some(&there), true), Verdict::Unchanged);
        let form = compressed_form(&asked, there.tag.as_ref().unwrap());
        assert_eq!(form, Some(EntityTag::strong("a--gzip")));
        let asked = headers(&[("if-none-match", "\"a--zstd\"")]);
        assert_eq!(evaluate(&asked, Some(&there), true), Verdict::Unchanged);
        let asked = headers(&[("if-match", "\"a--gzip\"")]);
        assert_eq!(evaluate(&asked, Some(&there), false), Verdict::Proceed);
        assert_eq!(compressed_form(&asked, there.tag.as_ref().unwrap()), None);
    }

    #[test]
    fn writes() {
        let there = present("\"a\"", 100);
        let star = headers(&[("if-none-match", "*")]);
        assert_eq!(evaluate(&star, Some(&there), false), Verdict::Failed);
        assert_eq!(evaluate(&star, None, false), Verdict::Proceed);
        let any = headers(&[("if-match", "*")]);
        assert_eq!(evaluate(&any, None, false), Verdict::Failed);
        assert_eq!(evaluate(&any, Some(&Validators::default()), false), Verdict::Proceed);
        let dated = headers(&[("if-modified-since", DATE)]);
        assert_eq!(evaluate(&dated, Some(&there), false), Verdict::Proceed);
    }

    #[test]
    fn what_a_store_can_look_at() {
        let of = |fields: &[(&'static str, &str)]| for_store(&headers(fields));
        let tag = |text: &str| Some(Condition::Tag(parse_tag(text).unwrap()));
        assert_eq!(of(&[("if-none-match", "*")]), Some(Condition::Absent));
        assert_eq!(of(&[("if-match", "*")]), Some(Condition::Present));
        assert_eq!(of(&[("if-match", "\"a\"")]), tag("\"a\""));
        assert_eq!(of(&[("if-match", "W/\"a\"")]), tag("W/\"a\""));
        for judged_before in [
            [("if-match", "\"a\", \"b\""), ("accept", "*")],
            [("if-match", "rubbish"), ("accept", "*")],
            [("if-none-match", "\"a\""), ("accept", "*")],
            [("if-match", "*"), ("if-none-match", "*")],
            [("if-match", "\"a\""), ("if-unmodified-since", DATE)],
            [("if-unmodified-since", DATE), ("accept", "*")],
        ] {
            assert_eq!(of(&judged_before), None, "{judged_before:?}");
        }
    }

    #[test]
    fn conditions_as_headers() {
        let strong = Condition::Tag(EntityTag::strong("a"));
        for condition in [Condition::Absent, Condition::Present, strong] {
            let (name, value) = of_condition(&condition).unwrap();
            let mut sent = HeaderMap::new();
            sent.insert(name, value);
            assert_eq!(for_store(&sent), Some(condition));
        }
        for (text, weak) in [("a", true), ("a\"b", false)] {
            let tag = Condition::Tag(EntityTag { text: text.into(), weak });
            assert_eq!(of_condition(&tag).unwrap_err().kind, runnel_store::Kind::Precondition);
        }
    }

    #[test]
    fn headers_of_validators() {
        assert_eq!(tag_header(&EntityTag::strong("x1")).unwrap(), "\"x1\"");
        assert_eq!(tag_header(&EntityTag { text: "x".into(), weak: true }).unwrap(), "W/\"x\"");
        assert_eq!(tag_header(&EntityTag::strong("a\"b")), None);
        assert_eq!(date_header(SystemTime::UNIX_EPOCH + Duration::from_secs(100)).unwrap(), DATE);
        assert_eq!(date_header(SystemTime::UNIX_EPOCH + Duration::from_secs(YEAR_10000)), None);
        assert_eq!(
            known_tag(&headers(&[("if-none-match", "\"b\", \"a\"")])).unwrap().text,
            "b".into()
        );
    }
}
