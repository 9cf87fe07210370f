//! A database file from a continuous backup: a state of a moment.

use crate::sqlite::backup::catalog::{BackupCatalog, Generation, RestorableSpan, SegmentName};
use crate::sqlite::backup::restore::{PartialFile, refuse_existing, stopped};
use crate::sqlite::backup::segment::{SEGMENT_LIMIT, Segment, name_checksum};
use crate::sqlite::backup::unpacked_file::unwritable;
use runnel_store::{Context, Reference, Result, Store};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;

/// What the segments before the next one have said.
struct Replay {
    generation: u64,
    previous: u64,
    page_size: u32,
    /// The time of the last whole state.
    state: Option<i64>,
}

impl Replay {
    /// Whether a segment follows those before it.
    fn admits(&self, segment: &Segment, name: SegmentName) -> bool {
        let head = &segment.head;
        let is_size = self.page_size == 0 || self.page_size == head.page_size;
        is_size
            && head.generation == self.generation
            && head.previous == self.previous
            && head.sequence == name.sequence
            && head.micros == name.micros
    }
}

/// The states that a continuous backup can restore, for each generation, the oldest first.
///
/// # Errors
/// Those of the store.
pub async fn restorable_spans(
    store: Rc<dyn Store>,
    from: &Reference,
) -> Result<Vec<RestorableSpan>> {
    BackupCatalog::new(store, from).spans(&Context::default()).await
}

/// Whether a reference is a continuous backup.
pub async fn is_continuous_backup(store: Rc<dyn Store>, from: &Reference) -> bool {
    let found = BackupCatalog::new(store, from).generations(&Context::default()).await;
    found.is_ok_and(|found| !found.is_empty())
}

/// Writes a state of a continuous backup to the path of a database: the newest one, or the last one
/// that is not younger than a moment in microseconds since 1970. Answers its time. Existing files and
/// kills: as [`crate::restore_sqlite`].
///
/// # Errors
/// [`runnel_store::Kind::NotFound`]: there is no such state. [`runnel_store::Kind::Failed`]: a segment
/// is missing or damaged. Those of [`crate::restore_sqlite`] and of the store.
pub async fn restore_sqlite_at(
    store: Rc<dyn Store>,
    from: &Reference,
    at: Option<i64>,
    path: &Path,
    replace: bool,
) -> Result<i64> {
    refuse_existing(path, replace)?;
    let (catalog, context) = (BackupCatalog::new(store, from), Context::default());
    let (generation, segments) = catalog.find(at, &context).await?;
    let target = PartialFile::create(path)?;
    let (checksum, state) = (name_checksum(&generation.name), None);
    let mut replay = Replay { generation: checksum, previous: 0, page_size: 0, state };
    for name in segments {
        let segment = fetch(&catalog, &generation, name, &replay, &context).await?;
        replay.previous = segment.checksum;
        replay.page_size = segment.head.page_size;
        replay.state = name.micros.or(replay.state);
        let file = target.file.try_clone().map_err(|error| unwritable(&error))?;
        let written = tokio::task::spawn_blocking(move || write(&file, &segment));
        written.await.map_err(stopped)?.map_err(|error| unwritable(&error))?;
    }
    let state = replay.state.unwrap_or_default();
    let finishing = tokio::task::spawn_blocking(move || target.finish(replace));
    finishing.await.map_err(stopped)??;
    Ok(state)
}

/// Reads a segment and checks it.
async fn fetch(
    catalog: &BackupCatalog,
    generation: &Generation,
    name: SegmentName,
    replay: &Replay,
    context: &Context,
) -> Result<Segment> {
    let reference = catalog.segment(generation, name);
    let problem = match catalog.store.get(&reference, context).await? {
        None => "is missing",
        Some(content) => {
            let bytes = content.read(SEGMENT_LIMIT).await?;
            match Segment::decode(&bytes).filter(|segment| replay.admits(segment, name)) {
                Some(segment) => return Ok(segment),
                None => "is damaged",
            }
        }
    };
    let problem = format!("{}/{} {problem}", generation.name, name.text());
    Err(catalog.broken(&problem, generation, replay.state, context).await)
}

