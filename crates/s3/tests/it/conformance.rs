//! A bucket against the laws of a store.

use crate::support::*;
use runnel_store::conformance::{Abilities, Keeps, Posting, check};
use runnel_store::{Reference, Relative};
use std::rc::Rc;

const BUCKET: Abilities = Abilities {
    keeps: Keeps::Text,
    posting: Posting::Other,
    relocation: false,
    merge: false,
    query: false,
    nil_deletes: false,
    watch: false,
    // The server may have begun with what we have given up.
    cancels_at_once: false,
    // One in a process of its own answers a few hundred requests in a second.
    random_lists: 4,
    ..Abilities::ALL
};

#[test]
fn a_bucket() {
    let Some(endpoint) = endpoint() else { return };
    run(async {
        let (_, store) = bucket(endpoint).await;
        check(store, BUCKET).await;
        BUCKET.check_manual("`s3:`");
    });
}

#[test]
fn a_bucket_within_the_scheme() {
    let Some(endpoint) = endpoint() else { return };
    run(async {
        let (name, _) = bucket(endpoint).await;
        let scheme = runnel_s3::s3_scheme(options(endpoint));
        let within = Relative::new(scheme, Reference::from_path(format!("{name}/some/base")));
        check(Rc::new(within), Abilities { random_lists: 1, ..BUCKET }).await;
    });
}
