//! A continuous backup: states of a database go into a store while programs write.
//!
//! A state is stored before the next one begins, so that a store never has a state without those
//! before it. While the store does not answer, the log of the database is the queue. A log beyond
//! its limit is released, and a new generation begins with a copy of the whole database.
//!
//! One of all who want to ship a database to a target does; the others look each second whether they
//! are to take over. What reads the database or compresses runs on threads that may wait.

use crate::sqlite::backup::catalog::{BackupCatalog, Generation, SegmentName};
use crate::sqlite::backup::options::ShippingOptions;
use crate::sqlite::backup::segment::{SEGMENT_SIZE, SegmentHead, name_checksum};
use crate::sqlite::backup::shipping_lock::{ShippingLock, target_name};
use crate::sqlite::backup::snapshot;
use crate::sqlite::backup::tail_thread::TailThread;
use crate::sqlite::backup::wal_tail::{WalChange, now};
use crate::sqlite::connection::database_file::{DatabaseFile, from_io};
use bytes::Bytes;
use futures_util::FutureExt;
use runnel_store::{BackupLag, Content, Context, Error, Kind, Reference, Result, Store};
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

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

/// Interval at which waiting backups check whether the shipping one has ended.
pub const SHIPPING_TAKEOVER: Duration = Duration::from_secs(1);

/// Old segments that are deleted after each interval, so that new ones need not wait long.
const DELETED_AT_ONCE: usize = 64;

/// A generation that is being written.
struct OpenGeneration {
    generation: Generation,
    page_size: usize,
    sequence: u32,
    previous: u64,
    /// Bytes of its first state, and of those after it.
    first: u64,
    later: u64,
    begun: Instant,
}

/// What is shipped, where, and how.
pub(crate) struct ShippingOrder {
    pub(crate) place: DatabaseFile,
    pub(crate) store: Rc<dyn Store>,
    pub(crate) to: Reference,
    pub(crate) options: ShippingOptions,
    /// Requests to stop.
    pub(crate) stop: watch::Receiver<bool>,
}

/// Hears once that the target has taken something or that another one ships, or what is wrong with it.
pub(crate) type FirstUse = oneshot::Sender<Result<()>>;

/// Ships a database to a target.
pub(crate) struct Shipper {
    catalog: BackupCatalog,
    order: ShippingOrder,
    /// When the shipper gives up, once it was told to stop.
    end: Option<Instant>,
    /// The time of the newest state, in microseconds since 1970: times never go back.
    newest: i64,
    /// Whether the store has taken something.
    has_shipped: bool,
    /// What is to be deleted.
    obsolete: VecDeque<Reference>,
    lag: Arc<BackupLag>,
    /// Whether this backup ships.
    leads: Rc<Cell<bool>>,
    /// Beside a program, a store that does not answer at first is asked again.
    is_beside_program: bool,
    first_use: Option<FirstUse>,
}

/// Ships the changes of a database into a store until a request to stop, and then what is left. Waits
/// while another process ships it there.
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
    let (place, to) = (DatabaseFile::resolve(path)?, to.clone());
    Shipper::new(ShippingOrder { place, store, to, options, stop }).run().await
}

/// Copies a database once, as the first state of a generation: [`ship_sqlite`] without what follows.
/// All pages and indexes are checked before.
///
/// # Errors
/// Those of the database and of the store.
pub async fn ship_sqlite_once(path: &Path, store: Rc<dyn Store>, to: &Reference) -> Result<()> {
    let (_sender, stop) = watch::channel(false);
    let (place, to, options) =
        (DatabaseFile::resolve(path)?, to.clone(), ShippingOptions::default());
    Shipper::new(ShippingOrder { place, store, to, options, stop }).generations(true).await
}

impl Shipper {
    pub(crate) fn new(order: ShippingOrder) -> Shipper {
        Shipper {
            catalog: BackupCatalog::new(order.store.clone(), &order.to),
            end: None,
            newest: 0,
            has_shipped: false,
            obsolete: VecDeque::new(),
            lag: BackupLag::of(&order.place.to_string(), &target_name(&order.to)),
            leads: Rc::default(),
            is_beside_program: false,
            first_use: None,
            order,
        }
    }

