//! Copies of what the first store of a mirror has.

use crate::combine::answers::is_listing;
use crate::{
    Attributes, Body, Content, Context, EntityTag, Error, Kind, Lazy, Reference, Result, Store,
    Value, Verb,
};
use futures_util::future;
use std::rc::Rc;

/// How often a reference is copied again when others change it at the same time.
const ATTEMPTS: usize = 100;

/// The stores of a mirror.
pub(super) struct Copying {
    /// The first store and its copies.
    pub(super) stores: Rc<[Rc<dyn Store>]>,
    /// How many of them have to have a write.
    pub(super) writes: usize,
}

/// What a write says of the copies.
#[derive(Clone, Copy, Default)]
pub(super) struct CopyWish {
    /// As in [`Context::prunes`].
    pub(super) prunes: Option<usize>,
    /// Nil was put: what has no content then is put as nil, which makes a collection or deletes.
    pub(super) nil: bool,
    /// Attributes were replaced, which may leave the entity tag as it was.
    pub(super) attributes: bool,
}

/// What the first store has at a reference.
#[derive(Clone)]
enum State {
    Missing,
    /// A collection without content of its own.
    Collection,
    Tagged(EntityTag, Attributes),
    /// An object of the program, which has no tag.
    Object(Rc<dyn Lazy>),
}

impl State {
    fn is_same(&self, other: &State, wish: CopyWish) -> bool {
        match (self, other) {
            (State::Missing, State::Missing) | (State::Collection, State::Collection) => true,
            (State::Tagged(one, attributes), State::Tagged(other, others)) => {
                one == other && (!wish.attributes || attributes == others)
            }
            (State::Object(one), State::Object(other)) => Rc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// Whether each copy has it.
type Copied = Vec<Result<()>>;

impl Copying {
    /// Copies what the first store has until it is still the same afterwards.
    ///
    /// The last of several writers to copy is the last to look, so all stores agree when all are done.
    ///
    /// # Errors
    /// Fewer stores have it than must have it, or it could not be found out.
    pub(super) async fn copy(&self, reference: &Reference, wish: CopyWish) -> Result<()> {
        if self.stores.len() == 1 {
            return Ok(());
        }
        for _ in 0..ATTEMPTS {
            let (state, content) = self.read(reference, None).await?;
            let Some(copied) = self.write(reference, &state, content, wish).await? else {
                continue;
            };
            let known = match &state {
                State::Tagged(tag, _) if !wish.attributes => Some(tag.clone()),
                _ => None,
            };
            let (now, _) = self.read(reference, known).await?;
            if state.is_same(&now, wish) {
                return self.count(reference, copied);
            }
        }
        let message = format!("others changed it {ATTEMPTS} times in a row while it was copied");
        Err(Error::new(Kind::Conflict, message).with_temporary(true))
    }

    fn copies(&self) -> impl Iterator<Item = &Rc<dyn Store>> {
        self.stores.iter().skip(1)
    }

    /// What the first store has. Of content that is known there is only the tag.
    async fn read(
        &self,
        reference: &Reference,
        known: Option<EntityTag>,
    ) -> Result<(State, Option<Content>)> {
        let context = Context { known, attributes: true, ..Context::default() };
        let first = &*self.stores[0];
        let found = first.get(reference, &context).await.map_err(|error| self.missed(1, error))?;
        let Some(content) = found else { return Ok((State::Missing, None)) };
        if let Some(tag) = content.entity_tag.clone() {
            return Ok((State::Tagged(tag, content.attributes()), Some(content)));
        }
        if let Body::Lazy(object) = &content.body {
            return Ok((State::Object(object.clone()), Some(content)));
        }
        if is_listing(first, reference, &content).await? {
            return Ok((State::Collection, None));
        }
        let message = "the first store gives no entity tag for it";
        Err(self.missed(1, Error::new(Kind::Failed, message)))
    }

    /// Writes to the copies; `None` where the first store has something else meanwhile.
    async fn write(
        &self,
        reference: &Reference,
        state: &State,
        content: Option<Content>,
        wish: CopyWish,
    ) -> Result<Option<Copied>> {
        let context = Context { prunes: wish.prunes, ..Context::default() };
        let content = match content {
            None if wish.nil => Some(Content::value(Value::Nil)),
            content => content,
        };
        let Some(content) = content else {
            if matches!(state, State::Collection) {
                return Ok(Some(self.copies().map(|_| Ok(())).collect()));
            }
            let deletions = self.copies().map(|copy| copy.delete(reference, &context));
            let copied = future::join_all(deletions).await;
            return Ok(Some(copied.into_iter().map(|deleted| deleted.map(drop)).collect()));
        };
        let content = Content { entity_tag: None, modified: None, ..content };
        let shared: Option<Vec<Content>> = self.copies().map(|_| content.share()).collect();
        if let Some(shared) = shared {
            let puts = self.copies().zip(shared);
            let puts = puts.map(|(copy, content)| copy.put(reference, content, &context));
            let copied = future::join_all(puts).await;
            return Ok(Some(copied.into_iter().map(|put| put.map(drop)).collect()));
        }
        // A stream is read once for each copy.
        let (mut next, mut copied) = (Some(content), Vec::new());
        for copy in self.copies() {
            let content = match next.take() {
                Some(content) => content,
                None => match self.read(reference, None).await? {
                    (now, Some(content)) if now.is_same(state, wish) => {
                        Content { entity_tag: None, modified: None, ..content }
                    }
                    _ => return Ok(None),
                },
            };
            copied.push(copy.put(reference, content, &context).await.map(drop));
        }
        Ok(Some(copied))
    }

    /// Whether enough stores have it. A copy that has not is behind, which the log says.
    fn count(&self, reference: &Reference, copied: Copied) -> Result<()> {
        let have = 1 + copied.iter().filter(|copied| copied.is_ok()).count();
        for (at, error) in copied.into_iter().enumerate() {
            let Err(error) = error else { continue };
            if have < self.writes {
                return Err(self.missed(have, error).on(Verb::Put, reference));
            }
            tracing::warn!(
                %reference, store = at + 2, %error, detail = error.detail.as_deref(),
                "a copy of a mirror is behind"
            );
        }
        Ok(())
    }

    /// The error where only some stores have a write. Its kind does not say that nothing happened.
    fn missed(&self, have: usize, error: Error) -> Error {
        let kind = match error.kind {
            kind @ (Kind::Timeout | Kind::Unavailable | Kind::TooMany | Kind::InDoubt) => kind,
            _ => Kind::Failed,
        };
        let message = format!(
            "{have} of {} stores have it ({}); write it again, or repair the copies with `syncTo:`",
            self.stores.len(),
            error.message
        );
        let Error { temporary, detail, source, .. } = error;
        Error { detail, source, ..Error::new(kind, message).with_temporary(temporary) }
    }
}
