//! Changes are told after they are committed, by whichever thread or program.

use crate::common::*;
use futures_util::StreamExt;
use runnel_sql::{SqliteDatabase, SqliteOptions, WATCHED_ROWS};
use runnel_store::{ChangeKind, Changes, Context, Store, Tables};

async fn next(changes: &mut Changes) -> String {
    let limit = std::time::Duration::from_secs(20);
    let change = tokio::time::timeout(limit, changes.next()).await.expect("nothing was told");
    let change = change.unwrap().unwrap();
    format!("{} {}", change.kind.name(), change.reference.path())
}

async fn watch(store: &dyn Store, path: &str) -> Changes {
    store.watch(&reference(path), &now()).await.unwrap()
}

#[test]
fn rows_are_told_one_by_one() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        let mut all = watch(&*database, "").await;
        let mut table = watch(&tasks, "").await;
        let mut row = watch(&*database, "tasks/2").await;
        let posted = content(r#"[{"title":"a"},{"title":"b"}]"#);
        Store::post(&tasks, &reference(""), posted, &now()).await.unwrap();
        let merged = content(r#"{"title":"c"}"#);
        Store::merge(&tasks, &reference("2"), merged, &now()).await.unwrap();
        Store::delete(&tasks, &reference("1"), &now()).await.unwrap();
        for told in ["changed tasks/1", "changed tasks/2", "deleted tasks/1"] {
            assert_eq!(next(&mut all).await, told);
        }
        for told in ["changed 1", "changed 2", "deleted 1"] {
            assert_eq!(next(&mut table).await, told);
        }
        assert_eq!(next(&mut row).await, "changed tasks/2");
    });
}

#[test]
fn rows_that_others_replace_or_that_move_are_told() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tables = "create table users (id integer primary key, name text unique)";
        database.run(tables, vec![], &now()).await.unwrap();
        let keyed = "create table words (word text primary key, n integer) without rowid";
        database.run(keyed, vec![], &now()).await.unwrap();
        database.run("insert into users values (1, 'a'), (2, 'b')", vec![], &now()).await.unwrap();
        let mut all = watch(&*database, "").await;
        let sql = |sql: &'static str| database.run(sql, vec![], &now());
        sql("replace into users values (3, 'a')").await.unwrap();
        sql("update users set id = 7 where id = 2").await.unwrap();
        let told = ["deleted users/1", "changed users/3", "deleted users/2", "changed users/7"];
        for told in told {
            assert_eq!(next(&mut all).await, told);
        }
        sql("delete from users where id = 7").await.unwrap();
        assert_eq!(next(&mut all).await, "deleted users/7");
        // What a failed statement would have removed is there still.
        sql("create table twice (id integer primary key, n integer unique on conflict replace)")
            .await
            .unwrap();
        assert_eq!(next(&mut all).await, "lost ");
        sql("insert into twice values (1, 1)").await.unwrap();
        assert_eq!(next(&mut all).await, "changed twice/1");
        assert!(sql("insert into twice values (2, 1), (null, 'x'), (2, 3)").await.is_err());
        sql("replace into words values ('x', 1)").await.unwrap();
        assert_eq!(next(&mut all).await, "lost ");
        assert_eq!(get(&*database, "twice").await.unwrap(), r#"[{"id":1,"n":1}]"#);
    });
}

#[test]
fn other_threads_and_keys_of_text() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let create = "create table notes (name text primary key, text text)";
        database.run(create, vec![], &now()).await.unwrap();
        let mut changes = watch(&*database, "notes").await;
        let file = place.file();
        let other = std::thread::spawn(move || {
            run(async {
                let database = SqliteDatabase::open(file, SqliteOptions::default()).unwrap();
                let note = content(r#"{"text":"x"}"#);
                database.put(&reference("notes/a"), note, &now()).await.unwrap();
                database.delete(&reference("notes/a"), &now()).await.unwrap();
            });
        });
        other.join().unwrap();
        // The change before has been overtaken.
        assert_eq!(next(&mut changes).await, "deleted notes/a");
        let steps = [
            ("insert into notes values ('b', 'x'), ('7', null)", vec!["changed b", "changed 7"]),
            ("update notes set name = 'c' where name = 'b'", vec!["deleted b", "changed c"]),
            ("update notes set text = 'y' where name = '7'", vec!["changed 7"]),
            ("replace into notes values ('7', 'z')", vec!["changed 7"]),
            ("delete from notes", vec!["deleted c", "deleted 7"]),
        ];
        for (sql, told) in steps {
            database.run(sql, vec![], &now()).await.unwrap();
            for told in told {
                assert_eq!(next(&mut changes).await, told.replace(' ', " notes/"), "{sql}");
            }
        }
    });
}

#[test]
fn only_what_is_committed_is_told() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let tasks = tasks(&database).await;
        let mut changes = watch(&*database, "").await;
        for end in [false, true] {
            let transaction = tasks.begin(&reference(""), None, &now()).await.unwrap();
            let inside = Context { transaction: Some(transaction.clone()), ..Context::default() };
            let row = content(if end { r#"{"id":2}"# } else { r#"{"id":1}"# });
            Store::post(&tasks, &reference(""), row, &inside).await.unwrap();
            match end {
                true => transaction.commit().await.unwrap(),
                false => transaction.roll_back().await.unwrap(),
            }
        }
        assert_eq!(next(&mut changes).await, "changed tasks/2");
    });
}

#[test]
fn what_cannot_be_named_is_lost() {
    run(async {
        let place = Place::new();
        let database = place.open();
        tasks(&database).await;
        let mut changes = watch(&*database, "tasks").await;
        let many = format!(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i <= {WATCHED_ROWS}) \
             insert into tasks (id) select i from n"
        );
        let statements =
            [many.as_str(), "delete from tasks", "alter table tasks add column more text"];
        for statement in statements {
            database.run(statement, vec![], &now()).await.unwrap();
            assert_eq!(next(&mut changes).await, "lost tasks", "{statement}");
        }
        // Another program.
        place.other_program().execute("insert into tasks (id) values (7)", []).unwrap();
        assert_eq!(next(&mut changes).await, "lost tasks");
        database.delete(&reference("tasks/7"), &now()).await.unwrap();
        let told = changes.next().await.unwrap().unwrap();
        assert_eq!(told.kind, ChangeKind::Deleted);
    });
}
