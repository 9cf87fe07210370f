//! The pages of the command itself: rendered once by the standard program `std/pages.st`, when the
//! first server starts, and handed to those who fill and serve them. And the scheme `std:`, the files
//! that programs may use.

use crate::process::reload;
use crate::world::bucket_pages::{self, BucketTemplates};
use runnel_http::{PageTemplate, ServerPages};
use runnel_runtime::{standard_file, standard_names, standard_views};
use runnel_store::{Content, Context, Memory, ReadOnly, Reference, Result, Store, Value};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of one page at most.
const PAGE_BYTES: usize = 1 << 20;

/// Whether a worker of this process has rendered the pages.
static RENDERED: AtomicBool = AtomicBool::new(false);

/// Renders the pages, unless that was done. When it fails, the plain pages stay and the log says why.
pub(crate) async fn render_pages() {
    if RENDERED.swap(true, Ordering::Relaxed) {
        return;
    }
    runnel_http::set_own_files(scripts);
    if let Err(error) = render_all().await {
        tracing::error!("the pages of the server stay plain: {error}");
    }
}

async fn render_all() -> Result<()> {
    let views = standard_views("pages.st")?;
    let view = |name: &'static str, files: &[&str]| {
        let text = |name: &str| Value::Text(standard_file(name).unwrap_or_default().into_owned());
        let model = Value::record(files.iter().map(|name| (*name, text(name))));
        let views = views.clone();
        async move {
            let content = Content::value(model);
            let posted =
                views.post(&Reference::from_path(name), content, &Context::default()).await?;
            let page = posted.content.unwrap_or_default().read(PAGE_BYTES).await?;
            Ok::<String, runnel_store::Error>(String::from_utf8_lossy(&page).into_owned())
        }
    };
    let error = view("error", &["design/base.css"]).await?;
    let listing = view("listing", &["design.css"]).await?;
    runnel_http::set_server_pages(ServerPages {
        error: PageTemplate::parse(&error),
        listing: PageTemplate::parse(&listing),
    });
    let dashboard = view("admin", &["design.css", "admin.js"]).await?;
    runnel_observe::set_dashboard(PageTemplate::parse(&dashboard));
    let style = &["design.css"];
    bucket_pages::set_templates(BucketTemplates {
        buckets: PageTemplate::parse(&view("buckets", style).await?),
        folder: PageTemplate::parse(&view("folder", style).await?),
        object: PageTemplate::parse(&view("object", style).await?),
    });
    let fault = view("fault", &["design.css", "watch.js"]).await?;
    reload::set_page(PageTemplate::parse(&fault));
    Ok(())
}

/// The scripts of live pages, which servers answer below `/.runnel/`.
const SCRIPTS: [(&str, &str); 4] = [
    ("live.js", "live/live.min.js"),
    ("live-more.js", "live/live-more.min.js"),
    ("live-drop.js", "live/live-drop.min.js"),
    ("live-upload.js", "live/live-upload.min.js"),
];

/// A store of them.
fn scripts() -> Rc<dyn Store> {
    let store = Memory::site();
    for (name, file) in SCRIPTS {
        let content = Content::text(standard_file(file).unwrap_or_default().into_owned());
        // Memory answers at once.
        drop(store.put(&Reference::from_path(name), content, &Context::default()));
    }
    Rc::new(ReadOnly::new(Rc::new(store)))
}

/// The files of `std/` as a store that is only read.
pub(crate) fn files() -> Rc<dyn Store> {
    let store = Memory::site();
    for name in standard_names() {
        let content = Content::text(standard_file(name).unwrap_or_default().into_owned());
        // Memory answers at once.
        drop(store.put(&Reference::from_path(name), content, &Context::default()));
    }
    Rc::new(ReadOnly::new(Rc::new(store)))
}
