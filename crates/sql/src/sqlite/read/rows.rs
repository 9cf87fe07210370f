//! The rows of a statement as lazy content: the statement runs when they are encoded.

use crate::sqlite::read::answer_cache::CachedAnswer;
use crate::sqlite::read::encode::{SizeWatch, encode};
use crate::sqlite::read::pool::CHUNK;
use crate::sqlite::read::reader::{DatabaseVersion, SqliteReader};
use crate::sqlite::read::select::SqliteSelect;
use bytes::Bytes;
use runnel_store::{Answer, Body, ByteStream, Content, Context, Form, Lazy, Value};
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// The rows of a statement, as of the moment they were asked for or of a later one, but never
/// older than a write that was answered before they are encoded.
pub(crate) struct LazyRows {
    reader: Rc<SqliteReader>,
    select: Arc<SqliteSelect>,
    deadline: Option<Instant>,
    held: RefCell<Option<EncodedRows>>,
}

/// An encoding at hand.
struct EncodedRows {
    /// The process's own writes that it knows of.
    generation: u64,
    form: Form,
    bytes: Bytes,
}

impl LazyRows {
    /// The rows as content, at a version that is current: with a validator where the
    /// answer has one, and empty when the caller has it already.
    pub(crate) fn content(
        reader: &Rc<SqliteReader>,
        stamp: DatabaseVersion,
        select: Arc<SqliteSelect>,
        context: &Context,
    ) -> Content {
        select.place.set(context.place);
        let tag = select.steady.then(|| reader.tag(stamp, &select));
        if let (Some(known), Some(tag)) = (&context.known, &tag)
            && known.text == tag.text
        {
            return Content { entity_tag: Some(known.clone()), ..Content::default() };
        }
        let held = match reader.cached(stamp, &select) {
            Some(CachedAnswer::Json(bytes)) => {
                Some(EncodedRows { generation: stamp.generation, form: Form::Json, bytes })
            }
            _ => None,
        };
        let rows = LazyRows {
            reader: reader.clone(),
            select,
            deadline: context.deadline,
            held: RefCell::new(held),
        };
        Content { body: Body::Lazy(Rc::new(rows)), entity_tag: tag, ..Content::default() }
    }

    /// The encoding at hand, when it is of this form and no write of this process came since.
    fn encoded(&self, form: Form) -> Option<Bytes> {
        let held = self.held.borrow();
        let held = held.as_ref()?;
        let same = held.form == form || (held.form != Form::Csv && form != Form::Csv);
        (same && held.generation == self.reader.shared.generation()).then(|| held.bytes.clone())
    }
}

impl Lazy for LazyRows {
    fn encode(&self, form: Form) -> Answer<Bytes> {
        match self.encoded(form) {
            Some(bytes) => Answer::ok(bytes),
            None => self.reader.encode(&self.select, form, self.deadline),
        }
    }

    /// A stream when the result takes longer or is larger than a worker may answer at once.
    /// Otherwise the result is there now, and the next [`Lazy::encode`] answers it.
    fn stream(&self, form: Form) -> Option<ByteStream> {
        if self.encoded(form).is_some() {
            return None;
        }
        let generation = self.reader.shared.generation();
        match self.reader.encode(&self.select, form, self.deadline) {
            Answer::Ready(Ok(bytes)) => {
                *self.held.borrow_mut() = Some(EncodedRows { generation, form, bytes });
                None
            }
            // Encoding says again what is wrong.
            Answer::Ready(Err(_)) => None,
            Answer::Later(_) => {
                let select = self.select.clone();
                let pool = self.reader.shared.pool.clone();
                Some(pool.stream(self.deadline, move |connection, pass| {
                    let mut tell = |out: &mut Vec<u8>| {
                        pass(std::mem::replace(out, Vec::with_capacity(CHUNK * 2)).into())
                    };
                    let watch = SizeWatch { from: CHUNK, tell: &mut tell };
                    let rest = encode(connection, &select, form, watch)?;
                    if rest.is_empty() { Ok(()) } else { pass(rest.into()) }
                }))
            }
        }
    }

    fn value(&self) -> Answer<Value> {
        self.reader.records(&self.select, self.deadline)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
