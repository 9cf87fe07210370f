//! One budget of memory for everything that the requests of this process hold.
//!
//! Bodies, values parsed from them and responses count. A request beyond the budget is refused with
//! 503 ([`Kind::Unavailable`]), and a request beyond its own share with 413 ([`Kind::TooLarge`]). A
//! server thus refuses work before it runs out of memory. Before it refuses anything, it takes back
//! responses that their clients do not read ([`crate::resources::unread`]).

use crate::resources::unread::{UnreadEntry, UnreadList};
use crate::{ClientNetwork, Error, Kind, Result};
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

/// The budget where nothing else is set: 512 MiB.
pub const DEFAULT_BUDGET: usize = 512 << 20;
/// One request may use this part of the budget.
const SHARES: usize = 2;
/// The divisor of the budget's share for incoming bodies. The rest is for values made from them;
/// otherwise requests that wait for each other's memory would all be refused.
const ARRIVING: usize = 2;
/// The divisor of the budget's share that unread responses of one client keep while others need memory: less
/// than the rest that [`ARRIVING`] leaves, so that one client alone stops no upload.
const CLIENT_SHARES: usize = 4;
/// The part of the budget that is taken back beyond the need, so that few requests search for more.
const TAKEN_AHEAD: usize = 16;

static BUDGET: Budget = Budget::new(DEFAULT_BUDGET);

thread_local! {
    /// Bytes of requests of this thread that are over, whose values the engine still has to collect.
    static GARBAGE: Cell<usize> = const { Cell::new(0) };
}

/// The memory that requests may hold, and what they hold.
#[derive(Debug)]
pub struct Budget {
    limit: AtomicUsize,
    held: AtomicUsize,
    /// Whether anything is refused.
    is_enforced: AtomicBool,
    unread: UnreadList,
}

impl Budget {
    pub(crate) const fn new(limit: usize) -> Budget {
        let (limit, held) = (AtomicUsize::new(limit), AtomicUsize::new(0));
        Budget { limit, held, is_enforced: AtomicBool::new(false), unread: UnreadList::new() }
    }

    /// The budget of this process.
    pub fn of_process() -> &'static Budget {
        &BUDGET
    }

    /// Enforces the budget from now on: a server has started. A program without a server has no
    /// other clients to protect.
    pub fn enforce(&self) {
        self.is_enforced.store(true, Ordering::Relaxed);
    }

    /// Sets the limit, in bytes. Memory already held stays.
    pub fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// The limit, in bytes.
    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// How many bytes one request may hold.
    pub fn share(&self) -> usize {
        self.limit() / SHARES
    }

    /// How many bytes requests hold now, values that wait for collection included.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Takes bytes, if need be from clients that do not read.
    fn take(&self, bytes: usize, limit: usize) -> bool {
        if self.take_free(bytes, limit) {
            return true;
        }
        let over = self.held().saturating_add(bytes).saturating_sub(limit);
        let wanted = over.saturating_add(limit / TAKEN_AHEAD);
        self.give_back(self.unread.take_back(wanted, self.limit() / CLIENT_SHARES, Instant::now()));
        self.take_free(bytes, limit)
    }

    fn take_free(&self, bytes: usize, limit: usize) -> bool {
        let before = self.held.fetch_add(bytes, Ordering::Relaxed);
        let fits = before.saturating_add(bytes) <= limit || !self.is_enforced();
        if !fits {
            self.held.fetch_sub(bytes, Ordering::Relaxed);
        }
        fits
    }

    fn is_enforced(&self) -> bool {
        self.is_enforced.load(Ordering::Relaxed)
    }

    fn give_back(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes of this budget: none at first.
    pub(crate) fn hold(&'static self) -> Held {
        Held { budget: self, bytes: 0 }
    }

    /// Holds content until its client has read it.
    ///
    /// # Errors
    /// As [`Held::add`].
    pub(crate) fn hold_unread(
        &'static self,
        bytes: Bytes,
        client: ClientNetwork,
    ) -> Result<(u64, Arc<UnreadEntry>)> {
        let mut held = self.hold();
        held.add(bytes.len())?;
        // From here on the entry gives them back.
        held.bytes = 0;
        Ok(self.unread.add(bytes, client))
    }

    /// Gives back what unread content holds, unless it was taken back before.
    pub(crate) fn release_unread(&self, number: u64, entry: &UnreadEntry) {
        self.unread.remove(number);
        self.give_back(entry.take_back());
    }
}

/// Bytes that a request holds; dropping it gives them back.
#[derive(Debug)]
pub struct Held {
    budget: &'static Budget,
    bytes: usize,
}

impl Default for Held {
    fn default() -> Self {
        BUDGET.hold()
    }
}

impl Held {
    /// How many bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Holds more.
    ///
    /// # Errors
    /// [`Kind::TooLarge`] beyond the share of one request, [`Kind::Unavailable`] beyond the budget.
    pub fn add(&mut self, bytes: usize) -> Result<()> {
        self.take(bytes, self.budget.limit())
    }

    /// Holds more that arrives from a client.
    ///
    /// # Errors
    /// As [`Held::add`]; what arrives may use half of the budget.
    pub fn add_arriving(&mut self, bytes: usize) -> Result<()> {
        self.take(bytes, self.budget.limit() / ARRIVING)
    }

