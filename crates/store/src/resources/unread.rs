//! Content in memory that clients have not read, by client: what a full budget takes back.
//!
//! A client that asks for large responses and reads none would hold the memory of all requests until its write
//! timeout, and every upload would be refused. So a request that lacks memory takes it from here: first content
//! that stalls, then what one client has beyond its share. The lock of each entry decides between its reader and
//! the request, on any thread, so that its bytes are given back once.

use crate::ClientNetwork;
use bytes::Bytes;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

/// Content of which nothing was read for this time is taken back first.
pub(crate) const STALLED: Duration = Duration::from_secs(3);

/// After a search that found nothing, the next one is made after this time: many requests may wait.
const SEARCH_PAUSE: Duration = Duration::from_millis(10);

/// Content that a client still has to read, and its reader.
#[derive(Debug)]
pub(crate) struct UnreadEntry {
    client: ClientNetwork,
    /// Bytes that are charged for it.
    charged: usize,
    state: Mutex<UnreadState>,
}

#[derive(Debug)]
pub(crate) struct UnreadState {
    /// `None` once the memory was given back.
    pub(crate) bytes: Option<Bytes>,
    /// When something of it was read, or it was made.
    pub(crate) progress: Instant,
    /// The task that waits for its client.
    pub(crate) reader: Option<Waker>,
}

impl UnreadEntry {
    pub(crate) fn lock(&self) -> MutexGuard<'_, UnreadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the content and wakes its reader. Returns the charged bytes, to one caller.
    pub(crate) fn take_back(&self) -> usize {
        let mut state = self.lock();
        let (bytes, reader) = (state.bytes.take(), state.reader.take());
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
        bytes.map_or(0, |_| self.charged)
    }
}

/// All unread content of a budget.
#[derive(Debug)]
pub(crate) struct UnreadList(Mutex<NumberedEntries>);

#[derive(Debug)]
struct NumberedEntries {
    entries: BTreeMap<u64, Arc<UnreadEntry>>,
    next: u64,
    /// When the last search found nothing.
    in_vain: Option<Instant>,
}

/// The unread content of one client, in the order of progress: the longest unread last.
#[derive(Default)]
struct ClientContents {
    charged: usize,
    contents: Vec<(Instant, u64, Arc<UnreadEntry>)>,
}

impl UnreadList {
    pub(crate) const fn new() -> UnreadList {
        UnreadList(Mutex::new(NumberedEntries { entries: BTreeMap::new(), next: 0, in_vain: None }))
    }

    fn lock(&self) -> MutexGuard<'_, NumberedEntries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds content. Returns its number.
    pub(crate) fn add(&self, bytes: Bytes, client: ClientNetwork) -> (u64, Arc<UnreadEntry>) {
        let charged = bytes.len();
        let state = UnreadState { bytes: Some(bytes), progress: Instant::now(), reader: None };
        let entry = Arc::new(UnreadEntry { client, charged, state: Mutex::new(state) });
        let mut list = self.lock();
        let number = list.next;
        list.next += 1;
        list.entries.insert(number, entry.clone());
        (number, entry)
    }

    pub(crate) fn remove(&self, number: u64) {
        let removed = self.lock().entries.remove(&number);
        drop(removed);
    }

