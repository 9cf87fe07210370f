//! The rows of a table of documents one by one, with what is unique among them.

use crate::sqlite::documents::folder::{DOCUMENT_ROWS, DocumentFolder, FoundDocument};
use crate::sqlite::documents::row_engine::{FoundRow, RowEngine, no_row};
use crate::sqlite::documents::unique::{UniqueFields, UniqueValue};
use runnel_store::{Condition, Context, Error, Kind, Result, Value};
use std::cell::Cell;

/// How often a row is deleted again that others changed meanwhile.
const DELETIONS: usize = 100;

/// Rows of documents.
pub(super) struct RowStore {
    pub(super) folder: DocumentFolder,
    pub(super) engine: RowEngine,
    unique: UniqueFields,
    /// Whether all rows are known to have their entries.
    is_indexed: Cell<bool>,
}

impl RowStore {
    pub(super) fn new(folder: DocumentFolder, engine: RowEngine, unique: UniqueFields) -> Self {
        let is_indexed = Cell::new(unique.is_empty());
        RowStore { folder, engine, unique, is_indexed }
    }

    /// The row of a document.
    pub(super) fn row(&self, found: &FoundRow) -> Result<Value> {
        let name = || self.folder.document(&found.key).to_string();
        Ok(self.engine.read(found).map_err(|fault| no_row(fault, &name()))?)
    }

    fn unique_values(&self, found: Option<&FoundRow>) -> Result<Vec<UniqueValue>> {
        let row = found.map(|found| self.row(found)).transpose()?;
        Ok(row.map_or_else(Vec::new, |row| self.unique.values(&row)))
    }

    /// Whether the row of a key has a value.
    async fn holds(&self, key: &str, value: &UniqueValue, context: &Context) -> Result<bool> {
        let found = self.folder.read(key, context).await?;
        Ok(self.unique_values(found.as_ref().map(|found| &found.row))?.contains(value))
    }

    /// Writes a row as a document under a condition, if no other row has one of its unique values. Answers
    /// whether the condition held.
    pub(super) async fn write(
        &self,
        key: &str,
        before: Option<&FoundRow>,
        (row, document): (&Value, &Value),
        only_if: Condition,
        context: &Context,
    ) -> Result<bool> {
        if self.unique.is_empty() {
            return self.folder.write(key, document, only_if, context).await;
        }
        self.index(context).await?;
        let (had, has) = (self.unique_values(before)?, self.unique.values(row));
        let lacking = |one: &UniqueValue, others: &[UniqueValue]| !others.contains(one);
        let new: Vec<_> = has.iter().filter(|value| lacking(value, &had)).cloned().collect();
        let old: Vec<_> = had.iter().filter(|value| lacking(value, &has)).cloned().collect();
        let old = self.unique.seen(key, &old, context).await?;
        let holds =
            async |other: &str, value: &UniqueValue| self.holds(other, value, context).await;
        let Some(claims) = self.unique.claim(key, &new, holds, context).await? else {
            return Ok(false);
        };
        let written = match claims.check() {
            Ok(()) => self.folder.write(key, document, only_if, context).await,
            Err(error) => Err(error),
        };
        match &written {
            Ok(true) => self.unique.delete(old, context).await,
            Ok(false) => self.unique.release(claims, context).await,
            Err(error) if is_refusal(error) => self.unique.release(claims, context).await,
            // It may have been written.
            Err(_) => {}
        }
        written
    }

    /// Deletes the row of a key, under the condition of the caller. Answers whether it was there.
    pub(super) async fn delete(&self, key: &str, context: &Context) -> Result<bool> {
        if self.unique.is_empty() {
            return self.folder.delete(key, context).await;
        }
        for _ in 0..DELETIONS {
            let found = self.folder.read(key, context).await?;
            if let Some(condition) = &context.only_if {
                condition.check(found.as_ref().map(|found| found.tag.as_ref()))?;
            }
            let Some(FoundDocument { row, tag: Some(tag), .. }) = found else {
                // Without a tag there is nothing that others could have changed.
                return self.folder.delete(key, context).await;
            };
            // A document that is no row has no values.
            let values = self.unique_values(Some(&row)).unwrap_or_default();
            let entries = self.unique.seen(key, &values, context).await?;
            let only_if = Some(Condition::Tag(tag));
            match self.folder.delete(key, &Context { only_if, ..context.clone() }).await {
                Ok(deleted) => {
                    self.unique.delete(entries, context).await;
                    return Ok(deleted);
                }
                Err(error) if error.kind == Kind::Precondition => {}
                Err(error) => return Err(error),
            }
        }
        let message = format!("others changed the row {DELETIONS} times in a row meanwhile");
        Err(Error::new(Kind::Conflict, message).with_temporary(true))
    }

    /// Makes the entries of rows that are older than the rule, once.
    async fn index(&self, context: &Context) -> Result<()> {
        if self.is_indexed.get() {
            return Ok(());
        }
        if !self.unique.is_complete(context).await? {
            let keys = self.folder.keys(self.engine.key_length(), DOCUMENT_ROWS, context).await?;
            if keys.len() > DOCUMENT_ROWS {
                let message = format!(
                    "more than {DOCUMENT_ROWS} rows are too many to be made unique; keep the table in SQLite or \
                     PostgreSQL"
                );
                return Err(Error::new(Kind::TooLarge, message));
            }
            let holds =
                async |other: &str, value: &UniqueValue| self.holds(other, value, context).await;
            for found in self.folder.read_all(keys, context).await? {
                let values = self.unique_values(Some(&found))?;
                // Entries that are there are those of an earlier start.
                let claimed = self.unique.claim(&found.key, &values, holds, context).await;
                claimed.map_err(|error| Error {
                    message: format!("the row {}: {}", found.key, error.message),
                    ..error
                })?;
            }
            self.unique.complete(context).await?;
        }
        self.is_indexed.set(true);
        Ok(())
    }
}

/// Whether an error says that nothing was written.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error.kind,
        Kind::Invalid | Kind::TooLarge | Kind::NotAllowed | Kind::NotFound | Kind::Conflict
    )
}