    fn take(&mut self, bytes: usize, limit: usize) -> Result<()> {
        if self.bytes.saturating_add(bytes) > self.budget.share() && self.budget.is_enforced() {
            return Err(over_share(self.bytes.saturating_add(bytes), self.budget.share()));
        }
        if !self.budget.take(bytes, limit) {
            return Err(over_budget(self.budget.limit()));
        }
        self.bytes += bytes;
        Ok(())
    }

    /// Joins what another holds, so that both count as one.
    pub fn absorb(&mut self, mut other: Held) {
        self.bytes += std::mem::take(&mut other.bytes);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.give_back(self.bytes);
        }
    }
}

/// The memory of one request until it ends: its body, and engine values made from it.
///
/// Engine memory is free only after a collection: at the end of the request it becomes garbage,
/// which counts until a call of [`collected`].
#[derive(Debug, Default)]
pub struct Allowance {
    held: RefCell<Held>,
    of_engine: Cell<usize>,
}

impl Allowance {
    /// Charges the request for values of the engine.
    ///
    /// # Errors
    /// As [`Held::add`].
    pub fn hold(&self, bytes: usize) -> Result<()> {
        self.held.borrow_mut().add(bytes)?;
        self.of_engine.set(self.of_engine.get() + bytes);
        Ok(())
    }

    /// Charges the request for the engine's copy of content that has arrived.
    ///
    /// # Errors
    /// As [`Held::add_arriving`].
    pub fn hold_arrived(&self, bytes: usize) -> Result<()> {
        self.held.borrow_mut().add_arriving(bytes)?;
        self.of_engine.set(self.of_engine.get() + bytes);
        Ok(())
    }

    /// Charges memory already held to this request until it ends.
    pub fn keep(&self, held: Held) {
        self.held.borrow_mut().absorb(held);
    }

    /// Charges the request for content that arrives, until it ends.
    ///
    /// # Errors
    /// As [`Held::add_arriving`].
    pub fn hold_arriving(&self, bytes: usize) -> Result<()> {
        self.held.borrow_mut().add_arriving(bytes)
    }
}

impl Drop for Allowance {
    fn drop(&mut self) {
        let garbage = self.of_engine.get();
        if garbage > 0 {
            self.held.get_mut().bytes -= garbage;
            GARBAGE.set(GARBAGE.get() + garbage);
        }
    }
}

/// Bytes of ended requests of this thread that the engine has not collected yet.
pub fn garbage() -> usize {
    GARBAGE.get()
}

/// The engine of this thread has collected that many bytes of [`garbage`].
pub fn collected(bytes: usize) {
    let bytes = bytes.min(GARBAGE.get());
    GARBAGE.set(GARBAGE.get() - bytes);
    BUDGET.give_back(bytes);
}

fn mebibytes(bytes: usize) -> usize {
    bytes.div_ceil(1 << 20)
}

fn over_share(bytes: usize, share: usize) -> Error {
    let (bytes, share) = (mebibytes(bytes), mebibytes(share));
    Error::new(Kind::TooLarge, "the request needs more memory than one request may use")
        .with_detail(format!("it needs {bytes} MiB and may use {share}: see --request-memory"))
}

fn over_budget(limit: usize) -> Error {
    let limit = mebibytes(limit);
    Error::new(Kind::Unavailable, "no memory is free for this request now")
        .with_detail(format!("requests hold the {limit} MiB of --request-memory"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn budget(limit: usize) -> &'static Budget {
        let budget = Box::leak(Box::new(Budget::new(limit)));
        budget.enforce();
        budget
    }

    #[test]
    fn one_request_has_its_share_and_all_have_the_budget() {
        let budget = budget(100);
        let (mut first, mut second, mut third) = (budget.hold(), budget.hold(), budget.hold());
        assert_eq!(first.add(51).unwrap_err().kind, Kind::TooLarge);
        first.add(30).unwrap();
        first.add(20).unwrap();
        assert_eq!(first.add(1).unwrap_err().kind, Kind::TooLarge);
        second.add(50).unwrap();
        let refused = third.add(1).unwrap_err();
        assert_eq!((refused.kind, refused.temporary), (Kind::Unavailable, true));
        assert_eq!(budget.held(), 100);
        drop(first);
        assert_eq!(third.add_arriving(1).unwrap_err().kind, Kind::Unavailable);
        third.add(50).unwrap();
        third.absorb(second);
        assert_eq!((third.bytes(), budget.held()), (100, 100));
        drop(third);
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn values_of_the_engine_stay_counted_until_they_are_collected() {
        let before = Budget::of_process().held();
        let request = Allowance::default();
        request.hold(1000).unwrap();
        request.hold_arriving(500).unwrap();
        assert_eq!((Budget::of_process().held() - before, garbage()), (1500, 0));
        drop(request);
        assert_eq!((Budget::of_process().held() - before, garbage()), (1000, 1000));
        collected(400);
        collected(4000);
        assert_eq!((Budget::of_process().held(), garbage()), (before, 0));
    }
}
