//! Faults: errors that no handler of a program took.

use crate::engine::memory;
use crate::isolate::Isolate;
use runnel_store::{Error, ErrorResponse, FieldProblem, Kind};
use std::fmt;

/// Places of a trace that are shown from its inner and from its outer end.
const INNERMOST: usize = 12;
const OUTERMOST: usize = 8;

/// The kind of the error that a program raises when its memory is used up (fiber.lua).
const OUT_OF_MEMORY: &str = "memory";

/// What an error of a program is for those outside of it, who get the status of the kind.
pub fn kind_of_error(name: &str) -> Kind {
    match name {
        // Others may succeed, and so may this one when they have ended.
        OUT_OF_MEMORY => Kind::Unavailable,
        name => Kind::of_name(name).unwrap_or(Kind::Failed),
    }
}

/// One frame of a stack trace: a place of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFrame {
    /// The file or reference of the source.
    pub source: String,
    /// The line, from 1; 0 where it is not known.
    pub line: u32,
    /// The column in characters, from 1; 0 where it is not known.
    pub column: u32,
    /// How many characters of the line it takes.
    pub width: u32,
    /// What the source names there, such as `Task -title` or `GET /tasks/:id`.
    pub definition: Option<String>,
}

impl TraceFrame {
    /// `FILE:LINE:COLUMN`, and what the source names there.
    pub fn place(&self) -> String {
        let mut text = format!("{}:{}", self.source, self.line);
        if self.column > 0 {
            text.push_str(&format!(":{}", self.column));
        }
        if let Some(definition) = &self.definition {
            text.push_str(&format!(" in {definition}"));
        }
        text
    }
}

/// An error that no handler of the program took.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Its kind: a name of [`Kind`], or the program's own.
    pub kind: String,
    /// What happened, in one sentence.
    pub message: String,
    /// The one next step, where one is known.
    pub hint: Option<String>,
    /// Where it was raised and who called, innermost first.
    pub trace: Vec<TraceFrame>,
    /// What caused it, for the log: a driver's message.
    pub detail: Option<String>,
    /// The fields of the content that are wrong.
    pub fields: Vec<FieldProblem>,
    /// What the program says about the HTTP response.
    pub response: Option<Box<ErrorResponse>>,
    /// A resource that the program asked raised it, or a limit of the program itself: clients must
    /// not read its message.
    pub internal: bool,
    /// A value in a reference was malformed ([`Error::of_reference`]).
    pub of_reference: bool,
    /// The program asked to end with this value (`^` in the script itself, `exit:`).
    pub exit: Option<i32>,
}

impl Fault {
    /// A fault of the engine itself: memory, a stack overflow in a handler.
    pub(crate) fn broken(message: &str) -> Fault {
        Fault {
            kind: "failed".into(),
            message: message.into(),
            hint: None,
            trace: Vec::new(),
            detail: None,
            fields: Vec::new(),
            response: None,
            internal: false,
            of_reference: false,
            exit: None,
        }
    }

    /// The fault of a message that the engine itself raised, without an Error object.
    pub(crate) fn of_engine(message: &str) -> Fault {
        match message.as_bytes() {
            memory::MESSAGE => {
                Fault { kind: OUT_OF_MEMORY.into(), ..Fault::broken(memory::EXPLANATION) }
            }
            _ => Fault::broken(message),
        }
    }

    /// As the error of a verb: the program's message, with the trace as detail for the log.
    pub(crate) fn into_error(self, isolate: &Isolate) -> Error {
        let is_out_of_memory = self.kind == OUT_OF_MEMORY;
        let kind = kind_of_error(&self.kind);
        let mut detail = isolate.explain(&self);
        if let Some(cause) = &self.detail {
            detail.push_str("\n  ");
            detail.push_str(cause);
        }
        let mut error = Error::new(kind, self.message).with_detail(detail);
        (error.fields, error.response) = (self.fields, self.response);
        (error.internal, error.of_reference) = (self.internal, self.of_reference);
        error.temporary &= !is_out_of_memory;
        error
    }
}

impl Isolate {
    /// A fault with its chain of source lines, for the log.
    pub fn explain(&self, fault: &Fault) -> String {
        let mut text = format!("{}: {}", fault.kind, fault.message);
        if let Some(hint) = &fault.hint {
            text.push_str(&format!("\n  hint: {hint}"));
        }
        // Of a deep recursion both ends say enough.
        let left_out = fault.trace.len().saturating_sub(INNERMOST + OUTERMOST);
        for (number, place) in fault.trace.iter().enumerate() {
            if left_out > 0 && number == INNERMOST {
                text.push_str(&format!("\n  … {left_out} more"));
            }
            if (INNERMOST..INNERMOST + left_out).contains(&number) {
                continue;
            }
            let source = self.source(&place.source);
            let line = source
                .as_deref()
                .and_then(|source| source.lines().nth(place.line.saturating_sub(1) as usize))
                .map_or("", str::trim);
            text.push_str(&format!("\n  {}  {line}", place.place()));
        }
        text
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}
