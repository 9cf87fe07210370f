//! The smallest server: `Hello World!` at `/hello`, and `/echo`, which answers what it is sent.
//!
//! `cargo run --release -p runnel-http --example serve -- PORT [SECONDS]`
//!
//! The seconds make it as impatient with slow clients as a test of them wants it.

use runnel_http::{Limits, ServerOptions, serve};
use runnel_store::{
    Answer, Content, Context, Entry, Error, Kind, Memory, Outcome, Reference, Result, Store, Text,
    Verb, Verbs,
};
use std::rc::Rc;
use std::time::Duration;
use tokio::runtime::LocalOptions;

fn main() -> Result<()> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u16>().ok());
    let port = numbers.next().flatten().unwrap_or(8082);
    let limits = match numbers.next().flatten().map(|seconds| Duration::from_secs(seconds.into())) {
        None => Limits::default(),
        Some(time) => {
            Limits { header_time: time, body_idle: time, keep_alive: time, ..Limits::default() }
        }
    };
    let address = ([127, 0, 0, 1], port).into();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
        .map_err(|error| Error::new(Kind::Failed, error.to_string()))?;
    runtime.block_on(async move {
        let site = Site { pages: Memory::site() };
        let hello = Content::text(Text::from_static("Hello World!"));
        site.pages.put(&Reference::from_path("/hello"), hello, &Context::default()).await?;
        let options = ServerOptions { address, limits, ..ServerOptions::default() };
        let server = serve(Rc::new(site), options).await?;
        let _ = tokio::signal::ctrl_c().await;
        server.stop(Duration::from_secs(5)).await;
        Ok(())
    })
}

/// Pages that can be read, and one place that answers what is posted there.
struct Site {
    pages: Memory,
}

const ECHO: &str = "/echo";

impl Store for Site {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.pages.get(reference, context)
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.pages.list(reference, context)
    }

    fn post(&self, reference: &Reference, content: Content, _: &Context) -> Answer<Outcome> {
        if reference.path() != ECHO {
            return Error::not_allowed(Verb::Post, reference).into();
        }
        Answer::ok(Outcome::changed().with_content(content))
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        let reading = Verbs::NONE.with(Verb::Get).with(Verb::List);
        if reference.path() == ECHO { reading.with(Verb::Post) } else { reading }
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        "site with an echo".to_string()
    }
}
