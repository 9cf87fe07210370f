//! The host of a program: what the runtime asks of the command around it (schemes, servers,
//! databases, output).

use runnel_store::{Answer, Changes, Error, Kind, Reference, Shape, Store, Value, Verb};
use std::rc::Rc;

/// Where a program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
    /// Standard error, for what is said once although several workers run the program.
    Note,
}

/// A server that a program started.
pub trait RunningServer {
    /// The port it listens on.
    fn port(&self) -> u16;
    /// The name by which others on the local network find it, such as `defiant.local`.
    fn announced_host(&self) -> Option<String> {
        None
    }
    /// Serves another store from the next request on.
    fn set_root(&self, _: Rc<dyn Store>) {}
    /// Stops: no new connections, requests in flight are finished.
    fn stop(&self) -> Answer<()> {
        Answer::ok(())
    }
    /// Whether its requests are counted by the patterns of the program.
    fn is_observed(&self) -> bool {
        false
    }
    /// The port of its admin page, where it has one.
    fn admin_port(&self) -> Option<u16> {
        None
    }
    /// What its clients change from now on, in every worker, by references such as `bucket/key`.
    ///
    /// # Errors
    /// [`runnel_store::Kind::NotAllowed`]: its protocol has none.
    fn changes(&self) -> Answer<Changes> {
        let message = "this server does not tell of changes: watch what it serves";
        Error::new(Kind::NotAllowed, message).into()
    }
    /// Adds a readiness check: a store whose get answers without an error once the check passes.
    ///
    /// # Errors
    /// There are too many.
    fn check(&self, _name: &str, _check: Rc<dyn Store>) -> Result<(), Error> {
        Ok(())
    }
}

/// The process that shows native windows, as the program that opened them holds it. Frames are
/// JSON texts (docs/design/windows.md). Dropping it ends the process.
pub trait NativeWindow {
    /// Sends a frame. Waits while too much is unsent.
    ///
    /// # Errors
    /// The frame is too large, or the process ended.
    fn send(&self, frame: String) -> Answer<()>;
    /// The next frame; `None` after the last.
    fn next(&self) -> Answer<Option<String>>;
    /// Closes the windows and ends the process.
    fn close(&self);
}

/// The command around the program. It alone knows all schemes, and it alone prints. A host that
/// leaves a method out has nothing of that kind.
pub trait Host {
    /// The store of a built-in scheme such as `file`, made when it is first used.
    fn scheme(&self, _name: &str) -> Option<Rc<dyn Store>> {
        None
    }
    /// The names of the built-in schemes.
    fn schemes(&self) -> &'static [&'static str] {
        &[]
    }
    /// Opens a database by its reference, such as `sqlite:tasks.db`. The options are a record of
    /// names and values, or nil.
    fn database(
        &self,
        _scheme: &str,
        _path: &str,
        _options: &Value,
    ) -> Option<Answer<Rc<dyn Store>>> {
        None
    }
    /// The table of a class in a store that is no database: its rows are documents.
    ///
    /// # Errors
    /// What the store or the class lacks for it.
    fn document_table(
        &self,
        _store: &Rc<dyn Store>,
        at: &Reference,
        _shape: &Shape,
    ) -> Result<Rc<dyn Store>, Error> {
        Err(Error::not_allowed(Verb::Define, at))
    }
    /// A store of another machine that a program describes: `http`, `s3`.
    ///
    /// # Errors
    /// What is wrong with the options.
    fn remote(&self, kind: &str, _options: &Value) -> Result<Rc<dyn Store>, Error> {
        Err(unsupported(kind))
    }
    /// A store that the command makes of others by their names, such as a search page of an index.
    ///
    /// # Errors
    /// What is wrong with the options or the stores.
    fn composed(
        &self,
        kind: &str,
        _options: &Value,
        _sources: &[(String, Rc<dyn Store>)],
    ) -> Result<Rc<dyn Store>, Error> {
        Err(unsupported(kind))
    }
    /// The options of a server, such as `port`.
    fn server_options(&self) -> Vec<runnel_store::SettingInfo> {
        Vec::new()
    }
    /// The options that a server of S3 has beside those of a server.
    fn s3_server_options(&self) -> Vec<runnel_store::SettingInfo> {
        Vec::new()
    }
    /// Serves a store over HTTP with a record of options. Its field `s3`, if it has one, is the
    /// record of the options of S3: then requests are of that protocol. The third is the value of
    /// the option `certificates`.
    fn serve(
        &self,
        _: Rc<dyn Store>,
        _options: &Value,
        _certificates: Option<Rc<dyn Store>>,
    ) -> Answer<Rc<dyn RunningServer>> {
        Error::new(Kind::Unsupported, "there are no servers here").into()
    }
    /// Adds a page about jobs to the admin port of each server of the program, present and later.
    ///
    /// # Errors
    /// There are too many.
    fn add_jobs_page(&self, _title: &str, _store: Rc<dyn Store>) -> Result<(), Error> {
        Ok(())
    }
    /// Whether continuous backups run: not in a program that only shows what it is made of.
    fn makes_backups(&self) -> bool {
        true
    }
    /// Opens a native window of a tree of widgets, in JSON.
    ///
    /// # Errors
    /// [`Kind::Unsupported`] where this machine shows no windows, with the reason.
    fn open_window(&self, _tree: &str) -> Answer<Rc<dyn NativeWindow>> {
        Error::new(Kind::Unsupported, "there are no native windows here").into()
    }
    /// Whether what handlers answer is compared with what they declare: in tests and while a
    /// program is developed.
    fn checks_answers(&self) -> bool {
        false
    }
    /// Writes a line of the log of the program: `debug`, `info`, `warn` or `error`, a message, and a
    /// record of fields or nil.
    fn log(&self, _level: &str, _message: &str, _fields: &Value) {}
    /// Records a value of a metric of the program: a `counter`, `gauge` or `histogram`. The labels are
    /// a record or nil.
    ///
    /// # Errors
    /// A name or a value that is none of a metric.
    fn metric(&self, _: &str, _name: &str, _labels: &Value, _value: f64) -> Result<(), Error> {
        Ok(())
    }
    /// Writes output; it may be buffered until `flush`.
    fn write(&self, _: Output, _bytes: &[u8]) {}
    /// Shows the progress of a long operation in one line, which replaces the one before; an empty
    /// text removes it. Only terminals show it.
    fn progress(&self, _text: &str) {}
    /// Flushes buffered output.
    fn flush(&self) {}
    /// The next line of standard input without its end; `None` at the end.
    fn read_line(&self) -> Answer<Option<String>> {
        Answer::ok(None)
    }
    /// Runs the prompt inside the program, in the isolate of this thread, until the user leaves it.
    /// At the end of an input that is no terminal it answers only once the process gets a signal to stop.
    fn interact(&self) -> Answer<()> {
        Answer::ok(())
    }
    /// Whether this worker runs a job of which only one worker runs: the first that asks, and
    /// another once that worker has ended. `None` after the end of the job.
    ///
    /// # Errors
    /// There are too many jobs.
    fn leads(&self, _job: &str) -> Result<Option<bool>, Error> {
        Ok(Some(true))
    }
    /// Ends a job in all workers.
    fn end_job(&self, _job: &str) {}
    /// Memory of the program was freed that may go back to the system.
    fn give_back_memory(&self) {}
    /// Runs a shell command and answers its output.
    fn shell(&self, _command: &str) -> Answer<String> {
        Error::new(Kind::Unsupported, "there is no shell here").into()
    }
}

fn unsupported(kind: &str) -> Error {
    Error::new(Kind::Unsupported, format!("there is no store `{kind}`"))
}
