//! Tables from classes, bulk insertion and migrations.

use crate::common::*;
use crate::postgres::support::{count, local, one, open, sql, tasks, try_define, with_database};
use runnel_store::{
    Answer, Error, Field, FieldType, Index, Kind, Records, Shape, Store, Tables, Value, Verb,
};
use std::rc::Rc;

#[test]
fn a_table_grows_with_its_class() {
    with_database(|url| async move {
        let database = open(&url);
        tasks(&database).await;
        let mut large = task_shape();
        large.fields.insert(1, Field::new("odd \"name\"", FieldType::Any));
        large.fields.push(Field::new("due", FieldType::Date));
        large.indexes.push(Index { fields: vec!["title".into()], unique: true });
        large.indexes.push(Index { fields: vec!["done".into(), "due".into()], unique: false });
        for _ in 0..2 {
            let table = try_define(&database, &large).await.unwrap();
            assert_eq!(get(&table, "").await.unwrap(), "[]");
        }
        let table = try_define(&database, &large).await.unwrap();
        let row = r#"{"title":"a","odd \"name\"":[1]}"#;
        table.post(&reference(""), content(row), &now()).await.unwrap();
        assert_eq!(
            get(&table, "1").await.unwrap(),
            r#"{"id":1,"odd \"name\"":[1],"done":null,"title":"a","due":null}"#
        );
        let again = table.post(&reference(""), content(row), &now()).await;
        assert_eq!(refused(again).1, "another row has the same title");
        let indexes = "select count(*) from pg_indexes where tablename = 'tasks'";
        assert_eq!(one(&database, indexes).await, Value::Int(3));
    });
}

