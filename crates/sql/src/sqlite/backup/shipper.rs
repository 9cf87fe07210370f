//! A continuous backup: states of a database go into a store while programs write.
//!
//! A state is stored before the next one begins, so that a store never has a state without those
//! before it. While the store does not answer, the log of the database is the queue. A log beyond
//! its limit is released, and a new generation begins with a copy of the whole database.

use crate::sqlite::backup::catalog::{BackupCatalog, Generation, SegmentName};
use crate::sqlite::backup::segment::{SEGMENT_SIZE, SegmentHead, name_checksum};
use crate::sqlite::backup::snapshot;
use crate::sqlite::backup::wal_tail::{WalChange, WalTail};
use crate::sqlite::connection::database_file::DatabaseFile;
use bytes::Bytes;
use runnel_store::{Content, Context, Error, Kind, Reference, Result, Store};
use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How long the shipper waits for a store before the first retry; each wait is twice as long.
pub const SHIPPING_RETRY: Duration = Duration::from_secs(1);

/// The longest wait before a retry.
pub const SHIPPING_RETRY_LIMIT: Duration = Duration::from_secs(60);

/// How long the end of the shipper waits for the store to take what is left.
pub const SHIPPING_END: Duration = Duration::from_secs(10);

/// How long a store may take for one segment.
pub const SHIPPING_TIME: Duration = Duration::from_secs(60);

/// Bytes of a write-ahead log from which on it is made to begin anew.
pub const SHIPPING_LOG: u64 = 4 << 20;

/// Old segments that are deleted after each interval, so that new ones need not wait long.
const DELETED_AT_ONCE: usize = 64;

/// Options of a continuous backup.
#[derive(Clone, Debug, PartialEq)]
pub struct ShippingOptions {
    /// How often changes are shipped.
    pub interval: Duration,
    /// How long states can be restored.
    pub keep: Duration,
    /// How often the whole database is copied, where it has changed.
    pub snapshot_interval: Duration,
    /// The longest write-ahead log while the store does not answer, in bytes.
    pub max_log: u64,
}

impl Default for ShippingOptions {
    fn default() -> Self {
        ShippingOptions {
            interval: Duration::from_secs(1),
            keep: Duration::from_secs(24 * 60 * 60),
            snapshot_interval: Duration::from_secs(60 * 60),
            max_log: 1 << 30,
        }
    }
}

/// Why a generation ends.
enum End {
    /// The shipper was told to stop, and everything is shipped.
    Stopped,
    /// Something failed; a new generation may do better.
    Failed(Error),
}

/// A generation that is being written.
struct OpenGeneration {
    generation: Generation,
    sequence: u32,
    previous: u64,
    /// Bytes of its first state, and of those after it.
    first: u64,
    later: u64,
    begun: Instant,
}

struct Shipper {
    catalog: BackupCatalog,
    place: DatabaseFile,
    options: ShippingOptions,
    stop: watch::Receiver<bool>,
    /// When the shipper gives up, once it was told to stop.
    end: Option<Instant>,
    /// The time of the newest state, in microseconds since 1970: times never go back.
    newest: i64,
    /// Whether the store has taken something.
    has_shipped: bool,
    /// What is to be deleted.
    obsolete: VecDeque<Reference>,
}

/// Ships the changes of a database into a store until a request to stop, and then what is left.
///
/// # Errors
/// Those of the database and of the store when they are used for the first time, and of what is left
/// at the end.
pub async fn ship_sqlite(
    path: &Path,
    store: Rc<dyn Store>,
    to: &Reference,
    options: ShippingOptions,
    stop: watch::Receiver<bool>,
) -> Result<()> {
    let mut shipper = Shipper::open(path, store, to, options, stop)?;
    let mut wait = SHIPPING_RETRY;
    loop {
        let begun = Instant::now();
        match shipper.generations(false).await {
            End::Stopped => return Ok(()),
            End::Failed(error) if !shipper.has_shipped || shipper.is_over() => return Err(error),
            End::Failed(error) => {
                // After a long run the first wait is short again.
                wait = if begun.elapsed() > SHIPPING_RETRY_LIMIT { SHIPPING_RETRY } else { wait };
                let detail = error.detail.as_deref();
                let wait_s = wait.as_secs();
                tracing::warn!(%error, detail, "the backup begins anew in {wait_s} s");
                shipper.pause(wait).await;
                wait = (wait * 2).min(SHIPPING_RETRY_LIMIT);
            }
        }
    }
}

