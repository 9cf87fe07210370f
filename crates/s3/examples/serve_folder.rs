//! The smallest S3 server: a folder, or memory, with one user.
//!
//! `cargo run -p runnel-s3 --example serve_folder -- FOLDER PORT [KEY SECRET]`
//!
//! The folder `memory:` is a store in memory. Without a key everybody may do everything.

use runnel_http::{Handler, ServerOptions, serve};
use runnel_s3::{S3Service, S3ServiceOptions, S3User};
use runnel_store::{Disk, Error, Kind, Memory, Result, Store};
use std::rc::Rc;
use std::time::Duration;
use tokio::runtime::LocalOptions;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let wrong = || Error::new(Kind::Invalid, "usage: serve FOLDER PORT [KEY SECRET]");
    let folder = arguments.next().ok_or_else(wrong)?;
    let port: u16 = arguments.next().and_then(|text| text.parse().ok()).ok_or_else(wrong)?;
    let mut options = S3ServiceOptions { host: Some("localhost".into()), ..Default::default() };
    if let (Some(key), Some(secret)) = (arguments.next(), arguments.next()) {
        options.users.push(S3User::new(key, secret));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
        .map_err(|error| Error::new(Kind::Failed, error.to_string()))?;
    runtime.block_on(async move {
        let store: Rc<dyn Store> = match folder.as_str() {
            "memory:" => Rc::new(Memory::dictionary()),
            folder => Rc::new(Disk::new(folder)?),
        };
        let service: Rc<dyn Handler> = S3Service::new(store, options)?;
        let address = ([127, 0, 0, 1], port).into();
        let server = serve(service, ServerOptions { address, ..ServerOptions::default() }).await?;
        let _ = tokio::signal::ctrl_c().await;
        server.stop(Duration::from_secs(5)).await;
        Ok(())
    })
}
