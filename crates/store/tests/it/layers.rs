//! Every combinator hands every verb on, and is confined with its source.

use runnel_store::conformance::check_layer;
use runnel_store::{
    Answer, Below, Cache, CircuitBreaker, CircuitBreakerOptions, Compressed, Confinement, Content,
    Context, Csv, Ensure, Extension, Fallback, Guard, GuardOptions, Headers, HeadersOptions,
    Idempotent, Json, Layer, Limit, LimitOptions, Links, Log, Map, Memory, Merge, Mirror,
    MirrorOptions, Outcome, Polling, RateLimit, RateLimitOptions, ReadOnly, Redirects,
    RedirectsOptions, Reference, Relative, Rename, Result, Retry, RetryOptions, Route,
    SecurityHeaders, SecurityOptions, Sequence, Shard, ShardOptions, StaticFiles, StaticOptions,
    Store, TextCodec, Timeout, Value, Verb, WriteBack, WriteBackOptions,
};
use std::rc::Rc;
use std::time::Duration;

fn check(
    make: impl Fn(Rc<dyn Store>) -> Result<Rc<dyn Store>>,
    exceptions: &[(&'static str, &'static str)],
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, check_layer(make, exceptions));
}

/// A wrapper that answers nothing by itself.
fn check_all<S: Store + 'static>(make: impl Fn(Rc<dyn Store>) -> S) {
    check_but(&[], make);
}

fn check_but<S: Store + 'static>(
    exceptions: &[(&'static str, &'static str)],
    make: impl Fn(Rc<dyn Store>) -> S,
) {
    check(|source| Ok(Rc::new(make(source))), exceptions);
}

/// A store with other names is listed by walking over it.
const OTHER_NAMES: (&str, &str) = ("keys", "the order below is not the order above");

#[test]
fn ensure() {
    check_all(Ensure::new);
}

#[test]
fn timeout() {
    check_all(|source| Timeout::new(source, Duration::from_secs(60)));
}

#[test]
fn limit() {
    check_all(|source| Limit::new(source, LimitOptions::default()));
    let options = LimitOptions { max_concurrent: Some(1), ..LimitOptions::default() };
    check_all(|source| Limit::new(source, options));
}

#[test]
fn circuit_breaker() {
    check_all(|source| CircuitBreaker::new(source, CircuitBreakerOptions::default()));
}

#[test]
fn access() {
    check_all(|source| Headers::new(source, HeadersOptions::default()));
    check_all(|source| SecurityHeaders::new(source, SecurityOptions::default()));
    check_all(|source| Redirects::new(source, RedirectsOptions::default()).unwrap());
    let options = RateLimitOptions { requests: Some(1), ..RateLimitOptions::default() };
    check_all(|source| RateLimit::new(source, options.clone()).unwrap());
    // A guard lets in whom its block knows.
    let block = || Some(Rc::new(Known) as Rc<dyn Store>);
    check_all(|source| Guard::new(source, GuardOptions::default(), block()).unwrap());
}

/// Knows everybody.
struct Known;

impl Store for Known {
    fn get(&self, _: &Reference, _: &Context) -> Answer<Option<Content>> {
        Answer::ok(Some(Content::value(Value::Bool(true))))
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        "everybody".to_string()
    }
}

#[test]
fn merge() {
    check_all(Merge::new);
}

#[test]
fn extension() {
    check_but(&[OTHER_NAMES], |source| Extension::new(source, "json"));
}

#[test]
fn rename() {
    check_but(&[OTHER_NAMES], |source| Rename::prefixes(source, [("a", "c")]));
}

#[test]
fn map() {
    check_all(|source| Map::new(source, "nothing"));
    check_all(|source| Map::new(source, "reading").reading(|_, content| Ok(content).into()));
    check_all(|source| Map::new(source, "writing").writing(|_, content| Ok(content).into()));
    check_but(&[OTHER_NAMES], |source| {
        Map::new(source, "capitals").references(
            |above| Ok(above.with_path(above.path().to_uppercase())),
            |below| Ok(below.with_path(below.path().to_lowercase())),
        )
    });
}

