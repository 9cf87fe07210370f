//! References, stores and content: the core of Runnel, independent of the language.
//!
//! - [`Reference`] names a resource: `scheme:path?query`.
//! - [`Store`] answers verbs on references: get, put, post, merge, delete, list, query, watch.
//! - [`Content`] is the payload of a verb: bytes, a value, a stream, or a [`Lazy`] object.
//! - [`Answer`] is the result of a verb, available at once or later.
//!
//! Reading order: `reference`, `content`, `store`, then any store or combinator.

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod json;

mod builtin;
mod combine;
mod content;
mod copy;
mod graph;
mod query;
mod reference;
mod resources;
mod settings;
mod store;
mod value;

pub use builtin::disk::{Disk, WATCHED_DIRECTORIES};
pub use builtin::environment::Environment;
pub use builtin::memory::{Memory, NAMED_MEMORIES};
pub use combine::{
    Below, CACHED_BYTES, CACHED_ENTRIES, Cache, CircuitBreaker, CircuitBreakerOptions, Combinator,
    CombinatorParts, CombinedStore, Compressed, Csv, EXPANDED_BYTES, Ensure, Extension, Fallback,
    FormatChoice, GUESS_WINDOW, GUESSES, Guard, GuardOptions, GuessLimit, Headers, HeadersOptions,
    Idempotent, Json, LIMITED_KEYS, Layer, Limit, LimitKey, LimitOptions, Links, Log,
    MIRRORED_WRITES, Map, Merge, Mirror, MirrorOptions, OptionalHeader, POLLED_CONTENT,
    POLLED_DEPTH, POLLED_REFERENCES, PathUp, Polling, RateLimit, RateLimitFields, RateLimitOptions,
    ReadOnly, Redirects, RedirectsOptions, Relative, Rename, Retry, RetryOptions, Route,
    SecurityHeaders, SecurityOptions, Sequence, Shard, ShardOptions, StaticFiles, StaticOptions,
    TextCodec, Timeout, WriteBack, WriteBackOptions, climbs, combinators, encoded_slash, flush_all,
    has_encoded_slash,
};
pub use content::coding::coding_quality;
pub use content::encode::COLLECT_LIMIT;
pub use content::file_part::FilePart;
pub use content::form_data::form_data;
pub use content::image::{IMAGE_START, image_type};
pub use content::media_type::{
    DOWNLOAD, charset, guessed_media_type, is_text_type, runs_in_browsers,
};
pub use content::parts::{PartEvent, PartEvents, PartHead};
pub use content::port::{Message, Messages, Port, PortContent};
pub use content::seekable::{ByteStream, Chunks, Seekable};
pub use content::text::Text;
pub use content::zstd_file::{ZSTD_ENDING, packed_for};
pub use content::{Attributes, Body, ChosenFormat, Content, EntityTag, Form, Lazy, Metadata};
pub use copy::{
    COPIED_DEPTH, COPIED_REFERENCES, COPY_FAILURES, CopyOptions, CopyProgress, CopyReport, copy,
};
pub use graph::{GRAPH_NODES, Graph, GraphConnection, GraphEdge, GraphNode, draw_graph, graph_svg};
pub use query::expression::{
    AggregateFunction, ArithmeticOperator, BulkChange, ColumnNames, Comparison, Filter,
    QueryExpression, RelatedElements, RelatedTable, Relation, TextFunction, TextMatch,
};
pub use query::full_text::{FullText, SEARCH_WORD_LENGTH, SEARCH_WORDS, SearchWord};
pub use query::run::run_query;
pub use query::{
    Field, ForeignKey, Index, LARGEST_PAGE, OnDelete, Query, ServedLimits, Shape, Sort, table_name,
};
pub use reference::Reference;
pub use reference::segment::{decode_segment, encode_segment, is_escape};
pub use resources::backup_lag::BackupLag;
pub use resources::budget::{Allowance, Budget, DEFAULT_BUDGET, Held, collected, garbage};
pub use resources::client_network::ClientNetwork;
pub use resources::counters::{
    COUNTED_PLACES, Count, Counters, Level, OTHER_PLACES, WAIT_BOUNDS, Waits,
};
pub use resources::passwords::{
    LONGEST_PASSWORD, check_password_hash, hash_password, password_matches,
};
pub use resources::pool::{AT_ONCE, DATA_POOL, ParsePermit, Pool, parse_permit};
pub use resources::random::fill_random;
pub use resources::slots::{NoSlot, Slot, SlotLimits, Slots};
pub use resources::unread_content::UnreadContent;
pub use settings::setting::{Setting, SettingInfo, SettingList, SettingTable, unknown_setting};
pub use settings::value::{Bounds, ByteCount, SettingKind, SettingValue, Wanted};
pub use store::answer::Answer;
pub use store::change::{Change, ChangeKind, Changes, WAITING_CHANGES};
pub use store::condition::{Condition, Conditions};
pub use store::context::program_place::{PROGRAM_PLACES, ProgramPlace};
pub use store::context::visitor::{Audience, RecordingExchange, RequestPart, target_of};
pub use store::context::{
    AccessCheck, Calling, ClientContent, Context, Exchange, LiveTransport, VisitorQuestion,
};
pub use store::error::{DISK_FULL, Error, ErrorResponse, FieldProblem, Kind, Result};
pub use store::fetch::{FetchAnswer, FetchRequest, RedirectPolicy, no_web};
pub use store::keys::key_walk::{LISTED_DEPTH, list_keys};
pub use store::keys::{Entry, Key, KeyPage, KeyRange, LISTED_KEYS};
pub use store::migration::{Migration, MigrationAct, MigrationStep, StepState};
pub use store::outcome::{Effect, Outcome};
pub use store::queues::{Deliveries, Delivery, GroupMember, GroupOptions, QueueEnd, Queues};
pub use store::records::{RECORDS_BATCH, Records};
pub use store::transaction::{Isolation, Transaction};
pub use store::verb::{Verb, Verbs};
pub use store::watchers::Watchers;
pub use store::{BackupOrder, Confinement, ContinuousBackup, Store, Tables, no_address};
pub use value::Value;
pub use value::contract::{
    Contract, ContractClass, ContractField, ContractKind, ContractType, FieldType, LimitEnd,
    MAX_PROBLEMS, RecordUse, TextForm, TextPattern, compare_decimals, pointer_of, unprocessable,
};
pub use value::csv::parse as parse_csv;
pub use value::table_text::{TABLE_RECORD, TableFormat, TableText};
