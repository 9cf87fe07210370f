//! The smallest server: a site in memory with `Hello World!` at `/hello`.
//!
//! `cargo run --release -p runnel-http --example serve -- 8082`

use runnel_http::{Limits, Options, serve};
use runnel_store::{Content, Context, Error, Kind, Memory, Reference, Result, Store, Text};
use std::rc::Rc;
use std::time::Duration;

fn main() -> Result<()> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u16>().ok());
    let port = numbers.next().flatten().unwrap_or(8082);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::new(Kind::Failed, error.to_string()))?;
    tokio::task::LocalSet::new().block_on(&runtime, async move {
        let site = Memory::site();
        let hello = Content::text(Text::from_static("Hello World!"));
        site.put(&Reference::from_path("/hello"), hello, &Context::default()).await?;
        let mut options = Options { address: ([127, 0, 0, 1], port).into(), ..Options::default() };
        // A second argument makes the server as impatient as the test of slow clients wants it.
        if let Some(seconds) = numbers.next().flatten() {
            let time = Duration::from_secs(u64::from(seconds));
            options.limits = Limits {
                header_time: time,
                body_idle: time,
                keep_alive: time,
                ..Limits::default()
            };
        }
        let server = serve(Rc::new(site), options).await?;
        let _ = tokio::signal::ctrl_c().await;
        server.stop(Duration::from_secs(5)).await;
        Ok(())
    })
}
