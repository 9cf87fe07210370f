//! Limits of guesses: how often a client may be wrong about a secret.
//!
//! A guess is counted before it is checked, so that guesses made at once are as few as others, and
//! taken back when it was right.

use super::rate_limit::too_many;
use super::rate_table::{RateQuota, RateTable, shared_table};
use crate::{ClientNetwork, Error, Kind, Result};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

/// Wrong guesses of a client that are allowed in a [`GUESS_WINDOW`] unless a program says otherwise.
pub const GUESSES: u32 = 10;
/// The time in which [`GUESSES`] are forgotten.
pub const GUESS_WINDOW: Duration = Duration::from_secs(180);

/// A limit of wrong guesses in a window.
pub struct GuessLimit {
    table: Arc<RateTable>,
    guesses: u32,
}

impl GuessLimit {
    /// The limit of this name, number of guesses and window, which all workers of the process share.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for no guesses, or a window of years.
    pub fn shared(name: &str, guesses: u32, window: Duration) -> Result<GuessLimit> {
        let quota = RateQuota { requests: guesses, per: window, burst: guesses };
        if guesses == 0 || !quota.is_countable() {
            return Err(Error::new(
                Kind::Invalid,
                "a limit of guesses needs a number and a window",
            ));
        }
        Ok(GuessLimit { table: shared_table(0, quota, name.to_string()), guesses })
    }

    /// The usual limit of this name.
    pub fn usual(name: &str) -> GuessLimit {
        let quota = RateQuota { requests: GUESSES, per: GUESS_WINDOW, burst: GUESSES };
        GuessLimit { table: shared_table(0, quota, name.to_string()), guesses: GUESSES }
    }

    /// Counts a guess about a secret by a client; `None` counts those of all clients together.
    ///
    /// # Errors
    /// [`Kind::TooMany`] with `Retry-After` when there were too many.
    pub fn count(&self, secret: impl Hash, client: Option<ClientNetwork>) -> Result<()> {
        let verdict = self.table.take(self.table.key((secret, client)), self.table.now());
        match verdict.allowed {
            true => Ok(()),
            false => Err(too_many("attempts", verdict.wait)),
        }
    }

    /// Takes back the last guess, which was right.
    pub fn take_back(&self, secret: impl Hash, client: Option<ClientNetwork>) {
        self.table.give_back(self.table.key((secret, client)), 1);
    }

    /// Forgets all guesses.
    pub fn forget(&self, secret: impl Hash, client: Option<ClientNetwork>) {
        self.table.give_back(self.table.key((secret, client)), self.guesses);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn client(number: u8) -> Option<ClientNetwork> {
        Some(ClientNetwork::of(Some([127, 0, 0, number].into())))
    }

    #[test]
    fn wrong_guesses_are_limited_and_right_ones_forgotten() {
        let limit = GuessLimit::usual("test of guesses");
        let allowed =
            |of: u8| (0..20).take_while(|_| limit.count("ann", client(of)).is_ok()).count();
        assert_eq!(allowed(1), 10);
        let refused = limit.count("ann", client(1)).unwrap_err();
        assert_eq!(refused.kind, Kind::TooMany);
        let headers = refused.response.unwrap().headers;
        assert_eq!(headers[0], ("retry-after".to_string(), "18".to_string()));
        // Workers count together; other clients and other secrets apart.
        assert!(GuessLimit::usual("test of guesses").count("ann", client(1)).is_err());
        assert!(limit.count("bob", client(1)).is_ok());
        assert_eq!(allowed(2), 10);
        limit.take_back("ann", client(2));
        assert_eq!(allowed(2), 1);
        limit.forget("ann", client(2));
        assert_eq!(allowed(2), 10);
        assert!(GuessLimit::shared("none", 0, GUESS_WINDOW).is_err());
    }
}
