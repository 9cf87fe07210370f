//! Each write in several stores.

mod copying;

use crate::combine::answers::{first_answer, is_failure};
use crate::combine::definition::{Combinator, check_stores};
use crate::combine::layer::{Below, Layer};
use crate::combine::paths::sequence::all_confined;
use crate::{
    Answer, Attributes, Body, BulkChange, ByteStream, Conditions, Confinement, Content, Context,
    Entry, Error, KeyPage, KeyRange, Kind, Outcome, Query, Records, Reference, Result, Setting,
    SettingTable, Store, Value, Verb,
};
use copying::{CopyWish, Copying};
use futures_util::{FutureExt, StreamExt, stream};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;
use tokio::sync::oneshot;

/// The maximum number of concurrent writes of a [`Mirror`]. Further ones are refused.
pub const MIRRORED_WRITES: usize = 1_024;

/// The options of a [`Mirror`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MirrorOptions {
    /// How many stores have to have a write, the first among them; all when absent.
    pub writes: Option<usize>,
}

const SETTINGS: SettingTable<MirrorOptions> = SettingTable(&[Setting::new(
    "writes",
    "how many stores must have a write",
    |options: &mut MirrorOptions| &mut options.writes,
)
.range(1.0, 64.0)]);

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Mirror",
    aliases: &[],
    help: "writes to several stores, reads from the first that answers",
    settings: &SETTINGS,
    make: |parts| {
        let options = parts.read("a Mirror", &SETTINGS)?;
        Ok(Mirror::new(parts.sources.clone(), options)?.into())
    },
};

/// Keeps the same content in several stores. The first store decides: a write happens there, with its
/// condition, and its content is then copied to the others, the copies.
///
/// - A write is answered when as many stores have it as [`MirrorOptions::writes`] says. Fewer are an
///   error, which says how many have it; it is written all the same. A write that the first store
///   refuses reaches no other.
/// - After the copies are written, the first store is asked whether its entity tag is still the same;
///   if not, its content is copied again. So writers of other workers and processes that write the same
///   reference leave all stores the same. Where the first store has no entity tags, a write is
///   [`Kind::NotAllowed`].
/// - A caller who goes away does not end a write, except of a stream that is still being read: that
///   fails as a whole. A process that is killed in between leaves the copies behind.
/// - Reads and queries reach the first store that answers, as through a [`crate::Fallback`]; in a
///   transaction the first alone. Content of a copy has no entity tag, because stores do not agree on
///   them.
/// - A watch is that of the first store.
/// - Statements, tables and transactions are refused, and so are addresses to write to: they would
///   reach one store. Writes within a transaction are refused, because a copy could not be rolled back.
pub struct Mirror {
    copying: Rc<Copying>,
    under_way: Rc<Cell<usize>>,
}

impl Mirror {
    /// The first store decides.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: no store, more than 64, one twice, or more writes than stores.
    pub fn new(stores: Vec<Rc<dyn Store>>, options: MirrorOptions) -> Result<Self> {
        check_stores("a Mirror", &stores)?;
        let count = stores.len();
        let writes = options.writes.unwrap_or(count);
        if !(1..=count).contains(&writes) {
            let message = format!(
                "`writes` of a Mirror must be from 1 to {count}, the number of its stores (got {writes})"
            );
            return Err(Error::new(Kind::Invalid, message));
        }
        Ok(Mirror::of(stores.into(), writes, Rc::default()))
    }

    fn of(stores: Rc<[Rc<dyn Store>]>, writes: usize, under_way: Rc<Cell<usize>>) -> Self {
        Mirror { copying: Rc::new(Copying { stores, writes }), under_way }
    }

    fn first(&self) -> &Rc<dyn Store> {
        &self.copying.stores[0]
    }

