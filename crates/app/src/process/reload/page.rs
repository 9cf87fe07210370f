//! What a browser sees while the changed program does not start: what is wrong with it.

use runnel_store::{Answer, Below, Content, Context, Layer, Reference, Result, Store, Verb};
use std::any::Any;
use std::rc::Rc;

/// How often the page looks whether the program was repaired, in seconds.
const LOOK: u32 = 1;

/// A root of a server that shows the fault of the next version to browsers.
pub(crate) struct Watched(Rc<dyn Store>);

impl Watched {
    /// The store itself, where the program is not watched.
    pub(crate) fn of(store: Rc<dyn Store>) -> Rc<dyn Store> {
        match std::env::var_os(super::fault::VARIABLE).is_some()
            && crate::process::handover::is_supervised()
        {
            true => Rc::new(Watched(store)),
            false => store,
        }
    }
}

/// The page, if there is a fault and the request comes from a browser that loads a page.
fn fault(context: &Context) -> Option<Content> {
    let exchange = context.exchange.as_ref()?;
    let text = super::fault::fault()?;
    if !exchange.header("accept")?.contains("text/html") {
        return None;
    }
    exchange.set_status(500);
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"refresh\" content=\"{LOOK}\"><title>The program has an error</title>\
         <style>body{{font-family:sans-serif;margin:2em}}pre{{background:#f4f4f4;padding:1em;\
         overflow:auto}}</style></head><body><h1>The program has an error</h1><pre>{text}</pre>\
         <p>The version before it goes on serving everything but pages.</p></body></html>\n"
    );
    Some(Content::text(page).with_media_type("text/html"))
}

impl Layer for Watched {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.0, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(Watched(inner)))
    }

    fn name(&self) -> String {
        self.0.describe()
    }

    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        match fault(context) {
            Some(page) => Answer::ok(Some(page)),
            None => self.0.get(reference, context),
        }
    }

    fn layer_any(&self) -> Option<&dyn Any> {
        self.0.as_any()
    }

    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        self.0.sources()
    }
}