    /// Takes back at least `wanted` bytes, if the rules allow it: of the client that has most, the content that
    /// is unread for longest. Content that stalls goes first; then that of a client with several contents and
    /// more than `share` bytes, although it reads. Returns the bytes that were charged for it.
    pub(crate) fn take_back(&self, wanted: usize, share: usize, now: Instant) -> usize {
        let mut list = self.lock();
        if list.in_vain.is_some_and(|last| now.saturating_duration_since(last) < SEARCH_PAUSE) {
            return 0;
        }
        let mut clients: HashMap<ClientNetwork, ClientContents> = HashMap::new();
        for (number, entry) in &list.entries {
            // Content that is locked is being read.
            let Ok(state) = entry.state.try_lock() else { continue };
            let client = clients.entry(entry.client).or_default();
            client.charged += entry.charged;
            client.contents.push((state.progress, *number, entry.clone()));
        }
        let mut clients: Vec<ClientContents> = clients.into_values().collect();
        for client in &mut clients {
            client.contents.sort_unstable_by_key(|one| Reverse((one.0, one.1)));
        }
        let stalls = |client: &ClientContents| {
            let oldest = client.contents.last();
            oldest.is_some_and(|(progress, ..)| now.saturating_duration_since(*progress) >= STALLED)
        };
        let exceeds = |client: &ClientContents| client.charged > share && client.contents.len() > 1;
        let mut freed = 0;
        let rules: [&dyn Fn(&ClientContents) -> bool; 2] = [&stalls, &exceeds];
        for may in rules {
            let sizes = clients.iter().enumerate().map(|(index, client)| (client.charged, index));
            let mut largest: BinaryHeap<(usize, usize)> = sizes.collect();
            while freed < wanted
                && let Some((_, index)) = largest.pop()
            {
                let client = &mut clients[index];
                if !may(client) {
                    continue;
                }
                let Some((_, number, entry)) = client.contents.pop() else { continue };
                list.entries.remove(&number);
                client.charged -= entry.charged;
                freed += entry.take_back();
                largest.push((client.charged, index));
            }
        }
        list.in_vain = (freed == 0).then_some(now);
        freed
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn client(last: u8) -> ClientNetwork {
        ClientNetwork::of(Some([10, 0, 0, last].into()))
    }

    fn add(list: &UnreadList, of: u8, size: usize) -> Arc<UnreadEntry> {
        list.add(Bytes::from(vec![0; size]), client(of)).1
    }

    fn has(entry: &UnreadEntry) -> bool {
        entry.lock().bytes.is_some()
    }

    fn read_at(entry: &UnreadEntry, moment: Instant) {
        entry.lock().progress = moment;
    }

    #[test]
    fn the_longest_unread_of_the_client_that_has_most_is_taken_back_first() {
        let (list, now) = (UnreadList::new(), Instant::now());
        let few = add(&list, 1, 15);
        let many = [1, 0, 2].map(|age| {
            let entry = add(&list, 2, 10);
            read_at(&entry, now + Duration::from_millis(age));
            entry
        });
        read_at(&few, now);
        let now = now + STALLED + Duration::from_millis(2);
        let state = || [&few, &many[0], &many[1], &many[2]].map(|one| has(one));
        assert_eq!(list.take_back(1, 1000, now), 10);
        assert_eq!(state(), [true, true, false, true]);
        assert_eq!(list.take_back(11, 1000, now), 25);
        assert_eq!(state(), [false, false, false, true]);
        assert_eq!(list.take_back(1000, 1000, now), 10);
        assert_eq!(list.take_back(1000, 1000, now), 0);
    }

    #[test]
    fn content_that_is_read_stays_unless_its_client_has_more_than_its_share() {
        let (list, now) = (UnreadList::new(), Instant::now());
        let (first, second, alone) = (add(&list, 1, 30), add(&list, 1, 30), add(&list, 2, 90));
        for (entry, age) in [(&second, 1), (&first, 2), (&alone, 3)] {
            read_at(entry, now + Duration::from_millis(age));
        }
        let now = now + Duration::from_millis(4);
        assert_eq!(list.take_back(1, 60, now), 0);
        let now = now + SEARCH_PAUSE;
        assert_eq!(list.take_back(1000, 50, now), 30);
        assert_eq!([&first, &second, &alone].map(|one| has(one)), [true, false, true]);
        // Content without a reader goes before content that is read.
        read_at(&alone, now.checked_sub(STALLED).unwrap());
        let third = add(&list, 1, 30);
        assert_eq!(list.take_back(1, 50, now), 90);
        assert_eq!([&first, &third, &alone].map(|one| has(one)), [true, true, false]);
    }
}
