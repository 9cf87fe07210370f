//! What the connections of one thread share, because only one of them works at a time. So a
//! connection that waits has next to no memory of its own, and a busy one finds warm memory.

use bytes::{Bytes, BytesMut};
use hyper::header::HeaderMap;
use std::cell::{Cell, RefCell, RefMut};
use std::time::{Duration, Instant, SystemTime};

/// The longest piece that is read from a client at a time, in bytes.
const INPUT: usize = 64 * 1024;
/// The most memory that is kept for output, in bytes.
const OUTPUT: usize = 64 * 1024;
/// How many bytes of memory heads share. A request that waits keeps no more than that from being used
/// again.
const BLOCK: usize = 4 * 1024;
/// Maps of more headers are not kept.
const HEADERS: usize = 128;

/// Memory to work with.
pub(crate) struct SharedBuffers {
    input: RefCell<Box<[u8]>>,
    output: Cell<Vec<u8>>,
    headers: Cell<Option<HeaderMap>>,
    block: RefCell<BytesMut>,
    date: RefCell<Date>,
}

impl Default for SharedBuffers {
    fn default() -> Self {
        SharedBuffers {
            input: RefCell::new(vec![0; INPUT].into()),
            output: Cell::default(),
            headers: Cell::default(),
            block: RefCell::new(BytesMut::with_capacity(BLOCK)),
            date: RefCell::new(Date { line: Bytes::new(), until: None }),
        }
    }
}

impl SharedBuffers {
    /// Where bytes are read before they are looked at.
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

    /// Memory for what is to be written, empty.
    pub(crate) fn take_output(&self) -> Vec<u8> {
        self.output.take()
    }

    /// Takes it back.
    pub(crate) fn give_output(&self, mut output: Vec<u8>) {
        if output.capacity() <= OUTPUT {
            output.clear();
            self.output.set(output);
        }
    }

    /// A map of headers, empty, perhaps with room.
    pub(crate) fn take_headers(&self) -> HeaderMap {
        self.headers.take().unwrap_or_default()
    }

    /// Takes it back.
    pub(crate) fn give_headers(&self, mut headers: HeaderMap) {
        if headers.capacity() <= HEADERS {
            headers.clear();
            self.headers.set(Some(headers));
        }
    }

    /// The field `Date` at this moment, with the end of its line.
    pub(crate) fn with_date<T>(&self, now: Instant, act: impl FnOnce(&[u8]) -> T) -> T {
        let mut date = self.date.borrow_mut();
        if date.until.is_none_or(|until| until <= now) {
            date.renew(now);
        }
        act(&date.line)
    }
}

/// The text of the present second.
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
