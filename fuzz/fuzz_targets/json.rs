//! JSON of strangers: it is parsed to what it says, or refused with an error of the client, by the
//! stores and by the engine alike; and what breaks the contract of a class is told.
//!
//! To be run with `-detect_leaks=0`: the detector does not see what LuaJIT refers to.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_runtime::{Host, Isolate, Limits, RunningServer};
use runnel_store::{Answer, ClientContent, Content, Context, Kind, Reference, Store, Value, json};
use std::cell::RefCell;
use std::rc::Rc;
use tokio::runtime::LocalRuntime;

/// Bytes of a text; what is longer says nothing new.
const LONGEST: usize = 20_000;
/// Nested values that serde_json reads.
const DEEPEST: usize = 120;

/// The engine's own values, with a class and without one.
const PROGRAM: &str = "
class Address { var <string required> street. var <int> number. }
class Person {
   var <string required> name.
   var <int> age.
   var <float> weight.
   var <decimal> owed.
   var <date> born.
   var <bool> active.
   var <string readonly> role.
   var <Address> home.
}
scheme Values { /value { post { newValue parseJSON asJSON } } }
scheme People { /person { post { newValue asJSON } } }
#HTTPServer{ scheme: #Values{} } start.
converter ← #JSONConverter{ class: Person, source: #People{} }.
#HTTPServer{ scheme: converter } start.
";

/// A world that keeps what is served.
#[derive(Default)]
struct Served(RefCell<Vec<Rc<dyn Store>>>);

/// A server that serves nobody.
struct Idle;

impl RunningServer for Idle {
    fn port(&self) -> u16 {
        1
    }
}

impl Host for Served {
    fn serve(&self, root: Rc<dyn Store>, _: &Value) -> Answer<Rc<dyn RunningServer>> {
        self.0.borrow_mut().push(root);
        Answer::ok(Rc::new(Idle))
    }
}

struct World {
    runtime: LocalRuntime,
    served: Rc<Served>,
    _isolate: Isolate,
}

thread_local! {
    static WORLD: World = world();
}

fn world() -> World {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .expect("an event loop");
    let served = Rc::<Served>::default();
    let isolate = Isolate::new(served.clone(), Limits::default()).expect("an isolate");
    if runtime.block_on(isolate.run(PROGRAM, "fuzz")).is_err() {
        panic!("the program does not run");
    }
    assert_eq!(served.0.borrow().len(), 2);
    World { runtime, served, _isolate: isolate }
}

/// Posts content as a server does: whether it was taken.
fn post(world: &World, server: usize, path: &str, data: &[u8]) -> bool {
    let store = world.served.0.borrow()[server].clone();
    let bytes = bytes::Bytes::copy_from_slice(data);
    let sent = ClientContent { text: Some(bytes.clone()), ..ClientContent::default() };
    let context = Context { from_client: Some(sent), ..Context::default() };
    let content = match std::str::from_utf8(data) {
        Ok(text) => Content::text(text.to_string()),
        Err(_) => Content::bytes(bytes),
    };
    let content = content.with_media_type("application/json");
    let posted = world
        .runtime
        .block_on(async { store.post(&Reference::from_path(path), content, &context).await });
    match posted {
        Ok(_) => true,
        Err(error) => {
            let kinds = [Kind::Invalid, Kind::Unprocessable, Kind::TooLarge];
            assert!(kinds.contains(&error.kind), "{path}: {error:?}");
            false
        }
    }
}

fn depth(data: &[u8]) -> usize {
    data.iter().filter(|byte| matches!(byte, b'[' | b'{')).count()
}

fuzz_target!(|data: &[u8]| {
    if data.len() > LONGEST {
        return;
    }
    let parsed = json::parse(data);
    if let Ok(value) = &parsed {
        let text = json::text(value);
        let again = json::parse(&text);
        assert_eq!(again.as_ref().ok(), Some(value), "{}", String::from_utf8_lossy(&text));
    }
    // What is taken is JSON for another implementation, which checks neither UTF-8 nor numbers here.
    if parsed.is_ok() && depth(data) < DEEPEST {
        let marked = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data);
        let other = serde_json::from_slice::<serde::de::IgnoredAny>(marked);
        assert!(other.is_ok(), "{:?}", other.err());
    }
    WORLD.with(|world| {
        let taken = post(world, 0, "value", data);
        // An empty post has no text.
        if !data.is_empty() && std::str::from_utf8(data).is_ok() {
            assert_eq!(taken, parsed.is_ok(), "the engine and the stores differ");
        }
        let taken = post(world, 1, "person", data);
        let is_blank = data.iter().all(|byte| byte.is_ascii_whitespace());
        assert!(!taken || is_blank || parsed.is_ok(), "what is no JSON obeys no contract");
    });
});
