//! References, stores and content: the one idea of Runnel, without any language.
//!
//! - [`Reference`] names a thing: `scheme:path?query`.
//! - [`Store`] answers verbs on references: get, put, post, merge, delete, list, query,
//!   watch.
//! - [`Content`] is what a verb carries: bytes, a value, a stream, or something [`Lazy`].
//! - [`Answer`] is how a verb answers: at once, or later.
//!
//! Reading order: `reference`, `content`, `store`, then any store or combinator.

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod json;

mod answer;
mod budget;
mod change;
mod coding;
mod combine;
mod compare;
mod condition;
mod content;
mod contract;
mod copy;
mod counters;
mod csv;
mod disk;
mod encode;
mod environment;
mod error;
mod file_part;
mod graph;
mod gzip;
mod keys;
mod media_type;
mod memory;
mod outcome;
mod pool;
mod port;
mod query;
mod query_run;
mod records;
mod reference;
mod seekable;
mod segment;
mod slots;
mod store;
mod table_text;
mod tables;
mod text;
mod transaction;
mod value;
mod watchers;
mod without;

pub use answer::Answer;
pub use budget::{Allowance, Budget, DEFAULT_BUDGET, Held, collected, garbage};
pub use change::{Change, ChangeKind, Changes, WAITING_CHANGES};
pub use coding::coding_quality;
pub use combine::{
    Below, CACHED_BYTES, CACHED_ENTRIES, Cache, Compressed, Csv, EXPANDED_BYTES, Ensure, Extension,
    Json, Layer, Limit, LimitOptions, Links, Log, Map, Merge, POLLED_CONTENT, POLLED_DEPTH,
    POLLED_REFERENCES, PathUp, Polling, ReadOnly, Relative, Rename, Retry, RetryOptions, Route,
    Sequence, StaticFiles, StaticOptions, TextCodec, Timeout, WriteBack, WriteBackOptions,
    flush_all,
};
pub use condition::{Condition, Conditions};
pub use content::{Body, ByteStream, Content, EntityTag, Form, Lazy, Metadata};
pub use contract::{
    Contract, ContractClass, ContractField, ContractKind, MAX_PROBLEMS, RecordUse, pointer_of,
    unprocessable,
};
pub use copy::{
    COPIED_DEPTH, COPIED_REFERENCES, COPY_FAILURES, CopyOptions, CopyProgress, CopyReport, copy,
};
pub use counters::{COUNTED_PLACES, Count, Counters, Level, OTHER_PLACES, WAIT_BOUNDS, Waits};
pub use csv::parse as parse_csv;
pub use disk::{Disk, WATCHED_DIRECTORIES};
pub use encode::COLLECT_LIMIT;
pub use environment::Environment;
pub use error::{Error, ErrorResponse, FieldProblem, Kind, Result};
pub use file_part::FilePart;
pub use graph::{GRAPH_NODES, Graph, GraphEdge, GraphNode, draw_graph, graph_svg};
pub use gzip::{gzip, gzip_stream};
pub use keys::{Key, KeyPage, KeyRange, LISTED_DEPTH, LISTED_KEYS, list_keys};
pub use media_type::{charset, is_text_type};
pub use memory::{Memory, NAMED_MEMORIES};
pub use outcome::{Effect, Outcome};
pub use pool::{AT_ONCE, DATA_POOL, ParsePermit, Pool, parse_permit};
pub use port::{Message, Messages, Port, PortContent};
pub use query::{Comparison, Field, FieldType, Filter, Index, Query, Shape, Sort};
pub use query_run::run_query;
pub use records::{RECORDS_BATCH, Records};
pub use reference::Reference;
pub use runnel_text::moment::{date_of_day, day_of_date};
pub use seekable::{Chunks, Seekable};
pub use segment::{decode_segment, encode_segment, is_escape};
pub use slots::{NoSlot, Slot, SlotLimits, Slots};
pub use store::{
    Calling, ClientContent, Confinement, Context, Entry, Exchange, Store, Verb, Verbs,
};
pub use table_text::{TABLE_RECORD, TableFormat, TableText};
pub use tables::Tables;
pub use text::Text;
pub use transaction::Transaction;
pub use value::Value;
pub use watchers::Watchers;
