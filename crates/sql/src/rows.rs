//! Rows on their way in and out, for every database system: the rules for records, tables of text,
//! the columns of results, and queries in references.

pub(crate) mod admission;
pub(crate) mod columns;
pub(crate) mod csv;
pub(crate) mod dump;
pub(crate) mod incoming;
pub(crate) mod parameters;
pub(crate) mod placeholders;
pub(crate) mod record;
pub(crate) mod served;
