//! Combinators: stores made of stores, one small file each.
//!
//! | combinator | what it does |
//! | --- | --- |
//! | [`Relative`] | a store seen from one of its references |
//! | [`Json`] | values above, JSON text below, or the other way round |
//! | [`Csv`], [`TextCodec`], [`Compressed`] | the same for tables, text and gzip |
//! | [`Map`] | other references, other content, by functions |
//! | [`Route`] | one store for each first part of the path, or for each scheme |
//! | [`Sequence`] | the first store that has it |
//! | [`Cache`] | a quick store in front of a slow one |
//! | [`Log`] | tells of what is written |
//! | [`Polling`] | tells of changes of a store that cannot, by asking |
//! | [`ReadOnly`] | refuses to write |
//! | [`Ensure`] | what is missing is an error |
//! | [`Extension`], [`Rename`] | other names below than above |
//! | [`Merge`] | what is put is added to what is there |
//! | [`WriteBack`] | answers writes at once and does them later |
//! | [`StaticFiles`] | files as a web server shows them |
//! | [`Timeout`], [`Retry`], [`Limit`] | for stores on the other side of a network |
//!
//! [`Layer`] is the one way to write another.
//!
//! Each keeps the laws of [`crate::Store`] as far as its sources do, hands on the caller's context,
//! and answers at once when its sources do (a cache only when it has it).

mod cache;
mod codec;
mod compressed;
mod ensure;
mod extension;
mod json;
mod layer;
mod limit;
mod log;
mod map;
mod merge;
mod polling;
mod readonly;
mod relative;
mod rename;
mod retry;
mod route;
mod sequence;
mod static_files;
mod timeout;
mod write_back;

pub use cache::{CACHED_BYTES, CACHED_ENTRIES, Cache};
pub use codec::{Csv, TextCodec};
pub use compressed::{Compressed, EXPANDED_BYTES};
pub use ensure::Ensure;
pub use extension::Extension;
pub use json::Json;
pub use layer::{Below, Layer, PathUp};
pub use limit::{Limit, LimitOptions};
pub use log::Log;
pub use map::Map;
pub use merge::Merge;
pub use polling::{POLLED_CONTENT, POLLED_DEPTH, POLLED_REFERENCES, Polling};
pub use readonly::ReadOnly;
pub use relative::Relative;
pub use rename::Rename;
pub use retry::{Retry, RetryOptions};
pub use route::Route;
pub use sequence::Sequence;
pub use static_files::{Links, StaticFiles, StaticOptions};
pub use timeout::Timeout;
pub use write_back::{WriteBack, WriteBackOptions, flush_all};

use crate::{Answer, Body, Change, Changes, Content, Context, Entry, Reference, Value};
use futures_util::{StreamExt, stream};

/// Changes content that was found, unless it is the short answer to a caller who knows it already.
fn when_new(
    found: Answer<Option<Content>>,
    context: &Context,
    change: impl FnOnce(Content) -> Answer<Content> + 'static,
) -> Answer<Option<Content>> {
    // Remembered here, because the closure may outlive the context.
    let known = Context { known: context.known.clone(), ..Context::default() };
    found.and_then(move |found| match found {
        Some(content) if !known.knows(&content) => change(content).map(Some),
        found => Answer::ok(found),
    })
}

/// Changes with their references as the watcher names them. One that has no name there has an
/// effect that cannot be told: something at the watched reference or below it is lost.
fn renamed(
    changes: Answer<Changes>,
    watched: &Reference,
    rename: impl Fn(&Reference) -> Option<Reference> + 'static,
) -> Answer<Changes> {
    let watched = watched.clone();
    changes.map(move |changes| -> Changes {
        Box::pin(changes.map(move |change| {
            let change = change?;
            Ok(match rename(&change.reference) {
                Some(reference) => Change { reference, ..change },
                None => Change::lost(watched.clone()),
            })
        }))
    })
}

/// Changes without their content, where it is not what a get here answers.
fn without_content(changes: Answer<Changes>) -> Answer<Changes> {
    changes.map(|changes| -> Changes {
        Box::pin(changes.map(|change| Ok(Change { content: None, ..change? })))
    })
}

/// Changes that end with the first error, which is their last item.
fn until_error(changes: Changes) -> Changes {
    let until_error = stream::unfold(Some(changes), |changes| async move {
        let mut changes = changes?;
        let change = changes.next().await?;
        let rest = change.is_ok().then_some(changes);
        Some((change, rest))
    });
    Box::pin(until_error.fuse())
}

/// A listing by name, each name once: a collection where it is one in any of the stores.
fn in_order(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_unstable();
    entries.dedup_by(|later, earlier| {
        let same = later.name == earlier.name;
        earlier.collection |= same && later.collection;
        same
    });
    entries
}

/// About the bytes that content takes in memory.
fn size(content: &Content) -> u64 {
    match &content.body {
        Body::Bytes(bytes) => bytes.len() as u64,
        Body::Text(text) => text.len() as u64,
        Body::Value(value) => size_of_value(value),
        Body::Empty | Body::Stream(..) | Body::Lazy(_) => 0,
    }
}

fn size_of_value(value: &Value) -> u64 {
    let inner: u64 = match value {
        Value::Text(text) => text.len() as u64,
        Value::Big(digits) => digits.len() as u64,
        Value::Bytes(bytes) => bytes.len() as u64,
        Value::List(elements) => elements.iter().map(size_of_value).sum(),
        Value::Record(fields) => {
            let fields = fields.iter();
            fields.map(|(name, value)| 24 + name.len() as u64 + size_of_value(value)).sum()
        }
        Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) => 0,
    };
    inner + size_of::<Value>() as u64
}
