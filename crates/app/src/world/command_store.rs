//! Commands of the system as a store: `sh:`.

use bytes::Bytes;
use percent_encoding::percent_decode_str;
use runnel_store::{
    Answer, Content, Context, Environment, Error, Kind, Outcome, Reference, Result, Store, Text,
    Verb, Verbs, decode_segment,
};
use std::borrow::Cow;
use std::process::Stdio;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

/// How long a command may take where its caller sets no deadline.
const TIME: Duration = Duration::from_secs(60);

/// Bytes that a command may write; a command that exceeds them is killed.
const OUTPUT: usize = 64 << 20;

/// Bytes that a command may be given.
const INPUT: usize = 64 << 20;

/// Bytes of standard error that an error message quotes.
const COMPLAINT: usize = 4 << 10;

/// The argument after which a command takes no more options.
const OPTIONS_END: &str = "--";

/// How a program writes the dash in front of an argument that a value gave (`segment.lua`).
const MARKED_DASH: &str = "%2D";

/// The commands of the system.
///
/// `sh:ls/-l` is `ls -l`: the first part of the path is the program, the others are its arguments.
/// What stands after `?`, between `&`, are further arguments, which may have slashes: `sh:ls?/tmp`.
/// No shell looks at them, unless it is the program: `sh:sh/-c/…`. An argument that a value in
/// braces gave is one argument whatever is in it, and no option: with a dash in front it is
/// [`Kind::Invalid`], unless a literal `--` stands before it.
///
/// - **get** runs the command and answers what it writes. **post** gives it the content to read and
///   answers what it writes; **put** does the same without answering it.
/// - A command that ends with another status than 0 is an error with what it wrote to its standard
///   error; a missing command is [`Kind::NotFound`].
/// - It runs where the program runs, in the environment of `env:`, at most until the caller's
///   deadline or for a minute, and is killed when its request is cancelled.
pub(crate) struct CommandStore {
    environment: Rc<Environment>,
}

impl CommandStore {
    /// Commands that run in an environment.
    pub(crate) fn new(environment: Rc<Environment>) -> Self {
        CommandStore { environment }
    }

    /// Runs the command of a reference.
    fn run(
        &self,
        verb: Verb,
        reference: &Reference,
        content: Option<Content>,
        context: &Context,
    ) -> Answer<Bytes> {
        let mut command = match command(reference) {
            Ok(command) => command,
            Err(error) => return error.on(verb, reference).into(),
        };
        for (name, value) in self.environment.overlay() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let deadline = context.deadline;
        let run = async move {
            let input = match content {
                Some(content) => Some(content.read(INPUT).await?),
                None => None,
            };
            let deadline = deadline.unwrap_or_else(|| Instant::now() + TIME);
            match tokio::time::timeout_at(deadline.into(), output(command, input)).await {
                Ok(result) => result,
                Err(_) => Err(Error::new(Kind::Timeout, "the command took too long")),
            }
        };
        Answer::later(run).on(verb, reference)
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for CommandStore {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.run(Verb::Get, reference, None, context).map(|bytes| Some(written(bytes)))
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        if let Err(error) = context.unconditional(Verb::Put, reference) {
            return error.into();
        }
        self.run(Verb::Put, reference, Some(content), context).map(|_| Outcome::changed())
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        if let Err(error) = context.unconditional(Verb::Post, reference) {
            return error.into();
        }
        let answered = |bytes| Outcome::changed().with_content(written(bytes));
        self.run(Verb::Post, reference, Some(content), context).map(answered)
    }

    fn verbs(&self, _: &Reference) -> Verbs {
        Verbs::NONE.with(Verb::Get).with(Verb::Put).with(Verb::Post)
    }

    runnel_store::without!(
        appends, merge, delete, list, keys, attributes, relocate, query, watch, tables, conditions,
        guards, escapes, as_any, sources
    );

    fn describe(&self) -> String {
        "commands".into()
    }
}

/// What a command wrote, as text where it is.
fn written(bytes: Bytes) -> Content {
    match Text::from_utf8(bytes) {
        Ok(text) => Content::text(text),
        Err(bytes) => Content::bytes(bytes),
    }
}

/// The program of a reference and its arguments.
fn command(reference: &Reference) -> Result<Command> {
    let invalid = |message: &str| Error::malformed_reference(message);
    let mut parts = reference.segments();
    let program = parts.next().ok_or_else(|| invalid("a command is needed, as in sh:ls/-l"))?;
    let program = decode_segment(program);
    let mut command = Command::new(&*program);
    let mut arguments: Vec<String> = Vec::new();
    let mut options_ended = false;
    for part in parts {
        options_ended |= part == OPTIONS_END;
        let argument = unmarked(part, options_ended)?;
        arguments.push(decode_segment(&argument).into_owned());
    }
    for part in reference.query().unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
        options_ended |= part == OPTIONS_END;
        let argument = unmarked(part, options_ended)?;
        let argument = percent_decode_str(&argument).decode_utf8();
        arguments.push(argument.map_err(|_| invalid("an argument is not text"))?.into_owned());
    }
    if program.contains('\0') || arguments.iter().any(|argument| argument.contains('\0')) {
        return Err(invalid("a command has no zero bytes"));
    }
    command.args(arguments);
    Ok(command)
}

