//! Messages as bytes: a head with their length, then JSON.

use lsp_server::{ErrorCode, Message, Request, RequestId, Response, ResponseError};
use std::io::{BufRead, Read, Write};

/// The longest message that is read; a longer one is skipped.
const LONGEST_MESSAGE: usize = 64 << 20;
/// The longest head of a message.
const LONGEST_HEAD: u64 = 64 << 10;

/// What was read.
#[derive(Debug)]
pub(crate) enum Incoming {
    Message(Message),
    /// No message of the protocol; the reason.
    Wrong(ErrorCode, String),
    /// Nothing follows.
    End,
}

/// Reads the next message. What is wrong with one does not affect the next.
pub(crate) fn read_message(input: &mut impl BufRead) -> Incoming {
    let length = match read_head(input) {
        Ok(Some(length)) => length,
        Ok(None) => {
            return Incoming::Wrong(
                ErrorCode::ParseError,
                "a message has no Content-Length".into(),
            );
        }
        Err(()) => return Incoming::End,
    };
    if length > LONGEST_MESSAGE {
        return match std::io::copy(&mut input.take(length as u64), &mut std::io::sink()) {
            Ok(_) => {
                let why = format!("a message is longer than {} MiB", LONGEST_MESSAGE >> 20);
                Incoming::Wrong(ErrorCode::InvalidRequest, why)
            }
            Err(_) => Incoming::End,
        };
    }
    let mut body = Vec::new();
    match input.take(length as u64).read_to_end(&mut body) {
        Ok(read) if read == length => {}
        _ => return Incoming::End,
    }
    match serde_json::from_slice(&body) {
        Ok(message) => Incoming::Message(message),
        Err(error) if error.is_data() => {
            Incoming::Wrong(ErrorCode::InvalidRequest, "this is no message of JSON-RPC".into())
        }
        Err(error) => Incoming::Wrong(ErrorCode::ParseError, format!("this is no JSON: {error}")),
    }
}

/// The length that a head says; `Err` at the end of the input.
fn read_head(input: &mut impl BufRead) -> Result<Option<usize>, ()> {
    let mut length = None;
    let mut is_begun = false;
    let mut head = input.take(LONGEST_HEAD);
    loop {
        let mut line = Vec::new();
        match head.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return Err(()),
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if line.is_empty() {
            match is_begun {
                true => return Ok(length),
                false => continue,
            }
        }
        is_begun = true;
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok();
        }
    }
}

/// Where answers and notifications go.
pub(crate) struct Outbox {
    output: Box<dyn Write>,
    next_request: i32,
}

impl Outbox {
    pub(crate) fn new(output: impl Write + 'static) -> Outbox {
        Outbox { output: Box::new(output), next_request: 0 }
    }

    fn send(&mut self, message: &serde_json::Value) {
        self.send_text(&message.to_string());
    }

    fn send_text(&mut self, body: &str) {
        let whole = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        // A client that reads no more also ends the input, which ends the server.
        let _ = self.output.write_all(whole.as_bytes()).and_then(|()| self.output.flush());
    }

    pub(crate) fn respond(&mut self, response: Response) {
        let mut message = serde_json::json!({ "jsonrpc": "2.0", "id": response.id });
        match response.response_result {
            Err(error) => message["error"] = serde_json::json!(error),
            Ok(result) => message["result"] = result,
        }
        self.send(&message);
    }

    /// A result that is JSON already.
    pub(crate) fn respond_text(&mut self, id: &RequestId, result: &str) {
        let id = serde_json::to_string(id).unwrap_or_else(|_| "null".to_owned());
        self.send_text(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
    }

    pub(crate) fn fail(&mut self, id: RequestId, code: ErrorCode, why: impl Into<String>) {
        self.respond(Response::new_err(id, code as i32, why.into()));
    }

    /// The error of a message that has no number.
    pub(crate) fn fail_unnumbered(&mut self, code: ErrorCode, why: String) {
        let error = ResponseError { code: code as i32, message: why, data: None };
        self.send(&serde_json::json!({ "jsonrpc": "2.0", "id": null, "error": error }));
    }

    pub(crate) fn notify(&mut self, method: &str, params: serde_json::Value) {
        self.send(&serde_json::json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// A request to the client, whose answer says nothing.
    pub(crate) fn request(&mut self, method: &str) {
        self.next_request += 1;
        let request = Request::new(self.next_request.into(), method.to_owned(), ());
        self.send(
            &serde_json::json!({ "jsonrpc": "2.0", "id": request.id, "method": request.method }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(input: &str) -> Vec<String> {
        let mut input = input.as_bytes();
        let mut all = Vec::new();
        loop {
            match read_message(&mut input) {
                Incoming::Message(Message::Notification(one)) => all.push(one.method),
                Incoming::Message(other) => all.push(format!("{other:?}")),
                Incoming::Wrong(code, why) => all.push(format!("{} {why}", code as i32)),
                Incoming::End => return all,
            }
        }
    }

    #[test]
    fn a_wrong_message_does_not_affect_the_next() {
        let good = r#"{"jsonrpc":"2.0","method":"a"}"#;
        let framed = |body: &str| format!("Content-Length: {}\r\n\r\n{body}", body.len());
        let input = [
            framed("{ not json"),
            framed("[1,2]"),
            "X: 1\r\n\r\n".to_owned(),
            format!("content-length:{}\r\nContent-Type: x\r\n\r\n{good}", good.len()),
        ];
        let all = read_all(&input.concat());
        assert_eq!(all.len(), 4, "{all:?}");
        assert!(all[0].starts_with("-32700"), "{all:?}");
        assert!(all[1].starts_with("-32600"), "{all:?}");
        assert!(all[2].contains("Content-Length"), "{all:?}");
        assert_eq!(all[3], "a");
        assert_eq!(read_all("Content-Length: 99\r\n\r\n{"), Vec::<String>::new());
    }
}