/// Copies a database once, as the first state of a generation: [`ship_sqlite`] without what follows.
/// All pages and indexes are checked before.
///
/// # Errors
/// Those of the database and of the store.
pub async fn ship_sqlite_once(path: &Path, store: Rc<dyn Store>, to: &Reference) -> Result<()> {
    let (_sender, stop) = watch::channel(false);
    let mut shipper = Shipper::open(path, store, to, ShippingOptions::default(), stop)?;
    match shipper.generations(true).await {
        End::Stopped => Ok(()),
        End::Failed(error) => Err(error),
    }
}

impl Shipper {
    fn open(
        path: &Path,
        store: Rc<dyn Store>,
        to: &Reference,
        options: ShippingOptions,
        stop: watch::Receiver<bool>,
    ) -> Result<Shipper> {
        let (catalog, place) = (BackupCatalog::new(store, to), DatabaseFile::resolve(path)?);
        let (end, newest, has_shipped, obsolete) = (None, 0, false, VecDeque::new());
        Ok(Shipper { catalog, place, options, stop, end, newest, has_shipped, obsolete })
    }

    /// Writes generations until a failure or a request to stop.
    async fn generations(&mut self, is_once: bool) -> End {
        match self.follow(is_once).await {
            Ok(()) => End::Stopped,
            Err(error) => End::Failed(error),
        }
    }

    async fn follow(&mut self, is_once: bool) -> Result<()> {
        // Nothing of the database is held while the store does not answer this.
        self.find_newest().await?;
        let mut tail = WalTail::open(&self.place)?;
        if is_once {
            snapshot::check(tail.connection())?;
        }
        loop {
            let whole = tail.snapshot()?;
            let mut open = self.begin_generation(&tail, &whole)?;
            self.ship(&mut tail, &mut open, &whole).await?;
            tail.advance(&whole)?;
            if is_once {
                return Ok(());
            }
            self.find_obsolete().await;
            if self.ship_changes(&mut tail, &mut open).await? {
                return Ok(());
            }
        }
    }

    /// Ships changes until the next generation is due. Answers whether the shipper was told to stop.
    async fn ship_changes(
        &mut self,
        tail: &mut WalTail,
        open: &mut OpenGeneration,
    ) -> Result<bool> {
        loop {
            let is_last = self.is_told();
            match tail.changes()? {
                Some(change) => {
                    self.ship(tail, open, &change).await?;
                    tail.advance(&change)?;
                }
                None => tail.renew()?,
            }
            if tail.log_size()? > SHIPPING_LOG
                && let Some(change) = tail.make_room()?
            {
                self.ship(tail, open, &change).await?;
            }
            if is_last {
                return Ok(true);
            }
            self.prune().await;
            let is_due = open.begun.elapsed() >= self.options.snapshot_interval;
            if open.later > open.first.max(SEGMENT_SIZE as u64) || (is_due && open.later > 0) {
                return Ok(false);
            }
            self.pause(self.options.interval).await;
        }
    }

    fn begin_generation(&mut self, tail: &WalTail, first: &WalChange) -> Result<OpenGeneration> {
        let select = "SELECT lower(hex(randomblob(4)))";
        let random = tail.connection().query_row(select, [], |row| row.get::<_, String>(0));
        let random = random.map_err(crate::sqlite::fault::SqlFault::from)?;
        let generation = Generation::new(self.moment(first), &random);
        let (begun, sequence, previous) = (Instant::now(), 0, 0);
        Ok(OpenGeneration { generation, sequence, previous, first: 0, later: 0, begun })
    }

    /// The time of a state, which is later than that of the one before it. A name has milliseconds.
    fn moment(&self, change: &WalChange) -> i64 {
        change.micros.max(self.newest + 1000)
    }

    /// Ships a state in as many segments as it needs.
    async fn ship(
        &mut self,
        tail: &mut WalTail,
        open: &mut OpenGeneration,
        change: &WalChange,
    ) -> Result<()> {
        let each = SEGMENT_SIZE / tail.page_size();
        let mut from = 0;
        loop {
            let count = each.min(change.count() - from);
            let mut pages = Vec::with_capacity(count * (tail.page_size() + 4));
            tail.read(change, from, count, &mut pages)?;
            from += count;
            let is_last = from == change.count();
            let micros = match (is_last, open.first) {
                (false, _) => None,
                (true, 0) => Some(open.generation.micros),
                (true, _) => Some(self.moment(change)),
            };
            let head = SegmentHead {
                generation: name_checksum(&open.generation.name),
                previous: open.previous,
                sequence: open.sequence + 1,
                micros,
                page_count: change.page_count,
                page_size: tail.page_size() as u32,
            };
            let (bytes, checksum) = head.encode(&pages);
            drop(pages);
            let name = SegmentName { sequence: head.sequence, micros };
            self.put(tail, &self.catalog.segment(&open.generation, name), bytes).await?;
            (open.sequence, open.previous) = (head.sequence, checksum);
            if let Some(micros) = micros {
                let size = (change.count() * tail.page_size()) as u64;
                if open.first == 0 {
                    open.first = size.max(1)
                } else {
                    open.later += size
                }
                self.newest = self.newest.max(micros);
                return Ok(());
            }
        }
    }

