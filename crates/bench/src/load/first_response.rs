//! The first response, which defines what the others have to match.

use crate::client::response::{ReadStep, ResponseReader};
use crate::client::tls::{Stream, TlsClient};
use crate::load::plan::LARGEST_BODY;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The first response.
#[derive(Debug)]
pub(crate) struct FirstResponse {
    pub(crate) status: u16,
    /// Bytes of the body.
    pub(crate) length: u64,
    /// The body, if it is compared.
    pub(crate) body: Vec<u8>,
}

/// Sends one request and waits for its response.
///
/// # Errors
/// A sentence: no response within `limit`, no HTTP/1.1, or a compared body beyond [`LARGEST_BODY`]
/// bytes.
pub(crate) fn ask(
    stream: TcpStream,
    tls: Option<&TlsClient>,
    request: &[u8],
    bodiless: bool,
    keep: bool,
    limit: Duration,
) -> Result<FirstResponse, String> {
    let began = Instant::now();
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => {
            format!("the first request has no answer after {} s", limit.as_secs_f64())
        }
        _ => format!("the first request failed: {error}"),
    };
    let mut stream = Stream::new(stream, tls).map_err(failed)?;
    let set = send(&mut stream, request, limit);
    if let Err(error) = &set
        && let Some(why) = tls_fault(error)
    {
        return Err(why);
    }
    // The response may have arrived before the server closed: reading tells.
    let mut unsent = set.err();
    let mut reader = ResponseReader::new(bodiless);
    let mut body = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let left = limit.saturating_sub(began.elapsed()).max(Duration::from_millis(1));
        stream.socket().set_read_timeout(Some(left)).map_err(failed)?;
        let count = match stream.read(&mut buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(unsent.take().unwrap_or(error))),
            Ok(count) => count,
        };
        let mut fits = true;
        let step = reader.feed(&buffer[..count], |part| {
            fits &= !keep || body.len() + part.len() <= LARGEST_BODY;
            if keep && fits {
                body.extend_from_slice(part);
            }
        });
        if !fits {
            return Err(format!("the first body has more than {LARGEST_BODY} bytes"));
        }
        let complete = match step {
            Ok(ReadStep::Done(taken)) if taken == count => true,
            Ok(ReadStep::More) if count == 0 && reader.ended() => true,
            Ok(ReadStep::More) if count == 0 => {
                return Err("the connection was closed before the first answer was complete".into());
            }
            Ok(ReadStep::More) => false,
            Ok(ReadStep::Done(_)) => return Err("more came than the first answer".into()),
            Err(_) => return Err("what came first is no answer of HTTP/1.1".into()),
        };
        if complete {
            return Ok(FirstResponse { status: reader.status(), length: reader.length(), body });
        }
        if began.elapsed() >= limit {
            return Err(format!(
                "the first answer was not complete after {} s",
                limit.as_secs_f64()
            ));
        }
    }
}

/// Sends the request, after the TLS handshake.
fn send(stream: &mut Stream<TcpStream>, request: &[u8], limit: Duration) -> std::io::Result<()> {
    stream.socket().set_write_timeout(Some(limit))?;
    stream.socket().set_read_timeout(Some(limit))?;
    stream.write_all(request)?;
    stream.flush()
}

/// The TLS error, as a sentence.
fn tls_fault(error: &std::io::Error) -> Option<String> {
    let fault = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    Some(format!(
        "there is no secure connection: {fault}; name who signed the certificate with --cacert, or \
         give verification up with --insecure"
    ))
}
