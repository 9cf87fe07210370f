//! Identifiers of versions and uploads: ULIDs, which sort by their time.
//!
//! Source: <https://github.com/ulid/spec>: 48 bits of milliseconds, 80 random bits, in the digits of
//! Crockford's base 32. Here the first 10 of those bits are the microsecond in the millisecond: an object
//! that was written without a version and the version after it sort by time, too.

use std::hash::{BuildHasher, RandomState};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Digits of an identifier.
const LENGTH: usize = 26;

/// An identifier that sorts after all that this process made before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct VersionId(u128);

impl VersionId {
    /// A new one.
    pub(crate) fn new() -> Self {
        static LAST: Mutex<u128> = Mutex::new(0);
        let next = VersionId::at(SystemTime::now()).0;
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        // Within a millisecond, or after the clock was set back, the order is kept by counting on.
        *last = next.max(*last + 1);
        VersionId(*last)
    }

    /// One of a time, which need not be unique towards others of that time.
    pub(crate) fn at(time: SystemTime) -> Self {
        let microseconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
        let milliseconds = (microseconds / 1000) & ((1 << 48) - 1);
        VersionId(milliseconds << 80 | (microseconds % 1000) << 70 | random() & ((1 << 70) - 1))
    }

    /// When it was made.
    pub(crate) fn time(self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis((self.0 >> 80) as u64)
    }

    /// Reads the text of one; letters of both cases count.
    pub(crate) fn read(text: &str) -> Option<Self> {
        if text.len() != LENGTH || text.as_bytes().first().is_none_or(|first| *first > b'7') {
            return None;
        }
        let digit = |byte: u8| DIGITS.iter().position(|&digit| digit == byte.to_ascii_uppercase());
        let append = |number: u128, byte| Some(number << 5 | digit(byte)? as u128);
        text.bytes().try_fold(0, append).map(VersionId)
    }

    /// Its text.
    pub(crate) fn text(self) -> String {
        let digit = |at: usize| DIGITS[(self.0 >> (5 * (LENGTH - 1 - at)) & 31) as usize];
        (0..LENGTH).map(|at| char::from(digit(at))).collect()
    }

    /// A name that sorts newest first.
    pub(crate) fn newest_first(self) -> String {
        format!("{:032x}", u128::MAX - self.0)
    }

    /// The identifier of a name that [`VersionId::newest_first`] made.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let is_name = name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = is_name.then(|| u128::from_str_radix(name, 16).ok()).flatten()?;
        Some(VersionId(u128::MAX - number))
    }
}

/// 128 bits that do not repeat, for names.
pub(crate) fn random() -> u128 {
    static STATES: LazyLock<(RandomState, RandomState)> = LazyLock::new(Default::default);
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let half = |state: &RandomState| u128::from(state.hash_one((number, std::process::id())));
    half(&STATES.0) << 64 | half(&STATES.1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_of_times_sort_by_microseconds() {
        let times = (0..3000)
            .map(|micros| UNIX_EPOCH + Duration::from_micros(1_800_000_000_000_000 + micros));
        assert!(times.map(VersionId::at).is_sorted());
    }

    #[test]
    fn identifiers_sort_by_time_and_can_be_read() {
        let made: Vec<VersionId> = (0..100).map(|_| VersionId::new()).collect();
        assert!(made.is_sorted_by(|one, other| one < other));
        let texts: Vec<String> = made.iter().map(|id| id.text()).collect();
        assert!(texts.is_sorted());
        assert!(made.iter().map(|id| id.newest_first()).rev().is_sorted());
        for id in &made {
            assert_eq!(VersionId::read(&id.text()), Some(*id));
            assert_eq!(VersionId::read(&id.text().to_lowercase()), Some(*id));
            assert_eq!(VersionId::of_name(&id.newest_first()), Some(*id));
        }
    }

    #[test]
    fn other_texts_are_no_identifiers() {
        for text in ["", "null", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "01ARZ3NDEKTSV4RRFFQ69G5FA", "é"] {
            assert_eq!(VersionId::read(text), None, "{text}");
        }
        assert!(VersionId::read("01ARZ3NDEKTSV4RRFFQ69G5FAV").is_some());
        assert!(VersionId::read("01ARZ3NDEKTSV4RRFFQ69G5FAU").is_none(), "U is no digit");
    }
}
