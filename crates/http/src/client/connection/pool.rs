//! The idle connections to one host. The most recently used one is taken first, so that superfluous
//! ones age; one task for all of them closes old ones and those that the server closes.

use crate::client::connection::line::ClientConnection;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// Interval of the sweep. A connection that is idle during a whole interval is closed: after 25 to
/// 50 s, less than the keep-alive of most servers.
const SWEEP_INTERVAL: Duration = Duration::from_secs(25);

/// The idle connections to one host, shared by threads.
pub(crate) struct IdleConnections {
    most: usize,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    /// Each with the sweep in which it became idle; the oldest first.
    lines: VecDeque<(u64, ClientConnection)>,
    round: u64,
    /// Wakes the sweeper task, if it runs.
    sweeper: Option<Waker>,
}

impl IdleConnections {
    /// Keeps at most `most` connections.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(IdleConnections { most, idle: Mutex::default() })
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection that looks usable.
    pub(crate) fn take(&self, context: &mut Context<'_>) -> Option<ClientConnection> {
        let mut idle = self.idle();
        while let Some((_, mut line)) = idle.lines.pop_back() {
            if !line.is_over(context) {
                return Some(line);
            }
        }
        None
    }

    /// Keeps a connection for the next request, unless the pool is full.
    pub(crate) fn put(self: &Arc<Self>, mut line: ClientConnection) {
        line.release_memory();
        let mut idle = self.idle();
        if idle.lines.len() >= self.most {
            return;
        }
        if let Some(sweeper) = &idle.sweeper
            && line.poll_over(&mut Context::from_waker(sweeper)).is_ready()
        {
            return;
        }
        let round = idle.round;
        idle.lines.push_back((round, line));
        if idle.sweeper.is_none() {
            // The sweeper polls all of them when it starts.
            idle.sweeper = Some(Waker::noop().clone());
            drop(idle);
            self.start_sweeper();
        }
    }

    /// Starts the sweeper. Without an event loop no connection is kept.
    fn start_sweeper(self: &Arc<Self>) {
        // Not `spawn_local`: a transport is called from any task, `Send` or not.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            *self.idle() = Idle::default();
            return;
        };
        let timer = Box::pin(tokio::time::sleep(SWEEP_INTERVAL));
        runtime.spawn(Sweeper { pool: Arc::downgrade(self), timer });
    }
}

/// The sweeper of idle connections: woken when the server closes one, and at each interval.
struct Sweeper {
    pool: Weak<IdleConnections>,
    timer: Pin<Box<Sleep>>,
}

impl Sweeper {
    /// Whether an interval is over; starts the next one.
    fn poll_interval(&mut self, context: &mut Context<'_>) -> bool {
        let is_over = self.timer.as_mut().poll(context).is_ready();
        if is_over {
            self.timer.as_mut().reset(Instant::now() + SWEEP_INTERVAL);
            // Registers the waker: the timer has just been reset.
            let _ = self.timer.as_mut().poll(context);
        }
        is_over
    }
}

impl Future for Sweeper {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let turned = self.poll_interval(context);
        let Some(pool) = self.pool.upgrade() else { return Poll::Ready(()) };
        let mut idle = pool.idle();
        idle.round += u64::from(turned);
        let oldest = idle.round.saturating_sub(1);
        idle.lines
            .retain_mut(|(since, line)| *since >= oldest && line.poll_over(context).is_pending());
        if turned && idle.lines.is_empty() {
            return Poll::Ready(());
        }
        idle.sweeper = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.upgrade() {
            pool.idle().sweeper = None;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::network::wire::{NetworkStream, tcp_stream};
    use runnel_store::{Counters, Level};
    use tokio::net::{TcpListener, TcpStream};

    /// An open connection, and its other end.
    async fn line(counters: &Arc<Counters>) -> (ClientConnection, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (other, _) = listener.accept().await.unwrap();
        (ClientConnection::new(NetworkStream::Left(stream), counters.clone()), other)
    }

    async fn until_open(counters: &Counters, count: u64) {
        while counters.level(Level::Open) != count {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    #[tokio::test]
    async fn the_last_one_comes_first_and_old_ones_are_closed() {
        let counters = Counters::of("http", "a pool");
        let pool = IdleConnections::new(3);
        let mut others = Vec::new();
        for _ in 0..4 {
            let (line, other) = line(&counters).await;
            pool.put(line);
            // Dropping the other end would close the connection.
            others.push(other);
        }
        // Beyond the capacity of the pool.
        assert_eq!(counters.level(Level::Open), 3);
        let mut context = Context::from_waker(Waker::noop());
        let mut last = pool.take(&mut context).unwrap();
        assert_eq!(tcp_stream(&last.wire()).local_addr().unwrap(), others[2].peer_addr().unwrap());
        // The sweep after the next one finds those that stayed.
        pool.idle().round += 2;
        pool.put(last);
        let sweeper = pool.idle().sweeper.clone().unwrap();
        sweeper.wake();
        until_open(&counters, 1).await;
        let mut last = pool.take(&mut context).unwrap();
        assert_eq!(tcp_stream(&last.wire()).local_addr().unwrap(), others[2].peer_addr().unwrap());
        assert!(pool.take(&mut context).is_none());
        pool.put(last);
        drop(pool);
        until_open(&counters, 0).await;
    }

    #[tokio::test]
    async fn what_the_other_side_closes_is_not_kept() {
        let counters = Counters::of("http", "a pool that is left");
        let pool = IdleConnections::new(3);
        let (first, other) = line(&counters).await;
        pool.put(first);
        drop(other);
        until_open(&counters, 0).await;
        assert!(pool.take(&mut Context::from_waker(Waker::noop())).is_none());
    }
}
