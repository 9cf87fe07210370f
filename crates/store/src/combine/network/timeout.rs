//! Answers within a time, or an error.

use crate::combine::definition::Combinator;
use crate::combine::layer::{Below, Layer};
use crate::{Answer, Context, Error, Kind, Reference, Result, Setting, SettingTable, Store, Verb};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The longest time that can be asked for; more is this. A deadline centuries away would not fit.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

struct TimeoutOptions {
    timeout: Duration,
}

impl Default for TimeoutOptions {
    fn default() -> Self {
        TimeoutOptions { timeout: Duration::from_secs(10) }
    }
}

const SETTINGS: SettingTable<TimeoutOptions> = SettingTable(&[Setting::new(
    "timeout",
    "the longest time to the answer of a verb",
    |options: &mut TimeoutOptions| &mut options.timeout,
)
.was(&["after"])]);

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Timeout",
    aliases: &["TimeoutStore"],
    help: "gives up on a source that does not answer in time",
    settings: &SETTINGS,
    make: |parts| {
        let TimeoutOptions { timeout } = parts.read("a Timeout", &SETTINGS)?;
        Ok(Timeout::new(parts.source()?, timeout).into())
    },
};

/// Gives up on a source that does not answer a verb in time, with [`Kind::Timeout`].
///
/// The context passes the deadline to the source, unless the caller's own is earlier. At the
/// deadline the call is dropped. A post, a merge or a conditional write that timed out may or may not
/// have happened, and is [`Kind::InDoubt`]. The timeout covers the time to the answer, not a
/// returned stream or watch.
pub struct Timeout {
    source: Rc<dyn Store>,
    time: Duration,
}

impl Timeout {
    /// Waits so long for each answer of `source`.
    pub fn new(source: Rc<dyn Store>, time: Duration) -> Self {
        Timeout { source, time: time.min(LONGEST) }
    }
}

impl Layer for Timeout {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(Timeout::new(inner, self.time)))
    }

    fn relays(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        format!("timeout {:?}", self.time)
    }

    fn around<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        let own = Instant::now() + self.time;
        let earlier = context.deadline.map(Instant::from_std).filter(|callers| *callers <= own);
        let deadline = earlier.unwrap_or(own);
        let context = Context { deadline: Some(deadline.into_std()), ..context.clone() };
        let answer = match act(&*self.source, reference, &context) {
            Answer::Later(answer) => answer,
            ready => return ready,
        };
        let is_repeatable = is_repeatable(verb, &context);
        let (time, reference) = (self.time, reference.clone());
        Answer::later(async move {
            if let Ok(answer) = timeout_at(deadline, answer).await {
                return answer;
            }
            let message = match earlier {
                Some(_) => "there was no answer within the caller's deadline".to_string(),
                None => format!("there was no answer within {time:?}"),
            };
            let late = Error::new(Kind::Timeout, message).on(verb, &reference);
            Err(if is_repeatable { late } else { late.in_doubt() })
        })
    }
}

/// Whether doing it twice is the same as doing it once.
fn is_repeatable(verb: Verb, context: &Context) -> bool {
    let is_write = matches!(verb, Verb::Put | Verb::Delete);
    let is_conditional = is_write && context.only_if.is_some();
    !(is_conditional || matches!(verb, Verb::Post | Verb::Merge))
}
