//! Tries again what may well succeed a little later.

use crate::combine::definition::Combinator;
use crate::combine::layer::{Below, Layer};
use crate::{
    Answer, Attributes, Changes, Content, Context, Entry, Isolation, KeyPage, KeyRange, Outcome,
    Query, Reference, Result, Setting, SettingTable, Store, Transaction, Verb,
};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// How often a [`Retry`] tries again, and how long it pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryOptions {
    /// Tries after the first one, at most 100.
    pub retries: u32,
    /// The longest pause before the second try; that before each further one is twice as long.
    pub initial_delay: Duration,
    /// The longest pause of all, at most an hour.
    pub max_delay: Duration,
    /// Whether posts and merges are repeated too. A post whose answer got lost is then done twice.
    pub retry_posts: bool,
}

const MAX_RETRIES: u32 = 100;
const MAX_DELAY: Duration = Duration::from_secs(3600);

impl Default for RetryOptions {
    /// Three more tries, after up to 100 ms, 200 ms and 400 ms.
    fn default() -> Self {
        RetryOptions {
            retries: 3,
            initial_delay: Duration::from_millis(100),
            max_delay: Duration::from_secs(5),
            retry_posts: false,
        }
    }
}

const SETTINGS: SettingTable<RetryOptions> = SettingTable(&[
    Setting::new("retries", "tries after the first one", |options: &mut RetryOptions| {
        &mut options.retries
    })
    .was(&["times"]),
    Setting::new(
        "initialDelay",
        "the longest pause before the second try; each further one is twice as long",
        |options: &mut RetryOptions| &mut options.initial_delay,
    )
    .was(&["first"]),
    Setting::new("maxDelay", "the longest pause of all", |options: &mut RetryOptions| {
        &mut options.max_delay
    })
    .was(&["longest"]),
    Setting::new(
        "retryPosts",
        "whether posts and merges are repeated too",
        |options: &mut RetryOptions| &mut options.retry_posts,
    )
    .was(&["posts"]),
]);

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Retry",
    aliases: &["RetryStore"],
    help: "repeats verbs that failed with a temporary error",
    settings: &SETTINGS,
    make: |parts| Ok(Retry::new(parts.source()?, parts.read("a Retry", &SETTINGS)?).into()),
};

/// Retries verbs that fail with a temporary error ([`crate::Error::temporary`]), with backoff.
///
/// - The pause is random between zero and a bound that doubles each time: "exponential backoff and
///   full jitter" (M. Brooker, AWS Architecture Blog, 2015). Callers thus do not retry in step. No
///   attempt begins after the caller's deadline.
/// - Idempotent verbs are retried: get, list, query, put, delete, and beginning a watch or a
///   transaction. A retried put or delete answers for the last attempt: content from an attempt
///   with a lost answer counts as existing before.
/// - Posts and merges are retried with [`RetryOptions::retry_posts`] only. Insertions, statements
///   and migrations are not retried. Neither is a verb within a transaction, which the error may
///   have ended, nor a conditional write, whose condition a lost attempt may have invalidated.
/// - A put of a stream is not retried, because it can be read only once. Neither is a stream that
///   fails after it was answered.
pub struct Retry {
    source: Rc<dyn Store>,
    options: RetryOptions,
}

impl Retry {
    /// Repeats what fails in `source`.
    pub fn new(source: Rc<dyn Store>, options: RetryOptions) -> Self {
        let max_delay = options.max_delay.min(MAX_DELAY);
        let initial_delay = options.initial_delay.min(max_delay);
        let retries = options.retries.min(MAX_RETRIES);
        Retry { source, options: RetryOptions { retries, initial_delay, max_delay, ..options } }
    }

