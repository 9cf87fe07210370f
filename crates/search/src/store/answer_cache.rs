//! A cache of answers, valid until the next write.
//!
//! Typed queries begin with the same few letters, so the same searches repeat. An answer depends
//! only on the indexes and the parameters, so it stays valid until their version changes; its
//! duration is that of the original search.

use bytes::Bytes;
use hashbrown::HashMap;
use runnel_store::EntityTag;

/// Most answers of one store in the cache of a worker.
pub const MAX_KEPT_ANSWERS: usize = 1_024;

/// Most bytes of cached answers. A full cache is cleared.
pub const MAX_KEPT_BYTES: usize = 1 << 20;

/// The longest parameters of a cached answer, in bytes.
const LONGEST_ASKED: usize = 256;

/// The longest cached answer, in bytes.
const LONGEST_ANSWER: usize = 16 << 10;

/// The cached answers of one version.
#[derive(Default)]
pub(super) struct AnswerCache {
    version: u64,
    tag: Option<EntityTag>,
    answers: HashMap<Box<str>, Bytes>,
    bytes: usize,
}

impl AnswerCache {
    /// The entity tag of the answers of a version. Clears the answers of another version.
    pub(super) fn tag(&mut self, version: u64) -> EntityTag {
        if let Some(tag) = self.tag.as_ref().filter(|_| self.version == version) {
            return tag.clone();
        }
        self.clear();
        self.version = version;
        let tag = EntityTag { text: format!("{version:x}").into(), weak: true };
        self.tag.insert(tag).clone()
    }

    /// The cached answer of these parameters, in the current version.
    pub(super) fn get(&self, asked: &str) -> Option<Bytes> {
        self.answers.get(asked).cloned()
    }

    /// Caches an answer of `version`, unless the version has changed since.
    pub(super) fn insert(&mut self, version: u64, asked: &str, answer: &Bytes) {
        let size = asked.len() + answer.len();
        if version != self.version || asked.len() > LONGEST_ASKED || answer.len() > LONGEST_ANSWER {
            return;
        }
        if self.answers.len() >= MAX_KEPT_ANSWERS || self.bytes + size > MAX_KEPT_BYTES {
            self.clear();
        }
        self.bytes += size;
        self.answers.insert(asked.into(), answer.clone());
    }

    fn clear(&mut self) {
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
        kept.insert(7, "query=a", &Bytes::from_static(b"{}"));
        assert!(kept.get("query=a").is_some() && kept.get("query=b").is_none());
        assert_ne!(kept.tag(8), tag);
        assert!(kept.get("query=a").is_none());
        // Searched for in the last version, done in this one.
        kept.insert(7, "query=a", &Bytes::from_static(b"{}"));
        assert!(kept.get("query=a").is_none());
        let large = Bytes::from(vec![b' '; LONGEST_ANSWER]);
        for number in 0..10_000 {
            kept.insert(8, &number.to_string(), &large);
            assert!(kept.bytes <= MAX_KEPT_BYTES && kept.get(&number.to_string()).is_some());
        }
        kept.insert(8, "query=a", &Bytes::from(vec![b' '; LONGEST_ANSWER + 1]));
        assert!(kept.get("query=a").is_none());
    }
}
