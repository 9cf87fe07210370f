//! Answers that are kept while nothing is written.
//!
//! What people type begins with the same few letters, so the same searches come again and again.
//! An answer depends on the indexes and on what is asked, and on nothing else, so it is the same
//! until their version changes; only its duration is that of the search that was made.

use bytes::Bytes;
use hashbrown::HashMap;
use runnel_store::EntityTag;

/// Most answers that a worker keeps for one store.
pub const MAX_KEPT_ANSWERS: usize = 1_024;

/// Most bytes of them together. When they do not fit all are given up.
pub const MAX_KEPT_BYTES: usize = 1 << 20;

/// The longest text of parameters whose answer is kept, in bytes.
const LONGEST_ASKED: usize = 256;

/// The longest answer that is kept, in bytes.
const LONGEST_ANSWER: usize = 16 << 10;

/// The answers of one version.
#[derive(Default)]
pub(super) struct AnswerCache {
    version: u64,
    tag: Option<EntityTag>,
    answers: HashMap<Box<str>, Bytes>,
    bytes: usize,
}

impl AnswerCache {
    /// The validator of the answers of a version. Those of another one are given up.
    pub(super) fn tag(&mut self, version: u64) -> EntityTag {
        if let Some(tag) = self.tag.as_ref().filter(|_| self.version == version) {
            return tag.clone();
        }
        self.give_up();
        self.version = version;
        let tag = EntityTag { text: format!("{version:x}").into(), weak: true };
        self.tag.insert(tag).clone()
    }

    /// The answer to these parameters, of the version of the last tag.
    pub(super) fn answer(&self, asked: &str) -> Option<Bytes> {
        self.answers.get(asked).cloned()
    }

    /// Keeps an answer that was searched for after the tag of this version was asked for.
    pub(super) fn keep(&mut self, version: u64, asked: &str, answer: &Bytes) {
        let size = asked.len() + answer.len();
        if version != self.version || asked.len() > LONGEST_ASKED || answer.len() > LONGEST_ANSWER {
            return;
        }
        if self.answers.len() >= MAX_KEPT_ANSWERS || self.bytes + size > MAX_KEPT_BYTES {
            self.give_up();
        }
        self.bytes += size;
        self.answers.insert(asked.into(), answer.clone());
    }

    fn give_up(&mut self) {
        self.answers.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_given_up_with_their_version_and_when_there_are_too_many() {
        let mut kept = AnswerCache::default();
        let tag = kept.tag(7);
        assert!(tag.weak && tag == kept.tag(7));
        kept.keep(7, "query=a", &Bytes::from_static(b"{}"));
        assert!(kept.answer("query=a").is_some() && kept.answer("query=b").is_none());
        assert_ne!(kept.tag(8), tag);
        assert!(kept.answer("query=a").is_none());
        // Searched for in the last version, done in this one.
        kept.keep(7, "query=a", &Bytes::from_static(b"{}"));
        assert!(kept.answer("query=a").is_none());
        let large = Bytes::from(vec![b' '; LONGEST_ANSWER]);
        for number in 0..10_000 {
            kept.keep(8, &number.to_string(), &large);
            assert!(kept.bytes <= MAX_KEPT_BYTES && kept.answer(&number.to_string()).is_some());
        }
        kept.keep(8, "query=a", &Bytes::from(vec![b' '; LONGEST_ANSWER + 1]));
        assert!(kept.answer("query=a").is_none());
    }
}
