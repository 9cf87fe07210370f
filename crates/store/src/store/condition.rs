//! Writing only when something is so.

use crate::{EntityTag, Error, Kind, Reference, Result, Verb};

/// A precondition of a write ([`crate::Context::only_if`]). The store checks and writes atomically:
/// of several writers under the same condition one succeeds. The others get [`Kind::Precondition`]
/// and change nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// No content exists: HTTP's `If-None-Match: *`.
    Absent,
    /// Something is there: HTTP's `If-Match: *`.
    Present,
    /// The current content has this tag: HTTP's `If-Match: "tag"`. RFC 9110 section 8.8.3.2
    /// requires the strong comparison, so a weak tag never matches.
    Tag(EntityTag),
}

/// The conditions that a store keeps at a reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conditions {
    /// None: a write with a condition is [`Kind::NotAllowed`].
    #[default]
    None,
    /// [`Condition::Absent`] and [`Condition::Present`].
    Presence,
    /// All of them.
    Tags,
}

impl Condition {
    /// Checks the condition against `present`: the existing content's tag, if it has one.
    ///
    /// # Errors
    /// [`Kind::Precondition`].
    pub fn check(&self, present: Option<Option<&EntityTag>>) -> Result<()> {
        let holds = match (self, present) {
            (Condition::Absent, present) => present.is_none(),
            (Condition::Present, present) => present.is_some(),
            (Condition::Tag(tag), Some(Some(own))) => tag == own && !tag.weak,
            (Condition::Tag(_), _) => false,
        };
        if holds { Ok(()) } else { Err(self.failed()) }
    }

    /// The error of a condition that does not hold.
    pub fn failed(&self) -> Error {
        let message = match self {
            Condition::Absent => "something is there already",
            Condition::Present => "there is nothing to replace",
            Condition::Tag(_) => "it has changed meanwhile; read it again",
        };
        Error::new(Kind::Precondition, message)
    }
}

impl Conditions {
    /// Refuses an unsupported condition, because an unconditional write would be worse.
    ///
    /// # Errors
    /// [`Kind::NotAllowed`].
    pub fn admit(
        self,
        condition: Option<&Condition>,
        verb: Verb,
        reference: &Reference,
    ) -> Result<()> {
        let needed = match condition {
            None => Conditions::None,
            Some(Condition::Absent | Condition::Present) => Conditions::Presence,
            Some(Condition::Tag(_)) => Conditions::Tags,
        };
        if needed <= self {
            return Ok(());
        }
        let message = match self {
            Conditions::Presence => "this store cannot compare entity tags when it writes",
            _ => "this store cannot write under a condition",
        };
        Err(Error::new(Kind::NotAllowed, message).on(verb, reference))
    }
}
