//! The messages between a prompt and the program that it is attached to: JSON, one message a line.

use crate::repl::complete::{Completion, Proposal};
use serde_json::{Value, json};
use std::io::{Error, ErrorKind, Result};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// The longest message in bytes.
const LONGEST: usize = 4 * 1024 * 1024;
/// The longest text of a value or of an error in bytes; the rest is counted.
const SHOWN: usize = 256 * 1024;

/// What a prompt asks of the program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AttachRequest {
    /// Runs what this line completes.
    Line(String),
    /// Runs what was sent so far, complete or not.
    Finish,
    /// Proposals for a line and a cursor.
    Complete(String, usize),
    /// Ends the statement that runs.
    Cancel,
}

/// What the program answers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AttachReply {
    /// The first message: the process of the program.
    Welcome(u32),
    /// There is nothing to show.
    Quiet,
    Value(String),
    /// An error, with the exit status that goes with it.
    Error(String, u8),
    /// The statement was cancelled.
    Interrupted,
    /// The session ends; the program keeps running.
    Left(u8),
    Proposals(Completion),
}

impl AttachRequest {
    pub(super) fn to_json(&self) -> Value {
        match self {
            AttachRequest::Line(text) => json!({ "line": text }),
            AttachRequest::Finish => json!({ "finish": true }),
            AttachRequest::Complete(line, cursor) => json!({ "complete": line, "cursor": cursor }),
            AttachRequest::Cancel => json!({ "cancel": true }),
        }
    }

    pub(super) fn of_json(json: &Value) -> Option<AttachRequest> {
        let text = |name: &str| json[name].as_str().map(String::from);
        if let Some(line) = text("line") {
            return Some(AttachRequest::Line(line));
        }
        if let Some(line) = text("complete") {
            let cursor = usize::try_from(json["cursor"].as_u64()?).ok()?;
            return Some(AttachRequest::Complete(line, cursor));
        }
        match (json["finish"].as_bool(), json["cancel"].as_bool()) {
            (Some(true), _) => Some(AttachRequest::Finish),
            (_, Some(true)) => Some(AttachRequest::Cancel),
            _ => None,
        }
    }
}

impl AttachReply {
    pub(super) fn to_json(&self) -> Value {
        match self {
            AttachReply::Welcome(process) => json!({ "welcome": process }),
            AttachReply::Quiet => json!({ "quiet": true }),
            AttachReply::Value(text) => json!({ "value": shortened(text) }),
            AttachReply::Error(text, status) => {
                json!({ "error": shortened(text), "status": status })
            }
            AttachReply::Interrupted => json!({ "interrupted": true }),
            AttachReply::Left(status) => json!({ "left": status }),
            AttachReply::Proposals(found) => {
                let one = |one: &Proposal| json!([one.start, one.text, one.ends]);
                let all: Vec<Value> = found.proposals.iter().map(one).collect();
                json!({ "proposals": all, "note": found.note })
            }
        }
    }

    pub(super) fn of_json(json: &Value) -> Option<AttachReply> {
        let text = |name: &str| json[name].as_str().map(String::from);
        let status = |name: &str| json[name].as_u64().and_then(|number| u8::try_from(number).ok());
        if let Some(process) = json["welcome"].as_u64() {
            return u32::try_from(process).ok().map(AttachReply::Welcome);
        }
        if let Some(value) = text("value") {
            return Some(AttachReply::Value(value));
        }
        if let Some(error) = text("error") {
            return Some(AttachReply::Error(error, status("status")?));
        }
        if let Some(all) = json["proposals"].as_array() {
            let proposals = all.iter().map(proposal).collect::<Option<_>>()?;
            return Some(AttachReply::Proposals(Completion { proposals, note: text("note") }));
        }
        match (status("left"), json["interrupted"].as_bool(), json["quiet"].as_bool()) {
            (Some(status), _, _) => Some(AttachReply::Left(status)),
            (_, Some(true), _) => Some(AttachReply::Interrupted),
            (_, _, Some(true)) => Some(AttachReply::Quiet),
            _ => None,
        }
    }
}

fn proposal(json: &Value) -> Option<Proposal> {
    let start = usize::try_from(json[0].as_u64()?).ok()?;
    Some(Proposal { start, text: json[1].as_str()?.into(), ends: json[2].as_bool()? })
}

/// The text up to a size, and how much is left out.
fn shortened(text: &str) -> String {
    if text.len() <= SHOWN {
        return text.to_string();
    }
    let end = text.floor_char_boundary(SHOWN);
    format!("{}… {} bytes more", &text[..end], text.len() - end)
}

/// Incoming messages. A read that is dropped loses nothing.
pub(super) struct Incoming {
    stream: BufReader<OwnedReadHalf>,
    line: Vec<u8>,
}

impl Incoming {
    pub(super) fn new(stream: OwnedReadHalf) -> Incoming {
        Incoming { stream: BufReader::new(stream), line: Vec::new() }
    }

    /// The next message; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Value>> {
        let room = (LONGEST + 1).saturating_sub(self.line.len()) as u64;
        let mut limited = (&mut self.stream).take(room);
        limited.read_until(b'\n', &mut self.line).await?;
        if self.line.is_empty() {
            return Ok(None);
        }
        if !self.line.ends_with(b"\n") {
            let what = if self.line.len() > LONGEST { "too long" } else { "cut off" };
            return Err(Error::new(ErrorKind::InvalidData, format!("a message is {what}")));
        }
        let line = std::mem::take(&mut self.line);
        serde_json::from_slice(&line).map(Some).map_err(Error::from)
    }
}

/// Sends a message.
pub(super) async fn send(stream: &mut OwnedWriteHalf, message: &Value) -> Result<()> {
    let mut line = message.to_string();
    line.push('\n');
    stream.write_all(line.as_bytes()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_way() {
        for request in [
            AttachRequest::Line("3 + 4\n\"ü\"".into()),
            AttachRequest::Finish,
            AttachRequest::Complete("'abc' up".into(), 8),
            AttachRequest::Cancel,
        ] {
            assert_eq!(AttachRequest::of_json(&request.to_json()), Some(request));
        }
        let proposal = Proposal { start: 3, text: "uppercase".into(), ends: true };
        let completion = Completion { proposals: vec![proposal], note: Some("a note".into()) };
        for reply in [
            AttachReply::Welcome(7),
            AttachReply::Quiet,
            AttachReply::Value("7".into()),
            AttachReply::Error("error: no".into(), 70),
            AttachReply::Interrupted,
            AttachReply::Left(3),
            AttachReply::Proposals(completion),
        ] {
            assert_eq!(AttachReply::of_json(&reply.to_json()), Some(reply));
        }
        assert_eq!(AttachRequest::of_json(&json!({ "cancel": false })), None);
        assert_eq!(AttachReply::of_json(&json!([1])), None);
    }

    #[test]
    fn a_long_value_is_cut() {
        let text = "ü".repeat(SHOWN);
        let shown = shortened(&text);
        assert!(
            shown.len() < SHOWN + 100 && shown.ends_with("… 262144 bytes more"),
            "{}",
            shown.len()
        );
    }
}
