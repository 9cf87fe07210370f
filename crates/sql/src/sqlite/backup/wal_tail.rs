//! The states of a database in use, one after the other, without a gap.
//!
//! A read transaction is open all the time. While it is, no checkpoint carries over a page that is
//! newer than its snapshot, and the log begins anew only where all of it had been carried over when the
//! transaction began. So what was written since a known position is either behind it in the log, or
//! in a new log from its first frame on. The next transaction begins before the one before it ends.
//! That holds for every writer and every checkpoint, by whichever process.

use crate::sqlite::backup::page_file::page_file;
use crate::sqlite::backup::segment::SEGMENT_SIZE;
use crate::sqlite::backup::wal_log::{WalLog, WalPosition};
use crate::sqlite::connection::database_file::{DatabaseFile, Role, beside, from_io};
use crate::sqlite::connection::wal_index::WalIndex;
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::options::SqliteOptions;
use runnel_store::Kind;
use rusqlite::Connection;
use rustc_hash::FxHashMap;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How often a lock is tried, a millisecond apart, before the next opportunity is waited for.
const LOCK_TRIES: i32 = 1000;

/// How often the head of the index is read while a writer changes it.
const HEAD_TRIES: u32 = 100;

/// The bytes of a database file with the locks, which is no page of content
/// (<https://sqlite.org/fileformat2.html>, section 1.6).
const LOCK_BYTES: u64 = 1 << 30;

/// A database whose log is followed.
pub(crate) struct WalTail {
    index: WalIndex,
    /// Two of them, so that one transaction begins before the other ends.
    readers: [Connection; 2],
    /// Which of them has the transaction that is open.
    held: usize,
    /// Keeps writers away for a moment; it writes nothing itself.
    writer: Connection,
    log: WalLog,
    file: Arc<File>,
    paths: [PathBuf; 2],
    position: Option<WalPosition>,
}

/// A new state of the database: all its pages, or those that differ from the state before.
pub(crate) struct WalChange {
    position: WalPosition,
    /// When it was looked for: all that was committed before is in it. In microseconds since 1970.
    pub(crate) micros: i64,
    /// The pages, in order; `None`: all of them.
    changed: Option<Vec<u32>>,
    /// Where pages are in the log; the others are in the file.
    frames: FxHashMap<u32, u32>,
    /// Pages of the database.
    pub(crate) page_count: u32,
    /// The pages as they were read, where the log does not have them any more.
    read: Option<Vec<u8>>,
}

impl WalChange {
    /// How many pages it has.
    pub(crate) fn count(&self) -> usize {
        self.changed.as_ref().map_or(self.page_count as usize, Vec::len)
    }

    fn page(&self, at: usize) -> u32 {
        self.changed.as_ref().map_or(at as u32 + 1, |changed| changed[at])
    }
}

impl WalTail {
    /// Opens a database, which gets a write-ahead log where it has none.
    pub(crate) fn open(place: &DatabaseFile) -> SqlResult<WalTail> {
        let Some(path) = place.path().map(PathBuf::from) else {
            return Err(SqlFault::invalid("a database in memory has no log to follow"));
        };
        let options = SqliteOptions::default();
        let mut writer = place.connect(Role::Writer, &options)?;
        writer.busy_handler(Some(|tries| {
            std::thread::sleep(Duration::from_millis(1));
            tries < LOCK_TRIES
        }))?;
        let reader = || place.connect(Role::Backup, &options);
        let readers = [reader()?, reader()?];
        begin(&readers[0])?;
        let index = WalIndex::of_connection(&readers[0]).ok_or_else(|| {
            let message = "the database has no write-ahead log that others can follow";
            SqlFault::new(Kind::NotAllowed, message)
        })?;
        let page_size =
            readers[0].query_row("PRAGMA page_size", [], |row| row.get::<_, u32>(0))? as usize;
        let paths = [path.clone(), beside(&path, "-wal")];
        let log = File::open(&paths[1]);
        let log = log.map_err(|error| from_io(&error, "the database cannot be read"))?;
        let (file, log) = (page_file(&paths[0])?, WalLog { file: log, page_size });
        Ok(WalTail { index, readers, held: 0, writer, log, file, paths, position: None })
    }

    /// The connection with the open transaction.
    pub(crate) fn connection(&self) -> &Connection {
        &self.readers[self.held]
    }

    pub(crate) fn page_size(&self) -> usize {
        self.log.page_size
    }

    /// Bytes of the log.
    pub(crate) fn log_size(&mut self) -> SqlResult<u64> {
        let (position, ..) = self.head()?;
        Ok(self.log.size(position.frames))
    }

