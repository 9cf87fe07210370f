//! Places in programs, as numbers that are cheap to pass on with a verb.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// The different places that a process remembers; later ones have none.
pub const PROGRAM_PLACES: usize = 100_000;

/// The place in a program that asks a store, such as `shop.st:12`, or none. It is for messages: no answer
/// depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramPlace(Option<NonZeroU32>);

#[derive(Default)]
struct KnownPlaces {
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, NonZeroU32>,
}

static KNOWN: LazyLock<RwLock<KnownPlaces>> = LazyLock::new(RwLock::default);

impl ProgramPlace {
    /// The place of a text, which takes a lock: callers remember it.
    pub fn intern(text: &str) -> Self {
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = known.numbers.get(text) {
            return ProgramPlace(Some(*number));
        }
        let next = u32::try_from(known.texts.len() + 1).ok().and_then(NonZeroU32::new);
        let Some(number) = next.filter(|_| known.texts.len() < PROGRAM_PLACES) else {
            return ProgramPlace(None);
        };
        let text: Arc<str> = text.into();
        known.texts.push(text.clone());
        known.numbers.insert(text, number);
        ProgramPlace(Some(number))
    }

    /// The place of a number from [`ProgramPlace::number`].
    pub fn numbered(number: u32) -> Self {
        ProgramPlace(NonZeroU32::new(number))
    }

    /// Its number, and 0 for none.
    pub fn number(self) -> u32 {
        self.0.map_or(0, NonZeroU32::get)
    }

    /// Its text, where there is one.
    pub fn text(self) -> Option<Arc<str>> {
        let at = usize::try_from(self.0?.get()).ok()?;
        KNOWN.read().unwrap_or_else(PoisonError::into_inner).texts.get(at - 1).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_one_number() {
        let place = ProgramPlace::intern("shop.st:12");
        assert_eq!(place, ProgramPlace::intern("shop.st:12"));
        assert_ne!(place, ProgramPlace::intern("shop.st:13"));
        assert_eq!(ProgramPlace::numbered(place.number()).text().as_deref(), Some("shop.st:12"));
        assert_eq!(ProgramPlace::default().text(), None);
        assert_eq!(ProgramPlace::numbered(u32::MAX).text(), None);
    }
}
