//! Inserting many records: read from the program's objects batch by batch, straight from the
//! engine's tables, while the store works on the batch before.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::natives::stores::{any_store, inner_call, reference, reference_at, with_granted};
use crate::streams::progress::{MeteredStream, ProgressLine};
use crate::values::columns::{Column, ColumnRecords};
use crate::values::records::RecordReader;
use runnel_store::{
    Answer, Body, Content, Error, Form, Kind, Lazy, RECORDS_BATCH, Records, Reference, Store,
    Value, Verb,
};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

pub(crate) const NATIVES: [(&str, Native); 9] = [
    ("insertBegin", begin),
    ("insertFields", fields),
    ("insertBatch", batch),
    ("insertCells", cells),
    ("insertEnd", end),
    ("insertAbort", abort),
    ("insertColumns", columns),
    ("postFrom", post_from),
    ("postRows", post_rows),
];

/// Batches that wait for the store; a producer that is ahead of it waits.
const WAITING: usize = 1;

/// Batches on their way from the program to the store.
#[derive(Default)]
struct BatchQueue {
    batches: VecDeque<Vec<Value>>,
    ended: bool,
    store: Option<Waker>,
}

/// The end of the queue that the store reads.
struct BatchFeed {
    fields: Rc<[String]>,
    queue: Rc<RefCell<BatchQueue>>,
    expected: Option<u64>,
}

impl Records for BatchFeed {
    fn fields(&self) -> Rc<[String]> {
        self.fields.clone()
    }

    fn next(&mut self) -> Answer<Option<Vec<Value>>> {
        let queue = self.queue.clone();
        let take = move |waker: Option<&Waker>| {
            let mut queue = queue.borrow_mut();
            match queue.batches.pop_front() {
                Some(batch) => Poll::Ready(Ok(Some(batch))),
                None if queue.ended => Poll::Ready(Ok(None)),
                None => {
                    queue.store = waker.cloned();
                    Poll::Pending
                }
            }
        };
        match take(None) {
            Poll::Ready(result) => Answer::Ready(result),
            Poll::Pending => {
                Answer::later(std::future::poll_fn(move |context| take(Some(context.waker()))))
            }
        }
    }

    fn expected(&self) -> Option<u64> {
        self.expected
    }
}

type InsertionWork = Pin<Box<dyn Future<Output = Result<u64, Error>>>>;

/// An insertion under way, in the hands of the program.
struct Insertion {
    reader: RecordReader,
    queue: Rc<RefCell<BatchQueue>>,
    progress: RefCell<ProgressLine>,
    /// The store's work; gone when it has ended.
    outcome: RefCell<Option<InsertionWork>>,
}

