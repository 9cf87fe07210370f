//! A client of the server, over two pipes.

use runnel_catalogue::Catalogue;
use runnel_lsp::{Knowledge, KnownOption, KnownScheme};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::sync::OnceLock;
use std::thread::JoinHandle;

const CATALOGUE: &str = "\
class Object
class Number Object
class String Object
alias NSString String
class Collection Object
class Array Collection
class Dictionary Collection
class ByteStream Object
class Reference Object
class Table Object
class HTTPServer Object
about HTTPServer
A server of HTTP.

Object -<String>printString
A text that shows the value.
> 3 printString ⇒ '3'

Number -<Number>squared
The number times itself.
> 3 squared ⇒ 9

String -<String>uppercase
String -<String>asUppercase
The text in capital letters; one letter may become two.
> 'a' uppercase ⇒ 'A'

String -<String>replace:<String>old with:<String>new
The text with a part exchanged. All places count.
> 'ab' replace: 'a' with: 'b' ⇒ 'bb'

Collection -<Number>count
The number of elements.
> [1] count ⇒ 1

Collection -<Array>collect:<Block(each)>block
What the block answers for each element.
> [1] collect: { :each | each } ⇒ [1]

Collection -<Array>select:<Block(each)>block
The elements for which the block answers true.
> [1] select: { :each | true } ⇒ [1]

Dictionary -<any>at:<any>key
The value of a key.
> #{ a: 1 } at: 'a' ⇒ 1

Dictionary -<any>at:<any>key put:<any>value
Sets the value of a key.
> #{ } at: 'a' put: 1 ⇒ 1

ByteStream -<nothing>println:<any>value
Writes a line.
> stdout println: 3

Reference -<Table>table:<Class>class
The table of a class.
> ref:sqlite:t.db table: Task

Table -<Array>select:<Block(row)>block
The rows for which the block answers true.
> tasks select: { :row | true }

scheme ref
The reference itself.
> ref:file:a

scheme var
A variable.
> var:count

scheme this
A variable of the object.
> this:title

scheme self
A property of the object.
> self:title

scheme scheme
The store of a scheme.
> scheme:notes ← #Site{}

name stdout
Standard output, a stream.
> stdout println: 3
";

const FACTS: &str = "\
class Object
own printString isEqual: isNotEqualTo:
class Number Object
own squared add: sub: mul: isLessThan:
class String Object
own uppercase asUppercase replace:with: concat:
alias NSString String
class Collection Object
own count collect: select:
class Array Collection
class Dictionary Collection
own at: at:put:
class Boolean Object
class Block Object
class Class Object
class Element Object
class Pattern Object
class Scheme Object
class Store Object
class Error Object
class ByteStream Object
own println:
class Reference Object
own table: load
class Table Object
own select:
class HTTPServer Object
own port
variables port
name stdout ByteStream
name Transcript class ByteStream
";

/// What the tests know of the language.
pub(crate) fn knowledge() -> Knowledge {
    static PARSED: OnceLock<Catalogue> = OnceLock::new();
    let catalogue = PARSED.get_or_init(|| Catalogue::parse(CATALOGUE));
    let file = KnownScheme {
        name: "file".into(),
        help: "files and folders".into(),
        example: "file:notes/today.txt".into(),
    };
    let port = KnownOption {
        name: "port".into(),
        kind: "whole Number".into(),
        default: Some("0".into()),
        help: "the port; 0 takes a free one".into(),
    };
    let idle = KnownOption { name: "idleTimeout".into(), ..KnownOption::default() };
    let schemes = vec!["file".to_owned(), "sqlite".to_owned()];
    let options = vec![("HTTPServer".to_owned(), vec![port, idle])];
    Knowledge::new(catalogue, FACTS, schemes, vec![file], options)
}

/// A connection with a server of its own thread.
pub(crate) struct Client {
    input: Option<PipeWriter>,
    output: BufReader<PipeReader>,
    server: Option<JoinHandle<bool>>,
    last: i64,
    /// Notifications and requests of the server, in order.
    pub(crate) notes: Vec<Value>,
}

pub(crate) const URI: &str = "file:///project/test.rnl";

