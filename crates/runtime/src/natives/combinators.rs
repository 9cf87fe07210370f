//! The combinators by name, made of options and sources.

use crate::stores::combined::Controls;
use runnel_store::{
    Cache, Compressed, Contract, ContractClass, ContractField, ContractKind, Csv, Ensure, Error,
    Extension, FieldType, Json, Kind, Limit, LimitOptions, Links, Memory, Merge, Polling, ReadOnly,
    Reference, Relative, Rename, Retry, RetryOptions, Route, Sequence, StaticFiles, StaticOptions,
    Store, TextCodec, Timeout, Value, WriteBack, WriteBackOptions,
};
use std::rc::Rc;
use std::time::Duration;

/// How often a polling store looks when nothing else is said.
const POLLING: Duration = Duration::from_secs(2);
/// How long a source may take when nothing else is said.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The options of a combinator, as the kernel has checked them.
pub(super) struct Options(Vec<(String, Value)>);

impl Options {
    pub(super) fn new(options: Vec<(String, Value)>) -> Self {
        Options(options)
    }

    /// All of them, for who makes the store elsewhere.
    pub(super) fn as_value(&self) -> Value {
        Value::Record(self.0.clone())
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).and_then(Value::as_bool)
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.get(name).and_then(Value::as_f64)
    }

    fn time(&self, name: &str) -> Option<Duration> {
        self.number(name).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
    }

    fn count(&self, name: &str) -> Option<u64> {
        self.number(name).map(|count| count as u64)
    }

    fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// What a combinator is made of.
