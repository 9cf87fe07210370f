//! Names that may be used once: a login that is finished, a token that is redeemed.

use std::collections::{HashSet, VecDeque};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Names that the process remembers. One more forgets the oldest.
const MOST_USED: usize = 100_000;

/// The names that were used, oldest first.
#[derive(Default)]
struct UsedNames {
    order: VecDeque<(Instant, Box<[u8]>)>,
    known: HashSet<Box<[u8]>>,
}

impl UsedNames {
    fn claim(&mut self, name: &[u8], now: Instant, kept: Duration) -> bool {
        while self.order.front().is_some_and(|(until, _)| *until <= now)
            || self.order.len() >= MOST_USED
        {
            let Some((_, oldest)) = self.order.pop_front() else { break };
            self.known.remove(&oldest);
        }
        if self.known.contains(name) {
            return false;
        }
        let until = now.checked_add(kept).unwrap_or(now);
        self.known.insert(name.into());
        self.order.push_back((until, name.into()));
        true
    }
}

/// Common to all workers of the process.
static USED: LazyLock<Mutex<UsedNames>> = LazyLock::new(Mutex::default);

/// Whether a name is used for the first time. It is remembered for `kept`, and all names for the
/// same time.
pub(super) fn claim(name: &[u8], kept: Duration) -> bool {
    let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
    used.claim(name, Instant::now(), kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_claimed_once_until_it_expires() {
        let (mut used, start) = (UsedNames::default(), Instant::now());
        let minute = Duration::from_secs(60);
        assert!(used.claim(b"a", start, minute));
        assert!(!used.claim(b"a", start, minute));
        assert!(used.claim(b"b", start, minute));
        assert!(used.claim(b"a", start + minute, minute));
    }

    #[test]
    fn names_are_bounded() {
        let (mut used, start) = (UsedNames::default(), Instant::now());
        let minute = Duration::from_secs(60);
        for number in 0..=MOST_USED {
            assert!(used.claim(&number.to_le_bytes(), start, minute));
        }
        assert_eq!((used.order.len(), used.known.len()), (MOST_USED, MOST_USED));
        assert!(used.claim(&0_usize.to_le_bytes(), start, minute));
    }
}
