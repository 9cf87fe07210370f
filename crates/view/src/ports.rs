//! Ports, and the connector that joins an output to an input.
//!
//! `a → b` joins the output of `a` to the input of `b`. Only the two protocols decide how:
//! [`CONNECTORS`] is the whole decision. The kernel says which ports a thing has and carries out
//! the connector; it holds no second copy of the table.

use std::fmt;

/// Which way a port faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortDirection {
    /// Gives: the left side of an arrow.
    Out,
    /// Takes: the right side of an arrow.
    In,
}

impl PortDirection {
    /// The name of the direction, as `ports` lists it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Out => "OUT",
            Self::In => "IN",
        }
    }

    /// The direction of a name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Out, Self::In].into_iter().find(|direction| direction.name() == name)
    }
}

/// What passes through a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Objects, one after another.
    Stream,
    /// Verbs on references.
    Store,
    /// A value, when a person acts on a control.
    Action,
    /// One message with one argument.
    Message,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 4] = [Self::Stream, Self::Store, Self::Action, Self::Message];

    /// The name of the protocol, as programs and errors spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Store => "store",
            Self::Action => "action",
            Self::Message => "message",
        }
    }

    /// The protocol of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name() == name)
    }
}

/// An end of a possible connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectPort<'a> {
    /// Which way it faces.
    pub direction: PortDirection,
    /// What passes through it.
    pub protocol: Protocol,
    /// The name of the thing that has the port.
    pub owner: &'a str,
    /// What is set or sent when the port is joined: `target`, `source`, `println:`.
    pub key: &'a str,
}

impl fmt::Display for ObjectPort<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.direction.name(), self.protocol.name())?;
        if self.key.is_empty() { Ok(()) } else { write!(f, " `{}`", self.key) }
    }
}

/// How an output and an input are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connector {
    /// The end of the left chain of streams writes to the right end.
    Stream,
    /// The right store repeats each change or operation of the left end.
    Repeat,
    /// Each object of the left end is the argument of a message to the right end.
    Send,
    /// The right store becomes the source of the left one.
    Source,
    /// Each action of the left control writes its value to the right end.
    Act,
    /// Each action of the left control sends a message with its value.
    Target,
    /// The message of the left port is sent once, with the right end as its argument.
    Set,
}

impl Connector {
    /// The name of the connector, as `connection connector` answers it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Repeat => "repeat",
            Self::Send => "send",
            Self::Source => "source",
            Self::Act => "act",
            Self::Target => "target",
            Self::Set => "set",
        }
    }
}

/// The decision: the protocol of an output, the protocol of an input, and what joins them.
/// Two protocols without a row do not connect.
pub const CONNECTORS: [(Protocol, Protocol, Connector); 12] = [
    (Protocol::Stream, Protocol::Stream, Connector::Stream),
    (Protocol::Stream, Protocol::Store, Connector::Repeat),
    (Protocol::Stream, Protocol::Message, Connector::Send),
    (Protocol::Stream, Protocol::Action, Connector::Send),
    (Protocol::Store, Protocol::Store, Connector::Source),
    (Protocol::Action, Protocol::Stream, Connector::Act),
    (Protocol::Action, Protocol::Message, Connector::Target),
    (Protocol::Action, Protocol::Action, Connector::Target),
    (Protocol::Message, Protocol::Stream, Connector::Set),
    (Protocol::Message, Protocol::Store, Connector::Set),
    (Protocol::Message, Protocol::Action, Connector::Set),
    (Protocol::Message, Protocol::Message, Connector::Set),
];

/// A thing at one side of an arrow, with the ports that it has.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    /// The name of the thing.
    pub name: &'a str,
    /// Its output.
    pub output: Option<ObjectPort<'a>>,
    /// Its input.
    pub input: Option<ObjectPort<'a>>,
}

impl fmt::Display for End<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.output, &self.input) {
            (None, None) => write!(f, "{} has no ports", self.name),
            (Some(one), None) | (None, Some(one)) => write!(f, "{} has {one}", self.name),
            (Some(output), Some(input)) => write!(f, "{} has {output} and {input}", self.name),
        }
    }
}

/// Why two ends do not connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Both ends, by name and ports.
    pub message: String,
    /// What to write instead.
    pub hint: &'static str,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mismatch {}

/// What joins an output to an input.
///
/// # Errors
/// Two outputs, two inputs, or protocols without a row in [`CONNECTORS`].
pub fn connector(output: &ObjectPort<'_>, input: &ObjectPort<'_>) -> Result<Connector, Mismatch> {
    let end = |port: &ObjectPort<'_>| format!("{} has {port}", port.owner);
    let mismatch = |hint| {
        let message = format!(
            "{} and {} do not connect: {}, {}",
            output.owner,
            input.owner,
            end(output),
            end(input)
        );
        Err(Mismatch { message, hint })
    };
    match (output.direction, input.direction) {
        (PortDirection::In, _) => return mismatch("the left side must have an output"),
        (PortDirection::Out, PortDirection::Out) => {
            return mismatch("the right side must have an input");
        }
        (PortDirection::Out, PortDirection::In) => {}
    }
    let row =
        CONNECTORS.iter().find(|(from, to, _)| *from == output.protocol && *to == input.protocol);
    match row {
        Some((_, _, connector)) => Ok(*connector),
        None if output.protocol == Protocol::Store => {
            mismatch("a store connects to its source; `store changes` is a stream")
        }
        None => mismatch("a reference such as `ref:store:path` takes a value"),
    }
}

