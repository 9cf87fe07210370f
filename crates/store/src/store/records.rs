//! Many records on their way into a collection.

use crate::{Answer, Value};
use std::rc::Rc;

/// Values that a batch of records should not be much longer than: enough that handing it over
/// costs nothing, and few enough that memory stays flat.
pub const RECORDS_BATCH: usize = 8192;

/// Records of one shape, produced in batches at the consumer's pace. They are never a tree: the
/// values of all rows of a batch are in one list.
pub trait Records {
    /// The names of the fields, the same for each record.
    fn fields(&self) -> Rc<[String]>;

    /// The next records: the values of the first in the order of the fields, then those of the
    /// second, and so on. `None` at the end. Asked again only after it has answered.
    fn next(&mut self) -> Answer<Option<Vec<Value>>>;

    /// How many records there will be, where that is known: for progress.
    fn expected(&self) -> Option<u64> {
        None
    }
}