    /// All pages as they are now.
    pub(crate) fn snapshot(&mut self) -> SqlResult<WalChange> {
        let micros = now();
        self.check_place()?;
        let (position, page_count, is_in_file) = self.head()?;
        // What is in the file as a whole may leave the log at any time.
        let frames = match is_in_file {
            true => FxHashMap::default(),
            false => self.log.frames(None, position)?,
        };
        Ok(WalChange { position, micros, changed: None, frames, page_count, read: None })
    }

    /// The pages that have changed since the state before; `None`: none.
    pub(crate) fn changes(&mut self) -> SqlResult<Option<WalChange>> {
        let micros = now();
        self.check_place()?;
        let (position, page_count, _) = self.head()?;
        let known = self.position.filter(|known| known.salts == position.salts);
        if position.frames <= known.map_or(0, |known| known.frames) {
            return match known {
                Some(known) if position.frames < known.frames => Err(lost()),
                _ => Ok(None),
            };
        }
        let mut frames = self.log.frames(known, position)?;
        // Pages behind the end of a database that has become shorter.
        frames.retain(|page, _| *page <= page_count);
        let mut changed: Vec<u32> = frames.keys().copied().collect();
        changed.sort_unstable();
        let changed = Some(changed);
        Ok(Some(WalChange { position, micros, changed, frames, page_count, read: None }))
    }

    /// Appends pages of a change with their numbers, from one of them on.
    pub(crate) fn read(
        &self,
        change: &WalChange,
        from: usize,
        count: usize,
        into: &mut Vec<u8>,
    ) -> SqlResult<()> {
        let size = self.log.page_size;
        if let Some(read) = &change.read {
            into.extend_from_slice(&read[from * (size + 4)..(from + count) * (size + 4)]);
            return Ok(());
        }
        for at in from..from + count {
            let page = change.page(at);
            into.extend_from_slice(&page.to_be_bytes());
            let start = into.len();
            into.resize(start + size, 0);
            match change.frames.get(&page) {
                Some(frame) => self.log.page(*frame, &mut into[start..])?,
                None => self.read_file(page, &mut into[start..])?,
            }
        }
        Ok(())
    }

    /// A page of the file. A page without any write is empty.
    fn read_file(&self, page: u32, into: &mut [u8]) -> SqlResult<()> {
        let start = u64::from(page - 1) * into.len() as u64;
        let mut done = 0;
        while done < into.len() && !(LOCK_BYTES..LOCK_BYTES + 512).contains(&start) {
            let read = self.file.read_at(&mut into[done..], start + done as u64);
            match read.map_err(|error| from_io(&error, "the database cannot be read"))? {
                0 => break,
                count => done += count,
            }
        }
        Ok(())
    }

    /// A state has been kept: the log before it is not needed any more.
    pub(crate) fn advance(&mut self, change: &WalChange) -> SqlResult<()> {
        if change.read.is_some() {
            return Ok(());
        }
        self.renew()?;
        self.position = Some(change.position);
        Ok(())
    }

    /// Exchanges the open transaction for a new one, also where nothing has changed: an old one would
    /// block the restart of a log that is in the file as a whole, and a checkpoint that waits for readers.
    pub(crate) fn renew(&mut self) -> SqlResult<()> {
        let next = 1 - self.held;
        begin(&self.readers[next])?;
        self.readers[self.held].execute_batch("ROLLBACK")?;
        self.held = next;
        Ok(())
    }

    /// Lets the log begin anew under constant writes: holds the lock of writers while the few new pages
    /// are carried over. Answers these pages. Does nothing where a writer keeps its lock, or where
    /// there are many new pages.
    pub(crate) fn make_room(&mut self) -> SqlResult<Option<WalChange>> {
        carry_over(&self.readers[1 - self.held])?;
        match self.writer.execute_batch("BEGIN IMMEDIATE").map_err(SqlFault::from) {
            Err(fault) if fault.is_busy() => return Ok(None),
            begun => begun?,
        }
        let done = self.restart();
        self.writer.execute_batch("ROLLBACK")?;
        done
    }

    fn restart(&mut self) -> SqlResult<Option<WalChange>> {
        let mut change = self.changes()?;
        if let Some(change) = &mut change {
            if change.count() * self.log.page_size > SEGMENT_SIZE {
                return Ok(None);
            }
            let mut read = Vec::new();
            self.read(change, 0, change.count(), &mut read)?;
            change.read = Some(read);
        }
        self.readers[self.held].execute_batch("ROLLBACK")?;
        self.held = 1 - self.held;
        carry_over(&self.readers[self.held])?;
        begin(&self.readers[self.held])?;
        if let Some(change) = &change {
            self.position = Some(change.position);
        }
        Ok(change)
    }

