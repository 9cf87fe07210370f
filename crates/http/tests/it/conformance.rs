//! The client against our own server is a store like any other: it passes the suite that every
//! store has to pass.

use crate::helper::{run, start_listed};
use runnel_http::{ClientOptions, client};
use runnel_store::conformance::{Abilities, Keeps, Posting, check};
use runnel_store::{Memory, Reference, Relative};
use std::rc::Rc;

#[test]
fn a_remote_store_is_a_store() {
    run(async {
        let server = start_listed(Rc::new(Memory::dictionary())).await;
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
        check(Rc::new(web), abilities).await;
        abilities.check_manual("`http:`, another Runnel server");
    });
}
