//! A small HTTP/1.1 client over bare sockets, so that tests see what is really sent.

use super::PATIENCE;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {}", self.text()))
    }

    /// The first header field of a name, in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A connection that is kept open between requests.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn open(port: u16) -> Result<Connection> {
        Connection::of(TcpStream::connect(("127.0.0.1", port))?)
    }

    /// From another address of this machine, such as 127.0.0.2.
    pub(crate) fn open_from(host: &str, port: u16) -> Result<Connection> {
        use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        let own = SocketAddr::new(host.parse().map_err(|_| bad("no address"))?, 0);
        bind(&socket, &own)?;
        connect(&socket, &SocketAddr::from(([127, 0, 0, 1], port)))?;
        Connection::of(socket.into())
    }

    fn of(stream: TcpStream) -> Result<Connection> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream: BufReader::new(stream) })
    }

    /// Sends a request and does not wait for the answer.
    pub(crate) fn ask(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<()> {
        let mut head = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH") {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        self.stream.get_mut().write_all(&bytes)
    }

    /// Reads an answer.
    pub(crate) fn answer(&mut self, method: &str) -> Result<Reply> {
        let status = self.status()?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| bad("no header field"))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_string()));
        }
        let mut reply = Reply { status, headers, body: Vec::new() };
        if method != "HEAD" && status != 204 && status != 304 {
            self.read_body(&mut reply)?;
        }
        Ok(reply)
    }

    /// Reads the first line of an answer.
    pub(crate) fn status(&mut self) -> Result<u16> {
        let line = self.line()?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        status.ok_or_else(|| bad(&format!("no status line: {line}")))
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn send(&mut self, method: &str, target: &str, body: &[u8]) -> Result<Reply> {
        self.ask(method, target, &[], body)?;
        self.answer(method)
    }

    /// Whether anything has come back, or the other side has closed.
    pub(crate) fn is_answered(&mut self) -> bool {
        let stream = self.stream.get_ref();
        let looked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
        let answered = !matches!(looked, Err(error) if error.kind() == ErrorKind::WouldBlock);
        answered || stream.set_nonblocking(false).is_err()
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(Error::new(ErrorKind::UnexpectedEof, "the connection was closed"));
        }
        Ok(line.trim_end_matches(['\r', '\n']).to_string())
    }

    fn read_body(&mut self, reply: &mut Reply) -> Result<()> {
        if let Some(length) = reply.header("content-length") {
            let length = length.parse().map_err(|_| bad("no length"))?;
            reply.body = vec![0; length];
            return self.stream.read_exact(&mut reply.body);
        }
        if reply.header("transfer-encoding") != Some("chunked") {
            self.stream.read_to_end(&mut reply.body)?;
            return Ok(());
        }
        loop {
            let line = self.line()?;
            let length = usize::from_str_radix(line.split(';').next().unwrap_or(""), 16)
                .map_err(|_| bad("no chunk length"))?;
            let start = reply.body.len();
            reply.body.resize(start + length, 0);
            self.stream.read_exact(&mut reply.body[start..])?;
            self.line()?;
            if length == 0 {
                return Ok(());
            }
        }
    }
}

fn bad(message: &str) -> Error {
    Error::new(ErrorKind::InvalidData, message.to_string())
}

/// The answer to a GET that was sent over a stream.
pub(crate) fn read_reply(stream: TcpStream) -> Result<Reply> {
    Connection { stream: BufReader::new(stream) }.answer("GET")
}

/// One request on a connection of its own.
pub(crate) fn send(
    port: u16,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<Reply> {
    let mut connection = Connection::open(port)?;
    connection.ask(method, target, headers, body)?;
    connection.answer(method)
}

/// A GET on a connection of its own.
pub(crate) fn get(port: u16, target: &str) -> Reply {
    send(port, "GET", target, &[], b"").unwrap()
}

/// Sends the text of a request as it is.
pub(crate) fn raw(port: u16, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Reads until the text that came ends in this.
pub(crate) fn until(stream: &mut TcpStream, end: &str) -> String {
    let mut heard = Vec::new();
    while !heard.ends_with(end.as_bytes()) {
        let mut byte = [0];
        let count = stream.read(&mut byte).unwrap();
        assert_eq!(count, 1, "it ended with {:?}", String::from_utf8_lossy(&heard));
        heard.push(byte[0]);
    }
    String::from_utf8_lossy(&heard).into_owned()
}