    /// Reads from the first store that answers. `of_copy` changes what a copy answers.
    fn read<T: 'static>(
        &self,
        context: &Context,
        ask: impl Fn(&dyn Store, &Context) -> Answer<T> + 'static,
        of_copy: fn(T) -> T,
    ) -> Answer<T> {
        let found = ask(&**self.first(), context);
        // A conflict within a transaction is for those who began it.
        if context.transaction.is_some() {
            return found;
        }
        let context = Context { known: None, ..context.clone() };
        let copying = self.copying.clone();
        found.then(move |found| {
            if !found.as_ref().is_err_and(is_failure) {
                return found.into();
            }
            let failed = |answer: &Result<T>| answer.as_ref().is_err_and(is_failure);
            let ask = move |store: &dyn Store| ask(store, &context);
            match first_answer(&copying.stores[1..], ask, failed) {
                Some(answer) => answer.map(of_copy),
                None => found.into(),
            }
        })
    }

    /// Does a write in the first store, and copies the references that it has changed.
    fn write<T: 'static>(
        &self,
        verb: Verb,
        (reference, context): (&Reference, &Context),
        wish: CopyWish,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
        changed: impl FnOnce(&T) -> Vec<Reference> + 'static,
    ) -> Answer<T> {
        let turn = match self.admit(reference, context) {
            Ok(turn) => turn,
            Err(error) => return error.on(verb, reference).into(),
        };
        let done = act(&**self.first(), reference, context);
        let copying = self.copying.clone();
        let wish = CopyWish { prunes: context.prunes, ..wish };
        let work = async move {
            let _turn = turn;
            let done = done.await?;
            for reference in changed(&done) {
                copying.copy(&reference, wish).await?;
            }
            Ok(done)
        };
        complete(work).on(verb, reference)
    }

    fn admit(&self, reference: &Reference, context: &Context) -> Result<Turn> {
        if context.transaction.is_some() {
            let message = "a copy cannot be rolled back; write to a Mirror after the transaction";
            return Err(Error::new(Kind::NotAllowed, message));
        }
        if self.first().conditions(reference) != Conditions::Tags {
            let message = "the first store of a Mirror needs entity tags here, which tell it what \
                           others have written meanwhile";
            return Err(Error::new(Kind::NotAllowed, message));
        }
        Turn::begin(&self.under_way)
    }
}

/// RAII guard of one write.
struct Turn(Rc<Cell<usize>>);

impl Turn {
    fn begin(under_way: &Rc<Cell<usize>>) -> Result<Turn> {
        if under_way.get() >= MIRRORED_WRITES {
            let message =
                format!("{MIRRORED_WRITES} writes are under way already; try again later");
            return Err(Error::new(Kind::Unavailable, message));
        }
        under_way.set(under_way.get() + 1);
        Ok(Turn(under_way.clone()))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Brings work to its end, also when the caller goes away. Ready when the work has not to wait.
fn complete<T: 'static>(work: impl Future<Output = Result<T>> + 'static) -> Answer<T> {
    let mut work = Box::pin(work);
    let mut step = std::task::Context::from_waker(Waker::noop());
    if let Poll::Ready(result) = work.as_mut().poll(&mut step) {
        return Answer::Ready(result);
    }
    let (tell, told) = oneshot::channel();
    tokio::task::spawn_local(async move {
        if let Err(Err(error)) = tell.send(work.await) {
            tracing::warn!(%error, detail = error.detail.as_deref(), "a write to a mirror failed");
        }
    });
    Answer::later(async move {
        let ended = |_| Error::new(Kind::Cancelled, "the worker has ended");
        told.await.map_err(ended)?
    })
}

/// The content of a write. A stream fails when the guard is dropped, because it may be the caller's.
fn bound_to(content: Content) -> (Content, Option<oneshot::Sender<()>>) {
    let Body::Stream(mut stream, length) = content.body else { return (content, None) };
    let (guard, caller) = oneshot::channel::<()>();
    let mut caller = caller.fuse();
    let bound: ByteStream = Box::pin(
        stream::poll_fn(move |step| {
            if Pin::new(&mut caller).poll(step).is_ready() {
                let message = "the caller has gone away";
                return Poll::Ready(Some(Err(Error::new(Kind::Cancelled, message))));
            }
            stream.poll_next_unpin(step)
        })
        .fuse(),
    );
    (Content { body: Body::Stream(bound, length), ..content }, Some(guard))
}

/// The answer, which holds a guard until it is given, or dropped.
fn holding<T: 'static>(answer: Answer<T>, guard: Option<oneshot::Sender<()>>) -> Answer<T> {
    match (answer, guard) {
        (Answer::Later(answer), Some(guard)) => Answer::later(async move {
            let result = answer.await;
            drop(guard);
            result
        }),
        (answer, _) => answer,
    }
}

fn refused(verb: Verb, reference: &Reference) -> Error {
    let message = "a Mirror copies content, not rows and statements; use the replication of the \
                   database, or `insert:` and `run:` on one store";
    Error::new(Kind::NotAllowed, message).on(verb, reference)
}

