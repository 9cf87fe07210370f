//! Combinatorial search: the engine reads a query in every way that the categories of the documents
//! allow, and the answer lists these interpretations with their counts, best first.
//!
//! A [`SearchIndex`] holds documents by [`Category`]. A [`Search`] over one or more indexes splits
//! a query into words, finds the categories that know each word, and forms every combination: "alan
//! p" can be a title word and an author, an author and a title word, two title words. Each
//! interpretation has a score, the number of its documents, and the identifiers of one page of
//! them. A [`Collection`] stores the documents beside their index, and a [`SearchStore`] makes it a
//! store.
//!
//! ```
//! use runnel_search::{
//!     Category, Document, IndexConfig, Request, Search, SearchConfig, SearchIndex,
//! };
//!
//! let config = IndexConfig::new("books")
//!     .category(Category::new("title"))
//!     .category(Category::new("author"));
//! let mut index = SearchIndex::new(config)?;
//! index.add(&Document::new(1).with("title", "Alan Turing").with("author", "Hodges"));
//! index.add(&Document::new(2).with("title", "Emma").with("author", "Alan Smith"));
//! let search = Search::over(index, SearchConfig::new())?;
//! let answer = search.search("alan", &Request::new());
//! let categories: Vec<_> =
//!     answer.allocations().flat_map(|found| found.words()).map(|word| word.category).collect();
//! assert_eq!(categories, ["title", "author"]);
//! assert_eq!(answer.total(), 2);
//! # Ok::<(), runnel_search::ConfigError>(())
//! ```
//!
//! # Queries
//!
//! | written | means |
//! |---|---|
//! | `word*` | words of which this is a part, as the category's [`Partial`] says |
//! | `"word"` or `word"` | exactly this word |
//! | `word~` | words that sound like it, as the category's [`Similarity`] says |
//! | `title:word`, `title,author:word` | only in these categories |
//! | `one\|two` | either |
//! | `1990…1995` | a range |
//! | `-word`, `!word` | without this word, with [`SearchConfig::exclusion`] |
//! | `"two words"` | next to each other, with [`SearchConfig::phrases`] |
//!
//! The last word is partial unless it has a marker, the others are exact. There are no parentheses.
//! A [`SearchFilter`] on the [`Attribute`]s of documents and a [`DocumentOrder`] come with the
//! [`Request`].
//!
//! # Differences from the original
//!
//! Scores, counts, totals, the order of interpretations and of documents, and the JSON are those of
//! Picky 4.31, number for number. The deliberate differences:
//!
//! - originals keep their markers: `a*` is shown as `a*`, as before Picky 4.19;
//! - queries never fail: bars alone (`|`) find nothing;
//! - indexing leaves the texts of the source as they are;
//! - numbers near each other ([`Grid`]) are searchable, which fails there;
//! - with [`Fidelity::Corrected`], the default, pages of unique documents and similar words after
//!   removals are right; [`Fidelity::Original`] has the numbers of the original;
//! - [`SearchConfig::typos`], [`SearchConfig::exclusion`], [`SearchConfig::phrases`],
//!   [`SearchConfig::synonyms`], filters, orders, languages and marked matches are additions;
//!   without them the answers are those of the original.
//!
//! Everything is bounded: each limit is a constant of this crate.

mod answer;
mod collection;
mod definition;
mod durable;
mod error;
mod format;
mod index;
mod limits;
mod query;
mod request;
mod search;
mod site;
mod store;
mod text;

pub use answer::document_order::DocumentOrder;
pub use answer::highlight::{Highlighter, Markers};
pub use answer::search_answer::{Allocation, InterpretedWord, SearchAnswer};
pub use collection::document::{Document, DocumentField};
pub use collection::id::{Id, KeyFormat, leading_integer};
pub use collection::loader::{LoadProgress, Loader};
pub use collection::pending_write::PendingWrite;
pub use collection::{Collection, CollectionDefinition};
pub use definition::{CLASS, SearchDefinition, SearchesDefinition};
pub use durable::{MAX_WAITING_BYTES, MIN_LOG_BYTES};
pub use error::{ConfigError, RequestError};
pub use format::number::Score;
pub use index::attributes::{Attribute, AttributeType};
pub use index::category::Category;
pub use index::grid::Grid;
pub use index::partial::{PartFunction, Partial};
pub use index::search_index::{Fidelity, IndexConfig, SearchIndex};
pub use index::similarity::Similarity;
pub use index::weight::{Weight, WeightFunction};
pub use limits::*;
pub use query::filter::SearchFilter;
pub use query::preferences::Boost;
pub use query::synonyms::Synonyms;
pub use request::{Compare, Request};
pub use search::{Search, SearchConfig, SharedIndex};
pub use site::*;
pub use store::*;
pub use text::language::Language;
pub use text::pattern::Pattern;
pub use text::stemmer::Stemmer;
pub use text::substitution::Substitution;
pub use text::tokenizer::{RejectFunction, Rejection, SplitFunction, Splitter, Tokenizer};
