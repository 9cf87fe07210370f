//! Conditions of writes, for the tables of both databases.

use super::{content, get, now, reference, refused};
use futures_util::future::join;
use runnel_store::{Condition, Context, EntityTag, Kind, Store, Value, Verb};

fn only_if(condition: Condition) -> Context {
    Context { only_if: Some(condition), ..now() }
}

async fn tag(table: &dyn Store, key: &str) -> EntityTag {
    let row = table.get(&reference(key), &now()).await.unwrap().expect("a row");
    row.entity_tag.expect("a tag")
}

/// Merges and puts into a table of tasks.
pub(crate) async fn merges_keep_conditions(table: &dyn Store) {
    let at = reference("7");
    let fields = || content(r#"{"title":"x"}"#);
    let missing = table.merge(&at, fields(), &only_if(Condition::Present)).await;
    assert_eq!(refused(missing).0, Kind::Precondition);
    let missing = table.merge(&at, fields(), &only_if(Condition::Absent)).await;
    assert_eq!(refused(missing).0, Kind::NotFound);
    let row = content(r#"{"title":"a","done":false}"#);
    assert!(table.put(&at, row, &only_if(Condition::Absent)).await.unwrap().is_created());
    let first = Condition::Tag(tag(table, "7").await);
    table.merge(&at, content(r#"{"title":"b"}"#), &only_if(first.clone())).await.unwrap();
    for late in [first, Condition::Absent] {
        let merged = table.merge(&at, content(r#"{"title":"c"}"#), &only_if(late.clone())).await;
        assert_eq!(refused(merged).0, Kind::Precondition, "{late:?}");
    }
    assert_eq!(get(table, "7").await.unwrap(), r#"{"id":7,"done":false,"title":"b"}"#);
    table.merge(&at, fields(), &only_if(Condition::Present)).await.unwrap();
    let put = table.put(&reference(""), content("[]"), &only_if(Condition::Present)).await;
    assert_eq!(refused(put).0, Kind::NotAllowed);
    let posted = table.post(&reference(""), content("[]"), &only_if(Condition::Present)).await;
    assert_eq!(refused(posted.map(|_| ())).0, Kind::NotAllowed);
}

/// What a condition let through within a transaction is gone with it.
pub(crate) async fn conditions_hold_within_transactions(table: &dyn Store) {
    let at = reference("8");
    let begun = table
        .tables_for(Verb::Begin, &reference(""))
        .unwrap()
        .begin(&reference(""), None, &now())
        .await
        .unwrap();
    let inside = |condition| Context { transaction: Some(begun.clone()), ..only_if(condition) };
    let row = || content(r#"{"title":"a"}"#);
    assert!(table.put(&at, row(), &inside(Condition::Absent)).await.unwrap().is_created());
    let again = table.put(&at, row(), &inside(Condition::Absent)).await;
    assert_eq!(refused(again).0, Kind::Precondition);
    assert!(!table.put(&at, row(), &inside(Condition::Present)).await.unwrap().is_created());
    begun.roll_back().await.unwrap();
    assert_eq!(get(table, "8").await, None);
}

/// Two workers add to the same number, each where the other has not.
pub(crate) async fn two_add_and_nothing_is_lost(one: &dyn Store, other: &dyn Store) {
    const ADDED: i64 = 20;
    let at = reference("9");
    one.put(&at, content(r#"{"title":"0"}"#), &now()).await.unwrap();
    let adding = async |table: &dyn Store| {
        let mut added = 0;
        while added < ADDED {
            let row = table.get(&at, &now()).await.unwrap().unwrap();
            let tag = row.entity_tag.clone().unwrap();
            let row = row.into_value(1 << 20).await.unwrap();
            let before: i64 = row.get("title").and_then(Value::as_str).unwrap().parse().unwrap();
            let next = content(&format!(r#"{{"title":"{}"}}"#, before + 1));
            match table.put(&at, next, &only_if(Condition::Tag(tag))).await {
                Ok(_) => added += 1,
                Err(error) => assert_eq!(error.kind, Kind::Precondition, "{error}"),
            }
        }
    };
    join(adding(one), adding(other)).await;
    let row = get(one, "9").await.unwrap();
    assert!(row.contains(&format!(r#""title":"{}""#, ADDED * 2)), "{row}");
}