/// An argument without the mark that a value with a dash in front was given.
fn unmarked(argument: &str, options_ended: bool) -> Result<Cow<'_, str>> {
    let Some(rest) = argument.strip_prefix(MARKED_DASH) else {
        return Ok(Cow::Borrowed(argument));
    };
    if options_ended {
        return Ok(Cow::Owned(format!("-{rest}")));
    }
    let message = "an argument from `{…}` begins with `-`, and the command would take it as an \
                   option: write `--` before it, as in sh:grep/--/{word}";
    Err(Error::malformed_reference(message))
}

/// Runs a command and answers what it writes.
async fn output(mut command: Command, input: Option<Bytes>) -> Result<Bytes> {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| {
        let (kind, message) = match error.kind() {
            std::io::ErrorKind::NotFound => (Kind::NotFound, "there is no such command"),
            std::io::ErrorKind::PermissionDenied => (Kind::Denied, "it is not to be run"),
            _ => (Kind::Failed, "the command could not be started"),
        };
        Error::new(kind, message).with_detail(error.to_string())
    })?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let ((), output, complaint) =
        tokio::try_join!(give(&mut child, input), all(stdout), beginning(stderr))?;
    let status = child.wait().await.map_err(|error| broken(&error))?;
    if status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&complaint);
    let message = match said.trim() {
        "" => format!("the command failed ({status})"),
        said => format!("the command failed ({status}): {said}"),
    };
    Err(Error::new(Kind::Failed, message))
}

async fn give(child: &mut Child, input: Option<Bytes>) -> Result<()> {
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
        // A command need not read what it is given.
        let _ = stdin.write_all(&input).await;
    }
    Ok(())
}

/// Everything, within the limit.
async fn all(from: Option<impl AsyncRead + Unpin>) -> Result<Bytes> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        let read = from.take(OUTPUT as u64 + 1).read_to_end(&mut bytes).await;
        read.map_err(|error| broken(&error))?;
    }
    if bytes.len() > OUTPUT {
        let message = format!("the command wrote more than {OUTPUT} bytes");
        return Err(Error::new(Kind::TooLarge, message));
    }
    Ok(bytes.into())
}

/// The beginning; the rest is read, so that the command is not stopped, and forgotten.
async fn beginning(from: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        let read = (&mut from).take(COMPLAINT as u64).read_to_end(&mut bytes).await;
        read.map_err(|error| broken(&error))?;
        let rest = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
        rest.map_err(|error| broken(&error))?;
    }
    Ok(bytes)
}

fn broken(error: &std::io::Error) -> Error {
    Error::new(Kind::Failed, "the command cannot be read").with_detail(error.to_string())
}
