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

mod answers;
mod caching;
mod definition;
mod formats;
mod layer;
mod network;
mod paths;
mod writes;

pub use caching::cache::{CACHED_BYTES, CACHED_ENTRIES, Cache};
pub use caching::static_files::{Links, StaticFiles, StaticOptions};
pub use caching::write_back::{WriteBack, WriteBackOptions, flush_all};
pub use definition::{Combinator, CombinatorParts, CombinedStore};
pub use formats::codec::{Csv, TextCodec};
pub use formats::compressed::{Compressed, EXPANDED_BYTES};
pub use formats::json::Json;
pub use layer::{Below, Layer, PathUp};
pub use network::limit::{Limit, LimitOptions};
pub use network::polling::{POLLED_CONTENT, POLLED_DEPTH, POLLED_REFERENCES, Polling};
pub use network::retry::{Retry, RetryOptions};
pub use network::timeout::Timeout;
pub use paths::extension::Extension;
pub use paths::map::Map;
pub use paths::relative::Relative;
pub use paths::rename::Rename;
pub use paths::route::Route;
pub use paths::sequence::Sequence;
pub use writes::ensure::Ensure;
pub use writes::log::Log;
pub use writes::merge::Merge;
pub use writes::readonly::ReadOnly;

/// Every combinator that programs can use.
pub fn combinators() -> impl Iterator<Item = &'static Combinator> {
    let rooms = [
        paths::COMBINATORS,
        caching::COMBINATORS,
        writes::COMBINATORS,
        formats::COMBINATORS,
        network::COMBINATORS,
    ];
    rooms.into_iter().flatten()
}
