//! The profile of a running server on its admin port: `/profile?seconds=5`, as a page, or with `format=folded` as
//! stacks for other tools.

use super::flame;
use super::names::{folded, source_line};
use runnel_observe::AdminPage;
use runnel_store::{Answer, Content, Context, Entry, Error, Kind, Reference, Store, Verb, Verbs};
use runnel_text::form;
use std::rc::Rc;
use std::time::Duration;

/// Seconds of a profile unless the query says otherwise, and at most.
const USUAL: f64 = 5.0;
const LONGEST: f64 = 30.0;

/// The page. It shows lines of the program, so an admin port without a token is one of this machine only.
pub(crate) fn page() -> AdminPage {
    let store = Rc::new(ProfilePage);
    AdminPage { path: "profile", title: "Profile".to_string(), store, needs_token: false }
}

struct ProfilePage;

#[deny(clippy::missing_trait_methods)]
impl Store for ProfilePage {
    fn get(&self, reference: &Reference, _: &Context) -> Answer<Option<Content>> {
        let query = reference.query().unwrap_or_default();
        let field = |name: &str| form::field(query.as_bytes(), name);
        let seconds = match field("seconds").map(|text| text.parse::<f64>()) {
            None => USUAL,
            Some(Ok(seconds)) if (0.1..=LONGEST).contains(&seconds) => seconds,
            Some(_) => {
                let message = format!("`seconds` is a number from 0.1 to {LONGEST}");
                return Error::new(Kind::Invalid, message).into();
            }
        };
        let is_folded = field("format").is_some_and(|format| format == "folded");
        Answer::later(async move {
            let Some(profiling) = runnel_runtime::start_profile() else {
                let message = "another profile is being taken; ask again when it has ended";
                return Err(Error::new(Kind::Conflict, message));
            };
            tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
            let profile = profiling.stop();
            Ok(Some(match is_folded {
                true => {
                    Content::text(folded(&profile)).with_media_type("text/plain; charset=utf-8")
                }
                false => Content::text(flame::page(&profile, &source_line))
                    .with_media_type("text/html; charset=utf-8"),
            }))
        })
    }

    fn list(&self, reference: &Reference, _: &Context) -> Answer<Option<Vec<Entry>>> {
        Error::not_allowed(Verb::List, reference).into()
    }

    fn verbs(&self, _: &Reference) -> Verbs {
        Verbs::NONE.with(Verb::Get)
    }

    runnel_store::without!(
        put, post, merge, delete, keys, attributes, relocate, query, watch, tables, conditions,
        links, as_any, sources
    );

    fn describe(&self) -> String {
        "profile of the programs".to_string()
    }
}