/// The root of the map is a part of its source: a confined copy would put the part into itself.
#[test]
fn map_to_a_part() {
    let exceptions = [OTHER_NAMES, ("confined", "its root is not the root of the source")];
    check_but(&exceptions, |source| {
        Map::new(source, "below p").references(
            |above| Ok(above.with_path(format!("p/{}", above.path()))),
            |below| Ok(below.with_path(below.path().trim_start_matches("p/"))),
        )
    });
}

#[test]
fn json() {
    check_all(Json::up);
    check_but(&[("appends", "what is posted becomes an element of a list")], Json::down);
}

#[test]
fn csv_and_text() {
    check_all(Csv::up);
    check_all(Csv::down);
    check_all(TextCodec::down);
}

#[test]
fn compressed() {
    check_all(Compressed::gzip);
}

#[test]
fn log() {
    check_all(|source| Log::new(source, |_, _| {}));
    check_all(|source| Log::new(source, |_, _| {}).with_reads());
}

#[test]
fn retry() {
    check_all(|source| Retry::new(source, RetryOptions::default()));
}

#[test]
fn polling() {
    let exceptions = [("watch", "looks for changes by itself")];
    check_but(&exceptions, |source| Polling::new(source, Duration::from_secs(60)));
}

#[test]
fn read_only() {
    let exceptions = [("conditions", "no write is admitted")];
    check_but(&exceptions, ReadOnly::new);
}

#[test]
fn relative() {
    check_all(|source| Relative::new(source, Reference::from_path("base")));
    check_all(|source| Relative::new(source, Reference::default()));
}

#[test]
fn cache() {
    check_all(Cache::in_memory);
    check_all(|source| Cache::new(Rc::new(Memory::site()), source));
}

#[test]
fn write_back() {
    let options = WriteBackOptions { delay: Duration::ZERO, ..WriteBackOptions::default() };
    check_all(|source| WriteBack::new(source, options));
}

#[test]
fn sequence() {
    let all_stores = ("keys", "the keys of all stores are found by walking over them");
    check_but(&[all_stores], |source| Sequence::new(vec![source]));
    check_but(
        &[all_stores, ("conditions", "no store alone says whether something exists")],
        |source| Sequence::new(vec![source, Rc::new(Memory::site())]),
    );
}

#[test]
fn fallback() {
    check_all(|source| Fallback::new(vec![source]));
    check_all(|source| Fallback::new(vec![source, Rc::new(Memory::site())]));
}

#[test]
fn shard() {
    let shard = |stores, segments| Shard::new(stores, ShardOptions { segments });
    check(|source| Ok(Rc::new(shard(vec![source], None)?)), &[]);
    // `a` and `b` live in different stores: whatever the spy is, one of the two reaches it.
    let stores = |source: Rc<dyn Store>, is_first| -> Vec<Rc<dyn Store>> {
        let other = Rc::new(Memory::site());
        if is_first { vec![source, other] } else { vec![other, source] }
    };
    let reach = |stores: Vec<Rc<dyn Store>>, segments| -> Result<Rc<dyn Store>> {
        Ok(Rc::new(shard(stores, segments)?))
    };
    for segments in [None, Some(1), Some(2)] {
        let checked = [true, false].into_iter().filter(|is_first| {
            let check = || check(|source| reach(stores(source, *is_first), segments), &[]);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).is_ok()
        });
        assert_eq!(checked.count(), 1, "{segments:?}");
    }
}

#[test]
fn mirror() {
    let mirror = |stores| Mirror::new(stores, MirrorOptions::default());
    check(|source| Ok(Rc::new(mirror(vec![source])?)), &[]);
    check(|source| Ok(Rc::new(mirror(vec![source, Rc::new(Memory::site())])?)), &[]);
}

#[test]
fn idempotent() {
    check_all(|source| Idempotent::new(source, Rc::new(Memory::site())));
}

