//! Documents of S3: whatever the body of a request is, an answer comes that is no failure of the
//! server, and what was accepted can be read again. The first byte says which document it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_http::{HttpServer, ServerOptions, serve};
use runnel_s3::{S3Service, S3ServiceOptions};
use runnel_store::{Memory, Store};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::LocalRuntime;

/// Bytes of an input; what is longer meets the same limits.
const LONGEST: usize = 20_000;

/// Where documents go: method and target, and whether the same target reads them.
const TARGETS: [(&str, &str, bool); 15] = [
    ("PUT", "/bucket?acl", true),
    ("PUT", "/bucket?cors", true),
    ("PUT", "/bucket?lifecycle", true),
    ("PUT", "/bucket?notification", true),
    ("PUT", "/bucket?object-lock", true),
    ("PUT", "/bucket?ownershipControls", true),
    ("PUT", "/bucket?policy", true),
    ("PUT", "/bucket?publicAccessBlock", true),
    ("PUT", "/bucket?tagging", true),
    ("PUT", "/bucket?versioning", true),
    ("PUT", "/bucket/key?tagging", true),
    ("PUT", "/bucket/key?retention", true),
    ("PUT", "/bucket/key?legal-hold", true),
    ("POST", "/bucket?delete", false),
    ("PUT", "/other-bucket", false),
];

struct World {
    runtime: LocalRuntime,
    server: HttpServer,
}

impl World {
    /// Sends a request, and gives the status and the body of the answer.
    fn ask(&self, method: &str, target: &str, body: &[u8]) -> (u16, String) {
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let request = [head.as_bytes(), body].concat();
        let answer = self.runtime.block_on(async {
            let talk = async {
                let address = self.server.address();
                let mut stream = TcpStream::connect(address).await.expect("it listens");
                // The server may have closed before all is sent.
                let _ = stream.write_all(&request).await;
                let mut answer = Vec::new();
                let _ = stream.read_to_end(&mut answer).await;
                answer
            };
            tokio::time::timeout(Duration::from_secs(5), talk).await
        });
        let answer = answer.expect("the server keeps a client waiting");
        let text = String::from_utf8_lossy(&answer).into_owned();
        let status = text.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, text)
    }
}

fn world() -> World {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .expect("an event loop");
    let server = runtime.block_on(async {
        let mut options = ServerOptions::default();
        options.address.set_port(0);
        let store: Rc<dyn Store> = Rc::new(Memory::dictionary());
        let service = S3Service::new(store, S3ServiceOptions::default()).expect("a service");
        serve(service, options).await.expect("a server")
    });
    World { runtime, server }
}

thread_local! {
    static WORLD: World = world();
}

fuzz_target!(|data: &[u8]| {
    let Some((kind, body)) = data.split_first().filter(|_| data.len() <= LONGEST) else { return };
    let (method, target, is_read) = TARGETS[usize::from(*kind) % TARGETS.len()];
    WORLD.with(|world| {
        // A run before may have removed them.
        for target in ["/bucket", "/bucket/key"] {
            world.ask("PUT", target, b"");
        }
        let (status, text) = world.ask(method, target, body);
        let known = [200, 204, 400, 403, 404, 409, 501];
        assert!(known.contains(&status), "{method} {target}: {text}");
        if is_read && status < 300 {
            let (status, text) = world.ask("GET", target, b"");
            assert_eq!(status, 200, "{target} cannot be read: {text}");
        }
    });
});
