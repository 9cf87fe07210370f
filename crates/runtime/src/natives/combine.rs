//! Making native stores and combinators.

use super::stores::{any_store, attempt};
use crate::combined::{Combined, Controls};
use crate::isolate::Isolate;
use crate::native::{Arguments, Given, Native, Reply};
use runnel_store::{
    Cache, Error, Json, Kind, Memory, ReadOnly, Reference, Relative, Route, Sequence, Store, Value,
    draw_graph,
};
use std::os::raw::c_int;
use std::rc::Rc;

pub(crate) const NATIVES: [(&str, Native); 5] = [
    ("memory", memory),
    ("relative", relative),
    ("combine", combine),
    ("invalidate", invalidate),
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

/// The options of a combinator, as the kernel has checked them.
struct Options(Vec<(String, Value)>);

impl Options {
    fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).and_then(Value::as_bool)
    }

    fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// What a combinator is made of.
struct Parts {
    options: Options,
    sources: Vec<Rc<dyn Store>>,
    names: Vec<String>,
}

impl Parts {
    fn source(&self) -> Result<Rc<dyn Store>, Error> {
        let missing = || Error::new(Kind::Invalid, "a combinator needs a source");
        self.sources.first().cloned().ok_or_else(missing)
    }

    fn named(&self, name: &str) -> Option<Rc<dyn Store>> {
        let at = self.names.iter().position(|known| known == name)?;
        self.sources.get(at).cloned()
    }
}

/// `(handle or nil, kind, options, sources, their names)`: a combinator, or what the one of
/// a handle is from now on.
fn combine(isolate: &Isolate, arguments: Arguments) -> Reply {
    let kind = arguments.text(2);
    let options = match attempt!(arguments.value(isolate, 3)) {
        Value::Record(options) => Options(options),
        _ => Options(Vec::new()),
    };
    let sources = attempt!(stores(isolate, arguments, 4));
    let Value::List(names) = attempt!(arguments.value(isolate, 5)) else {
        return Reply::Failed(Error::new(Kind::Invalid, "the names of stores are expected here"));
    };
    let text = |name| match name {
        Value::Text(name) => Some(name),
        _ => None,
    };
    let names = names.into_iter().filter_map(text).collect();
    let parts = Parts { options, sources, names };
    let made = attempt!(make(&kind, &parts));
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

fn make(kind: &str, parts: &Parts) -> Result<Controls, Error> {
    let options = &parts.options;
    if kind == "cache" {
        return Ok(cache(parts.source()?, parts));
    }
    let made: Rc<dyn Store> = match kind {
        "pass" => parts.source()?,
        "relative" => {
            let base = options.text("base").unwrap_or_default();
            let mut base = Reference::from_path(base.to_string());
            if let Some(scheme) = options.text("baseScheme") {
                base = base.with_scheme(scheme.to_string());
            }
            Rc::new(Relative::new(parts.source()?, base))
        }
        "sequence" => Rc::new(Sequence::new(parts.sources.clone())),
        "route" => Rc::new(route(parts)),
        "readOnly" => Rc::new(ReadOnly::new(parts.source()?)),
        "json" => Rc::new(json(parts.source()?, options)),
        _ => return Err(Error::new(Kind::Invalid, format!("there is no combinator `{kind}`"))),
    };
    Ok(Controls::plain(made))
}

/// What is written to a cache whose source is only read stays in the cache, above the source.
fn cache(source: Rc<dyn Store>, parts: &Parts) -> Controls {
    let kept = parts.named("cache").unwrap_or_else(|| Rc::new(Memory::site()));
    let cache = Rc::new(Cache::new(kept.clone(), source));
    let read_only = parts.options.flag("readOnlySource").unwrap_or(false);
    let store: Rc<dyn Store> = match read_only {
        true => Rc::new(Sequence::new(vec![kept, cache.clone()])),
        false => cache.clone(),
    };
    Controls { cache: Some(cache), ..Controls::plain(store) }
}

fn route(parts: &Parts) -> Route {
    let route = Route::by_segment();
    for (name, store) in parts.names.iter().zip(&parts.sources) {
        route.mount(name, store.clone());
    }
    // A store more than there are names takes what no name fits.
    if let Some(otherwise) = parts.sources.get(parts.names.len()) {
        route.otherwise(otherwise.clone());
    }
    route
}

fn json(source: Rc<dyn Store>, options: &Options) -> Json {
    let up = options.flag("up").unwrap_or(true);
    let converter = if up { Json::up(source) } else { Json::down(source) };
    let class = options.text("class").or_else(|| options.text("converterClass"));
    match class {
        Some(class) => converter.with_class(class),
        None => converter,
    }
}

/// `(handle, path)`: a cache forgets a path and everything above it.
fn invalidate(_: &Isolate, arguments: Arguments) -> Reply {
    let handle = attempt!(arguments.store(1));
    let Some(cache) = combined(&handle).and_then(Combined::cache) else {
        return Reply::Failed(Error::new(Kind::Invalid, "a cache is expected here"));
    };
    let forgotten = cache.invalidate(&Reference::from_path(arguments.text(2)));
    let give: fn(()) -> Given = |()| Given::Nil;
    Reply::from((forgotten, give))
}

/// `(store)`: what it is made of, as a tree of text.
fn draw(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    Reply::Now(Given::Text(draw_graph(&*store)))
}
