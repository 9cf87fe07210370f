//! The log of a database, followed on threads that may wait, so that an event loop need not.

use crate::sqlite::backup::wal_tail::WalTail;
use crate::sqlite::connection::database_file::DatabaseFile;
use crate::sqlite::fault::SqlResult;
use runnel_store::{Error, Kind, Result};

/// A tail between two steps. A step that is cancelled still ends on its thread, and the tail with it.
pub(crate) struct TailThread(Option<WalTail>);

fn ended() -> Error {
    Error::new(Kind::Failed, "following the database has ended")
}

impl TailThread {
    /// Opens a database.
    pub(crate) async fn open(place: &DatabaseFile) -> Result<TailThread> {
        let place = place.clone();
        let opening = tokio::task::spawn_blocking(move || WalTail::open(&place));
        Ok(TailThread(Some(opening.await.map_err(|_| ended())??)))
    }

    /// One step of work with the tail.
    pub(crate) async fn run<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut WalTail) -> SqlResult<T> + Send + 'static,
    ) -> Result<T> {
        let mut tail = self.0.take().ok_or_else(ended)?;
        let working = tokio::task::spawn_blocking(move || {
            let done = work(&mut tail);
            (tail, done)
        });
        let (tail, done) = working.await.map_err(|_| ended())?;
        self.0 = Some(tail);
        Ok(done?)
    }

    /// Closes the connections of the tail.
    pub(crate) async fn close(mut self) {
        let tail = self.0.take();
        // A panic of a connection's end changes nothing for the others.
        let _ = tokio::task::spawn_blocking(move || drop(tail)).await;
    }
}
