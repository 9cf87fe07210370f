//! A cache of answers, valid while the database has not changed.
//!
//! A lookup names the version of the database (SQLite's `data_version`, read in a transaction of
//! its own connection); answers of any other version are evicted. So the cache is exact,
//! independent of time, and sees writes of other processes.

use crate::sqlite::read::select::SqliteSelect;
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;

/// Answers that one reading connection keeps.
pub const KEPT_ANSWERS: usize = 64;

/// Bytes of all kept answers together.
pub const KEPT_BYTES: usize = 8 << 20;

/// The largest single answer that is kept, in bytes.
pub const KEPT_LARGEST: usize = 1 << 20;

/// An answer as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CachedAnswer {
    /// Rows in JSON.
    Json(Bytes),
    /// How many rows there are.
    Count(i64),
}

/// The kept answers of one version of the database.
#[derive(Default)]
pub(crate) struct AnswerCache {
    version: i64,
    entries: VecDeque<(Arc<SqliteSelect>, CachedAnswer)>,
    bytes: usize,
}

impl AnswerCache {
    /// The answer of a statement at a version of the database.
    pub(crate) fn find(
        &mut self,
        version: i64,
        select: &Arc<SqliteSelect>,
    ) -> Option<CachedAnswer> {
        self.at(version);
        let same = |entry: &&(Arc<SqliteSelect>, CachedAnswer)| {
            Arc::ptr_eq(&entry.0, select)
                || entry.0.fingerprint == select.fingerprint && entry.0 == *select
        };
        self.entries.iter().find(same).map(|entry| entry.1.clone())
    }

    /// Keeps an answer, the oldest ones making room.
    pub(crate) fn keep(&mut self, version: i64, select: &Arc<SqliteSelect>, answer: CachedAnswer) {
        let size = size(&answer);
        if size > KEPT_LARGEST || !select.steady || self.find(version, select).is_some() {
            return;
        }
        while self.entries.len() >= KEPT_ANSWERS || self.bytes + size > KEPT_BYTES {
            let Some((_, oldest)) = self.entries.pop_front() else { break };
            self.bytes -= self::size(&oldest);
        }
        self.bytes += size;
        self.entries.push_back((select.clone(), answer));
    }

    fn at(&mut self, version: i64) {
        if self.version != version {
            self.version = version;
            self.entries.clear();
            self.bytes = 0;
        }
    }
}

fn size(answer: &CachedAnswer) -> usize {
    match answer {
        CachedAnswer::Json(bytes) => bytes.len(),
        CachedAnswer::Count(_) => size_of::<i64>(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::sqlite::connection::cell::SqliteValue;

    fn select(number: i64) -> Arc<SqliteSelect> {
        Arc::new(SqliteSelect::new(
            "select ?1".into(),
            vec![SqliteValue::Integer(number)],
            None,
            true,
        ))
    }

    #[test]
    fn answers_are_found_at_their_version_only() {
        let mut shelf = AnswerCache::default();
        shelf.keep(1, &select(1), CachedAnswer::Count(5));
        assert_eq!(shelf.find(1, &select(1)), Some(CachedAnswer::Count(5)));
        assert_eq!(shelf.find(1, &select(2)), None);
        assert_eq!(shelf.find(2, &select(1)), None);
        assert_eq!(shelf.find(1, &select(1)), None);
    }

    #[test]
    fn number_and_size_are_bounded() {
        let mut shelf = AnswerCache::default();
        for number in 0..KEPT_ANSWERS as i64 + 1 {
            shelf.keep(1, &select(number), CachedAnswer::Count(number));
        }
        assert_eq!(shelf.entries.len(), KEPT_ANSWERS);
        assert_eq!(shelf.find(1, &select(0)), None);
        let large = || CachedAnswer::Json(Bytes::from(vec![0; KEPT_LARGEST]));
        for number in 100..120 {
            shelf.keep(1, &select(number), large());
        }
        assert!(shelf.bytes <= KEPT_BYTES);
        assert_eq!(shelf.bytes, shelf.entries.iter().map(|entry| size(&entry.1)).sum::<usize>());
        shelf.keep(1, &select(200), CachedAnswer::Json(Bytes::from(vec![0; KEPT_LARGEST + 1])));
        assert_eq!(shelf.find(1, &select(200)), None);
    }
}
