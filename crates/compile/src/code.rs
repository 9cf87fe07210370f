//! Pieces of Lua code, where their values go, and what is known around the code being compiled.

use crate::elements::html::MarkupContext;
use crate::scope::Variable;
use runnel_syntax::Span;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A Lua expression.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub(crate) text: String,
    /// A constant or a temporary: evaluating it later gives the same and costs nothing.
    pub(crate) simple: bool,
    /// A call: may stand as a statement.
    pub(crate) call: bool,
    /// May be followed by `.name`, `[…]` or `:name(…)` without parentheses.
    pub(crate) prefix: bool,
    pub(crate) depth: u16,
}

impl Code {
    pub(crate) fn constant(text: impl Into<String>) -> Self {
        Code { text: text.into(), simple: true, call: false, prefix: false, depth: 0 }
    }

    pub(crate) fn prefix(text: impl Into<String>) -> Self {
        Code { simple: false, prefix: true, ..Code::constant(text) }
    }

    pub(crate) fn call(text: impl Into<String>) -> Self {
        Code { simple: false, call: true, prefix: true, ..Code::constant(text) }
    }

    pub(crate) fn temporary(text: String) -> Self {
        Code { prefix: true, ..Code::constant(text) }
    }

    pub(crate) fn deeper_than(mut self, inner: &[Code]) -> Self {
        self.depth = 1 + inner.iter().map(|code| code.depth).max().unwrap_or(0);
        self
    }

    /// A call that keeps its arguments in slots until all are there.
    pub(crate) fn with_arguments(self, inner: &[Code]) -> Self {
        let code = self.deeper_than(inner);
        Code { depth: code.depth.saturating_add((inner.len() / 2) as u16), ..code }
    }

    /// As the receiver of a message.
    pub(crate) fn receiver(&self) -> Cow<'_, str> {
        if self.prefix { (&self.text).into() } else { format!("({})", self.text).into() }
    }
}

/// What becomes of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tail {
    /// It is dropped.
    Discard,
    /// It is returned from the Lua function.
    Return,
    /// It is kept in this variable.
    Keep(String),
    /// It is written into markup.
    Write(Box<MarkupTarget>),
}

/// Where markup is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MarkupTarget {
    /// The variable that holds the buffer, and the function whose variable it is.
    pub(crate) buffer: String,
    pub(crate) owner: Option<usize>,
    pub(crate) context: MarkupContext,
    /// By the rules of XML instead of those of HTML.
    pub(crate) xml: bool,
}

/// The query brackets whose block is compiled.
#[derive(Debug)]
pub(crate) struct BracketContext {
    /// The Lua variable that holds the element.
    pub(crate) element: String,
    /// Whether bare names may be fields: the block declares no parameter.
    pub(crate) bare: bool,
    /// Scopes around the brackets.
    pub(crate) depth: usize,
    /// The class of the elements, where it is known.
    pub(crate) class: Option<String>,
    /// Variables from outside that are read by their bare names: none may be a field.
    pub(crate) outside: BTreeSet<String>,
}

/// What is known about a class of this program.
#[derive(Clone, Default, Hash)]
pub(crate) struct ClassFacts {
    pub(crate) variables: Vec<String>,
    /// Those that have a type.
    pub(crate) typed: BTreeSet<String>,
    pub(crate) superclass: Option<String>,
}

/// A loop around the code being compiled: what `break` and `continue` leave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loop {
    pub(crate) label: usize,
    /// Where the blocks stand that are repeated.
    pub(crate) bodies: Vec<Span>,
    /// A loop of Lua, in the same function as its body.
    pub(crate) inlined: bool,
    /// The function that the loop stands in, and that of its body.
    pub(crate) outer: usize,
    pub(crate) body: Option<usize>,
    /// Whether `break` unwinds to the loop, and `continue` to its body.
    pub(crate) breaks: bool,
    pub(crate) unwinds: bool,
}

/// The method around the code being compiled.
#[derive(Clone, Default)]
pub(crate) struct MethodContext {
    /// The class, for `this:` and `super`.
    pub(crate) class: String,
    /// `^` forwards instead of returning.
    pub(crate) forwards: bool,
    /// The function that `^` returns from.
    pub(crate) home: usize,
    /// A block that is a function of its own returns from it.
    pub(crate) unwinds: bool,
    /// On the class itself.
    pub(crate) class_side: bool,
    /// A page that it answers may be sent while it is written: a `get` of a property path.
    pub(crate) pages: bool,
    /// The hidden last parameter of such a `get`: whether a client waits for the page.
    pub(crate) client: Option<Variable>,
}
