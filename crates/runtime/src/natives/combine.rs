//! Making native stores and combinators.

use super::stores::{any_store, attempt};
use crate::isolate::Isolate;
use crate::native::{Arguments, Given, Native, Reply};
use runnel_store::{Error, Json, Kind, Memory, Reference, Relative, Store};
use std::rc::Rc;

pub(crate) const NATIVES: [(&str, Native); 3] =
    [("memory", memory), ("relative", relative), ("jsonConverter", json_converter)];

fn store(store: impl Store + 'static) -> Reply {
    Reply::Now(Given::Store(Rc::new(store)))
}

/// `("dictionary" or "site")`
fn memory(_: &Isolate, arguments: Arguments) -> Reply {
    match arguments.text(1).as_str() {
        "dictionary" => store(Memory::dictionary()),
        "site" => store(Memory::site()),
        kind => Reply::Failed(Error::new(Kind::Invalid, format!("no memory store `{kind}`"))),
    }
}

/// `(store, base path, scheme or nil)`
fn relative(isolate: &Isolate, arguments: Arguments) -> Reply {
    let source = attempt!(any_store(isolate, arguments, 1));
    let mut base = Reference::from_path(arguments.text(2));
    if !arguments.is_nil(3) {
        base = base.with_scheme(arguments.text(3));
    }
    store(Relative::new(source, base))
}

/// `(store, whether what is read becomes JSON, class name or nil)`
fn json_converter(isolate: &Isolate, arguments: Arguments) -> Reply {
    let source = attempt!(any_store(isolate, arguments, 1));
    let mut converter = if arguments.boolean(2) { Json::up(source) } else { Json::down(source) };
    if !arguments.is_nil(3) {
        converter = converter.with_class(arguments.text(3));
    }
    store(converter)
}
