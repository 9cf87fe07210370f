//! Answers past their time to live: while the source is asked again, and while it fails (RFC 5861).

use super::fill::{CacheState, place};
use crate::combine::answers::is_failure;
use crate::{Content, Context, Exchange, RecordingExchange, Reference, Result, target_of};
use std::rc::Rc;
use std::time::Duration;

/// How many contents a cache asks for again in the background at the same time.
pub(super) const REFRESHES: usize = 64;

/// How long one of them may take.
const REFRESH_TIME: Duration = Duration::from_secs(30);

/// What a cache may do with what it holds at a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    /// Answer it.
    Fresh,
    /// Answer it, and ask the source in the background.
    Revalidate,
    /// Answer it where the source fails.
    IfError,
    /// Ask the source.
    Missing,
}

impl CacheState {
    /// What may be answered of the content at a name.
    pub(super) fn freshness(&self, name: &str) -> Freshness {
        let settings = self.settings.get();
        let within = |late: Duration, most: Option<Duration>| most.is_some_and(|most| late < most);
        match (self.held.borrow_mut().used(name), settings.age) {
            (Some(_), None) => Freshness::Fresh,
            (Some(since), Some(age)) => match since.elapsed().checked_sub(age) {
                None => Freshness::Fresh,
                Some(late) if within(late, settings.while_revalidate) => Freshness::Revalidate,
                Some(late) if within(late, settings.if_error) => Freshness::IfError,
                Some(_) => Freshness::Missing,
            },
            (None, None) if !settings.known_only => Freshness::Fresh,
            (None, _) => Freshness::Missing,
        }
    }

    /// Asks the source again in the background, unless that is under way.
    ///
    /// The handler sees the request of the visitor who gets the old content, for the new one belongs to visitors who
    /// ask as he does.
    pub(super) fn revalidate(
        self: &Rc<Self>,
        name: &str,
        entry: &str,
        reference: &Reference,
        context: &Context,
    ) {
        if self.refreshes.get() >= REFRESHES || self.flights.has(entry) {
            return;
        }
        let (shared, name, reference) = (self.clone(), name.to_string(), reference.clone());
        let exchange = context.exchange.clone().map(|exchange| -> Rc<dyn Exchange> {
            Rc::new(RecordingExchange::new(exchange, &target_of(&reference)).detached())
        });
        self.refreshes.set(self.refreshes.get() + 1);
        tokio::task::spawn_local(async move {
            let deadline = std::time::Instant::now().checked_add(REFRESH_TIME);
            let context = Context { deadline, exchange, ..Context::default() };
            let asked = shared.clone().miss(name, reference, context);
            // A caller after the stale time gets the error.
            let _ = tokio::time::timeout(REFRESH_TIME, asked).await;
            shared.refreshes.set(shared.refreshes.get() - 1);
        });
    }

    /// Asks the source; where that fails, answers what the cache still holds.
    pub(super) async fn miss_or_stale(
        self: Rc<Self>,
        name: String,
        reference: Reference,
        context: Context,
    ) -> Result<Option<Content>> {
        let asked = self.clone().miss(name.clone(), reference.clone(), context.clone()).await;
        let Err(error) = asked else { return asked };
        let entry = self.entry(&name, &reference, &context);
        let may = matches!(self.freshness(&entry), Freshness::IfError | Freshness::Revalidate);
        if may
            && is_failure(&error)
            && let Ok(Some(held)) = self.cache.get(&place(&reference, &entry), &context).await
        {
            self.audiences.repeat_headers(&entry, &context);
            return Ok(Some(held));
        }
        Err(error)
    }
}
