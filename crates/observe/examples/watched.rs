//! A server that says hello, watched as its first argument says: for measuring what watching costs.
//!
//!     cargo run --release -p runnel-observe --example watched -- none|ids|metrics|log|all 8082

use runnel_http::ServerOptions;
use runnel_observe::{LogFormat, LogTarget, ObserveSettings, Surroundings, observe};
use runnel_store::{Content, Memory, Reference, Store};
use std::error::Error;
use std::rc::Rc;

/// The file that the log goes to.
const LOG: &str = "/dev/null";

fn settings(what: &str) -> ObserveSettings {
    let all = what == "all";
    ObserveSettings {
        admin: (all || what == "metrics").then(|| ([127, 0, 0, 1], 0).into()),
        access_log: (all || what == "log").then_some(LogFormat::Json),
        log_target: LogTarget::File(LOG.into()),
        request_ids: what == "ids",
        ..ObserveSettings::default()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_else(|| "none".into());
    let port: u16 = arguments.next().unwrap_or_else(|| "8082".into()).parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())?;
    runtime.block_on(async {
        let store = Rc::new(Memory::dictionary());
        let place = Reference::from_path("/hi");
        store.put(&place, Content::text("Hello World!"), &Default::default()).await?;
        let mut options =
            ServerOptions { address: ([127, 0, 0, 1], port).into(), ..ServerOptions::default() };
        let settings = settings(&what);
        let watching = match settings.is_wanted() {
            true => {
                let surroundings = Surroundings {
                    writer: |_| Box::new(std::io::sink()),
                    sampler: None,
                    listener: |_| Ok(None),
                };
                Some(observe(&settings, surroundings).await?)
            }
            false => None,
        };
        options.observer = watching.as_ref().map(|watching| watching.observer());
        let _server = runnel_http::serve(store, options).await?;
        std::future::pending::<Result<(), Box<dyn Error>>>().await
    })
}