impl Client {
    /// A server that was not asked anything yet.
    pub(crate) fn silent() -> Client {
        let (server_input, input) = std::io::pipe().unwrap();
        let (output, server_output) = std::io::pipe().unwrap();
        let server = std::thread::Builder::new()
            .stack_size(32 << 20)
            .spawn(move || runnel_lsp::serve(knowledge(), server_input, server_output))
            .unwrap();
        let output = BufReader::new(output);
        Client { input: Some(input), output, server: Some(server), last: 0, notes: Vec::new() }
    }

    /// An editor that counts columns in units of 16 bits and asks for diagnostics.
    pub(crate) fn new() -> Client {
        Client::with(json!({ "textDocument": { "diagnostic": {} } }))
    }

    pub(crate) fn with(capabilities: Value) -> Client {
        let mut client = Client::silent();
        let answer = client.ask("initialize", json!({ "capabilities": capabilities }));
        assert!(answer["capabilities"].is_object(), "{answer}");
        client.tell("initialized", json!({}));
        client
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub(crate) fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the server ended");
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("Content-Length: ") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    pub(crate) fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request without waiting; answers its number.
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> i64 {
        self.last += 1;
        self.send(
            &json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params }),
        );
        self.last
    }

    /// The whole response with a number.
    pub(crate) fn response(&mut self, id: i64) -> Value {
        loop {
            let message = self.read();
            if message["id"] == json!(id) && message.get("method").is_none() {
                return message;
            }
            self.notes.push(message);
        }
    }

    /// The result, or the error.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let mut response = self.response(id);
        match response.get_mut("error") {
            Some(error) => json!({ "error": error.take() }),
            None => response["result"].take(),
        }
    }

    pub(crate) fn open(&mut self, text: &str) {
        self.tell(
            "textDocument/didOpen",
            json!({ "textDocument": { "uri": URI, "languageId": "runnel", "version": 1, "text": text } }),
        );
    }

    pub(crate) fn change(&mut self, version: i64, changes: Value) {
        self.tell(
            "textDocument/didChange",
            json!({ "textDocument": { "uri": URI, "version": version }, "contentChanges": changes }),
        );
    }

    /// Opens the text without its mark `¦`, and asks at the mark.
    pub(crate) fn at(&mut self, method: &str, marked: &str) -> Value {
        self.at_with(method, marked, json!({}))
    }

    pub(crate) fn at_with(&mut self, method: &str, marked: &str, more: Value) -> Value {
        let before = marked.split('¦').next().unwrap();
        self.open(&marked.replace('¦', ""));
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap().encode_utf16().count();
        let mut params = json!({
            "textDocument": { "uri": URI }, "position": { "line": line, "character": column },
        });
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        self.ask(&format!("textDocument/{method}"), params)
    }

    /// Asks about the whole text.
    pub(crate) fn about(&mut self, method: &str, text: &str) -> Value {
        self.open(text);
        self.ask(&format!("textDocument/{method}"), json!({ "textDocument": { "uri": URI } }))
    }

    /// Leaves in order; answers whether the server thinks so too.
    pub(crate) fn leave(mut self) -> bool {
        assert_eq!(self.ask("shutdown", Value::Null), Value::Null);
        self.tell("exit", Value::Null);
        self.server.take().unwrap().join().unwrap()
    }

    /// Ends the input.
    pub(crate) fn vanish(mut self) -> bool {
        self.input.take();
        self.server.take().unwrap().join().unwrap()
    }
}

/// Applies changes of the protocol, columns in units of 16 bits.
pub(crate) fn applied(text: &str, edits: &Value) -> String {
    let offset = |position: &Value| {
        let (line, column) =
            (position["line"].as_u64().unwrap(), position["character"].as_u64().unwrap());
        let start: usize = text.split_inclusive('\n').take(line as usize).map(str::len).sum();
        let mut units = 0;
        let rest = text[start..].char_indices().find(|(_, one)| {
            let here = units;
            units += one.len_utf16() as u64;
            here >= column
        });
        rest.map_or(text.len(), |(at, _)| start + at)
    };
    let mut changes: Vec<(usize, usize, String)> = edits
        .as_array()
        .unwrap()
        .iter()
        .map(|edit| {
            let range = &edit["range"];
            let new = edit["newText"].as_str().unwrap().to_owned();
            (offset(&range["start"]), offset(&range["end"]), new)
        })
        .collect();
    changes.sort();
    let mut result = text.to_owned();
    for (start, end, new) in changes.into_iter().rev() {
        result.replace_range(start..end, &new);
    }
    result
}
