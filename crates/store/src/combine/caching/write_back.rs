//! Answers writes at once and does them later.

mod pending;

use crate::ReadOnly;
use crate::combine::access::guard::refuse_guarded;
use crate::combine::definition::{Combinator, CombinedStore};
use crate::combine::layer::{Below, Layer};
use crate::{
    Answer, Body, COLLECT_LIMIT, Conditions, Content, Context, Error, Kind, Outcome, Reference,
    Result, Setting, SettingTable, Store, Value, Verb, guessed_media_type,
};
use pending::{PendingRead, PendingWrites};
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use tokio::time::{Instant, timeout_at};

pub use pending::WriteBackOptions;

const SETTINGS: SettingTable<WriteBackOptions> = SettingTable(&[
    Setting::new(
        "delay",
        "how long a write waits for others of its reference",
        |options: &mut WriteBackOptions| &mut options.delay,
    ),
    Setting::new(
        "maxPending",
        "how many references may wait; then the writer waits",
        |options: &mut WriteBackOptions| &mut options.max_pending,
    )
    .was(&["pending"]),
    Setting::size("maxSize", "about how much may wait", |options: &mut WriteBackOptions| {
        &mut options.max_size
    })
    .was(&["size"]),
    Setting::new("retries", "tries after a temporary error", |options: &mut WriteBackOptions| {
        &mut options.retries
    })
    .was(&["times"]),
    Setting::new(
        "exact",
        "whether the source is asked if a put creates something",
        |options: &mut WriteBackOptions| &mut options.exact,
    ),
]);

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "WriteBack",
    aliases: &["WriteBackCache", "MPWWriteBackCache", "WriteBackStore"],
    help: "writes later, several writes of a reference as one",
    settings: &SETTINGS,
    make: |parts| {
        refuse_guarded(&parts.source()?, "a WriteBack")?;
        let options = parts.read("a WriteBack", &SETTINGS)?;
        let store = Rc::new(WriteBack::new(parts.source()?, options));
        Ok(CombinedStore::controlled(store.clone(), store))
    },
};

/// Answers puts and deletes at once and performs them in the source later, with several writes of
/// one reference combined.
///
/// **An answered write is not durable.** It is only in memory until the flush: a process that ends
/// earlier loses it. Call [`WriteBack::flush`], or [`flush_all`] on shutdown, where that matters.
///
/// - Gets see pending writes. All other verbs (lists, queries, posts, transactions and so on) flush
///   first and then use the source, so that they see earlier writes.
/// - Pending writes are flushed sequentially, in the order of the first write of each reference. A
///   write during the flush of its reference becomes a new write at the end.
/// - A temporary error is retried as by [`super::Retry`], with pauses from 100 ms up to 10 s and
///   the number of retries in the options; another error is not. A permanently failed write is
///   lost: it is logged, and the next flush returns its error. Only a program that flushes sees the
///   error.
/// - Some writes flush first and are written through: those of a request to handlers, which may ask who writes;
///   conditional writes, nil, content larger than
///   the options allow, and a reference that is pending in another spelling (slashes, scheme,
///   query).
/// - A watch reports writes when they reach the source, not when they are answered.
///
/// A task flushes the pending writes: use the store within a [`tokio::task::LocalSet`] or a
/// [`tokio::runtime::LocalRuntime`].
pub struct WriteBack {
    pending: Rc<PendingWrites>,
    /// The source, or a confined part of it, for reads without a pending write.
    source: Rc<dyn Store>,
}

thread_local! {
    /// All of this worker, for [`flush_all`].
    static ALL: RefCell<Vec<Weak<PendingWrites>>> = const { RefCell::new(Vec::new()) };
}

/// Does all pending writes of every [`WriteBack`] of this worker. Answers the first error, after
/// all were tried.
pub fn flush_all() -> Answer<()> {
    let all: Vec<Rc<PendingWrites>> =
        ALL.with_borrow(|all| all.iter().filter_map(Weak::upgrade).collect());
    if all.iter().all(|one| one.is_clean()) {
        return Answer::ok(());
    }
    Answer::later(async move {
        let mut result = Ok(());
        for one in all {
            result = result.and(one.flush().await);
        }
        result
    })
}

impl WriteBack {
    /// Writes to `source` later.
    pub fn new(source: Rc<dyn Store>, options: WriteBackOptions) -> Self {
        let pending = Rc::new(PendingWrites::new(source.clone(), options));
        ALL.with_borrow_mut(|all| {
            all.retain(|one| one.strong_count() > 0);
            all.push(Rc::downgrade(&pending));
        });
        WriteBack { pending, source }
    }

    /// Flushes the pending writes. Returns the error of the first write lost since the last flush.
    pub fn flush(&self) -> Answer<()> {
        if self.pending.is_clean() {
            return Answer::ok(());
        }
        let pending = self.pending.clone();
        Answer::later(async move { pending.flush().await })
    }

