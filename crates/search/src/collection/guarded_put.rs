//! Puts that outlive the code they run: the analysis of a text is the work of stemmers and functions
//! of others, and a panic there concerns one document. It must end neither a worker nor the replay
//! of a log, or the document ends the program at each start. The document is set aside instead: it
//! stays without words, so that it can be read, replaced, and indexed by a later version.

use crate::collection::document::Document;
use crate::collection::id::Id;
use crate::collection::json_record;
use crate::index::search_index::SearchIndex;
use runnel_store::{Count, Counters};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Puts a document: a new one after the others, a new version of a known one before them. Returns
/// false for a document set aside.
pub(crate) fn put(index: &mut SearchIndex, document: &Document) -> bool {
    let mut enter = |document: &Document| {
        let enter = || match index.contains(document.id().clone()) {
            true => index.replace(document),
            false => index.append(document),
        };
        catch_unwind(AssertUnwindSafe(enter)).is_ok()
    };
    // A document without words replaces the ones that entered before the panic.
    enter(document) || {
        enter(&Document::new(document.id().clone()));
        false
    }
}

/// Puts the record of a log, which was accepted once: also a record that no longer is a document.
pub(crate) fn put_record(index: &mut SearchIndex, id: &Id, record: &[u8]) -> bool {
    let parse = || json_record::document(id.clone(), record);
    match catch_unwind(AssertUnwindSafe(parse)) {
        Ok(Ok(document)) => put(index, &document),
        _ => {
            put(index, &Document::new(id.clone()));
            false
        }
    }
}

/// Counts documents that were set aside. Returns whether they are the first ones of the index in
/// this process, which are worth a line of the log.
pub(crate) fn count_set_aside(index: &str, documents: u64) -> bool {
    Counters::of("search", index).count_first(Count::SetAside, documents)
}
