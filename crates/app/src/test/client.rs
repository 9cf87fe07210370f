//! The smallest HTTP client that a conversation needs (RFC 9112): one request for each connection,
//! the bytes as they are written down, nothing followed, stored or decoded but chunks.

use super::conversation::{Reply, Turn};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Bytes of the largest answer.
const LARGEST: u64 = 8 << 20;

/// Sends a request to a server on this machine and reads the answer.
pub(crate) async fn talk(port: u16, turn: &Turn) -> Result<Reply, String> {
    let failed = |what: &str, error: std::io::Error| format!("{what}: {error}");
    let mut stream = TcpStream::connect(("127.0.0.1", port))
        .await
        .map_err(|error| failed("the server does not listen", error))?;
    stream
        .write_all(&request(port, turn))
        .await
        .map_err(|error| failed("the request could not be sent", error))?;
    let mut bytes = Vec::new();
    stream
        .take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .await
        .map_err(|error| failed("the answer could not be read", error))?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("the answer is larger than {} MiB", LARGEST >> 20));
    }
    read(&bytes)
}

fn request(port: u16, turn: &Turn) -> Vec<u8> {
    let given = |name: &str| turn.headers.iter().any(|(one, _)| one.eq_ignore_ascii_case(name));
    let mut head = format!("{} {} HTTP/1.1\r\n", turn.method, turn.target);
    let mut add = |name: &str, value: &str| head.push_str(&format!("{name}: {value}\r\n"));
    if !given("Host") {
        add("Host", &format!("127.0.0.1:{port}"));
    }
    for (name, value) in &turn.headers {
        add(name, value);
    }
    add("Connection", "close");
    let body = turn.body.as_deref().unwrap_or("");
    if turn.body.is_some() {
        if !given("Content-Type") {
            let json = body.starts_with(['{', '[']);
            add("Content-Type", if json { "application/json" } else { "text/plain" });
        }
        if !given("Content-Length") && !given("Transfer-Encoding") {
            add("Content-Length", &body.len().to_string());
        }
    }
    head.push_str("\r\n");
    head.push_str(body);
    head.into_bytes()
}

/// Reads an answer that ends with its connection.
fn read(bytes: &[u8]) -> Result<Reply, String> {
    let short = || "the connection ended before the answer was complete".to_string();
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(short)?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let status = lines
        .next()
        .and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok())
        .ok_or_else(|| format!("this is no answer: {}", head.lines().next().unwrap_or("")))?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_string(), value.trim().to_string()))
        .collect();
    let value = |name: &str| {
        headers.iter().find(|(one, _)| one.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    };
    let body = &bytes[end + 4..];
    let chunked = value("Transfer-Encoding").is_some_and(|value| value.contains("chunked"));
    let body = match chunked {
        true => chunks(body).ok_or_else(short)?,
        false => body.to_vec(),
    };
    Ok(Reply { status, headers, body: String::from_utf8_lossy(&body).into_owned() })
}

/// The content of chunks (RFC 9112 section 7.1).
fn chunks(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    loop {
        let end = bytes.windows(2).position(|two| two == b"\r\n")?;
        let size = std::str::from_utf8(&bytes[..end]).ok()?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        if size == 0 {
            return Some(content);
        }
        bytes = &bytes[end + 2..];
        content.extend_from_slice(bytes.get(..size)?);
        bytes = bytes.get(size + 2..)?;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let plain = read(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nhi").unwrap();
        assert_eq!((plain.status, plain.body.as_str()), (200, "hi"));
        assert_eq!(plain.headers, [("A".into(), "b".into())]);
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
            3\r\nabc\r\n1;x\r\nd\r\n0\r\n\r\n";
        assert_eq!(read(chunked).unwrap().body, "abcd");
    }

    #[test]
    fn what_is_cut_off_is_an_error() {
        assert!(read(b"HTTP/1.1 200 OK\r\nA: b\r\n").is_err());
        assert!(read(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab").is_err());
        assert!(read(b"oops\r\n\r\n").is_err());
    }
}
