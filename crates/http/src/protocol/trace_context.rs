//! W3C Trace Context (recommendation of 23 November 2021): the fields `traceparent` and
//! `tracestate`.

use crate::protocol::request_id::random;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

pub(crate) const PARENT_NAME: &str = "traceparent";
pub(crate) const STATE_NAME: &str = "tracestate";
const PARENT: HeaderName = HeaderName::from_static(PARENT_NAME);
const STATE: HeaderName = HeaderName::from_static(STATE_NAME);

/// The longest `tracestate` that is propagated, in bytes, as the recommendation requires.
const LONGEST_STATE: usize = 512;
/// The length of `traceparent` in version 00.
const LENGTH: usize = 55;

/// The position of a span in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace id, the same in all servers; not 0.
    pub trace: u128,
    /// The id of the parent span, perhaps in another server.
    pub parent: Option<u64>,
    /// The id of this span; not 0.
    pub span: u64,
    /// Whether the trace is sampled.
    pub sampled: bool,
    /// The vendors' `tracestate`, propagated unread.
    pub state: Option<HeaderValue>,
}

impl TraceContext {
    /// A new trace.
    pub(crate) fn root() -> Self {
        let trace = u128::from(random()) << 64 | u128::from(random());
        TraceContext {
            trace: trace | 1,
            parent: None,
            span: new_span(),
            sampled: false,
            state: None,
        }
    }

    /// The trace context of a request. `None` without a valid `traceparent`.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut sent = headers.get_all(PARENT).iter();
        let (Some(value), None) = (sent.next(), sent.next()) else { return None };
        let (trace, parent, sampled) = parse(value.as_bytes())?;
        let mut states = headers.get_all(STATE).iter();
        let state = match (states.next(), states.next()) {
            (Some(state), None) if state.len() <= LONGEST_STATE => Some(state.clone()),
            _ => None,
        };
        Some(TraceContext { trace, parent: Some(parent), span: new_span(), sampled, state })
    }

    /// A child span.
    pub(crate) fn child(&self) -> Self {
        TraceContext { parent: Some(self.span), span: new_span(), ..self.clone() }
    }

    /// The value of `traceparent` for another server.
    pub fn traceparent(&self) -> String {
        let flags = u8::from(self.sampled);
        format!("00-{:032x}-{:016x}-{flags:02x}", self.trace, self.span)
    }

    /// The trace id as 32 hexadecimal digits.
    pub fn trace_digits(&self) -> String {
        format!("{:032x}", self.trace)
    }
}

fn new_span() -> u64 {
    random() | 1
}

/// `00-TRACE-SPAN-FLAGS`, all digits in lower case. A later version may have more fields.
fn parse(text: &[u8]) -> Option<(u128, u64, bool)> {
    let version = digits(text.get(..2)?)?;
    let longer = text.get(LENGTH);
    let fits =
        if version == 0 { longer.is_none() } else { longer.is_none_or(|&byte| byte == b'-') };
    if version == 255 || !fits || [2, 35, 52].iter().any(|&at| text.get(at) != Some(&b'-')) {
        return None;
    }
    let trace = digits(text.get(3..35)?)?;
    let span = digits(text.get(36..52)?)? as u64;
    let flags = digits(text.get(53..LENGTH)?)?;
    (trace != 0 && span != 0).then_some((trace, span, flags & 1 == 1))
}

/// At most 32 hexadecimal digits in lower case.
fn digits(text: &[u8]) -> Option<u128> {
    text.iter().try_fold(0_u128, |number, byte| {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u128::from(digit))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn context(fields: &[(HeaderName, &str)]) -> Option<TraceContext> {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        TraceContext::of(&headers)
    }

    #[test]
    fn the_caller_is_the_parent() {
        let here = context(&[(PARENT, GOOD), (STATE, "a=1,b=2")]).unwrap();
        assert_eq!(here.trace_digits(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(here.parent, Some(0x00f0_67aa_0ba9_02b7));
        assert!(here.sampled && here.span != 0);
        assert_eq!(here.state.as_ref().unwrap(), "a=1,b=2");
        let next = here.child();
        assert_eq!((next.trace, next.parent), (here.trace, Some(here.span)));
        assert_eq!(&next.traceparent()[..36], &GOOD[..36]);
        assert_eq!(next.traceparent().len(), LENGTH);
    }

    #[test]
    fn malformed_fields_are_no_context() {
        let zero_trace = GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32));
        let zero_span = GOOD.replace("00f067aa0ba902b7", &"0".repeat(16));
        let longer = format!("{GOOD}-more");
        let bad = [
            "",
            "00",
            &GOOD[..54],
            &longer,
            &GOOD.to_uppercase(),
            &GOOD.replace("00-4", "ff-4"),
            &GOOD.replace('-', "_"),
            &zero_trace,
            &zero_span,
        ];
        for text in bad {
            assert_eq!(context(&[(PARENT, text)]), None, "{text}");
        }
        assert_eq!(context(&[(PARENT, GOOD), (PARENT, GOOD)]), None);
        assert_eq!(context(&[]), None);
    }

    #[test]
    fn a_later_version_may_be_longer() {
        let later = GOOD.replacen("00", "01", 1);
        assert!(context(&[(PARENT, &later)]).is_some());
        assert!(context(&[(PARENT, &format!("{later}-more"))]).is_some());
        assert!(context(&[(PARENT, &format!("{later}more"))]).is_none());
    }

    #[test]
    fn a_state_that_is_too_long_is_dropped() {
        let long = "a=".to_string() + &"x".repeat(LONGEST_STATE);
        assert_eq!(context(&[(PARENT, GOOD), (STATE, &long)]).unwrap().state, None);
    }
}
