//! The lock in the store, so that a single machine orders.
//!
//! The owner writes a new text every few seconds. A lock whose text stays the same for a while is
//! abandoned, by a process that was killed: another machine takes it over, waits, and reads whether
//! it has done so itself. No clocks are compared.

use crate::storage::Storage;
use runnel_store::{Condition, Content, Context, Kind, Reference, Result, fill_random};
use std::cell::RefCell;
use std::time::Duration;
use tokio::time::Instant;

/// The period in which the owner writes a new text.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How long a text stays the same until the lock is abandoned.
const ABANDONED: Duration = Duration::from_secs(20);
/// The wait after a take-over, for another machine that does the same.
const TAKE_OVER: Duration = Duration::from_secs(2);
/// The file.
pub(crate) const LOCK_FILE: &str = "order.lock";

/// A lock as a machine sees it.
pub(crate) struct OrderLock {
    storage: Storage,
    owner: String,
    /// The text of another owner, and since when it is the same.
    seen: RefCell<Option<(String, Instant)>>,
}

impl OrderLock {
    pub(crate) fn new(storage: Storage) -> Result<OrderLock> {
        let mut random = [0; 16];
        fill_random(&mut random)?;
        let owner = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(OrderLock { storage, owner, seen: RefCell::default() })
    }

    /// Takes the lock, if it is free or abandoned.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn acquire(&self) -> Result<bool> {
        let reference = Reference::from_path(LOCK_FILE);
        let context = Context { only_if: Some(Condition::Absent), ..Context::default() };
        let content = Content::text(self.text(0));
        match self.storage.store.put(&reference, content, &context).await {
            Ok(_) => return Ok(true),
            Err(error) if error.kind == Kind::Precondition => {}
            Err(error) => return Err(error),
        }
        let Some(text) = self.storage.get(LOCK_FILE).await? else { return Ok(false) };
        let now = Instant::now();
        let since = match &*self.seen.borrow() {
            Some((seen, since)) if *seen == text => *since,
            _ => now,
        };
        self.seen.replace(Some((text, since)));
        if now.duration_since(since) < ABANDONED {
            return Ok(false);
        }
        tracing::info!("the lock of the certificate's orders was abandoned; taking it over");
        self.seen.replace(None);
        self.storage.put(LOCK_FILE, self.text(0)).await?;
        tokio::time::sleep(TAKE_OVER).await;
        self.is_owner().await
    }

    /// Keeps the lock. Ends when it is lost, or the store fails.
    pub(crate) async fn keep(&self) {
        for beat in 1u64.. {
            tokio::time::sleep(HEARTBEAT).await;
            let kept = match self.is_owner().await {
                Ok(true) => self.storage.put(LOCK_FILE, self.text(beat)).await.is_ok(),
                Ok(false) | Err(_) => false,
            };
            if !kept {
                return;
            }
        }
    }

    /// Frees the lock.
    pub(crate) async fn release(&self) {
        if let Ok(true) = self.is_owner().await
            && let Err(error) = self.storage.delete(LOCK_FILE).await
        {
            tracing::warn!(%error, "the lock of the certificate's orders cannot be removed");
        }
    }

    async fn is_owner(&self) -> Result<bool> {
        let text = self.storage.get(LOCK_FILE).await?;
        Ok(text.is_some_and(|text| text.starts_with(&self.owner)))
    }

    fn text(&self, beat: u64) -> String {
        format!("{} {beat}", self.owner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::settings::AcmeSettings;
    use runnel_store::Memory;
    use std::rc::Rc;

    fn locks() -> (OrderLock, OrderLock) {
        let settings = AcmeSettings {
            hosts: vec!["a.example".into()],
            contact: "ann@example.org".into(),
            directory: "https://authority.example/".into(),
            authority: None,
        };
        let storage = Storage::new(Rc::new(Memory::dictionary()), &settings);
        (OrderLock::new(storage.clone()).unwrap(), OrderLock::new(storage).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn one_machine_has_the_lock_as_long_as_it_keeps_it() {
        let (one, other) = locks();
        assert!(one.acquire().await.unwrap());
        let waiting = async {
            for _ in 0..100 {
                assert!(!other.acquire().await.unwrap());
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        tokio::select! {
            () = one.keep() => panic!("the lock was lost"),
            () = waiting => {}
        }
        one.release().await;
        assert!(other.acquire().await.unwrap());
        one.release().await;
        assert!(!one.acquire().await.unwrap(), "only the owner frees it");
    }

    #[tokio::test(start_paused = true)]
    async fn an_abandoned_lock_is_taken_over_once() {
        let (killed, one) = locks();
        let other = OrderLock::new(one.storage.clone()).unwrap();
        assert!(killed.acquire().await.unwrap());
        let start = Instant::now();
        let (mut first, mut second) = (false, false);
        while !first && !second {
            tokio::time::sleep(Duration::from_secs(1)).await;
            (first, second) = tokio::join!(async { one.acquire().await.unwrap() }, async {
                other.acquire().await.unwrap()
            });
        }
        assert!(start.elapsed() >= ABANDONED);
        assert!(first != second, "both machines have the lock");
        // The killed one, should it live again, notices.
        tokio::time::timeout(2 * HEARTBEAT, killed.keep()).await.unwrap();
    }
}
