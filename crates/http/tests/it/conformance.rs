//! The client against our own server is a store like any other: it passes the suite that every
//! store has to pass.

use crate::helper::{run, start};
use runnel_http::{ClientOptions, client};
use runnel_store::conformance::{Abilities, Keeps, Posting, check};
use runnel_store::{
    Answer, Conditions, Content, Context, Entry, Memory, Outcome, Reference, Relative, Store,
};
use std::rc::Rc;

/// A store on the other side of the wire. HTTP has no listing (a collection is a page for people,
/// which [`Unlisted`] keeps out of the way), so that alone is asked directly.
struct Remote {
    web: Relative,
    here: Rc<Memory>,
}

impl Store for Remote {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.web.get(reference, context)
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.web.put(reference, content, context)
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.web.post(reference, content, context)
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.web.merge(reference, content, context)
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        self.web.delete(reference, context)
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.here.list(reference, context)
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        self.web.conditions(reference)
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        "remote memory".to_string()
    }
}

/// A memory whose collections are not shown as pages.
struct Unlisted(Rc<Memory>);

impl Store for Unlisted {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.0.get(reference, context)
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.0.put(reference, content, context)
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        self.0.delete(reference, context)
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        self.0.conditions(reference)
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        self.0.describe()
    }
}

#[test]
fn a_remote_store_is_a_store() {
    run(async {
        let here = Rc::new(Memory::dictionary());
        let server = start(Rc::new(Unlisted(here.clone()))).await;
        let base = Reference::parse(&format!("//{}", server.address())).with_scheme("http");
        let web = Relative::new(client(ClientOptions::default()), base);
        let abilities = Abilities {
            keeps: Keeps::Text,
            nil_deletes: false,
            posting: Posting::Other,
            attributes: false,
            relocation: false,
            merge: false,
            query: false,
            cancels_at_once: false,
            watch: false,
            ..Abilities::ALL
        };
        check(Rc::new(Remote { web, here }), abilities).await;
    });
}
