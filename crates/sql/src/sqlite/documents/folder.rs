//! The documents of a table in their store: `PLACE/KEY.json`.

use crate::sqlite::documents::row_engine::FoundRow;
use futures_util::{StreamExt, stream};
use runnel_store::{
    Condition, Content, Context, EntityTag, Error, KeyRange, Kind, LISTED_KEYS, Reference, Result,
    Store, Value, json, list_keys,
};
use std::rc::Rc;

/// The most rows of a table whose query reads them all.
pub const DOCUMENT_ROWS: usize = 10_000;
/// The most bytes of all rows that a query reads.
pub const DOCUMENT_BYTES: usize = 64 << 20;
/// The most bytes of one row as a document.
pub const DOCUMENT_SIZE: usize = 1 << 20;

/// Documents that are read or written at once.
pub(super) const AT_ONCE: usize = 16;
/// Documents after which other fibers get a turn.
const SLICE: usize = 256;
/// What the name of a document ends in; everything else in the place is no row.
const ENDING: &str = ".json";

/// The documents of one table.
#[derive(Clone)]
pub(super) struct DocumentFolder {
    source: Rc<dyn Store>,
    place: Reference,
}

/// A document, and the tag by which it is replaced.
pub(super) struct FoundDocument {
    pub(super) row: FoundRow,
    pub(super) tag: Option<EntityTag>,
    size: usize,
}

/// A call of this table to its store: conditions of the caller are about the row.
pub(super) fn inner(context: &Context, only_if: Option<Condition>) -> Context {
    Context {
        known: None,
        from_client: None,
        attributes: false,
        untagged: false,
        only_if,
        ..context.clone()
    }
}

impl DocumentFolder {
    pub(super) fn new(source: Rc<dyn Store>, place: Reference) -> Self {
        DocumentFolder { source, place }
    }

    pub(super) fn source(&self) -> &Rc<dyn Store> {
        &self.source
    }

    pub(super) fn place(&self) -> &Reference {
        &self.place
    }

    /// Where the row of a key is.
    pub(super) fn document(&self, key: &str) -> Reference {
        self.place.join(&format!("{key}{ENDING}"))
    }

    /// The key of a reference of the store that is a document; `None` for any other.
    pub(super) fn key_of(&self, reference: &Reference) -> Option<String> {
        let path = reference.relative_path();
        let rest = path.strip_prefix(self.place.relative_path().trim_end_matches('/'))?;
        let key = rest.trim_start_matches('/').strip_suffix(ENDING)?;
        (!key.is_empty()).then(|| key.to_string())
    }

    /// The keys of all documents that have `length` segments, at most one more than `most`.
    pub(super) async fn keys(
        &self,
        length: usize,
        most: usize,
        context: &Context,
    ) -> Result<Vec<String>> {
        let context = inner(context, None);
        let mut range = KeyRange { limit: LISTED_KEYS, ..KeyRange::default() };
        let mut keys = Vec::new();
        loop {
            let page = list_keys(&self.source, &self.place, &range, &context).await?;
            let last = page.keys.last().map(|key| key.name.clone());
            for key in page.keys {
                let Some(name) = key.name.strip_suffix(ENDING) else { continue };
                if !name.is_empty() && name.split('/').count() == length {
                    keys.push(name.to_string());
                }
            }
            if !page.more || keys.len() > most || last.is_none() {
                return Ok(keys);
            }
            range.after = last;
        }
    }

    /// The document of a key.
    pub(super) async fn read(&self, key: &str, context: &Context) -> Result<Option<FoundDocument>> {
        let Some((fields, tag, size)) = self.read_at(&self.document(key), context).await? else {
            return Ok(None);
        };
        Ok(Some(FoundDocument { row: FoundRow { key: key.to_string(), fields }, tag, size }))
    }

    /// What the document at a reference says, with the tag by which it is replaced and its size.
    pub(super) async fn read_at(
        &self,
        at: &Reference,
        context: &Context,
    ) -> Result<Option<(Value, Option<EntityTag>, usize)>> {
        let Some(content) = self.source.get(at, &inner(context, None)).await? else {
            return Ok(None);
        };
        let tag = content.entity_tag.clone().filter(|tag| !tag.weak);
        let (fields, size) = match content.body {
            runnel_store::Body::Value(Value::Text(text)) => {
                (parsed(at, text.as_bytes())?, text.len())
            }
            runnel_store::Body::Value(value) => (value, 0),
            _ => {
                let bytes = content.read(DOCUMENT_SIZE).await?;
                (parsed(at, &bytes)?, bytes.len())
            }
        };
        Ok(Some((fields, tag, size)))
    }

    /// The documents of these keys, without those that are deleted meanwhile.
    pub(super) async fn read_all(
        &self,
        keys: Vec<String>,
        context: &Context,
    ) -> Result<Vec<FoundRow>> {
        let mut rows = Vec::with_capacity(keys.len());
        let mut bytes = 0;
        let mut found =
            stream::iter(keys.iter().map(|key| self.read(key, context))).buffered(AT_ONCE);
        while let Some(document) = found.next().await {
            let Some(document) = document? else { continue };
            bytes += document.size;
            if bytes > DOCUMENT_BYTES {
                let message = format!(
                    "the rows of this query have more than {} MiB; keep the table in SQLite or PostgreSQL",
                    DOCUMENT_BYTES >> 20
                );
                return Err(Error::new(Kind::TooLarge, message));
            }
            rows.push(document.row);
            if rows.len() % SLICE == 0 {
                tokio::task::yield_now().await;
            }
        }
        Ok(rows)
    }

    /// Writes the document of a key under a condition. Answers whether the condition held.
    pub(super) async fn write(
        &self,
        key: &str,
        document: &Value,
        only_if: Condition,
        context: &Context,
    ) -> Result<bool> {
        refuse_infinite(document)?;
        let bytes = json::text(document);
        if bytes.len() > DOCUMENT_SIZE {
            let message = format!("a row has at most {} KiB as a document", DOCUMENT_SIZE >> 10);
            return Err(Error::new(Kind::TooLarge, message));
        }
        let content = Content::bytes(bytes).with_media_type("application/json");
        let context = inner(context, Some(only_if));
        match self.source.put(&self.document(key), content, &context).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind == Kind::Precondition => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes the document of a key, under the condition of the caller. Answers whether it was there.
    pub(super) async fn delete(&self, key: &str, context: &Context) -> Result<bool> {
        // The folders of a composite key go with its last row.
        let prunes = Some(key.matches('/').count());
        let context = Context { prunes, ..inner(context, context.only_if.clone()) };
        Ok(self.source.delete(&self.document(key), &context).await?.is_something())
    }
}

fn parsed(at: &Reference, text: &[u8]) -> Result<Value> {
    json::parse(text).map_err(|error| {
        Error::new(Kind::Conflict, format!("{at} is no JSON document: {}", error.message))
    })
}

/// JSON has no numbers that are not finite.
fn refuse_infinite(document: &Value) -> Result<()> {
    for (name, value) in document.as_record().unwrap_or_default() {
        if matches!(value, Value::Float(number) if !number.is_finite()) {
            let message =
                format!("{name} is not finite, and a document holds finite numbers alone");
            return Err(Error::new(Kind::Invalid, message));
        }
    }
    Ok(())
}
