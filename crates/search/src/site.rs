//! The search page for people, its query log and its statistics.
//!
//! Reading order: [`SearchPage`] (its addresses), `found` (the model of one page), `result` (a
//! document on it), `choice` (an interpretation to choose); then `journal`, which counts searches and
//! writes them down. HTML is made by [`PageViews`]: the program `std/search.st`.

mod assets;
mod choice;
mod counts;
mod field_text;
mod found;
mod headers;
mod link;
mod options;
mod query_log;
mod result;
mod search_page;
mod source;
mod statistics;
mod statistics_store;

pub use assets::PageFile;
pub use found::MAX_PAGE;
pub use options::{MAX_PAGE_DOCUMENTS, PAGE_OPTIONS, PageOptions};
pub use query_log::event::QueryLogFormat;
pub use query_log::journal::{Journal, JournalSettings, QUERY_LOG_BYTES, WAITING_SEARCHES};
pub use query_log::rotation::QUERY_LOG_FILES;
pub use search_page::SearchPage;
pub use source::{PageRender, PageSource, PageTemplate, PageViews};
pub use statistics_store::SearchStatistics;
