//! Early hints (RFC 8297): links that a program names before its response is ready.
//!
//! They are fields of the final response in any case. Where the server sends them early, they leave
//! as soon as the handler waits. That happens in HTTP/1.1 alone, for a browser that navigates: other
//! clients may take an interim response for the final one.

use crate::server::connection_state::ConnectionState;
use hyper::Version;
use hyper::header::{HeaderMap, HeaderValue};
use runnel_store::{Error, Kind, Result};
use std::cell::RefCell;
use std::rc::Rc;

/// The most links of a response.
const MOST_LINKS: usize = 20;
/// The longest link, in bytes.
const LONGEST_LINK: usize = 1024;

/// The links of one request.
#[derive(Default)]
pub(crate) struct EarlyHints {
    links: RefCell<Vec<HeaderValue>>,
    /// The connection that sends them early, and the number of the request there.
    early: Option<(Rc<ConnectionState>, u32)>,
}

impl EarlyHints {
    /// Hints that the connection sends early.
    pub(crate) fn of_request(state: &Rc<ConnectionState>, number: u32) -> EarlyHints {
        EarlyHints { links: RefCell::default(), early: Some((state.clone(), number)) }
    }

    /// Adds a link.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for something else, and beyond the limits.
    pub(crate) fn add(&self, link: &str) -> Result<()> {
        let wrong = |what: String| Err(Error::new(Kind::Invalid, what));
        let mut links = self.links.borrow_mut();
        if links.len() >= MOST_LINKS {
            return wrong(format!("a response has at most {MOST_LINKS} early hints"));
        }
        if link.len() > LONGEST_LINK {
            return wrong(format!("an early hint has at most {LONGEST_LINK} bytes"));
        }
        let is_link = link.starts_with('<') && link.contains(">;");
        match HeaderValue::from_str(link).ok().filter(|value| is_link && value.to_str().is_ok()) {
            Some(value) => {
                if let Some((state, number)) = &self.early {
                    state.add_early_link(*number, value.clone());
                }
                links.push(value);
                Ok(())
            }
            None => {
                wrong("an early hint is a link such as '</site.css>; rel=preload; as=style'".into())
            }
        }
    }

    /// Forgets the links; those that have left stay sent.
    pub(crate) fn clear(&self) {
        self.links.borrow_mut().clear();
    }

    /// Takes the links, for the final response.
    pub(crate) fn take(&self) -> Vec<HeaderValue> {
        self.links.take()
    }
}

/// Whether a client of HTTP/1.1 takes interim responses: a browser that navigates does.
pub(crate) fn are_understood(version: Version, headers: &HeaderMap) -> bool {
    version == Version::HTTP_11
        && headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_hint_is_a_link_within_limits() {
        let hints = EarlyHints::default();
        for wrong in [
            "",
            "/a.css",
            "</a.css>",
            "</a.css>; rel=preload\r\nx: y",
            "</ä.css>; rel=preload",
            "</a.css>; rel=preload\0",
        ] {
            assert_eq!(hints.add(wrong).unwrap_err().kind, Kind::Invalid, "{wrong}");
        }
        let long = format!("</{}>; rel=preload", "a".repeat(LONGEST_LINK));
        assert!(hints.add(&long).is_err());
        for _ in 0..MOST_LINKS {
            hints.add("</a.css>; rel=preload").unwrap();
        }
        assert!(hints.add("</a.css>; rel=preload").is_err());
        assert_eq!(hints.take().len(), MOST_LINKS);
    }

    #[test]
    fn nothing_is_early_after_the_head_of_the_response() {
        let state = Rc::new(ConnectionState::new(Instant::now()));
        let hints = EarlyHints::of_request(&state, state.start_request());
        hints.add("</a.css>; rel=preload").unwrap();
        assert_eq!(state.take_early_links().len(), 1);
        hints.add("</b.css>; rel=preload").unwrap();
        state.head_is_sent();
        hints.add("</c.css>; rel=preload").unwrap();
        assert_eq!(state.take_early_links().len(), 0);
        // The next request of the connection has hints of its own.
        let _ = state.start_request();
        hints.add("</d.css>; rel=preload").unwrap();
        assert_eq!(state.take_early_links().len(), 0);
    }

    #[test]
    fn browsers_that_navigate_understand_them() {
        let mut headers = HeaderMap::new();
        assert!(!are_understood(Version::HTTP_11, &headers));
        headers.insert("sec-fetch-mode", HeaderValue::from_static("navigate"));
        assert!(are_understood(Version::HTTP_11, &headers));
        assert!(!are_understood(Version::HTTP_10, &headers));
        headers.insert("sec-fetch-mode", HeaderValue::from_static("cors"));
        assert!(!are_understood(Version::HTTP_11, &headers));
    }
}