    /// The same beside a program, which hears of the first use of the target.
    pub(crate) fn beside_program(mut self, first_use: FirstUse) -> Shipper {
        (self.is_beside_program, self.first_use) = (true, Some(first_use));
        self
    }

    pub(crate) fn lag(&self) -> &Arc<BackupLag> {
        &self.lag
    }

    /// Whether this backup ships, now and later.
    pub(crate) fn leads(&self) -> &Rc<Cell<bool>> {
        &self.leads
    }

    /// Ships whenever no other one does, until a request to stop, and then what is left within
    /// [`SHIPPING_END`].
    pub(crate) async fn run(mut self) -> Result<()> {
        let mut stop = self.order.stop.clone();
        let overdue = async move {
            wait_until_told(&mut stop).await;
            // The last put has a deadline of its own, which comes first.
            tokio::time::sleep(SHIPPING_END + Duration::from_millis(500)).await;
        };
        let (lag, leads) = (self.lag.clone(), self.leads.clone());
        let done = tokio::select! {
            done = self.take_turn() => done,
            () = overdue => {
                Err(Error::new(Kind::Timeout, "what is left could not be shipped in time"))
            }
        };
        if leads.replace(false) {
            lag.set(0);
        }
        if let Err(error) = &done {
            let is_heard = self.first_use.as_ref().is_some_and(|one| !one.is_closed());
            if self.is_beside_program && !is_heard && !self.is_told() {
                tracing::error!(%error, "the continuous backup has ended");
            }
            self.answer_first_use(Err(error.clone()));
        }
        done
    }

    /// Waits until no other one ships, and ships.
    async fn take_turn(&mut self) -> Result<()> {
        let mut is_waiting = false;
        let _lock = loop {
            if let Some(lock) = ShippingLock::try_take(&self.order.place, &self.order.to)? {
                break lock;
            }
            if self.is_told() {
                return Ok(());
            }
            if !std::mem::replace(&mut is_waiting, true) {
                tracing::info!(target = %self.order.to, "another one ships the backup now");
            }
            self.answer_first_use(Ok(()));
            self.pause(SHIPPING_TAKEOVER).await;
        };
        self.leads.set(true);
        let mut wait = SHIPPING_RETRY;
        loop {
            let begun = Instant::now();
            // What a library cannot take may pass with the next copy of the whole database.
            let shipping = AssertUnwindSafe(self.generations(false)).catch_unwind();
            let shipped = shipping.await.unwrap_or_else(|_| {
                Err(Error::new(Kind::Failed, "shipping failed by an internal error"))
            });
            let Err(error) = shipped else { return Ok(()) };
            if self.is_over() || self.is_final(&error) {
                return Err(error);
            }
            self.answer_first_use(Ok(()));
            // After a long run the first wait is short again.
            wait = if begun.elapsed() > SHIPPING_RETRY_LIMIT { SHIPPING_RETRY } else { wait };
            let detail = error.detail.as_deref();
            // At the end waits are short, and the last error is that of the shipper.
            if !self.is_told() {
                let wait_s = wait.as_secs();
                tracing::warn!(%error, detail, "the backup begins anew in {wait_s} s");
            }
            self.pause(wait).await;
            wait = (wait * 2).min(SHIPPING_RETRY_LIMIT);
        }
    }

    /// Whether an error ends the shipper. The first use of a store is not repeated, but a program that
    /// starts does not depend on a store that is away.
    fn is_final(&self, error: &Error) -> bool {
        match self.is_beside_program {
            true => !error.temporary && self.first_use.as_ref().is_some_and(|one| !one.is_closed()),
            false => !self.has_shipped,
        }
    }

    fn answer_first_use(&mut self, answer: Result<()>) {
        if let Some(first_use) = self.first_use.take() {
            // A program that waits no longer is not told.
            let _ = first_use.send(answer);
        }
    }