    /// The last transaction in the log, the pages of the database after it, and whether all of it is
    /// in the file, too.
    fn head(&mut self) -> SqlResult<(WalPosition, u32, bool)> {
        for attempt in 1..=HEAD_TRIES {
            if let Some(head) = self.index.head() {
                let position =
                    WalPosition { salts: head.salts, frames: head.frames, checksum: head.checksum };
                let count = match head.page_count {
                    0 => self.pages_of_file()?,
                    count => count,
                };
                return Ok((position, count, head.frames == head.carried_over));
            }
            std::thread::sleep(Duration::from_millis(1));
            if attempt % 20 == 0 {
                // A writer died while it changed the index: the next transaction repairs it.
                let spare = &self.readers[1 - self.held];
                begin(spare)?;
                spare.execute_batch("ROLLBACK")?;
            }
        }
        Err(lost())
    }

    fn pages_of_file(&self) -> SqlResult<u32> {
        let facts = self.file.metadata();
        let facts = facts.map_err(|error| from_io(&error, "the database cannot be read"))?;
        Ok((facts.len() / self.log.page_size as u64) as u32)
    }

    /// Refuses to go on where the files at their paths are others by now.
    fn check_place(&self) -> SqlResult<()> {
        for (path, file) in self.paths.iter().zip([&*self.file, &self.log.file]) {
            let identity = |facts: std::fs::Metadata| (facts.dev(), facts.ino());
            let there = std::fs::metadata(path).map(identity);
            if there.ok() != file.metadata().map(identity).ok() {
                let message = "the database file was deleted or replaced";
                return Err(SqlFault::new(Kind::Unavailable, message));
            }
        }
        Ok(())
    }
}

/// The time in microseconds since 1970, in whole milliseconds.
pub(crate) fn now() -> i64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as i64 * 1000
}

fn lost() -> SqlFault {
    SqlFault::new(Kind::Unavailable, "the write-ahead log was exchanged")
}

/// Begins a transaction with the newest state.
fn begin(reader: &Connection) -> SqlResult<()> {
    reader.execute_batch("BEGIN")?;
    reader.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(())
}

