//! Combinators: stores that wrap other stores, one small file each.
//!
//! | combinator | what it does |
//! | --- | --- |
//! | [`Relative`] | a store seen from one of its references |
//! | [`Json`] | values above, JSON text below, or the other way round |
//! | [`Csv`], [`TextCodec`], [`Compressed`] | the same for tables, text and gzip |
//! | [`Map`] | functions that rewrite references and content |
//! | [`Route`] | dispatches by the first path segment, or by scheme |
//! | [`Sequence`] | the first store that has the reference |
//! | [`Fallback`] | the first store that answers |
//! | [`Shard`] | each key in one of several stores |
//! | [`Mirror`] | each write in several stores |
//! | [`Cache`] | a fast store in front of a slow one |
//! | [`Log`] | reports writes |
//! | [`Polling`] | change notifications for a store without them |
//! | [`ReadOnly`] | refuses writes |
//! | [`Ensure`] | turns missing content into an error |
//! | [`Extension`], [`Rename`] | other names below than above |
//! | [`Idempotent`] | answers a repeated request as the first time |
//! | [`Merge`] | a put appends to the existing content |
//! | [`WriteBack`] | answers writes at once and performs them later |
//! | [`StaticFiles`] | files as a web server serves them |
//! | [`Timeout`], [`Retry`], [`Limit`] | for stores across a network |
//! | [`Guard`], [`RateLimit`] | who may ask, and how often |
//! | [`Headers`], [`SecurityHeaders`], [`Redirects`] | what a client gets beside the content |
//!
//! [`Layer`] is the way to write a new combinator.
//!
//! Each combinator keeps those laws of [`crate::Store`] that its sources keep, and passes on the
//! caller's context. It answers synchronously when its sources do; a cache does so only on a hit.

mod access;
mod answers;
mod caching;
mod definition;
mod formats;
mod layer;
mod network;
mod paths;
mod writes;

pub use access::guard::{Guard, GuardOptions};
pub use access::guesses::{GUESS_WINDOW, GUESSES, GuessLimit};
pub use access::header_text::OptionalHeader;
pub use access::headers::{Headers, HeadersOptions};
pub use access::rate_limit::{LimitKey, RateLimit, RateLimitFields, RateLimitOptions};
pub use access::rate_table::LIMITED_KEYS;
pub use access::redirects::{Redirects, RedirectsOptions};
pub use access::security_headers::{SecurityHeaders, SecurityOptions};
pub use caching::cache::{CACHED_BYTES, CACHED_ENTRIES, Cache};
pub use caching::static_files::{Links, StaticFiles, StaticOptions};
pub use caching::write_back::{WriteBack, WriteBackOptions, flush_all};
pub use definition::{Combinator, CombinatorParts, CombinedStore};
pub use formats::choice::FormatChoice;
pub use formats::codec::{Csv, TextCodec};
pub use formats::compressed::{Compressed, EXPANDED_BYTES};
pub use formats::json::Json;
pub use layer::{Below, Layer, PathUp};
pub use network::circuit_breaker::{CircuitBreaker, CircuitBreakerOptions};
pub use network::limit::{Limit, LimitOptions};
pub use network::polling::{POLLED_CONTENT, POLLED_DEPTH, POLLED_REFERENCES, Polling};
pub use network::retry::{Retry, RetryOptions};
pub use network::timeout::Timeout;
pub use paths::encoded_slashes::{climbs, encoded_slash, has_encoded_slash};
pub use paths::extension::Extension;
pub use paths::fallback::Fallback;
pub use paths::map::Map;
pub use paths::relative::Relative;
pub use paths::rename::Rename;
pub use paths::route::Route;
pub use paths::sequence::Sequence;
pub use paths::shard::{Shard, ShardOptions};
pub use writes::ensure::Ensure;
pub use writes::idempotent::Idempotent;
pub use writes::log::Log;
pub use writes::merge::Merge;
pub use writes::mirror::{MIRRORED_WRITES, Mirror, MirrorOptions};
pub use writes::readonly::ReadOnly;

/// Every combinator that programs can use.
pub fn combinators() -> impl Iterator<Item = &'static Combinator> {
    let rooms = [
        paths::COMBINATORS,
        caching::COMBINATORS,
        writes::COMBINATORS,
        formats::COMBINATORS,
        network::COMBINATORS,
        access::COMBINATORS,
    ];
    rooms.into_iter().flatten()
}
