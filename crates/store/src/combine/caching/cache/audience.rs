//! Entries of a cache by whom they are for.
//!
//! An answer is kept for everybody only where its handler read nothing of the request. Otherwise the name of the
//! entry has a digest of the values that were read, as caches of HTTP do for `Vary` (RFC 9111 section 4.1). The parts
//! that a handler reads are learned from its answers, and only ever grow: what it reads next depends on what
//! it has read before, so equal values of all of them mean an equal answer.

use crate::{Audience, Context, RequestPart};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// The most names whose audiences are known; all are learned again beyond that.
const MOST_NAMES: usize = 65_536;

/// The names and values of headers.
type KeptHeaders = Rc<[(String, String)]>;

/// What a cache has learned of its source, by name.
#[derive(Default)]
pub(super) struct Audiences {
    /// Names that depend on more than the reference.
    known: RefCell<HashMap<Rc<str>, Audience>>,
    /// Headers that handlers set of answers that are kept, by entry.
    headers: RefCell<HashMap<Rc<str>, KeptHeaders>>,
}

impl Audiences {
    /// The entry of a name for the visitor of a context.
    pub(super) fn entry<'a>(&self, name: &'a str, context: &Context) -> Cow<'a, str> {
        let known = self.known.borrow();
        match (!known.is_empty()).then(|| known.get(name)).flatten() {
            Some(Audience::Same(parts)) => entry_of(name, parts, context),
            _ => Cow::Borrowed(name),
        }
    }

    /// Whether each visitor asked for himself last time, so that waiting for another one's answer is in vain.
    pub(super) fn is_of_visitor(&self, name: &str) -> bool {
        let known = self.known.borrow();
        !known.is_empty() && known.get(name) == Some(&Audience::Visitor)
    }

    /// Learns whom an answer is for. Answers its entry, or `None` where it is for its visitor alone; and whether
    /// entries with fewer parts have to go.
    pub(super) fn learn<'a>(
        &self,
        name: &'a str,
        audience: Audience,
        context: &Context,
    ) -> (Option<Cow<'a, str>>, bool) {
        let mut known = self.known.borrow_mut();
        let before = known.get(name);
        let Audience::Same(parts) = audience else {
            if before.is_none() {
                remember(&mut known, name, Audience::Visitor);
            }
            return (None, false);
        };
        let all = match before {
            Some(Audience::Same(before)) if parts.is_subset(before) => {
                return (Some(entry_of(name, before, context)), false);
            }
            Some(Audience::Same(before)) => Rc::new(before.union(&parts).cloned().collect()),
            Some(Audience::Visitor) => {
                known.remove(name);
                parts
            }
            None => parts,
        };
        if all.is_empty() {
            return (Some(Cow::Borrowed(name)), false);
        }
        let entry = entry_of(name, &all, context);
        remember(&mut known, name, Audience::Same(all));
        (Some(entry), true)
    }

    /// Notes the headers of an entry that is kept.
    pub(super) fn set_headers(&self, entry: &str, headers: Vec<(String, String)>) {
        let mut all = self.headers.borrow_mut();
        match headers.is_empty() {
            true => all.remove(entry),
            false => all.insert(entry.into(), headers.into()),
        };
    }

    /// Sets the headers of an entry again, for a visitor who gets it.
    pub(super) fn repeat_headers(&self, entry: &str, context: &Context) {
        let Some(exchange) = &context.exchange else { return };
        let all = self.headers.borrow();
        let Some(headers) = (!all.is_empty()).then(|| all.get(entry)).flatten() else { return };
        for (name, value) in headers.iter() {
            // They were valid when the handler set them.
            let _ = exchange.set_header(name, value);
        }
    }

    /// Forgets the headers of an entry.
    pub(super) fn forget(&self, entry: &str) {
        self.headers.borrow_mut().remove(entry);
    }

    /// Whether no answer for this name has depended on its visitor.
    pub(super) fn is_for_all(&self, name: &str) -> bool {
        !self.known.borrow().contains_key(name)
    }
}

/// Entries with an audience that is forgotten are unreachable, and leave as the least recently used.
fn remember(known: &mut HashMap<Rc<str>, Audience>, name: &str, audience: Audience) {
    if known.len() >= MOST_NAMES && !known.contains_key(name) {
        known.clear();
    }
    known.insert(name.into(), audience);
}

/// A name with the values of parts, for one audience.
fn entry_of<'a>(name: &'a str, parts: &BTreeSet<RequestPart>, context: &Context) -> Cow<'a, str> {
    if parts.is_empty() {
        return Cow::Borrowed(name);
    }
    let mut digest = Sha256::new();
    for part in parts {
        let value = context.exchange.as_ref().and_then(|exchange| part.value(&**exchange));
        let value = value.as_deref();
        digest.update([u8::from(value.is_some())]);
        digest.update((value.unwrap_or_default().len() as u64).to_be_bytes());
        digest.update(value.unwrap_or_default());
    }
    Cow::Owned(marked(name) + &BASE64_URL_SAFE_NO_PAD.encode(digest.finalize()))
}

/// The beginning of the entries of a name that are not for everybody: as names with queries begin, so that they are
/// invalidated with them.
pub(super) fn marked(name: &str) -> String {
    let mark = if name.contains('?') { "" } else { "?" };
    format!("{name}{mark}\u{1}")
}
