//! Making native stores and combinators.

use super::stores::any_store;
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::stores::combined::Combined;
use runnel_store::{
    Cache, CombinatorParts, CombinedStore, Error, Kind, Memory, Reference, Relative, Store, Value,
    WriteBack, combinators, draw_graph,
};
use std::os::raw::c_int;
use std::rc::Rc;

pub(crate) const NATIVES: [(&str, Native); 7] = [
    ("memory", memory),
    ("relative", relative),
    ("combine", combine),
    ("checkSetting", check_setting),
    ("invalidate", invalidate),
    ("flushWrites", flush_writes),
    ("drawGraph", draw),
];

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

/// `(handle or nil, kind, options, sources, their names)`: a combinator, or what the one of
/// a handle is from now on.
fn combine(isolate: &Isolate, arguments: Arguments) -> Reply {
    let kind = arguments.text(2);
    let options = attempt!(arguments.value(isolate, 3));
    let sources = attempt!(stores(isolate, arguments, 4));
    let Value::List(names) = attempt!(arguments.value(isolate, 5)) else {
        return Reply::Failed(Error::new(Kind::Invalid, "the names of stores are expected here"));
    };
    let text = |name| match name {
        Value::Text(name) => Some(name),
        _ => None,
    };
    let names = names.into_iter().filter_map(text).collect();
    let parts = CombinatorParts { options, sources, names };
    let made = match kind.split_once(':') {
        Some(("remote", kind)) => {
            isolate.host().remote(kind, &parts.options).map(CombinedStore::plain)
        }
        Some(("made", kind)) => composed(isolate, kind, parts).map(CombinedStore::plain),
        _ => make(&kind, &parts),
    };
    let made = attempt!(made);
    if arguments.is_nil(1) {
        return store(Combined::new(made));
    }
    let handle = attempt!(arguments.store(1));
    match combined(&handle) {
        Some(combined) => combined.replace(made),
        None => return Reply::Failed(Error::new(Kind::Invalid, "a combinator is expected here")),
    }
    Reply::Now(Given::Nil)
}

/// The combinator of a class; `pass` is its source.
fn make(class: &str, parts: &CombinatorParts) -> Result<CombinedStore, Error> {
    if class == "pass" {
        return parts.source().map(CombinedStore::plain);
    }
    match combinators().find(|definition| definition.class == class) {
        Some(definition) => (definition.make)(parts),
        None => Err(Error::new(Kind::Invalid, format!("there is no combinator `{class}`"))),
    }
}

/// `(class, option, value)`: nil, or what the option must be.
fn check_setting(isolate: &Isolate, arguments: Arguments) -> Reply {
    let class = arguments.text(1);
    let value = attempt!(arguments.value(isolate, 3));
    let definition = combinators().find(|definition| definition.class == class);
    let wanted = definition
        .and_then(|definition| definition.settings.check(&arguments.text(2), &value).err());
    Reply::Now(wanted.map_or(Given::Nil, |wanted| Given::Text(wanted.into_owned())))
}

/// What the command makes of other stores. It gets them as they are now, without the handles of the
/// program.
fn composed(isolate: &Isolate, kind: &str, parts: CombinatorParts) -> Result<Rc<dyn Store>, Error> {
    let options = parts.options;
    let sources = parts.sources.into_iter().map(|store| match combined(&store) {
        Some(combined) => combined.store(),
        None => store,
    });
    let named: Vec<_> = parts.names.into_iter().zip(sources).collect();
    isolate.host().composed(kind, &options, &named)
}

fn combined(store: &Rc<dyn Store>) -> Option<&Combined> {
    store.as_any()?.downcast_ref::<Combined>()
}

/// The stores of an array.
fn stores(isolate: &Isolate, arguments: Arguments, at: c_int) -> Result<Vec<Rc<dyn Store>>, Error> {
    let stack = arguments.0;
    let mut stores = Vec::new();
    for position in 1..=stack.length(at) {
        stack.reserve(8);
        stack.get_element(at, position);
        let store = any_store(isolate, arguments, stack.top());
        stack.pop(1);
        stores.push(store?);
    }
    Ok(stores)
}

/// `(handle, path or nil)`: a cache forgets a path, with what is above and below it; or everything.
fn invalidate(_: &Isolate, arguments: Arguments) -> Reply {
    let handle = attempt!(arguments.store(1));
    let Some(cache) = combined(&handle).and_then(Combined::control::<Cache>) else {
        return Reply::Failed(Error::new(Kind::Invalid, "a cache is expected here"));
    };
    let forgotten = match arguments.is_nil(2) {
        true => cache.invalidate_all(),
        false => cache.invalidate(&Reference::from_path(arguments.text(2))),
    };
    Reply::done(forgotten)
}

/// `(handle)`: what a store that writes later has pending is written.
fn flush_writes(_: &Isolate, arguments: Arguments) -> Reply {
    let handle = attempt!(arguments.store(1));
    let Some(store) = combined(&handle).and_then(Combined::control::<WriteBack>) else {
        return Reply::Failed(Error::new(Kind::Invalid, "a store that writes later is expected"));
    };
    Reply::done(store.flush())
}

/// `(store)`: what it is made of, as a tree of text.
fn draw(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    Reply::Now(Given::Text(draw_graph(&*store)))
}
