//! What a write did: the answer of put, post, merge and delete.

use crate::{Content, EntityTag, Reference};
use std::fmt;

/// The answer of a verb that writes.
#[derive(Default)]
pub struct Outcome {
    /// What happened to what the reference names.
    pub effect: Effect,
    /// The reference of a created resource, relative to the store, where it differs from the
    /// written reference: a post to a collection returns the new member's.
    pub reference: Option<Reference>,
    /// The validator of the content as it is now, where the store knows it at no cost.
    pub entity_tag: Option<EntityTag>,
    /// What the store answers with: a new record, the value of a handler. `None` where it has
    /// nothing to say beside the effect.
    pub content: Option<Content>,
}

/// What a write did to what its reference names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effect {
    /// Something exists that did not exist before.
    Created,
    /// Existing content was changed or removed, or the store cannot tell.
    #[default]
    Changed,
    /// Nothing existed, and nothing was done: a delete of a missing reference.
    Nothing,
}

impl Outcome {
    /// A creation.
    pub fn created() -> Self {
        Outcome { effect: Effect::Created, ..Outcome::default() }
    }

    /// A change.
    pub fn changed() -> Self {
        Outcome::default()
    }

    /// The outcome of a put.
    pub fn put(created: bool) -> Self {
        if created { Outcome::created() } else { Outcome::changed() }
    }

    /// The outcome of a delete: whether something existed.
    pub fn deleted(existed: bool) -> Self {
        let effect = if existed { Effect::Changed } else { Effect::Nothing };
        Outcome { effect, ..Outcome::default() }
    }

    /// The outcome of a post that created a member with a reference of its own.
    pub fn posted(reference: Reference) -> Self {
        Outcome { reference: Some(reference), ..Outcome::created() }
    }

    /// Adds the validator of the current content.
    pub fn with_entity_tag(mut self, tag: Option<EntityTag>) -> Self {
        self.entity_tag = tag;
        self
    }

    /// Adds an answer.
    pub fn with_content(mut self, content: Content) -> Self {
        self.content = Some(content);
        self
    }

    /// The same outcome with its reference renamed.
    pub fn renamed(mut self, rename: impl FnOnce(Reference) -> Reference) -> Self {
        self.reference = self.reference.map(rename);
        self
    }

    /// Whether something was created.
    pub fn is_created(&self) -> bool {
        self.effect == Effect::Created
    }

    /// Whether something existed or was created.
    pub fn is_something(&self) -> bool {
        self.effect != Effect::Nothing
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = out.debug_struct("Outcome");
        shown.field("effect", &self.effect).field("reference", &self.reference);
        shown.field("content", &self.content.is_some()).finish_non_exhaustive()
    }
}