    /// Queues a write, or performs it after all others.
    fn write(
        &self,
        reference: &Reference,
        content: Option<Content>,
        context: &Context,
    ) -> Answer<Outcome> {
        let verb = if content.is_some() { Verb::Put } else { Verb::Delete };
        let kept = self.layer_conditions(reference);
        if let Err(error) = kept.admit(context.only_if.as_ref(), verb, reference) {
            return error.into();
        }
        let nil = matches!(&content, Some(Content { body: Body::Value(Value::Nil), .. }));
        let unclear = matches!(self.pending.find(reference), PendingRead::Unclear);
        // A handler that asks who writes has to ask before the write is acknowledged, and before others read it.
        let asks = context.exchange.is_some() && self.source.verbs(reference).asks_visitor();
        let at_once = asks || context.transaction.is_some() || context.only_if.is_some();
        if unclear || nil || at_once {
            return self.around(
                verb,
                reference,
                context,
                move |source, on, context| match content {
                    Some(content) => source.put(on, content, context),
                    None => source.delete(on, context),
                },
            );
        }
        let ready = content.as_ref().is_none_or(|content| content.share().is_some());
        if ready
            && !self.pending.options.exact
            && self.pending.has_room(reference, content.as_ref())
        {
            let put = content.is_some();
            let sent = context.from_client.clone();
            return Answer::ok(outcome(put, self.pending.add(reference, content, None, sent)));
        }
        let written =
            write_when_possible(self.pending.clone(), reference.clone(), content, context.clone());
        Answer::later(written).on(verb, reference)
    }
}

/// Queues a write once its content is read and the queue has room.
async fn write_when_possible(
    pending: Rc<PendingWrites>,
    on: Reference,
    content: Option<Content>,
    context: Context,
) -> Result<Outcome> {
    let put = content.is_some();
    let content = match content {
        Some(content) => Some(content.collected(COLLECT_LIMIT).await?),
        None => None,
    };
    if pending.is_too_large(content.as_ref()) {
        within(&context, pending.drained()).await?;
        return pending.source.put(&on, content.unwrap_or_default(), &context).await;
    }
    let before = match pending.options.exact {
        true => Some(pending.exists(&on, &context).await?),
        false => None,
    };
    while !pending.has_room(&on, content.as_ref()) {
        within(&context, pending.moved()).await?;
    }
    Ok(outcome(put, pending.add(&on, content, before, context.from_client.clone())))
}

/// The outcome of a put, which created or not, or of a delete, which removed or not.
fn outcome(put: bool, answer: bool) -> Outcome {
    if put { Outcome::put(answer) } else { Outcome::deleted(answer) }
}

/// Waits, but not longer than the caller does.
async fn within<T>(context: &Context, work: impl Future<Output = Result<T>>) -> Result<T> {
    let Some(deadline) = context.deadline else { return work.await };
    match timeout_at(Instant::from_std(deadline), work).await {
        Ok(result) => result,
        Err(_) => {
            let message = "writes that are pending were not done within the caller's deadline";
            Err(Error::new(Kind::Timeout, message))
        }
    }
}

impl Layer for WriteBack {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    /// Reads see pending writes; writes are refused, because they would leave the confined part.
    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        let confined = WriteBack { pending: self.pending.clone(), source: inner };
        Some(Rc::new(ReadOnly::new(Rc::new(confined))))
    }

    fn name(&self) -> String {
        format!("write back after {:?}", self.pending.options.delay)
    }

    /// Goes to the source once everything before it has.
    fn around<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        if self.pending.is_empty() {
            return act(&*self.source, reference, context);
        }
        let (pending, source) = (self.pending.clone(), self.source.clone());
        let (on, context) = (reference.clone(), context.clone());
        let answer = Answer::later(async move {
            within(&context, pending.drained()).await?;
            act(&*source, &on, &context).await
        });
        answer.on(verb, reference)
    }

    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let found = match context.transaction {
            Some(_) => PendingRead::Unclear,
            None => self.pending.find(reference),
        };
        match found {
            PendingRead::Written(written) => Answer::ok(written),
            PendingRead::Nothing => self.source.get(reference, context),
            PendingRead::Unclear => {
                self.around(Verb::Get, reference, context, |source, on, context| {
                    source.get(on, context)
                })
            }
        }
    }

    /// What waits to be written has no tag yet.
    fn layer_conditions(&self, reference: &Reference) -> Conditions {
        self.pending.source.conditions(reference).min(Conditions::Presence)
    }

    fn layer_put(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        let content = content.of_client(context, guessed_media_type(reference.path()));
        self.write(reference, Some(content), context)
    }

    fn layer_delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        self.write(reference, None, context)
    }

    fn keeps_names(&self) -> bool {
        true
    }
}