impl Layer for Mirror {
    /// The first store, for what is not written and not read from others.
    fn below<'a>(&'a self, verb: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        match verb {
            Verb::Define | Verb::Begin => Err(refused(verb, reference)),
            _ => Ok(Below::same(self.first(), reference)),
        }
    }

    fn over(&self, _: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        None
    }

    fn name(&self) -> String {
        "mirror".to_string()
    }

    /// Writes are those of one reference here.
    fn around<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        match verb {
            Verb::Put | Verb::Merge | Verb::Delete | Verb::Post => {
                let on = reference.clone();
                self.write(verb, (reference, context), CopyWish::default(), act, |_| vec![on])
            }
            _ => match self.below(verb, reference) {
                Ok(below) => act(&**below.store, &below.reference, context),
                Err(error) => error.into(),
            },
        }
    }

    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let on = reference.clone();
        let untagged =
            |found: Option<Content>| found.map(|content| Content { entity_tag: None, ..content });
        self.read(context, move |store, context| store.get(&on, context), untagged)
    }

    /// Nil may make a collection, which has no content that could be copied.
    fn layer_put(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        let nil = matches!(content.body, Body::Value(Value::Nil));
        let wish = CopyWish { nil, ..CopyWish::default() };
        let (content, guard) = bound_to(content);
        let on = reference.clone();
        let act = move |inner: &dyn Store, on: &Reference, context: &Context| {
            inner.put(on, content, context)
        };
        holding(self.write(Verb::Put, (reference, context), wish, act, |_| vec![on]), guard)
    }

    fn layer_post(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        let (content, guard) = bound_to(content);
        let on = reference.clone();
        let changed = |outcome: &Outcome| {
            let member = outcome.reference.clone().filter(|member| *member != on);
            Vec::from_iter([on].into_iter().chain(member))
        };
        let act = move |inner: &dyn Store, on: &Reference, context: &Context| {
            inner.post(on, content, context)
        };
        let wish = CopyWish::default();
        holding(self.write(Verb::Post, (reference, context), wish, act, changed), guard)
    }

    fn layer_merge(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        let (content, guard) = bound_to(content);
        let merged = self.around(Verb::Merge, reference, context, move |inner, on, context| {
            inner.merge(on, content, context)
        });
        holding(merged, guard)
    }

    fn layer_relocate(&self, from: &Reference, to: &Reference, context: &Context) -> Answer<bool> {
        let (target, both) = (to.clone(), vec![to.clone(), from.clone()]);
        let act = move |inner: &dyn Store, from: &Reference, context: &Context| {
            inner.relocate(from, &target, context)
        };
        self.write(Verb::Delete, (from, context), CopyWish::default(), act, |_| both)
    }

    fn layer_annotate(
        &self,
        reference: &Reference,
        attributes: Attributes,
        context: &Context,
    ) -> Answer<Outcome> {
        let wish = CopyWish { attributes: true, ..CopyWish::default() };
        let on = reference.clone();
        let act = move |inner: &dyn Store, on: &Reference, context: &Context| {
            inner.annotate(on, attributes, context)
        };
        self.write(Verb::Put, (reference, context), wish, act, |_| vec![on])
    }

    fn layer_list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let on = reference.clone();
        self.read(context, move |store, context| store.list(&on, context), |listed| listed)
    }

    fn layer_keys(
        &self,
        reference: &Reference,
        range: &KeyRange,
        context: &Context,
    ) -> Answer<Option<KeyPage>> {
        let (on, range) = (reference.clone(), range.clone());
        let untagged =
            |page: Option<KeyPage>| page.map(|page| page.with(|key| key.entity_tag = None));
        self.read(context, move |store, context| store.keys(&on, &range, context), untagged)
    }

    fn layer_query(
        &self,
        reference: &Reference,
        query: &Query,
        context: &Context,
    ) -> Answer<Content> {
        let (on, query) = (reference.clone(), query.clone());
        self.read(context, move |store, context| store.query(&on, &query, context), |found| found)
    }

    /// Only where all stores keep it: a copy without would differ.
    fn layer_keeps_metadata(&self, reference: &Reference) -> bool {
        self.copying.stores.iter().all(|store| store.keeps_metadata(reference))
    }

    fn layer_presign(
        &self,
        reference: &Reference,
        verb: Verb,
        validity: Duration,
        context: &Context,
    ) -> Answer<String> {
        match verb {
            Verb::Get => self.first().presign(reference, verb, validity, context),
            _ => {
                let message = "an address would write to one store of a Mirror only";
                Error::new(Kind::NotAllowed, message).on(verb, reference).into()
            }
        }
    }

    fn layer_insert(&self, reference: &Reference, _: Box<dyn Records>, _: &Context) -> Answer<u64> {
        refused(Verb::Post, reference).into()
    }

    fn layer_change_all(
        &self,
        reference: &Reference,
        _: &Query,
        change: &BulkChange,
        _: &Context,
    ) -> Answer<Value> {
        refused(change.verb(), reference).into()
    }

    /// A statement may write.
    fn layer_run(
        &self,
        reference: &Reference,
        _: &str,
        _: Vec<Value>,
        _: &Context,
    ) -> Answer<Content> {
        refused(Verb::Query, reference).into()
    }

    /// All stores confined, in the same order.
    fn layer_confined(&self, reference: &Reference, links: bool) -> Confinement {
        match all_confined(&self.copying.stores, reference, links) {
            Ok(stores) => {
                let under_way = self.under_way.clone();
                let confined = Mirror::of(stores.into(), self.copying.writes, under_way);
                Confinement::By(Rc::new(confined))
            }
            Err(refused) => refused,
        }
    }

    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        let stores = self.copying.stores.iter().enumerate();
        stores.map(|(at, store)| ((at + 1).to_string(), store.clone())).collect()
    }
}
