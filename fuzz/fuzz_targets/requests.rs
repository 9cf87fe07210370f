//! Requests of strangers: whatever bytes come, the server answers with HTTP or closes, promptly, and
//! goes on. The first byte says what the rest is: a whole request, or the value of one header, so that
//! ranges, conditions and negotiation are reached too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_http::{ServerOptions, HttpServer, serve};
use runnel_store::{Content, Context, Memory, Reference, StaticFiles, StaticOptions, Store};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::LocalRuntime;

/// Bytes of an input; what is longer meets the same limits.
const LONGEST: usize = 8_000;
/// Headers whose value is fuzzed.
const HEADERS: [&str; 8] = [
    "Range",
    "If-Range",
    "If-None-Match",
    "If-Modified-Since",
    "Accept",
    "Accept-Encoding",
    "Cookie",
    "Content-Type",
];

struct World {
    runtime: LocalRuntime,
    server: HttpServer,
}

fn world() -> World {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .expect("an event loop");
    let server = runtime.block_on(async {
        let memory = Rc::new(Memory::site());
        let text = "0123456789".repeat(300);
        for name in ["file.txt", "folder/index.html"] {
            let content = Content::text(text.clone());
            let put = memory.put(&Reference::from_path(name), content, &Context::default());
            put.await.expect("memory takes what it is given");
        }
        let site = StaticFiles::new(memory, StaticOptions::default()).expect("a site");
        let mut options = ServerOptions::default();
        options.address.set_port(0);
        options.limits.header_time = Duration::from_millis(200);
        options.limits.body_idle = Duration::from_millis(200);
        serve(Rc::new(site), options).await.expect("a server")
    });
    World { runtime, server }
}

thread_local! {
    static WORLD: World = world();
}

fn request(data: &[u8]) -> Vec<u8> {
    let Some((kind, rest)) = data.split_first() else { return Vec::new() };
    let kind = usize::from(*kind) % (HEADERS.len() + 3);
    let mut request = Vec::new();
    match kind.checked_sub(HEADERS.len()) {
        None => {
            let start = format!("GET /file.txt HTTP/1.1\r\nHost: x\r\n{}: ", HEADERS[kind]);
            request.extend_from_slice(start.as_bytes());
            request.extend(rest.iter().filter(|byte| !matches!(byte, b'\r' | b'\n')));
            request.extend_from_slice(b"\r\nConnection: close\r\n\r\n");
        }
        Some(0) => {
            request.extend_from_slice(b"GET /");
            request.extend(rest.iter().filter(|byte| !byte.is_ascii_whitespace()));
            request.extend_from_slice(b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        }
        Some(1) => {
            request.extend_from_slice(
                b"PUT /new HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
            );
            request.extend_from_slice(rest);
        }
        Some(_) => request.extend_from_slice(rest),
    }
    request
}

/// Whether an answer starts with the SETTINGS that open HTTP/2 (RFC 9113 sections 3.4 and 4.1): the
/// type 4, no flags, stream 0, after three bytes of length.
fn is_settings(answer: &[u8]) -> bool {
    answer.get(3..9) == Some(&[4, 0, 0, 0, 0, 0])
}

fuzz_target!(|data: &[u8]| {
    if data.len() > LONGEST {
        return;
    }
    let request = request(data);
    WORLD.with(|world| {
        let answer = world.runtime.block_on(async {
            let talk = async {
                let mut stream =
                    TcpStream::connect(world.server.address()).await.expect("it listens");
                // The server may have closed before all is sent.
                let _ = stream.write_all(&request).await;
                let _ = stream.shutdown().await;
                let mut answer = Vec::new();
                let _ = stream.read_to_end(&mut answer).await;
                answer
            };
            tokio::time::timeout(Duration::from_secs(5), talk).await
        });
        let answer = answer.expect("the server keeps a client waiting");
        assert!(
            answer.is_empty() || answer.starts_with(b"HTTP/1.") || is_settings(&answer),
            "this is no answer: {}",
            String::from_utf8_lossy(&answer)
        );
        let failed = answer.starts_with(b"HTTP/1.1 500");
        assert!(!failed, "an error of the server: {}", String::from_utf8_lossy(&answer));
    });
});
