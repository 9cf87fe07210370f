//! What an API says of itself: an OpenAPI document, a TypeScript client, a documentation page.
//!
//! - [`Api`] is read from plain data, whose form [`Api::read`] describes.
//! - [`document`] is the OpenAPI 3.1 document.
//! - [`typescript`] is a client in one file without dependencies.
//! - [`page`] is a documentation page for browsers.
//! - [`table_operations`] describes a table that is served without handlers.
//!
//! Functions on values and texts only: no store, no clock, no input or output.

mod answers;
mod api;
mod description;
mod document;
mod example;
mod naming;
mod page;
mod pattern;
mod schema_names;
mod table;
mod typescript;

pub use api::{
    Api, ApiAnswer, ApiBody, ApiOperation, ApiParameter, ApiTag, Paging, ParameterPlace, PathPart,
    SecurityScheme,
};
pub use document::{document, document_text};
pub use page::{DocumentationPage, page};
pub use pattern::{decimal_pattern, ecma_pattern};
pub use table::table_operations;
pub use typescript::typescript;
