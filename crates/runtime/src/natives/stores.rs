//! The verbs on native stores.

use crate::isolate::Isolate;
use crate::native::{Arguments, Given, Native, Reply};
use crate::raw::Type;
use crate::script_store::ScriptStore;
use runnel_store::{
    Answer, Body, Content, Context as Call, Error, Field, FieldType, Kind, Reference, Shape, Store,
    Value,
};
use std::os::raw::c_int;
use std::rc::Rc;

/// Bytes of a stream that a program reads into memory at once.
const LARGEST_READ: usize = 64 * 1024 * 1024;

pub(crate) const NATIVES: [(&str, Native); 10] = [
    ("get", get),
    ("put", put),
    ("post", post),
    ("merge", merge),
    ("delete", delete),
    ("list", list),
    ("define", define),
    ("lazyValue", lazy_value),
    ("lazyText", lazy_text),
    ("describe", describe),
];

/// A store from an argument: a native one, or an object of the program seen as one.
pub(super) fn any_store(
    isolate: &Isolate,
    arguments: Arguments,
    at: c_int,
) -> Result<Rc<dyn Store>, Error> {
    if let Ok(store) = arguments.store(at) {
        return Ok(store);
    }
    let stack = arguments.0;
    if stack.kind(at) != Type::Table {
        return Err(Error::new(Kind::Invalid, "a store is expected here"));
    }
    stack.push_copy(at);
    Ok(ScriptStore::of_top(isolate, stack, "scheme of the program".into()))
}

/// `(store, path, query or nil, scheme or nil)`
pub(super) fn reference(arguments: Arguments) -> Reference {
    let path = arguments.text(2);
    let mut reference = Reference::from_path(path);
    if !arguments.is_nil(3) {
        reference = reference.with_query(arguments.text(3));
    }
    if !arguments.is_nil(4) {
        reference = reference.with_scheme(arguments.text(4));
    }
    reference
}

/// Called from a program, not as part of serving a request's own verb: the known validator of the
/// client is not the program's.
pub(super) fn inner_call(isolate: &Isolate) -> Call {
    Call { known: None, ..isolate.call() }
}

macro_rules! attempt {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Reply::Failed(error),
        }
    };
}
pub(super) use attempt;

async fn whole(content: Option<Content>) -> Result<Given, Error> {
    let Some(mut content) = content else { return Ok(Given::Nil) };
    if matches!(content.body, Body::Stream(..)) {
        let body = std::mem::take(&mut content.body);
        let bytes = Content { body, ..Content::default() }.read(LARGEST_READ).await?;
        content.body = Body::Bytes(bytes);
    }
    Ok(Given::Content(Some(content)))
}

/// Content for the program: a stream is read to its end first.
pub(super) fn given(answer: Answer<Option<Content>>) -> Reply {
    match answer {
        Answer::Ready(Ok(Some(content))) if matches!(content.body, Body::Stream(..)) => {
            Reply::later(whole(Some(content)))
        }
        Answer::Ready(Ok(content)) => Reply::Now(Given::Content(content)),
        Answer::Ready(Err(error)) => Reply::Failed(error),
        Answer::Later(future) => Reply::later(async move { whole(future.await?).await }),
    }
}

fn get(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    given(store.get(&reference(arguments), &inner_call(isolate)))
}

fn put(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let content = arguments.content(isolate, 5);
    let answer = store.put(&reference(arguments), content, &inner_call(isolate));
    Reply::from((answer, Given::Boolean as fn(bool) -> Given))
}

fn post(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let content = arguments.content(isolate, 5);
    let answer = store.post(&reference(arguments), content, &inner_call(isolate));
    given(answer.map(|posted| posted.content))
}

fn merge(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let content = arguments.content(isolate, 5);
    let answer = store.merge(&reference(arguments), content, &inner_call(isolate));
    Reply::from((answer, (|()| Given::Nil) as fn(()) -> Given))
}

fn delete(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let answer = store.delete(&reference(arguments), &inner_call(isolate));
    Reply::from((answer, Given::Boolean as fn(bool) -> Given))
}

fn list(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let answer = store.list(&reference(arguments), &inner_call(isolate)).map(|entries| {
        entries.map_or(Given::Nil, |entries| {
            let name = |entry: runnel_store::Entry| match entry.collection {
                true => format!("{}/", entry.name),
                false => entry.name,
            };
            Given::Names(entries.into_iter().map(name).collect())
        })
    });
    Reply::from((answer, (|given| given) as fn(Given) -> Given))
}

/// `(store, path, shape as a dictionary of name and type, class name)`
fn define(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let fields = match attempt!(arguments.value(isolate, 3)) {
        Value::Record(fields) => fields,
        _ => return Reply::Failed(Error::new(Kind::Invalid, "a class is expected here")),
    };
    let fields = fields
        .into_iter()
        .map(|(name, kind)| match kind {
            Value::Text(kind) => Field::new(name, field_type(&kind)),
            _ => Field::new(name, FieldType::Any),
        })
        .collect();
    let shape = Shape::new(arguments.text(4), fields);
    let answer = store.define(&Reference::from_path(arguments.text(2)), &shape);
    Reply::from((answer, Given::Store as fn(Rc<dyn Store>) -> Given))
}

fn field_type(name: &str) -> FieldType {
    match name.to_ascii_lowercase().as_str() {
        "int" | "integer" | "long" | "nsinteger" => FieldType::Int,
        "float" | "double" | "number" => FieldType::Float,
        "bool" | "boolean" => FieldType::Bool,
        "string" | "text" | "nsstring" => FieldType::Text,
        "data" | "bytes" | "nsdata" => FieldType::Bytes,
        "decimal" | "nsdecimalnumber" => FieldType::Decimal,
        "date" | "time" | "nsdate" => FieldType::Date,
        _ => FieldType::Any,
    }
}

fn lazy(arguments: Arguments) -> Result<Rc<dyn runnel_store::Lazy>, Error> {
    arguments
        .native(1)
        .and_then(|native| {
            native.downcast_ref::<crate::value::NativeLazy>().map(|one| one.0.clone())
        })
        .ok_or_else(|| Error::new(Kind::Invalid, "lazy content is expected here"))
}

fn lazy_value(_: &Isolate, arguments: Arguments) -> Reply {
    let lazy = attempt!(lazy(arguments));
    Reply::from((lazy.value(), Given::Value as fn(Value) -> Given))
}

fn lazy_text(_: &Isolate, arguments: Arguments) -> Reply {
    let lazy = attempt!(lazy(arguments));
    let answer = lazy.encode(runnel_store::Form::Json);
    Reply::from((answer, Given::Bytes as fn(bytes::Bytes) -> Given))
}

fn describe(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    Reply::Now(Given::Text(store.describe()))
}
