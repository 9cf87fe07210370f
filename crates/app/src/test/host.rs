//! The world of a program under test: its output is collected, its input is given, and its servers
//! listen on free ports.

use crate::repl::{Reaction, Session};
use crate::report::Report;
use crate::world::World;
use runnel_runtime::{Host, Isolate, Output, RunningServer};
use runnel_store::{Answer, Error, Reference, Shape, Store, Value};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;

/// Bytes of output that are kept; what follows is dropped.
const LARGEST_OUTPUT: usize = 4 << 20;

/// A world around [`World`].
pub(crate) struct TestHost {
    world: Rc<World>,
    output: Rc<RefCell<Vec<u8>>>,
    input: Rc<RefCell<VecDeque<String>>>,
    /// The port of the server that was started last.
    port: Rc<Cell<Option<u16>>>,
}

impl TestHost {
    pub(crate) fn new() -> Rc<TestHost> {
        Rc::new(TestHost {
            world: World::new(),
            output: Rc::default(),
            input: Rc::default(),
            port: Rc::default(),
        })
    }

    /// What the program wrote to standard output since the last call.
    pub(crate) fn take_output(&self) -> String {
        let bytes = self.output.take();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Gives the lines that the program reads from standard input.
    pub(crate) fn set_input(&self, text: &str) {
        self.input.replace(text.lines().map(String::from).collect());
    }

    pub(crate) fn port(&self) -> Option<u16> {
        self.port.get()
    }
}

fn collect(output: &RefCell<Vec<u8>>, bytes: &[u8]) {
    let mut output = output.borrow_mut();
    let room = LARGEST_OUTPUT.saturating_sub(output.len()).min(bytes.len());
    output.extend_from_slice(&bytes[..room]);
}

impl Host for TestHost {
    fn scheme(&self, name: &str) -> Option<Rc<dyn Store>> {
        self.world.scheme(name)
    }

    fn schemes(&self) -> &'static [&'static str] {
        self.world.schemes()
    }

    fn database(&self, scheme: &str, path: &str, options: &Value) -> Option<Answer<Rc<dyn Store>>> {
        self.world.database(scheme, path, options)
    }

    fn document_table(
        &self,
        store: &Rc<dyn Store>,
        at: &Reference,
        shape: &Shape,
    ) -> Result<Rc<dyn Store>, Error> {
        self.world.document_table(store, at, shape)
    }

    fn remote(&self, kind: &str, options: &Value) -> Result<Rc<dyn Store>, Error> {
        self.world.remote(kind, options)
    }

    fn composed(
        &self,
        kind: &str,
        options: &Value,
        sources: &[(String, Rc<dyn Store>)],
    ) -> Result<Rc<dyn Store>, Error> {
        self.world.composed(kind, options, sources)
    }

    fn server_options(&self) -> Vec<runnel_store::SettingInfo> {
        self.world.server_options()
    }

    fn s3_server_options(&self) -> Vec<runnel_store::SettingInfo> {
        self.world.s3_server_options()
    }

    /// Any free port: tests run beside each other.
    fn serve(
        &self,
        store: Rc<dyn Store>,
        options: &Value,
        certificates: Option<Rc<dyn Store>>,
    ) -> Answer<Rc<dyn RunningServer>> {
        let mut options = options.as_record().map(<[_]>::to_vec).unwrap_or_default();
        options.retain(|(name, _)| name != "port");
        options.push(("port".to_string(), Value::Int(0)));
        if let Some((_, admin)) = options.iter_mut().find(|(name, _)| name == "admin") {
            let address = admin.as_str().and_then(|text| text.parse::<SocketAddr>().ok());
            *admin = match address {
                Some(address) => Value::Text(SocketAddr::new(address.ip(), 0).to_string()),
                None => Value::Int(0),
            };
        }
        let serving = self.world.serve(store, &Value::Record(options), certificates);
        let port = self.port.clone();
        Answer::later(async move {
            let server = serving.await?;
            port.set(Some(server.port()));
            Ok(server)
        })
    }

    fn log(&self, level: &str, message: &str, fields: &Value) {
        self.world.log(level, message, fields);
    }

    fn metric(&self, kind: &str, name: &str, labels: &Value, value: f64) -> Result<(), Error> {
        self.world.metric(kind, name, labels, value)
    }

    fn add_jobs_page(&self, title: &str, store: Rc<dyn Store>) -> Result<(), Error> {
        self.world.add_jobs_page(title, store)
    }

    fn checks_answers(&self) -> bool {
        true
    }

    /// Standard error is for people: what it says is not compared.
    fn write(&self, output: Output, bytes: &[u8]) {
        if output == Output::Out {
            collect(&self.output, bytes);
        }
    }

    fn read_line(&self) -> Answer<Option<String>> {
        Ok(self.input.borrow_mut().pop_front()).into()
    }

    /// The input of the prompt; after its end the program continues.
    fn interact(&self) -> Answer<()> {
        let Some(isolate) = Isolate::current() else { return Answer::ok(()) };
        let (input, output) = (self.input.clone(), self.output.clone());
        let world = self.world.clone();
        Answer::later(async move {
            let mut session = Session::new(Report::plain());
            let show = |text: String| collect(&output, format!("{text}\n").as_bytes());
            loop {
                let Some(line) = input.borrow_mut().pop_front() else { return Ok(()) };
                match session.line(&isolate, &line).await {
                    Reaction::Value(text) | Reaction::Error(text, _) => show(text),
                    Reaction::Command(command) => show(world.shell(&command).await?),
                    Reaction::Leave(_) => return Ok(()),
                    Reaction::Quiet => {}
                }
            }
        })
    }

    fn shell(&self, command: &str) -> Answer<String> {
        self.world.shell(command)
    }
}