    /// Writes generations until a failure or a request to stop; with `is_once`, the first state of one.
    async fn generations(&mut self, is_once: bool) -> Result<()> {
        // Nothing of the database is held while the store does not answer this.
        self.find_newest().await?;
        let mut tail = TailThread::open(&self.order.place).await?;
        let done = self.follow(&mut tail, is_once).await;
        tail.close().await;
        done
    }

    async fn follow(&mut self, tail: &mut TailThread, is_once: bool) -> Result<()> {
        if is_once {
            tail.run(|tail| snapshot::check(tail.connection())).await?;
        }
        loop {
            let whole = Arc::new(tail.run(|tail| tail.snapshot()).await?);
            let mut open = self.begin_generation(tail, &whole).await?;
            self.ship(tail, &mut open, &whole).await?;
            self.lag.set(whole.micros);
            tail.run(move |tail| tail.advance(&whole)).await?;
            if is_once {
                return Ok(());
            }
            self.find_obsolete().await;
            if self.ship_changes(tail, &mut open).await? {
                return Ok(());
            }
        }
    }

    /// Ships changes until the next generation is due. Answers whether the shipper was told to stop.
    async fn ship_changes(
        &mut self,
        tail: &mut TailThread,
        open: &mut OpenGeneration,
    ) -> Result<bool> {
        loop {
            let (is_last, looked) = (self.is_told(), now());
            let found = tail.run(|tail| match tail.changes()? {
                Some(change) => Ok(Some(Arc::new(change))),
                None => tail.renew().map(|()| None),
            });
            let change = found.await?;
            if let Some(change) = &change {
                self.ship(tail, open, change).await?;
            }
            self.lag.set(looked);
            let restarting = tail.run(move |tail| {
                change.map_or(Ok(()), |change| tail.advance(&change))?;
                match tail.log_size()? > SHIPPING_LOG {
                    true => Ok(tail.make_room()?.map(Arc::new)),
                    false => Ok(None),
                }
            });
            if let Some(change) = restarting.await? {
                self.ship(tail, open, &change).await?;
            }
            if is_last {
                return Ok(true);
            }
            self.prune().await;
            let is_due = open.begun.elapsed() >= self.order.options.snapshot_interval;
            if open.later > open.first.max(SEGMENT_SIZE as u64) || (is_due && open.later > 0) {
                return Ok(false);
            }
            self.pause(self.order.options.interval).await;
        }
    }

    async fn begin_generation(
        &self,
        tail: &mut TailThread,
        first: &WalChange,
    ) -> Result<OpenGeneration> {
        let asking = tail.run(|tail| {
            let select = "SELECT lower(hex(randomblob(4)))";
            let random = tail.connection().query_row(select, [], |row| row.get::<_, String>(0))?;
            Ok((random, tail.page_size()))
        });
        let (random, page_size) = asking.await?;
        let generation = Generation::new(self.moment(first), &random);
        let (begun, sequence, previous) = (Instant::now(), 0, 0);
        Ok(OpenGeneration { generation, page_size, sequence, previous, first: 0, later: 0, begun })
    }

    /// The time of a state, which is later than that of the one before it. A name has milliseconds.
    fn moment(&self, change: &WalChange) -> i64 {
        change.micros.max(self.newest + 1000)
    }

