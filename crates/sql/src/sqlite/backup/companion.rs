//! A continuous backup beside a program, in its process.
//!
//! Each worker of a program has one, of which one ships. It ends after the other workers, so that what
//! they write last is shipped, too.

use crate::sqlite::backup::catalog::BackupCatalog;
use crate::sqlite::backup::options::SHIPPING;
use crate::sqlite::backup::shipper::{Shipper, ShippingOrder};
use crate::sqlite::connection::database_file::DatabaseFile;
use futures_util::future::join_all;
use runnel_store::{
    Answer, BackupLag, BackupOrder, Context, ContinuousBackup, Error, Kind, Reference, Result,
    Store, Value,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

/// How long the start of a backup waits for its target. After that the program continues, and what is
/// wrong is logged.
pub const BACKUP_START: Duration = Duration::from_secs(5);

/// Continuous backups of one worker.
pub const CONTINUOUS_BACKUPS: usize = 100;

thread_local! {
    /// Those of this worker.
    static RUNNING: RefCell<Vec<Rc<Companion>>> = const { RefCell::new(Vec::new()) };
}

/// The backups of all workers, by what they ship: how many there are.
static TEAMS: Mutex<Vec<(Weak<BackupLag>, watch::Sender<usize>)>> = Mutex::new(Vec::new());

/// One of the workers that are to ship the same.
struct TeamMember(watch::Sender<usize>);

impl TeamMember {
    fn join(lag: &Arc<BackupLag>) -> TeamMember {
        let mut teams = TEAMS.lock().unwrap_or_else(PoisonError::into_inner);
        teams.retain(|(known, _)| known.strong_count() > 0);
        let known = teams.iter().find(|(known, _)| Weak::as_ptr(known) == Arc::as_ptr(lag));
        let members = match known {
            Some((_, members)) => members.clone(),
            None => {
                let members = watch::Sender::new(0);
                teams.push((Arc::downgrade(lag), members.clone()));
                members
            }
        };
        members.send_modify(|count| *count += 1);
        TeamMember(members)
    }
}

impl Drop for TeamMember {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

struct Companion {
    store: Rc<dyn Store>,
    to: Reference,
    lag: Arc<BackupLag>,
    leads: Rc<Cell<bool>>,
    members: watch::Receiver<usize>,
    stop: watch::Sender<bool>,
    shipping: RefCell<Option<JoinHandle<Result<()>>>>,
}

/// Ships the changes of a database beside the program, from now on.
///
/// # Errors
/// Those of the options, of the database, and of the first use of the target, unless it may work later.
pub(crate) fn back_up(
    place: &DatabaseFile,
    order: BackupOrder,
) -> Answer<Rc<dyn ContinuousBackup>> {
    let options = match SHIPPING.read("a continuous backup", &order.options) {
        Ok(options) => options,
        Err(error) => return error.into(),
    };
    if RUNNING.with_borrow(Vec::len) >= CONTINUOUS_BACKUPS {
        let message = format!("a program has at most {CONTINUOUS_BACKUPS} continuous backups");
        return Error::new(Kind::TooLarge, message).into();
    }
    let (place, BackupOrder { store, to, .. }) = (place.clone(), order);
    Answer::later(async move {
        let (stop, told) = watch::channel(false);
        let (first_use, heard) = oneshot::channel();
        let own = (store.clone(), to.clone());
        let order = ShippingOrder { place, store: own.0, to: own.1, options, stop: told };
        let shipper = Shipper::new(order).beside_program(first_use);
        let (lag, leads) = (shipper.lag().clone(), shipper.leads().clone());
        let member = TeamMember::join(&lag);
        let members = member.0.subscribe();
        let shipping = tokio::task::spawn_local(async move {
            // The end of the worker's event loop ends its membership, too.
            let _member = member;
            shipper.run().await
        });
        let shipping = RefCell::new(Some(shipping));
        let companion = Rc::new(Companion { store, to, lag, leads, members, stop, shipping });
        if let Ok(Ok(Err(error))) = tokio::time::timeout(BACKUP_START, heard).await {
            return Err(error);
        }
        RUNNING.with_borrow_mut(|running| running.push(companion.clone()));
        Ok(companion as Rc<dyn ContinuousBackup>)
    })
}

/// Ends the continuous backups of this worker at the end of its program: ships what is left, after the
/// other workers have ended theirs.
///
/// # Errors
/// What is left could not be shipped in time.
pub async fn end_continuous_backups() -> Result<()> {
    let all = RUNNING.take();
    join_all(all.iter().map(|one| one.end())).await.into_iter().collect()
}

impl Companion {
    async fn end(&self) -> Result<()> {
        let mut members = self.members.clone();
        if self.leads.get() {
            // Ends with the last other worker: each leaves when its loop ends.
            let _ = members.wait_for(|count| *count <= 1).await;
        }
        self.finish().await
    }

    async fn finish(&self) -> Result<()> {
        self.stop.send_replace(true);
        let Some(shipping) = self.shipping.take() else { return Ok(()) };
        let failed = |_| Error::new(Kind::Failed, "the backup ended by an internal error");
        shipping.await.map_err(failed)?
    }
}

impl ContinuousBackup for Companion {
    fn lag(&self) -> Option<f64> {
        self.lag.seconds()
    }

    fn spans(&self) -> Answer<Value> {
        let catalog = BackupCatalog::new(self.store.clone(), &self.to);
        Answer::later(async move {
            let spans = catalog.spans(&Context::default()).await?;
            let record = |span: &super::catalog::RestorableSpan| {
                Value::record([
                    ("from", Value::Int(span.from)),
                    ("to", Value::Int(span.to)),
                    ("states", Value::from(span.states as u64)),
                ])
            };
            Ok(Value::List(spans.iter().map(record).collect()))
        })
    }

    fn stop(&self) -> Answer<()> {
        let here = |one: &Rc<Companion>| !std::ptr::eq(&**one, self);
        let own = RUNNING.with_borrow_mut(|running| {
            let own = running.iter().find(|one| !here(one)).cloned();
            running.retain(here);
            own
        });
        match own {
            Some(own) => Answer::later(async move { own.finish().await }),
            None => Answer::ok(()),
        }
    }
}