impl Insertion {
    /// Lets the store work until it has room for the next batch; an early end is an error.
    fn poll_room(&self, context: &mut Context<'_>) -> Poll<Result<Given, Error>> {
        let mut outcome = self.outcome.borrow_mut();
        let Some(work) = outcome.as_mut() else { return Poll::Ready(Err(over())) };
        match work.as_mut().poll(context) {
            Poll::Ready(Err(error)) => {
                *outcome = None;
                Poll::Ready(Err(error))
            }
            Poll::Ready(Ok(_)) => {
                *outcome = None;
                let message = "the store ended the insertion before all records were there";
                Poll::Ready(Err(Error::new(Kind::Failed, message)))
            }
            Poll::Pending if self.queue.borrow().batches.len() < WAITING => {
                Poll::Ready(Ok(Given::Nil))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

fn over() -> Error {
    Error::new(Kind::Failed, "this insertion has ended already")
}

/// `(store, path, scheme or nil, array whose first element shows the fields, fields of the class or
/// nil, key or nil, number of records or nil, what the program has set in those of a client or nil)`
fn begin(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let to = reference_at(arguments, 2, 3);
    let key = (!arguments.is_nil(6)).then(|| arguments.text(6));
    let known = match attempt!(arguments.value(isolate, 5)) {
        Value::List(names) => {
            Some(names.iter().filter_map(Value::as_str).map(String::from).collect())
        }
        _ => None,
    };
    let reader = attempt!(RecordReader::new(isolate, arguments.0, 4, known, key));
    let expected = (!arguments.is_nil(7)).then(|| arguments.number(7) as u64);
    let queue = Rc::new(RefCell::new(BatchQueue::default()));
    let feed = BatchFeed { fields: reader.fields(), queue: queue.clone(), expected };
    let from_client = match attempt!(arguments.value(isolate, 8)) {
        Value::List(names) => Some(with_granted(names)),
        _ => None,
    };
    let call = runnel_store::Context { from_client, ..inner_call(isolate) };
    let tables = attempt!(store.tables_for(Verb::Post, &to));
    let outcome = later(tables.insert(&to, Box::new(feed), &call));
    Reply::Now(Given::Native(Rc::new(Insertion {
        reader,
        queue,
        progress: RefCell::new(ProgressLine::new(isolate, expected)),
        outcome: RefCell::new(Some(outcome)),
    })))
}

/// An answer as a future that may be polled again and again until it is ready.
fn later(answer: Answer<u64>) -> InsertionWork {
    match answer {
        Answer::Ready(result) => Box::pin(std::future::ready(result)),
        Answer::Later(future) => future,
    }
}

/// `(insertion)`: the fields of its records, and the key where it is left out.
fn fields(_: &Isolate, arguments: Arguments) -> Reply {
    let insertion = attempt!(arguments.held::<Insertion>("an insertion"));
    let reader = &insertion.reader;
    let names = reader.fields().iter().cloned().map(Value::Text).collect();
    let left_out = reader.left_out().map_or(Value::Nil, Value::from);
    Reply::Now(Given::Value(Value::List(vec![Value::List(names), left_out])))
}

/// `(insertion, array, number, number before)`: the first elements of the array, at most a batch, and
/// how many records came before them.
fn batch(isolate: &Isolate, arguments: Arguments) -> Reply {
    let insertion = attempt!(arguments.held::<Insertion>("an insertion"));
    let (count, before) = (arguments.number(3) as usize, arguments.number(4) as usize);
    let values = attempt!(insertion.reader.read(isolate, arguments.0, 2, count, before));
    deliver(insertion, values, count)
}

/// `(insertion, address, count)`: appends records from cells.
fn cells(_: &Isolate, arguments: Arguments) -> Reply {
    let insertion = attempt!(arguments.held::<Insertion>("an insertion"));
    let count = arguments.number(3) as usize;
    let width = insertion.reader.fields().len();
    let values = crate::values::cells::values(arguments.0, 2, count * width);
    deliver(insertion, values, count)
}

/// Queues a batch for the store.
fn deliver(insertion: Rc<Insertion>, values: Vec<Value>, records: usize) -> Reply {
    insertion.progress.borrow_mut().add(records as u64);
    {
        let mut queue = insertion.queue.borrow_mut();
        queue.batches.push_back(values);
        if let Some(waker) = queue.store.take() {
            waker.wake();
        }
    }
    // Usually the store takes it at once, and the next batch can be made while it works.
    let mut nobody = Context::from_waker(Waker::noop());
    match insertion.poll_room(&mut nobody) {
        Poll::Ready(Ok(given)) => Reply::Now(given),
        Poll::Ready(Err(error)) => Reply::Failed(error),
        Poll::Pending => {
            Reply::later(std::future::poll_fn(move |context| insertion.poll_room(context)))
        }
    }
}

/// `(insertion)`: there are no more records; answers how many were inserted.
fn end(_: &Isolate, arguments: Arguments) -> Reply {
    let insertion = attempt!(arguments.held::<Insertion>("an insertion"));
    {
        let mut queue = insertion.queue.borrow_mut();
        queue.ended = true;
        if let Some(waker) = queue.store.take() {
            waker.wake();
        }
    }
    let outcome = attempt!(insertion.outcome.take().ok_or_else(over));
    Reply::later(async move {
        let count = outcome.await;
        insertion.progress.borrow_mut().end();
        count.map(|count| Given::Number(count as f64))
    })
}

/// `(insertion)`: gives it up; nothing of it stays.
fn abort(_: &Isolate, arguments: Arguments) -> Reply {
    let insertion = attempt!(arguments.held::<Insertion>("an insertion"));
    insertion.progress.borrow_mut().end();
    drop(insertion.outcome.take());
    Reply::Now(Given::Nil)
}

/// `(store, path, scheme or nil, names, number of records, then for each name a column)`: a column
/// is an array of first number and step, with `true` before them; or `false` before the values.
fn columns(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let to = reference_at(arguments, 2, 3);
    let names = match attempt!(arguments.value(isolate, 4)) {
        Value::List(names) => names,
        _ => Vec::new(),
    };
    let fields: Vec<String> = names.iter().filter_map(Value::as_str).map(str::to_string).collect();
    let count = arguments.number(5) as u64;
    let mut list = Vec::new();
    for (at, name) in (6..).zip(&fields) {
        let column = match attempt!(arguments.value(isolate, at)) {
            Value::List(parts) => Column::from_parts(parts),
            _ => None,
        };
        let wrong = || Error::new(Kind::Invalid, format!("the column {name} has no values"));
        list.push(attempt!(column.ok_or_else(wrong)));
    }
    let progress = ProgressLine::new(isolate, Some(count));
    let records = ColumnRecords::new(fields, list, count, RECORDS_BATCH, progress);
    let tables = attempt!(store.tables_for(Verb::Post, &to));
    let answer = tables.insert(&to, Box::new(records), &inner_call(isolate));
    Reply::answer(answer, |count| Given::Number(count as f64))
}

/// `(store to, its path, its scheme or nil, store from, its path, its scheme or nil, media type or
/// nil, query of where it goes or nil)`: posts what is at a reference to a collection, without
/// reading it into memory where it is a stream.
fn post_from(isolate: &Isolate, arguments: Arguments) -> Reply {
    let to = attempt!(any_store(isolate, arguments, 1));
    let mut target = reference_at(arguments, 2, 3);
    if !arguments.is_nil(8) {
        target = target.with_query(arguments.text(8));
    }
    let from = attempt!(any_store(isolate, arguments, 4));
    let source = reference_at(arguments, 5, 6);
    let media_type = (!arguments.is_nil(7)).then(|| arguments.text(7));
    let call = inner_call(isolate);
    let progress = ProgressLine::new(isolate, None);
    let content = from.get(&source, &call);
    Reply::later(async move {
        let missing = || Error::new(Kind::NotFound, format!("there is nothing at {source}"));
        let mut content = content.await?.ok_or_else(missing)?;
        if let Some(media_type) = media_type {
            content.media_type = Some(media_type.into());
        }
        if let Body::Stream(stream, length) = content.body {
            content.body =
                Body::Stream(Box::pin(MeteredStream::new(stream, length, progress)), length);
        }
        post(to, target, content, call).await
    })
}

/// `(store, path, query or nil, scheme or nil, rows)`: posts the rows of another query, as a stream
/// of JSON.
fn post_rows(isolate: &Isolate, arguments: Arguments) -> Reply {
    let to = attempt!(any_store(isolate, arguments, 1));
    let target = reference(arguments);
    let Some(lazy) = crate::natives::stores::lazy(arguments, 5) else {
        return Reply::Failed(Error::new(Kind::Invalid, "rows are expected here"));
    };
    let call = inner_call(isolate);
    Reply::later(async move {
        let content = encoded(lazy).await?.with_media_type("application/json");
        post(to, target, content, call).await
    })
}

async fn encoded(lazy: Rc<dyn Lazy>) -> Result<Content, Error> {
    if let Some(stream) = lazy.stream(Form::Json) {
        return Ok(Content { body: Body::Stream(stream, None), ..Content::default() });
    }
    lazy.encode(Form::Json).await.map(Content::bytes)
}

async fn post(
    to: Rc<dyn Store>,
    target: Reference,
    content: Content,
    call: runnel_store::Context,
) -> Result<Given, Error> {
    let posted = to.post(&target, content, &call).await?;
    Ok(Given::Content(posted.content))
}
