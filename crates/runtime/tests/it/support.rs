//! A world for tests: no schemes but memory, no servers, output kept in a text.
#![allow(dead_code, clippy::unwrap_used)] // each test file uses a part of it

use runnel_runtime::{Failure, Host, Isolate, Limits, Output};
use runnel_store::{Memory, Store};
use runnel_syntax::Diagnostic;
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

/// The command around a program under test.
pub(crate) struct TestHost {
    memory: Rc<dyn Store>,
    output: RefCell<Vec<u8>>,
}

impl Host for TestHost {
    fn scheme(&self, name: &str) -> Option<Rc<dyn Store>> {
        (name == "memory").then(|| self.memory.clone())
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["memory"]
    }

    fn server_options(&self) -> Vec<runnel_store::SettingInfo> {
        let option = |name| runnel_store::SettingInfo {
            name,
            former: &[],
            help: "",
            kind: runnel_store::SettingKind::Any,
            default: None,
            limit: None,
            is_secret: false,
        };
        ["port"].map(option).to_vec()
    }

    fn write(&self, output: Output, bytes: &[u8]) {
        if output == Output::Out {
            self.output.borrow_mut().extend_from_slice(bytes);
        }
    }
}

/// An isolate of the calling thread with its world and event loop.
pub(crate) struct Lab {
    pub(crate) isolate: Isolate,
    host: Rc<TestHost>,
    runtime: tokio::runtime::Runtime,
}

impl Lab {
    pub(crate) fn new() -> Lab {
        Lab::over(Rc::new(Memory::dictionary()))
    }

    /// With a memory limit in bytes.
    pub(crate) fn limited(memory: usize) -> Lab {
        Lab::within(Rc::new(Memory::dictionary()), Limits { memory })
    }

    /// A world whose scheme `memory` is this store.
    pub(crate) fn over(memory: Rc<dyn Store>) -> Lab {
        Lab::within(memory, Limits::default())
    }

    fn within(memory: Rc<dyn Store>, limits: Limits) -> Lab {
        let host = Rc::new(TestHost { memory, output: RefCell::default() });
        let isolate = Isolate::new(host.clone(), limits).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Lab { isolate, host, runtime }
    }

    /// Waits for a future on this thread.
    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        tokio::task::LocalSet::new().block_on(&self.runtime, future)
    }

    /// The text of a source's last value; nil is an empty text.
    pub(crate) fn run(&self, source: &str) -> Result<String, Failure> {
        self.wait(self.isolate.run(source, "test")).map(|outcome| outcome.text.unwrap_or_default())
    }

    /// The text of a source's last value, which has one.
    pub(crate) fn value(&self, source: &str) -> String {
        self.run(source).unwrap_or_else(|failure| panic!("{}", explained(&failure)))
    }

    /// What was written to standard output since the last call.
    pub(crate) fn output(&self) -> String {
        String::from_utf8(self.host.output.take()).unwrap()
    }
}

/// Why a program did not run, in a few lines.
pub(crate) fn explained(failure: &Failure) -> String {
    match failure {
        Failure::Compile(diagnostics) => diagnostics.iter().map(sentence).collect(),
        Failure::Fault(fault) => format!("{}: {} {:?}", fault.kind, fault.message, fault.trace),
    }
}

/// A diagnostic in one line.
pub(crate) fn sentence(diagnostic: &Diagnostic) -> String {
    let hint = diagnostic.hint.as_deref().unwrap_or("");
    format!("{} ({}) {hint}\n", diagnostic.title, diagnostic.label.text)
}