    /// Puts a segment, again and again while the store does not answer and there is room for the log.
    async fn put(&mut self, tail: &mut WalTail, to: &Reference, bytes: Bytes) -> Result<()> {
        let mut wait = SHIPPING_RETRY;
        loop {
            let content = Content::bytes(bytes.clone()).with_media_type("application/octet-stream");
            let context = Context { deadline: Some(self.deadline()), ..Context::default() };
            let Err(error) = self.catalog.store.put(to, content, &context).await else {
                self.has_shipped = true;
                return Ok(());
            };
            if !self.has_shipped || self.is_over() {
                return Err(error);
            }
            if tail.log_size()? > self.options.max_log {
                let message = "the store does not answer, and the write-ahead log has become too \
                               long; it is released";
                return Err(Error::new(Kind::Unavailable, message).with_detail(error.to_string()));
            }
            let wait_s = wait.as_secs();
            tracing::warn!(%error, "the backup waits for its store; it tries again in {wait_s} s");
            self.pause(wait).await;
            wait = (wait * 2).min(SHIPPING_RETRY_LIMIT);
        }
    }

    /// The time of the newest state in the store, which those of this process follow.
    async fn find_newest(&mut self) -> Result<()> {
        let context = Context { deadline: Some(self.deadline()), ..Context::default() };
        let Some(last) = self.catalog.generations(&context).await?.pop() else { return Ok(()) };
        let segments = self.catalog.segments(&last, &context).await?;
        let newest = segments.iter().filter_map(|one| one.micros).max();
        self.newest = self.newest.max(newest.unwrap_or(last.micros));
        Ok(())
    }

    /// Looks for states that are older than they need to be.
    async fn find_obsolete(&mut self) {
        let since = self.newest - self.options.keep.as_micros() as i64;
        let context = Context { deadline: Some(self.deadline()), ..Context::default() };
        match self.catalog.obsolete(since, &context).await {
            Ok(found) => self.obsolete = found.into(),
            Err(error) => tracing::warn!(%error, "old states of the backup were not looked for"),
        }
    }

    /// Deletes some of them; the others wait until more is shipped. The next generation looks again
    /// after a failure.
    async fn prune(&mut self) {
        let some: Vec<Reference> =
            self.obsolete.drain(..self.obsolete.len().min(DELETED_AT_ONCE)).collect();
        let context = Context { deadline: Some(self.deadline()), ..Context::default() };
        if let Err(error) = self.catalog.delete(some, &context).await {
            self.obsolete.clear();
            tracing::warn!(%error, "old states of the backup were not deleted");
        }
    }

    /// Until when the store may take.
    fn deadline(&self) -> Instant {
        let usual = Instant::now() + SHIPPING_TIME;
        self.end.map_or(usual, |end| end.min(usual))
    }

    /// Whether the shipper was told to stop. From then on it has a time limit.
    fn is_told(&mut self) -> bool {
        let is_told = *self.stop.borrow();
        if is_told && self.end.is_none() {
            self.end = Some(Instant::now() + SHIPPING_END);
        }
        is_told
    }

    /// Whether the shipper was told to stop, and the time for what is left is over.
    fn is_over(&mut self) -> bool {
        self.is_told() && self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Waits for a time. A request to stop ends it; after that, waits are short.
    async fn pause(&mut self, time: Duration) {
        if self.is_told() {
            return tokio::time::sleep(time.min(Duration::from_millis(200))).await;
        }
        // A sender that is gone never tells.
        let told = async {
            if self.stop.wait_for(|told| *told).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = told => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_has_these_defaults() {
        let usual = ShippingOptions::default();
        let seconds =
            [usual.interval, usual.keep, usual.snapshot_interval].map(|one| one.as_secs());
        assert_eq!((seconds, usual.max_log), ([1, 24 * 3600, 3600], 1 << 30));
    }
}
