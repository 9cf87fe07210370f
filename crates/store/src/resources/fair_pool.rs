//! A pool of threads that clients share fairly: a client that sends much delays itself alone.
//!
//! Clients take turns, each with the oldest of its work. When the queue is full, the client with the
//! most waiting work loses its newest: a client alone may have the whole queue, and makes room for
//! every other one.

use crate::resources::client_network::ClientNetwork;
use crate::resources::pool::pool_threads;
use crate::{Error, Kind, Result};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot::{Receiver, Sender, channel};

/// A pool with one queue for each client, which workers share.
pub(crate) struct FairPool {
    what: &'static str,
    queue: usize,
    state: Mutex<Option<PoolState>>,
}

struct PoolState {
    /// Idle threads.
    free: usize,
    /// Clients with waiting work, in the order of their turns.
    turns: VecDeque<ClientNetwork>,
    waiting: HashMap<ClientNetwork, VecDeque<Sender<ThreadTurn>>>,
    /// All that wait.
    count: usize,
}

/// The right to use a thread; dropped, it goes to the next client.
struct ThreadTurn(&'static FairPool);

impl FairPool {
    pub(crate) const fn new(what: &'static str, queue: usize) -> FairPool {
        FairPool { what, queue, state: Mutex::new(None) }
    }

    /// Runs work of a client on a thread; without an event loop at once. Work that has begun ends,
    /// also when nothing awaits it any more.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] when too much work of the client waits; [`Kind::Failed`] for work that
    /// panicked; those of the work.
    pub(crate) async fn attempt<T: Send + 'static>(
        &'static self,
        client: ClientNetwork,
        work: impl FnOnce() -> std::result::Result<T, String> + Send + 'static,
    ) -> Result<T> {
        let failed = |message: String| Error::new(Kind::Failed, message);
        if tokio::runtime::Handle::try_current().is_err() {
            return work().map_err(failed);
        }
        let turn = match self.enter(client) {
            Ok(turn) => turn,
            Err(waiting) => waiting.await.map_err(|_| self.refusal())?,
        };
        let computed = tokio::task::spawn_blocking(move || {
            // The thread is taken until the work ends, even when its fiber has been cancelled.
            let _turn = turn;
            work()
        });
        let done = computed.await.map_err(|_| failed("the computation ended early".into()))?;
        done.map_err(failed)
    }

    fn refusal(&self) -> Error {
        let message = format!("too many {} of this client are waiting; try again later", self.what);
        Error::new(Kind::Unavailable, message)
    }

    fn locked(&self) -> MutexGuard<'_, Option<PoolState>> {
        // No code that can panic runs while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread, or what one arrives on.
    fn enter(
        &'static self,
        client: ClientNetwork,
    ) -> std::result::Result<ThreadTurn, Receiver<ThreadTurn>> {
        let mut guard = self.locked();
        let state = guard.get_or_insert_with(|| PoolState {
            free: pool_threads(),
            turns: VecDeque::new(),
            waiting: HashMap::new(),
            count: 0,
        });
        if state.free > 0 {
            state.free -= 1;
            return Ok(ThreadTurn(self));
        }
        let (sender, receiver) = channel();
        if state.count >= self.queue {
            state.forget_cancelled();
        }
        if state.count < self.queue || state.displace_for(client) {
            state.add(client, sender);
        }
        Err(receiver)
    }
}

impl PoolState {
    fn add(&mut self, client: ClientNetwork, sender: Sender<ThreadTurn>) {
        let own = self.waiting.entry(client).or_default();
        if own.is_empty() {
            self.turns.push_back(client);
        }
        own.push_back(sender);
        self.count += 1;
    }

    fn next(&mut self) -> Option<Sender<ThreadTurn>> {
        let client = self.turns.pop_front()?;
        let own = self.waiting.get_mut(&client)?;
        let sender = own.pop_front()?;
        self.count -= 1;
        match own.is_empty() {
            true => drop(self.waiting.remove(&client)),
            false => self.turns.push_back(client),
        }
        Some(sender)
    }