pub(super) struct Parts {
    pub(super) options: Options,
    pub(super) sources: Vec<Rc<dyn Store>>,
    pub(super) names: Vec<String>,
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

/// The combinator of a kind.
pub(super) fn make(kind: &str, parts: &Parts) -> Result<Controls, Error> {
    let options = &parts.options;
    let made: Rc<dyn Store> = match kind {
        "cache" => return Ok(cache(parts.source()?, parts)),
        "writeBack" => return Ok(write_back(parts.source()?, options)),
        "pass" => parts.source()?,
        "relative" => Rc::new(relative(parts.source()?, options)),
        "sequence" => Rc::new(Sequence::new(parts.sources.clone())),
        "route" => Rc::new(route(parts)),
        "names" => Rc::new(names(parts)?),
        "readOnly" => Rc::new(ReadOnly::new(parts.source()?)),
        "merge" => Rc::new(Merge::new(parts.source()?)),
        "ensure" => Rc::new(Ensure::new(parts.source()?)),
        "extension" => {
            let extension = options.text("extension").unwrap_or_default();
            Rc::new(Extension::new(parts.source()?, extension))
        }
        "json" => Rc::new(json(parts.source()?, options)),
        "csv" => Rc::new(match options.flag("up") {
            Some(false) => Csv::down(parts.source()?),
            _ => Csv::up(parts.source()?),
        }),
        "text" => Rc::new(TextCodec::down(parts.source()?)),
        "gzip" => Rc::new(match options.count("expanded") {
            Some(limit) => Compressed::gzip_up_to(parts.source()?, limit),
            None => Compressed::gzip(parts.source()?),
        }),
        "retry" => retry(parts.source()?, options),
        "timeout" => {
            let time = options.time("after").unwrap_or(TIMEOUT);
            Rc::new(Timeout::new(parts.source()?, time))
        }
        "limit" => Rc::new(limit(parts.source()?, options)),
        "polling" => {
            let every = options.time("every").unwrap_or(POLLING);
            Rc::new(Polling::new(parts.source()?, every))
        }
        "staticFiles" => Rc::new(static_files(parts.source()?, options)?),
        _ => return Err(Error::new(Kind::Invalid, format!("there is no combinator `{kind}`"))),
    };
    Ok(Controls::plain(made))
}

fn relative(source: Rc<dyn Store>, options: &Options) -> Relative {
    let mut base = Reference::from_path(options.text("base").unwrap_or_default().to_string());
    if let Some(scheme) = options.text("baseScheme") {
        base = base.with_scheme(scheme.to_string());
    }
    Relative::new(source, base)
}

/// Pairs of names: each name stands for the option of the same number.
fn names(parts: &Parts) -> Result<runnel_store::Map, Error> {
    let below = |at: usize| parts.options.text(&at.to_string()).unwrap_or_default().to_string();
    let pairs = parts.names.iter().enumerate().map(|(at, above)| (above.clone(), below(at)));
    Ok(Rename::prefixes(parts.source()?, pairs))
}

fn retry(source: Rc<dyn Store>, options: &Options) -> Rc<dyn Store> {
    let usual = RetryOptions::default();
    let asked = RetryOptions {
        times: options.count("times").map_or(usual.times, |times| times.min(1000) as u32),
        first: options.time("first").unwrap_or(usual.first),
        longest: options.time("longest").unwrap_or(usual.longest),
    };
    let retry = Retry::new(source, asked);
    match options.flag("posts") {
        Some(true) => Rc::new(retry.with_posts()),
        _ => Rc::new(retry),
    }
}

fn limit(source: Rc<dyn Store>, options: &Options) -> Limit {
    let usual = LimitOptions::default();
    let count =
        |name| options.count(name).map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    // A rate alone limits no more than the rate.
    let per_second = options.number("perSecond");
    let concurrent =
        count("concurrent").or(if per_second.is_some() { None } else { usual.concurrent });
    let burst = options.count("burst").map_or(usual.burst, |burst| burst.min(1 << 30) as u32);
    let waiting = count("waiting").unwrap_or(usual.waiting);
    Limit::new(source, LimitOptions { per_second, burst, concurrent, waiting })
}

/// What is written to a cache whose source is only read stays in the cache, above the source.
fn cache(source: Rc<dyn Store>, parts: &Parts) -> Controls {
    let kept = parts.named("cache").unwrap_or_else(|| Rc::new(Memory::site()));
    let options = &parts.options;
    let read_only = options.flag("readOnlySource").unwrap_or(false);
    let mut cache = Cache::new(kept, source);
    if read_only {
        // What is written there must not leave for want of room.
        cache = cache.with_size(u64::MAX).with_entries(usize::MAX);
    }
    if let Some(bytes) = options.count("size") {
        cache = cache.with_size(bytes);
    }
    if let Some(entries) = options.count("entries") {
        cache = cache.with_entries(usize::try_from(entries).unwrap_or(usize::MAX));
    }
    if let Some(age) = options.time("age") {
        cache = cache.with_age(age);
    }
    if options.flag("writeThrough") == Some(true) {
        cache = cache.write_through();
    }
    if options.flag("watching") == Some(true) {
        cache = cache.watching();
    }
    let cache = Rc::new(cache);
    let store: Rc<dyn Store> = match (read_only, parts.named("cache")) {
        (true, Some(written)) => Rc::new(Sequence::new(vec![written, cache.clone()])),
        (true, None) => Rc::new(Sequence::new(vec![Rc::new(Memory::site()), cache.clone()])),
        (false, _) => cache.clone(),
    };
    Controls { cache: Some(cache), ..Controls::plain(store) }
}

fn write_back(source: Rc<dyn Store>, options: &Options) -> Controls {
    let usual = WriteBackOptions::default();
    let count =
        |name| options.count(name).map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    let asked = WriteBackOptions {
        delay: options.time("delay").unwrap_or(usual.delay),
        pending: count("pending").unwrap_or(usual.pending),
        bytes: options.count("size").unwrap_or(usual.bytes),
        times: options.count("times").map_or(usual.times, |times| times.min(1000) as u32),
        exact: options.flag("exact").unwrap_or(usual.exact),
    };
    let store = Rc::new(WriteBack::new(source, asked));
    Controls { write_back: Some(store.clone()), ..Controls::plain(store) }
}

fn static_files(source: Rc<dyn Store>, options: &Options) -> Result<StaticFiles, Error> {
    let usual = StaticOptions::default();
    let text = |name| options.text(name).map(str::to_string);
    let links = match options.text("symlinks") {
        None | Some("inside") => Links::Inside,
        Some("none") => Links::Refused,
        Some("all") => Links::All,
        Some(other) => {
            let message =
                format!("symlinks of StaticFiles are `inside`, `none` or `all`, not `{other}`");
            return Err(Error::new(Kind::Invalid, message));
        }
    };
    let immutable = options.text("immutable").unwrap_or_default();
    let asked = StaticOptions {
        index: text("index").unwrap_or(usual.index),
        listing: options.flag("listing").unwrap_or(usual.listing),
        dot_files: options.flag("dotFiles").unwrap_or(usual.dot_files),
        links,
        cache_control: text("cacheControl"),
        immutable: immutable.split_whitespace().map(str::to_string).collect(),
        fallback: text("fallback"),
        not_found: text("notFound"),
        packed: options.flag("packed").unwrap_or(usual.packed),
        keep: options.flag("keep").unwrap_or(usual.keep),
    };
    StaticFiles::new(source, asked)
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
    let converter = match class {
        Some(class) => converter.with_class(class),
        None => converter,
    };
    match options.get("contract").and_then(Value::as_list) {
        Some(classes) => converter.with_contract(contract(classes)),
        None => converter,
    }
}

/// What the kernel says of classes: for each its name and its fields; a field is its name, its type,
/// whether it is required, whether it is readonly, and the place of its class where it has one.
fn contract(classes: &[Value]) -> Contract {
    let text = |value: Option<&Value>| match value {
        Some(Value::Text(text)) => text.clone(),
        _ => String::new(),
    };
    let classes = classes.iter().filter_map(Value::as_list).map(|class| {
        let fields = class.get(1).and_then(Value::as_list).unwrap_or_default();
        let fields = fields.iter().filter_map(Value::as_list).map(|parts| {
            let flag = |at: usize| parts.get(at) == Some(&Value::Bool(true));
            let class = match parts.get(4) {
                Some(Value::Int(place)) => usize::try_from(*place).ok(),
                _ => None,
            };
            let kind = text(parts.get(1));
            let plain = FieldType::named(&kind);
            let kind = match (kind.as_str(), class, plain) {
                ("list", ..) => ContractKind::List,
                ("record", ..) => ContractKind::Record,
                (_, Some(class), Some(key)) => ContractKind::Key(key, class),
                (_, Some(class), None) => ContractKind::Object(class),
                (_, None, plain) => ContractKind::Plain(plain.unwrap_or(FieldType::Any)),
            };
            ContractField { name: text(parts.first()), kind, required: flag(2), readonly: flag(3) }
        });
        ContractClass { name: text(class.first()), fields: fields.collect() }
    });
    Contract { classes: classes.collect() }
}
