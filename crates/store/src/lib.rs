//! References, stores and content: the one idea of Runnel, without any language.
//!
//! - [`Reference`] names a thing: `scheme:path?query`.
//! - [`Store`] answers verbs on references: get, put, post, merge, delete, list, query.
//! - [`Content`] is what a verb carries: bytes, a value, a stream, or something [`Lazy`].
//! - [`Answer`] is how a verb answers: at once, or later.
//!
//! Reading order: `reference`, `content`, `store`, then any store or combinator.

mod answer;
mod content;
mod error;
mod query;
mod reference;
mod store;
mod value;

pub use answer::Answer;
pub use content::{Body, ByteStream, Content, EntityTag, Form, Lazy};
pub use error::{Error, Kind, Result};
pub use query::{Comparison, Field, FieldType, Filter, Query, Shape, Sort};
pub use reference::{Reference, Text};
pub use store::{Context, Entry, Exchange, Posted, Store, Verb, Verbs};
pub use value::Value;