fn write(file: &File, segment: &Segment) -> std::io::Result<()> {
    let size = u64::from(segment.head.page_size);
    for (number, page) in segment.pages() {
        file.write_all_at(page, u64::from(number.saturating_sub(1)) * size)?;
    }
    match segment.head.micros {
        Some(_) => file.set_len(u64::from(segment.head.page_count) * size),
        None => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::sqlite::backup::segment::SegmentHead;
    use runnel_store::{Content, Kind, Memory};

    /// A database with 100 rows, as numbered pages.
    fn pages(folder: &Path) -> Vec<u8> {
        let path = folder.join("x.db");
        let database = rusqlite::Connection::open(&path).unwrap();
        let rows = "PRAGMA page_size = 4096; CREATE TABLE t(id INTEGER PRIMARY KEY, text TEXT);
            WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 100)
            INSERT INTO t SELECT x, hex(randomblob(100)) FROM c";
        database.execute_batch(rows).unwrap();
        drop(database);
        let bytes = std::fs::read(path).unwrap();
        let numbered = bytes.chunks(4096).zip(1_u32..).flat_map(|(page, number)| {
            number.to_be_bytes().into_iter().chain(page.iter().copied())
        });
        numbered.collect()
    }

    #[tokio::test]
    async fn states_of_both_formats_are_restored() {
        let folder = tempfile::tempdir().unwrap();
        let pages = pages(folder.path());
        let store: Rc<dyn Store> = Rc::new(Memory::site());
        let root = Reference::from_path("copies/");
        let catalog = BackupCatalog::new(store.clone(), &root);
        let first = 1_800_000_000_000_000;
        let generation = Generation::new(first, "9f3a2c1d");
        let (mut previous, mut sequence) = (0, 0);
        // Two states without compression, and one with it.
        for is_plain in [true, true, false] {
            sequence += 1;
            let micros = Some(first + i64::from(sequence - 1) * 1000);
            let name = SegmentName { sequence, micros };
            let head = SegmentHead {
                generation: name_checksum(&generation.name),
                previous,
                sequence,
                micros,
                page_count: (pages.len() / 4100) as u32,
                page_size: 4096,
            };
            let (bytes, checksum) = match is_plain {
                true => head.encode_plain(&pages),
                false => head.encode(&pages).unwrap(),
            };
            let at = catalog.segment(&generation, name);
            store.put(&at, Content::bytes(bytes), &Context::default()).await.unwrap();
            previous = checksum;
        }
        let spans = restorable_spans(store.clone(), &root).await.unwrap();
        assert_eq!(spans, [RestorableSpan { from: first, to: first + 2000, states: 3 }]);
        let target = folder.path().join("restored.db");
        for (at, state) in
            [(Some(first), first), (Some(first + 1500), first + 1000), (None, first + 2000)]
        {
            let done = restore_sqlite_at(store.clone(), &root, at, &target, true).await;
            assert_eq!(done.unwrap(), state);
            let restored = rusqlite::Connection::open(&target).unwrap();
            let count = restored.query_row("SELECT count(*) FROM t", [], |row| row.get(0));
            assert_eq!(count, Ok(100));
        }
        // A compressed segment with a changed byte.
        let at =
            catalog.segment(&generation, SegmentName { sequence: 3, micros: Some(first + 2000) });
        let content = store.get(&at, &Context::default()).await.unwrap().unwrap();
        let mut bytes = content.read(SEGMENT_LIMIT).await.unwrap().to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        store.put(&at, Content::bytes(bytes), &Context::default()).await.unwrap();
        let wrong = restore_sqlite_at(store, &root, None, &target, true).await.unwrap_err();
        assert_eq!(wrong.kind, Kind::Failed);
        assert!(wrong.message.contains("is damaged; restore --at"), "{wrong}");
    }
}