#[test]
fn route() {
    let route = |name: &'static str| {
        move |source| {
            let route = Route::by_segment();
            route.mount(name, source);
            route
        }
    };
    check_all(route("a"));
    check_all(|source| {
        let route = Route::by_segment();
        route.mount("elsewhere", Rc::new(Memory::site()));
        route.otherwise(source);
        route
    });
    check_all(|source| {
        let route = Route::by_scheme();
        route.mount("spied", source);
        Relative::new(Rc::new(route), Reference::from_path("").with_scheme("spied"))
    });
}

#[test]
fn static_files() {
    let exceptions = [("verbs", "files are only read"), ("conditions", "files are only read")];
    for links in [Links::Inside, Links::Refused] {
        let options = StaticOptions { links, listing: true, ..StaticOptions::default() };
        check(|source| Ok(Rc::new(StaticFiles::new(source, options.clone())?)), &exceptions);
    }
}

/// Wrappers on top of each other are confined down to the last source.
#[test]
fn a_tower_of_wrappers() {
    check(
        |source| {
            let route = Route::by_segment();
            route.otherwise(Rc::new(ReadOnly::new(Rc::new(Cache::in_memory(source)))));
            let log = Rc::new(Log::new(Rc::new(route), |_, _| {}));
            Ok(Rc::new(Sequence::new(vec![Rc::new(Timeout::new(log, Duration::from_secs(60)))])))
        },
        &[
            ("keys", "the keys of all stores are found by walking over them"),
            ("conditions", "no write is admitted"),
        ],
    );
}

/// A wrapper with one thing wrong.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    ForgetsToMerge,
    DeletesNothing,
    ReadsOpenly,
    FollowsLinks,
    IsInherent,
}

struct Broken {
    source: Rc<dyn Store>,
    open: Rc<dyn Store>,
    wrong: Wrong,
}

impl Layer for Broken {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        let (open, wrong) = (self.open.clone(), self.wrong);
        Some(Rc::new(Broken { source: inner, open, wrong }))
    }

    fn name(&self) -> String {
        format!("{:?}", self.wrong)
    }

    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        match self.wrong {
            Wrong::ReadsOpenly => self.open.get(reference, context),
            _ => self.source.get(reference, context),
        }
    }

    fn layer_merge(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        match self.wrong {
            Wrong::ForgetsToMerge => self.source.put(reference, content, context),
            _ => self.source.merge(reference, content, context),
        }
    }

    fn layer_delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        match self.wrong {
            Wrong::DeletesNothing => Answer::ok(Outcome::deleted(false)),
            _ => self.source.delete(reference, context),
        }
    }

    fn layer_confined(&self, reference: &Reference, links: bool) -> Confinement {
        let links = links || matches!(self.wrong, Wrong::FollowsLinks);
        match self.source.confined(reference, links) {
            Confinement::By(_) if matches!(self.wrong, Wrong::IsInherent) => Confinement::Inherent,
            Confinement::By(inner) => {
                self.over(inner).map_or(Confinement::Impossible, Confinement::By)
            }
            other => other,
        }
    }
}

/// The check finds each of these, and names the method.
#[test]
fn a_broken_wrapper_is_found() {
    for (wrong, found) in [
        (Wrong::ForgetsToMerge, "merge through ForgetsToMerge: is forgotten"),
        (Wrong::DeletesNothing, "delete through DeletesNothing: is forgotten"),
        (Wrong::ReadsOpenly, "get of ReadsOpenly confined to ``: reaches the open source"),
        (Wrong::FollowsLinks, "get of FollowsLinks confined to ``: links are false"),
        (Wrong::IsInherent, "get of IsInherent confined to ``: reaches the open source"),
    ] {
        let failure = std::panic::catch_unwind(|| {
            check_all(|source| Broken { open: source.clone(), source, wrong });
        });
        let message = failure.expect_err(&format!("{wrong:?} was not found"));
        let message = message.downcast_ref::<String>().expect("a message");
        assert!(message.contains(found), "{wrong:?}: {message}");
    }
}