    /// Makes room for a client that would still have less waiting work than another one.
    fn displace_for(&mut self, client: ClientNetwork) -> bool {
        let own = self.waiting.get(&client).map_or(0, VecDeque::len);
        let most = self.waiting.values_mut().max_by_key(|waiting| waiting.len());
        let Some(most) = most.filter(|most| most.len() > own + 1) else { return false };
        drop(most.pop_back());
        self.count -= 1;
        true
    }

    fn forget_cancelled(&mut self) {
        self.waiting.retain(|_, own| {
            own.retain(|sender| !sender.is_closed());
            !own.is_empty()
        });
        self.turns.retain(|client| self.waiting.contains_key(client));
        self.count = self.waiting.values().map(VecDeque::len).sum();
    }
}

impl Drop for ThreadTurn {
    fn drop(&mut self) {
        let mut guard = self.0.locked();
        let Some(state) = &mut *guard else { return };
        let next = state.next();
        if next.is_none() {
            state.free += 1;
        }
        drop(guard);
        if let Some(sender) = next {
            // The turn of a cancelled job comes back, and passes to the next as it is dropped.
            drop(sender.send(ThreadTurn(self.0)));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tokio::sync::oneshot::error::TryRecvError;

    fn client(number: u8) -> ClientNetwork {
        ClientNetwork::of(Some([127, 0, 0, number].into()))
    }

    /// Takes all threads until it is dropped.
    fn occupy(pool: &'static FairPool) -> Vec<ThreadTurn> {
        (0..pool_threads()).map(|_| pool.enter(ClientNetwork::UNKNOWN).ok().unwrap()).collect()
    }

    #[tokio::test]
    async fn clients_take_turns() {
        static POOL: FairPool = FairPool::new("pieces of work", 8);
        let release = occupy(&POOL);
        let mut waiting: Vec<_> = [1, 1, 1, 2, 2, 3]
            .map(|number| (number, POOL.enter(client(number)).err().unwrap()))
            .into();
        let mut order = Vec::new();
        while let Some(sender) = POOL.locked().as_mut().and_then(PoolState::next) {
            drop(sender);
            let is_next = |(_, turn): &mut (u8, Receiver<ThreadTurn>)| {
                turn.try_recv().is_err_and(|error| error == TryRecvError::Closed)
            };
            let at = waiting.iter_mut().position(is_next).unwrap();
            order.push(waiting.remove(at).0);
        }
        assert_eq!(order, [1, 2, 3, 1, 2, 1]);
        drop(release);
    }

    #[tokio::test]
    async fn a_full_queue_makes_room_for_another_client() {
        static POOL: FairPool = FairPool::new("pieces of work", 3);
        let release = occupy(&POOL);
        let mut of_one: Vec<_> = (0..3).map(|_| POOL.enter(client(1)).err().unwrap()).collect();
        let refused = POOL.attempt(client(1), || Ok(())).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Unavailable);
        let message = "too many pieces of work of this client are waiting; try again later";
        assert_eq!(refused.message, message);
        let other = POOL.enter(client(2)).err().unwrap();
        // The newest of the client with the most.
        let displaced = of_one.pop().unwrap();
        assert!(displaced.await.is_err());
        // Cancelled work makes room, too, and holds no thread.
        drop(of_one);
        assert!(POOL.enter(client(3)).err().is_some());
        drop(release);
        drop(other.await.unwrap());
        assert!(POOL.attempt(client(1), || Ok(true)).await.unwrap());
    }

    #[tokio::test]
    async fn an_error_of_the_work_arrives() {
        static POOL: FairPool = FairPool::new("pieces of work", 3);
        let work = || Err::<(), _>("wrong".to_string());
        assert_eq!(POOL.attempt(client(1), work).await.unwrap_err().message, "wrong");
        let panicked = POOL.attempt(client(1), || -> std::result::Result<(), String> {
            panic!("the work is broken")
        });
        assert_eq!(panicked.await.unwrap_err().kind, Kind::Failed);
    }
}