    fn repeat<T: 'static>(
        &self,
        reference: &Reference,
        context: &Context,
        act: impl Fn(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        let first = match act(&*self.source, reference, context) {
            Answer::Ready(Err(error)) if error.temporary => Answer::Ready(Err(error)),
            Answer::Ready(result) => return Answer::Ready(result),
            later => later,
        };
        let once = context.transaction.is_some() || context.only_if.is_some();
        if once || self.options.retries == 0 {
            return first;
        }
        let (source, options) = (self.source.clone(), self.options);
        let (on, context) = (reference.clone(), context.clone());
        Answer::later(async move {
            let mut result = first.await;
            for tried in 0..options.retries {
                if !matches!(&result, Err(error) if error.temporary) {
                    break;
                }
                let next = Instant::now() + options.pause(tried, RandomState::new().hash_one(0));
                if context.deadline.is_some_and(|deadline| next.into_std() >= deadline) {
                    break;
                }
                sleep_until(next).await;
                result = act(&*source, &on, &context).await;
            }
            result
        })
    }

    /// Repeats a verb with content, where the content can be had more than once.
    fn repeat_with<T: 'static>(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
        act: impl Fn(&dyn Store, &Reference, Content, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        if content.share().is_none() {
            return act(&*self.source, reference, content, context);
        }
        self.repeat(reference, context, move |source, on, context| {
            act(source, on, content.share().unwrap_or_default(), context)
        })
    }
}

impl RetryOptions {
    /// The pause after `tried` attempts, with jitter from random bits.
    fn pause(&self, tried: u32, random: u64) -> Duration {
        let doubled =
            self.initial_delay.saturating_mul(1_u32.checked_shl(tried).unwrap_or(u32::MAX));
        doubled.min(self.max_delay).mul_f64(random as f64 / u64::MAX as f64)
    }
}

impl Layer for Retry {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(Retry { source: inner, options: self.options }))
    }

    fn name(&self) -> String {
        format!("retry {} times", self.options.retries)
    }

    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.repeat(reference, context, |source, on, context| source.get(on, context))
    }

    fn layer_put(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        self.repeat_with(reference, content, context, |source, on, content, context| {
            source.put(on, content, context)
        })
    }

    fn layer_post(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        if !self.options.retry_posts {
            return self.source.post(reference, content, context);
        }
        self.repeat_with(reference, content, context, |source, on, content, context| {
            source.post(on, content, context)
        })
    }

    fn layer_merge(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        if !self.options.retry_posts {
            return self.source.merge(reference, content, context);
        }
        self.repeat_with(reference, content, context, |source, on, content, context| {
            source.merge(on, content, context)
        })
    }

    fn layer_delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        self.repeat(reference, context, |source, on, context| source.delete(on, context))
    }

    fn layer_list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.repeat(reference, context, |source, on, context| source.list(on, context))
    }

    fn layer_keys(
        &self,
        reference: &Reference,
        range: &KeyRange,
        context: &Context,
    ) -> Answer<Option<KeyPage>> {
        let range = range.clone();
        self.repeat(reference, context, move |source, on, context| source.keys(on, &range, context))
    }

    fn layer_annotate(
        &self,
        reference: &Reference,
        attributes: Attributes,
        context: &Context,
    ) -> Answer<Outcome> {
        self.repeat(reference, context, move |source, on, context| {
            source.annotate(on, attributes.clone(), context)
        })
    }

    fn layer_query(
        &self,
        reference: &Reference,
        query: &Query,
        context: &Context,
    ) -> Answer<Content> {
        let query = query.clone();
        self.repeat(reference, context, move |source, on, context| {
            source.query(on, &query, context)
        })
    }

    fn layer_watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        self.repeat(reference, context, |source, on, context| source.watch(on, context))
    }

    fn layer_begin(
        &self,
        reference: &Reference,
        isolation: Option<Isolation>,
        context: &Context,
    ) -> Answer<Rc<dyn Transaction>> {
        self.repeat(reference, context, move |source, on, context| {
            source.with_tables(Verb::Begin, on, |tables| tables.begin(on, isolation, context))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let (first, longest) = (Duration::from_millis(100), Duration::from_millis(700));
        let options = RetryOptions {
            retries: 5,
            initial_delay: first,
            max_delay: longest,
            retry_posts: false,
        };
        let bounds = [0, 1, 2, 3, 40, 200].map(|tried| options.pause(tried, u64::MAX).as_millis());
        assert_eq!(bounds, [100, 200, 400, 700, 700, 700]);
        assert_eq!(options.pause(3, 0), Duration::ZERO);
        assert_eq!(options.pause(2, u64::MAX / 2).as_millis(), 200);
    }
}
