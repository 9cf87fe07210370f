//! Records made from columns: arithmetic sequences, and lists that repeat. They never become objects of
//! the program.

use crate::streams::progress::ProgressLine;
use crate::values::kind::number;
use runnel_store::{Answer, Records, Value};
use std::rc::Rc;

/// The values of one field.
pub(crate) enum Column {
    /// A number and the step to the next.
    Sequence(f64, f64),
    /// Values that repeat.
    Values(Vec<Value>),
}

impl Column {
    /// From `[true, first, step]` or `[false, value, …]`; nothing when there is no value.
    pub(crate) fn from_parts(mut parts: Vec<Value>) -> Option<Column> {
        if parts.first() != Some(&Value::Bool(true)) {
            let values = parts.split_off(1.min(parts.len()));
            return (!values.is_empty()).then_some(Column::Values(values));
        }
        let [_, first, step] = parts.as_slice() else { return None };
        Some(Column::Sequence(first.as_f64()?, step.as_f64()?))
    }

    fn value(&self, row: u64) -> Value {
        match self {
            Column::Sequence(first, step) => number(first + row as f64 * step),
            Column::Values(values) => match values.as_slice() {
                [single] => single.clone(),
                values => values[(row % values.len() as u64) as usize].clone(),
            },
        }
    }
}

/// Records whose fields are columns.
pub(crate) struct ColumnRecords {
    fields: Rc<[String]>,
    columns: Vec<Column>,
    count: u64,
    done: u64,
    rows: u64,
    progress: ProgressLine,
}

impl ColumnRecords {
    /// `count` records, in batches of about `batch` values.
    pub(crate) fn new(
        fields: Vec<String>,
        columns: Vec<Column>,
        count: u64,
        batch: usize,
        progress: ProgressLine,
    ) -> Self {
        let rows = (batch / columns.len().max(1)).max(1) as u64;
        ColumnRecords { fields: fields.into(), columns, count, done: 0, rows, progress }
    }
}

impl Records for ColumnRecords {
    fn fields(&self) -> Rc<[String]> {
        self.fields.clone()
    }

    fn next(&mut self) -> Answer<Option<Vec<Value>>> {
        let end = self.count.min(self.done + self.rows);
        if self.done == end {
            self.progress.end();
            return Answer::ok(None);
        }
        let mut batch = Vec::with_capacity((end - self.done) as usize * self.columns.len());
        for row in self.done..end {
            batch.extend(self.columns.iter().map(|column| column.value(row)));
        }
        self.progress.add(end - self.done);
        self.done = end;
        Answer::ok(Some(batch))
    }

    fn expected(&self) -> Option<u64> {
        Some(self.count)
    }
}
