//! Buffers that all connections of a thread share, since they take turns. A waiting
//! connection has next to no memory of its own, and a busy one finds warm memory.

use super::upload_buffers::UploadBuffers;
use bytes::{Bytes, BytesMut};
use hyper::header::HeaderMap;
use std::cell::{Cell, RefCell, RefMut};
use std::time::{Duration, Instant, SystemTime};

/// The largest read from a client, in bytes.
const INPUT: usize = 64 * 1024;
/// The largest output buffer that is kept, in bytes.
const OUTPUT: usize = 64 * 1024;
/// The block of memory that heads share, in bytes. A pending request keeps at most one block alive.
const BLOCK: usize = 4 * 1024;
/// Larger header maps are not kept.
const HEADERS: usize = 128;

/// The buffers.
pub(crate) struct SharedBuffers {
    input: RefCell<Box<[u8]>>,
    output: Cell<Vec<u8>>,
    headers: Cell<Option<HeaderMap>>,
    block: RefCell<BytesMut>,
    date: RefCell<Date>,
    pub(crate) uploads: UploadBuffers,
}

impl Default for SharedBuffers {
    fn default() -> Self {
        SharedBuffers {
            input: RefCell::new(vec![0; INPUT].into()),
            output: Cell::default(),
            headers: Cell::default(),
            block: RefCell::new(BytesMut::with_capacity(BLOCK)),
            date: RefCell::new(Date { line: Bytes::new(), until: None }),
            uploads: UploadBuffers::default(),
        }
    }
}

impl SharedBuffers {
    /// The read buffer.
    pub(crate) fn space(&self) -> RefMut<'_, Box<[u8]>> {
        self.input.borrow_mut()
    }

    /// A copy, usually without an allocation.
    pub(crate) fn copy(&self, bytes: &[u8]) -> Bytes {
        if bytes.len() > BLOCK / 4 {
            return Bytes::copy_from_slice(bytes);
        }
        let mut block = self.block.borrow_mut();
        block.extend_from_slice(bytes);
        block.split().freeze()
    }

    /// An empty output buffer.
    pub(crate) fn take_output(&self) -> Vec<u8> {
        self.output.take()
    }

    /// Returns an output buffer.
    pub(crate) fn give_output(&self, mut output: Vec<u8>) {
        if output.capacity() <= OUTPUT {
            output.clear();
            self.output.set(output);
        }
    }

    /// An empty header map, perhaps with capacity.
    pub(crate) fn take_headers(&self) -> HeaderMap {
        self.headers.take().unwrap_or_default()
    }

    /// Returns a header map.
    pub(crate) fn give_headers(&self, mut headers: HeaderMap) {
        if headers.capacity() <= HEADERS {
            headers.clear();
            self.headers.set(Some(headers));
        }
    }

    /// The `Date` field of this moment, with its line end.
    pub(crate) fn with_date<T>(&self, now: Instant, act: impl FnOnce(&[u8]) -> T) -> T {
        let mut date = self.date.borrow_mut();
        if date.until.is_none_or(|until| until <= now) {
            date.renew(now);
        }
        act(&date.line)
    }
}

/// The text of the current second.
struct Date {
    line: Bytes,
    until: Option<Instant>,
}

impl Date {
    fn renew(&mut self, now: Instant) {
        let time = SystemTime::now();
        let passed = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let rest = Duration::from_secs(1)
            .saturating_sub(Duration::from_nanos(passed.subsec_nanos().into()));
        self.until = now.checked_add(rest);
        self.line = format!("date: {}\r\n", httpdate::fmt_http_date(time)).into();
    }
}