/// What joins the output of the left end to the input of the right end.
///
/// # Errors
/// An end without the port, or ports that do not fit: the message names both ends and their ports.
pub fn join(left: &End<'_>, right: &End<'_>) -> Result<Connector, Mismatch> {
    let mismatch = |hint| {
        let message = format!("{} and {} do not connect: {left}, {right}", left.name, right.name);
        Err(Mismatch { message, hint })
    };
    match (&left.output, &right.input) {
        (Some(output), Some(input)) => connector(output, input),
        (None, _) if left.input.is_some() && right.output.is_some() => {
            mismatch("turn the arrow around: what gives stands on the left")
        }
        (None, _) => mismatch("the left side must have an output"),
        (Some(_), None) => mismatch("the right side must have an input"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(owner: &'static str, protocol: Protocol) -> ObjectPort<'static> {
        ObjectPort { direction: PortDirection::Out, protocol, owner, key: "" }
    }

    fn input(owner: &'static str, protocol: Protocol) -> ObjectPort<'static> {
        ObjectPort { direction: PortDirection::In, protocol, owner, key: "" }
    }

    fn joined(from: Protocol, to: Protocol) -> Option<Connector> {
        connector(&output("a", from), &input("b", to)).ok()
    }

    #[test]
    fn protocols_decide_the_connector() {
        use Protocol::{Action, Message, Store, Stream};
        // The table of the design: what gives, what takes, how they are joined.
        let table = [
            ("filter → stream, reference → reference", Stream, Stream, Some(Connector::Stream)),
            ("store changes → store", Stream, Store, Some(Connector::Repeat)),
            ("filter → port:x/println:", Stream, Message, Some(Connector::Send)),
            ("store → store, server → store", Store, Store, Some(Connector::Source)),
            ("control → reference, stdout, filter, block", Action, Stream, Some(Connector::Act)),
            ("control → port:stdout/println:", Action, Message, Some(Connector::Target)),
            ("control → actionFor:", Action, Action, Some(Connector::Target)),
            ("port:x/setTarget: → stream", Message, Stream, Some(Connector::Set)),
            ("store → stdout", Store, Stream, None),
            ("store → port:x/println:", Store, Message, None),
            ("control → store", Action, Store, None),
        ];
        for (what, from, to, expected) in table {
            assert_eq!(joined(from, to), expected, "{what}");
        }
    }

    #[test]
    fn each_pair_has_at_most_one_row() {
        for (number, (from, to, _)) in CONNECTORS.iter().enumerate() {
            let twice = CONNECTORS[number + 1..].iter().any(|(f, t, _)| f == from && t == to);
            assert!(!twice, "{from:?} → {to:?}");
        }
    }

    #[test]
    fn two_inputs_do_not_connect() {
        let stdout =
            End { name: "stdout", output: None, input: Some(input("stdout", Protocol::Stream)) };
        let error = join(&stdout, &stdout).expect_err("two inputs");
        assert_eq!(
            error.message,
            "stdout and stdout do not connect: stdout has IN stream, stdout has IN stream"
        );
        assert_eq!(error.hint, "the left side must have an output");
    }

    #[test]
    fn two_outputs_do_not_connect() {
        let error = connector(&output("a", Protocol::Stream), &output("b", Protocol::Stream));
        assert_eq!(error.expect_err("two outputs").hint, "the right side must have an input");
    }

    #[test]
    fn an_arrow_the_wrong_way_round_is_said() {
        let array = End {
            name: "an Array",
            output: Some(output("an Array", Protocol::Stream)),
            input: None,
        };
        let stdout =
            End { name: "stdout", output: None, input: Some(input("stdout", Protocol::Stream)) };
        let error = join(&stdout, &array).expect_err("the wrong way round");
        assert!(error.hint.starts_with("turn the arrow around"), "{}", error.hint);
        assert_eq!(join(&array, &stdout), Ok(Connector::Stream));
    }

    #[test]
    fn errors_name_both_ends_and_their_ports() {
        let number = End { name: "3", output: None, input: None };
        let scheme = ObjectPort {
            direction: PortDirection::In,
            protocol: Protocol::Store,
            owner: "a DictStore",
            key: "at:put:",
        };
        let store = End { name: "a DictStore", output: None, input: Some(scheme) };
        assert_eq!(
            join(&number, &store).expect_err("no port").to_string(),
            "3 and a DictStore do not connect: 3 has no ports, \
             a DictStore has IN store `at:put:`"
        );
        let error =
            connector(&output("a Cache", Protocol::Store), &input("stdout", Protocol::Stream));
        assert_eq!(
            error.expect_err("different protocols").to_string(),
            "a Cache and stdout do not connect: a Cache has OUT store, stdout has IN stream"
        );
    }

    #[test]
    fn names_are_read_back() {
        for protocol in Protocol::ALL {
            assert_eq!(Protocol::named(protocol.name()), Some(protocol));
        }
        assert_eq!(PortDirection::named("OUT"), Some(PortDirection::Out));
        assert_eq!(PortDirection::named("IN"), Some(PortDirection::In));
        assert_eq!(PortDirection::named("in"), None);
    }
}
