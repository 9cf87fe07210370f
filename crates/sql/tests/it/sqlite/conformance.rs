//! The suite that every store has to pass, on a table with one column for the path and one for the
//! content: what is left of it are the promises about single rows, about being whole, cancelled
//! and overlapping. Records and queries have tests of their own.

use crate::common::*;
use runnel_sql::{SqliteDatabase, SqliteOptions};
use runnel_store::conformance::{Abilities, Keeps, Posting, check};
use runnel_store::{
    Answer, COLLECT_LIMIT, Changes, Content, Context, Entry, Outcome, Query, Reference, Store,
    Value, Verbs,
};
use std::rc::Rc;

/// Content by path, in a table.
pub(super) struct Cells<T>(pub(super) T);

impl<T: Store + Clone + 'static> Store for Cells<T> {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let found = Store::get(&self.0, reference, context);
        found.and_then(|content| match content {
            None => Answer::ok(None),
            Some(content) if is_empty(&content) => Answer::ok(Some(content)),
            Some(content) => {
                let entity_tag = content.entity_tag.clone();
                content.into_value(COLLECT_LIMIT).map(move |row| {
                    let body = match row.get("content") {
                        Some(Value::Bytes(bytes)) => Content::bytes(bytes.clone()),
                        value => Content::value(value.cloned().unwrap_or_default()),
                    };
                    Some(Content { entity_tag, ..body })
                })
            }
        })
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let (table, reference, context) = (self.0.clone(), reference.clone(), context.clone());
        if matches!(content.body, runnel_store::Body::Value(Value::Nil)) {
            return Store::put(&table, &reference, content, &context);
        }
        content.read(COLLECT_LIMIT).and_then(move |bytes| {
            let row = Value::record([("content", Value::from(bytes))]);
            Store::put(&table, &reference, Content::value(row), &context)
        })
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        Store::post(&self.0, reference, content, context)
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        Store::delete(&self.0, reference, context)
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        Store::list(&self.0, reference, context)
    }

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        Store::query(&self.0, reference, query, context)
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        Store::verbs(&self.0, reference)
    }

    fn conditions(&self, reference: &Reference) -> runnel_store::Conditions {
        Store::conditions(&self.0, reference)
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        Store::watch(&self.0, reference, context)
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        format!("cells of {}", self.0.describe())
    }
}

/// What cells of any table can do.
pub(super) const CELLS: Abilities = Abilities {
    keeps: Keeps::Text,
    listing: false,
    posting: Posting::Other,
    attributes: false,
    relocation: false,
    merge: false,
    query: false,
    media_types: false,
    // The writer may have begun.
    cancels_at_once: false,
    ..Abilities::ALL
};

#[test]
fn rows_are_content_as_in_every_store() {
    run(async {
        let place = Place::new();
        for path in [place.file(), ":memory:".into()] {
            let database = SqliteDatabase::open(path, SqliteOptions::default()).unwrap();
            let create = "create table cells(path text primary key, content)";
            database.run(create, vec![], &now()).await.unwrap();
            let cells = Cells(database.table("cells"));
            check(Rc::new(cells), CELLS).await;
            assert_eq!(get(&*database, "cells").await.unwrap(), "[]");
        }
    });
}