    /// Ships a state in as many segments as it needs.
    async fn ship(
        &mut self,
        tail: &mut TailThread,
        open: &mut OpenGeneration,
        change: &Arc<WalChange>,
    ) -> Result<()> {
        let each = SEGMENT_SIZE / open.page_size;
        let mut from = 0;
        loop {
            let count = each.min(change.count() - from);
            let is_last = from + count == change.count();
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
                page_size: open.page_size as u32,
            };
            let own = change.clone();
            let encoding = tail.run(move |tail| {
                let mut pages = Vec::with_capacity(count * (tail.page_size() + 4));
                tail.read(&own, from, count, &mut pages)?;
                let encoded = head.encode(&pages);
                encoded.map_err(|error| from_io(&error, "a segment cannot be compressed"))
            });
            let (bytes, checksum) = encoding.await?;
            let name = SegmentName { sequence: head.sequence, micros };
            self.put(tail, &self.catalog.segment(&open.generation, name), bytes).await?;
            (open.sequence, open.previous) = (head.sequence, checksum);
            from += count;
            if let Some(micros) = micros {
                let size = (change.count() * open.page_size) as u64;
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
    async fn put(&mut self, tail: &mut TailThread, to: &Reference, bytes: Bytes) -> Result<()> {
        let mut wait = SHIPPING_RETRY;
        loop {
            let content = Content::bytes(bytes.clone()).with_media_type("application/octet-stream");
            let context = Context { deadline: Some(self.deadline()), ..Context::default() };
            let Err(error) = self.catalog.store.put(to, content, &context).await else {
                self.has_shipped = true;
                self.answer_first_use(Ok(()));
                return Ok(());
            };
            if !self.has_shipped || self.is_over() {
                return Err(error);
            }
            if tail.run(|tail| tail.log_size()).await? > self.order.options.max_log {
                let message = "the store does not answer, and the write-ahead log has become too \
                               long; it is released";
                return Err(Error::new(Kind::Unavailable, message).with_detail(error.to_string()));
            }
            if !self.is_told() {
                let s = wait.as_secs();
                tracing::warn!(%error, "the backup waits for its store; it tries again in {s} s");
            }
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
        let since = self.newest - self.order.options.keep.as_micros() as i64;
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
        let is_told = *self.order.stop.borrow();
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
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = wait_until_told(&mut self.order.stop) => {}
        }
    }
}

/// Waits for a request to stop.
async fn wait_until_told(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone never tells.
    if stop.wait_for(|told| *told).await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use runnel_store::{Answer, Below, Layer, Memory, Outcome, Verb};
    use tokio::task::{LocalSet, spawn_local};

    /// Panics at its second put.
    struct Poisoned {
        source: Rc<dyn Store>,
        puts: Rc<Cell<u32>>,
    }

    impl Layer for Poisoned {
        fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
            Ok(Below::same(&self.source, reference))
        }

        fn over(&self, source: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
            Some(Rc::new(Poisoned { source, puts: self.puts.clone() }))
        }

        fn name(&self) -> String {
            "poisoned".to_string()
        }

        fn layer_put(
            &self,
            on: &Reference,
            content: Content,
            context: &Context,
        ) -> Answer<Outcome> {
            self.puts.set(self.puts.get() + 1);
            assert_ne!(self.puts.get(), 2, "a library broke");
            self.source.put(on, content, context)
        }
    }

    #[tokio::test]
    async fn a_panic_begins_the_backup_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let database = rusqlite::Connection::open(&path).unwrap();
        database.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE t (x)").unwrap();
        let puts = Rc::new(Cell::new(0));
        let source = Rc::new(Memory::dictionary());
        let store: Rc<dyn Store> = Rc::new(Poisoned { source, puts: puts.clone() });
        let to = Reference::from_path("backup");
        let catalog = BackupCatalog::new(store.clone(), &to);
        let (tell, stop) = watch::channel(false);
        let (first_use, heard) = oneshot::channel();
        let (place, options) = (DatabaseFile::resolve(&path).unwrap(), ShippingOptions::default());
        let shipper = Shipper::new(ShippingOrder { place, store, to, options, stop });
        let work = async move {
            let running = spawn_local(shipper.beside_program(first_use).run());
            heard.await.unwrap().unwrap();
            database.execute_batch("INSERT INTO t VALUES (1)").unwrap();
            while puts.get() < 3 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            tell.send_replace(true);
            running.await.unwrap().unwrap();
        };
        LocalSet::new().run_until(work).await;
        assert_eq!(catalog.generations(&Context::default()).await.unwrap().len(), 2);
    }
}