#[test]
fn foreign_keys_hold() {
    with_database(|url| async move {
        let database = open(&url);
        let mut note = shape("Note", &[("id", FieldType::Int), ("task", FieldType::Int)]);
        note.fields[1].references = Some("Task".into());
        let early = try_define(&database, &note).await;
        assert_eq!(refused(early).0, Kind::Conflict);
        tasks(&database).await;
        let notes = try_define(&database, &note).await.unwrap();
        try_define(&database, &note).await.unwrap();
        let lost = notes.post(&reference(""), content(r#"{"task":7}"#), &now()).await;
        assert_eq!(refused(lost).0, Kind::Conflict);
        database.post(&reference("tasks"), content("{}"), &now()).await.unwrap();
        notes.post(&reference(""), content(r#"{"task":1}"#), &now()).await.unwrap();
        assert_eq!(refused(database.delete(&reference("tasks/1"), &now()).await).0, Kind::Conflict);
    });
}

#[test]
fn contradictions_are_conflicts() {
    with_database(|url| async move {
        let database = open(&url);
        sql(&database, "create table tasks(id bigint primary key, title integer)").await;
        let (kind, message) = refused(try_define(&database, &task_shape()).await);
        assert_eq!(kind, Kind::Conflict);
        assert!(message.contains("title as text, but the column title"), "{message}");
        sql(&database, "create table things(id bigint)").await;
        let thing = shape("Thing", &[("id", FieldType::Int)]);
        assert_eq!(refused(try_define(&database, &thing).await).0, Kind::Conflict);
        let nothing = Shape::new("Nothing", vec![]);
        assert_eq!(refused(try_define(&database, &nothing).await).0, Kind::Invalid);
        let defined = database.define(&reference(""), &nothing).await;
        assert_eq!(defined.err().unwrap().verb, Some(Verb::Define));
    });
}

#[test]
fn machines_that_start_at_once_agree() {
    with_database(|url| async move {
        let databases: Vec<_> = (0..6).map(|_| open(&url)).collect();
        let defined = databases.iter().map(|database| tasks(database));
        futures_util::future::join_all(defined).await;
        let steps = vec![
            ("0001-a.sql".to_string(), "create table a(n int); insert into a values (1)".into()),
            ("0002-b.sql".to_string(), "update a set n = n + 1".to_string()),
        ];
        let migrated =
            databases.iter().map(|one| one.migrate(&reference(""), steps.clone().into(), &now()));
        let applied: Vec<_> = futures_util::future::join_all(migrated).await;
        let applied: Vec<String> = applied.into_iter().flat_map(Result::unwrap).collect();
        assert_eq!(applied, ["0001-a.sql", "0002-b.sql"]);
        assert_eq!(one(&databases[0], "select n from a").await, Value::Int(2));
    });
}

#[test]
fn migrations_are_applied_once_and_as_a_whole() {
    with_database(|url| async move {
        let database = open(&url);
        let step = |name: &str, sql: &str| (name.to_string(), sql.to_string());
        let first = step("1.sql", "create table a(n int)");
        let migrate = async |steps: Vec<(String, String)>| {
            database.migrate(&reference(""), steps.into(), &now()).await
        };
        assert_eq!(migrate(vec![first.clone()]).await.unwrap(), ["1.sql"]);
        assert!(migrate(vec![first.clone()]).await.unwrap().is_empty());
        let broken = step("2.sql", "insert into a values (1); insert into b values (1)");
        let third = step("3.sql", "insert into a values (3)");
        let (kind, message) = refused(migrate(vec![first, broken, third.clone()]).await);
        assert!(kind == Kind::Invalid && message.starts_with("2.sql: "), "{message}");
        assert_eq!(count(&database, "a").await, Value::Int(0));
        let other = step("1.sql", "create table a(n text)");
        assert_eq!(refused(migrate(vec![other]).await).0, Kind::Conflict);
        assert_eq!(migrate(vec![third]).await.unwrap(), ["3.sql"]);
    });
}

/// Numbered tasks in batches, with perhaps an error or a bad value on the way.
struct Tasks {
    next: i64,
    last: i64,
    fails: Option<i64>,
    numbered: bool,
}

impl Records for Tasks {
    fn fields(&self) -> Rc<[String]> {
        ["title", "id"].map(String::from).into()
    }

    fn next(&mut self) -> Answer<Option<Vec<Value>>> {
        if self.next > self.last {
            return Answer::ok(None);
        }
        let end = (self.next + 999).min(self.last);
        let mut values = Vec::new();
        for number in self.next..=end {
            if self.fails == Some(number) {
                return Error::new(Kind::Failed, "the source ended").into();
            }
            values.push(Value::Text(format!("task\t{number}")));
            values.push(if self.numbered { Value::Int(number) } else { Value::Nil });
        }
        self.next = end + 1;
        Answer::ok(Some(values))
    }
}

#[test]
fn many_records_are_inserted_all_or_none() {
    with_database(|url| async move {
        let database = open(&url);
        let tasks = tasks(&database).await;
        let insert = async |next, last, fails| {
            let records = Box::new(Tasks { next, last, fails, numbered: true });
            Tables::insert(&tasks, &reference(""), records, &now()).await
        };
        assert_eq!(insert(1, 50_000, None).await.unwrap(), 50_000);
        assert_eq!(
            get(&tasks, "50000?").await.unwrap(),
            r#"{"id":50000,"done":null,"title":"task\t50000"}"#
        );
        assert_eq!(refused(insert(50_001, 60_000, Some(59_000)).await).1, "the source ended");
        let (kind, message) = refused(insert(49_990, 50_010, None).await);
        assert_eq!(
            (kind, message.as_str()),
            (Kind::Conflict, "record 1: another row has the same id")
        );
        assert_eq!(count(&database, "tasks").await, Value::Int(50_000));
        // Numbers go on behind those that were given.
        let posted = tasks.post(&reference(""), content("{}"), &now()).await.unwrap();
        assert_eq!(posted.reference.unwrap().path(), "50001");
        let records = Tasks { next: 1, last: 2500, fails: None, numbered: false };
        let count_ =
            Tables::insert(&tasks, &reference(""), Box::new(records), &now()).await.unwrap();
        assert_eq!((count_, get(&tasks, "52501").await.is_some()), (2500, true));
    });
}

#[test]
fn urls_are_checked_before_anything_is_connected() {
    local(async {
        let wrong = runnel_sql::PostgresDatabase::open("mysql://x", Default::default());
        assert_eq!(refused(wrong.map(drop)).0, Kind::Invalid);
    });
}
