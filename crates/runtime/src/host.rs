//! What the runtime asks of the command that runs it: schemes, servers, databases, output.

use runnel_store::{Answer, Error, Kind, Store, Value};
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
pub trait Server {
    /// The port it listens on.
    fn port(&self) -> u16;
    /// Serves another store from the next request on.
    fn set_root(&self, store: Rc<dyn Store>);
    /// Stops: no new connections, requests in flight are finished.
    fn stop(&self) -> Answer<()>;
    /// Whether somebody counts its requests by the patterns of the program.
    fn is_observed(&self) -> bool {
        false
    }
    /// The port for those who run it, where it has one.
    fn admin_port(&self) -> Option<u16> {
        None
    }
    /// Adds a condition of its readiness: a store that answers a get without an error when it is
    /// met.
    ///
    /// # Errors
    /// There are too many.
    fn check(&self, name: &str, check: Rc<dyn Store>) -> Result<(), Error> {
        let _ = (name, check);
        Ok(())
    }
}

/// The command around the program. It alone knows all schemes, and it alone prints.
pub trait Host {
    /// The store of a built-in scheme such as `file`, made when it is first used.
    fn scheme(&self, name: &str) -> Option<Rc<dyn Store>>;
    /// The names of the built-in schemes.
    fn schemes(&self) -> &'static [&'static str];
    /// Opens a database by its reference, such as `sqlite:tasks.db`. The options are a record of
    /// names and values, or nil.
    fn database(&self, scheme: &str, path: &str, options: &Value) -> Option<Answer<Rc<dyn Store>>>;
    /// A store of another machine that a program describes: `http`, `s3`.
    ///
    /// # Errors
    /// What is wrong with the options.
    fn remote(&self, kind: &str, options: &Value) -> Result<Rc<dyn Store>, Error>;
    /// A store that the command makes of others by their names, such as a search page of an index.
    ///
    /// # Errors
    /// What is wrong with the options or the stores.
    fn composed(
        &self,
        kind: &str,
        options: &Value,
        sources: &[(String, Rc<dyn Store>)],
    ) -> Result<Rc<dyn Store>, Error> {
        let _ = (options, sources);
        Err(Error::new(Kind::Unsupported, format!("there is no store `{kind}`")))
    }
    /// The names of what a server can be told, such as `port`.
    fn server_options(&self) -> &'static [&'static str];
    /// Serves a store over HTTP, as a record of options says.
    fn serve(&self, store: Rc<dyn Store>, options: &Value) -> Answer<Rc<dyn Server>>;
    /// Writes output; it may be kept until `flush`.
    fn write(&self, output: Output, bytes: &[u8]);
    /// Says how far something long is, in one line that the next replaces; an empty text takes it
    /// away. Only people at a terminal see it.
    fn progress(&self, text: &str);
    /// Sends out what was kept.
    fn flush(&self);
    /// The next line of standard input without its end; `None` at the end.
    fn read_line(&self) -> Answer<Option<String>>;
    /// Runs the prompt inside the program until it is left. At the end of an input that is no
    /// terminal it answers only when the process is told to stop.
    fn interact(&self) -> Answer<()>;
    /// Whether this worker is the one that runs a job that only one worker runs: the first that
    /// asks, and another one once that has ended. `None`: the job was ended.
    ///
    /// # Errors
    /// There are too many jobs.
    fn leads(&self, job: &str) -> Result<Option<bool>, Error> {
        let _ = job;
        Ok(Some(true))
    }
    /// Ends a job in all workers.
    fn end_job(&self, job: &str) {
        let _ = job;
    }
    /// Memory of the program was freed that may go back to the system.
    fn give_back_memory(&self) {}
    /// Runs a shell command and answers its output.
    fn shell(&self, command: &str) -> Answer<String>;
}