fn carry_over(connection: &Connection) -> SqlResult<()> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A database and what its tail has answered, as a file.
    struct Followed {
        tail: WalTail,
        image: Vec<u8>,
        folder: Arc<tempfile::TempDir>,
        states: usize,
    }

    impl Followed {
        fn of(folder: &Arc<tempfile::TempDir>) -> Followed {
            let place = DatabaseFile::resolve(&folder.path().join("x.db")).unwrap();
            let mut tail = WalTail::open(&place).unwrap();
            let whole = tail.snapshot().unwrap();
            let (image, folder) = (Vec::new(), folder.clone());
            let mut followed = Followed { tail, image, folder, states: 0 };
            followed.take(&whole);
            followed
        }

        fn take(&mut self, change: &WalChange) {
            let (size, mut pages) = (self.tail.page_size(), Vec::new());
            self.tail.read(change, 0, change.count(), &mut pages).unwrap();
            self.tail.advance(change).unwrap();
            for chunk in pages.chunks_exact(size + 4) {
                let number = u32::from_be_bytes(chunk[..4].try_into().unwrap()) as usize;
                self.image.resize(self.image.len().max(number * size), 0);
                self.image[(number - 1) * size..number * size].copy_from_slice(&chunk[4..]);
            }
            self.image.truncate(change.page_count as usize * size);
            self.states += 1;
        }

        fn follow(&mut self, makes_room: bool) {
            let next = self.tail.changes().unwrap();
            next.iter().for_each(|change| self.take(change));
            if next.is_none() {
                self.tail.renew().unwrap();
            }
            if makes_room {
                let next = self.tail.make_room().unwrap();
                next.iter().for_each(|change| self.take(change));
            }
        }

        /// What a statement answers about the copy.
        fn ask(&self, sql: &str) -> String {
            let path = self.folder.path().join("image.db");
            let mut image = self.image.clone();
            // Without a log of its own.
            image[18..20].fill(1);
            std::fs::write(&path, image).unwrap();
            let copy = Connection::open(&path).unwrap();
            let check = "PRAGMA integrity_check";
            let found: String = copy.query_row(check, [], |row| row.get(0)).unwrap();
            assert_eq!(found, "ok");
            copy.query_row(sql, [], |row| row.get(0)).unwrap()
        }
    }

    const SUM: &str = "SELECT count(*) || ' ' || ifnull(sum(id * length(text)), 0) FROM t";

    fn writer(path: &Path) -> Connection {
        let writer = Connection::open(path).unwrap();
        writer.busy_timeout(Duration::from_secs(30)).unwrap();
        let start = "PRAGMA journal_mode = wal; PRAGMA synchronous = off;
            CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, text TEXT)";
        writer.execute_batch(start).unwrap();
        writer
    }

    fn checkpoint(connection: &Connection, mode: &str) {
        let sql = format!("PRAGMA wal_checkpoint({mode})");
        connection.query_row(&sql, [], |_| Ok(())).unwrap();
    }

    #[test]
    fn every_write_and_every_checkpoint_is_followed() {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let one = writer(&folder.path().join("x.db"));
        let other = writer(&folder.path().join("x.db"));
        // What cannot be done while the tail reads is given up at once.
        one.busy_timeout(Duration::ZERO).unwrap();
        other.busy_timeout(Duration::ZERO).unwrap();
        let mut followed = Followed::of(&folder);
        let mut random = 7_u64;
        for step in 0..1500 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (what, number) = ((random >> 33) % 16, (random >> 40) % 200);
            let text = "x".repeat(number as usize * 40);
            let insert = "INSERT INTO t(text) VALUES (?1)";
            match what {
                0..5 => drop(one.execute(insert, [text]).unwrap()),
                5 | 6 => drop(other.execute(insert, [text]).unwrap()),
                7 => drop(one.execute("UPDATE t SET text = text || 'y' WHERE id % 7 = 0", [])),
                8 => drop(
                    one.execute("DELETE FROM t WHERE id % 5 = ?1", [(number % 5) as i64]).unwrap(),
                ),
                9 => checkpoint(&one, "PASSIVE"),
                10 => checkpoint(&other, "FULL"),
                11 => checkpoint(&one, "RESTART"),
                12 => checkpoint(&other, "TRUNCATE"),
                13 if step % 10 == 0 => drop(one.execute_batch("VACUUM")),
                _ => followed.follow(what == 15),
            }
            if step % 10 == 0 {
                followed.follow(false);
                let there: String = one.query_row(SUM, [], |row| row.get(0)).unwrap();
                assert_eq!(followed.ask(SUM), there, "step {step}");
            }
        }
        assert!(followed.states > 200, "{}", followed.states);
    }

    #[test]
    fn a_busy_writer_is_followed_and_its_log_begins_anew() {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let path = folder.path().join("x.db");
        drop(writer(&path));
        let stop = Arc::new(AtomicBool::new(false));
        let (told, place) = (stop.clone(), path.clone());
        // Rows from 1 on, without a gap.
        let writing = std::thread::spawn(move || {
            let one = writer(&place);
            while !told.load(Ordering::Relaxed) {
                one.execute("INSERT INTO t(text) VALUES (hex(randomblob(2000)))", []).unwrap();
                std::thread::sleep(Duration::from_micros(200));
            }
            one.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).unwrap()
        });
        let mut followed = Followed::of(&folder);
        let (mut last, mut longest) = (0, 0);
        for round in 0..200 {
            followed.follow(followed.tail.index.head().is_some_and(|head| head.frames > 200));
            longest = longest.max(followed.tail.log_size().unwrap());
            if round % 20 == 0 {
                let state = followed.ask("SELECT count(*) || ' ' || ifnull(max(id), 0) FROM t");
                let (count, id) = state.split_once(' ').unwrap();
                assert_eq!(count, id);
                let count: u64 = count.parse().unwrap();
                assert!(count >= last, "{count} after {last}");
                last = count;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
        let all = writing.join().unwrap();
        followed.follow(true);
        assert_eq!(followed.ask("SELECT count(*) || '' FROM t"), all.to_string());
        // Everything that was written would be several times as long.
        assert!(followed.image.len() as u64 > 3 * longest / 2, "{all} rows, {longest} bytes");
    }

    #[test]
    fn a_log_that_is_in_the_file_may_be_cut() {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let one = writer(&folder.path().join("x.db"));
        one.busy_timeout(Duration::ZERO).unwrap();
        let mut followed = Followed::of(&folder);
        one.execute("INSERT INTO t(text) VALUES ('x')", []).unwrap();
        followed.follow(false);
        checkpoint(&one, "PASSIVE");
        let log = folder.path().join("x.db-wal");
        checkpoint(&one, "TRUNCATE");
        assert!(log.metadata().unwrap().len() > 0);
        followed.tail.renew().unwrap();
        checkpoint(&one, "TRUNCATE");
        assert_eq!(log.metadata().unwrap().len(), 0);
        one.execute("INSERT INTO t(text) VALUES ('y')", []).unwrap();
        followed.follow(false);
        assert_eq!(followed.ask("SELECT group_concat(text) FROM t"), "x,y");
    }

    #[test]
    fn a_file_that_is_replaced_is_noticed() {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let path = folder.path().join("x.db");
        let one = writer(&path);
        let mut followed = Followed::of(&folder);
        one.execute("INSERT INTO t(text) VALUES ('x')", []).unwrap();
        std::fs::rename(&path, folder.path().join("moved.db")).unwrap();
        assert!(followed.tail.changes().is_err());
        std::fs::rename(folder.path().join("moved.db"), &path).unwrap();
        followed.follow(true);
        assert_eq!(followed.ask("SELECT count(*) || '' FROM t"), "1");
    }
}
