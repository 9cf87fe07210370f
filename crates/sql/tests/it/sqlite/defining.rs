//! Classes as tables: indexes, references, decimals and dates.

use crate::common::*;
use runnel_store::{Field, FieldType, Index, Kind, Shape, Store, Tables};

fn index(fields: &[&str], unique: bool) -> Index {
    Index { fields: fields.iter().map(|name| name.to_string()).collect(), unique }
}

fn project() -> Shape {
    let mut shape = shape("Project", &[("id", FieldType::Int), ("name", FieldType::Text)]);
    shape.indexes = vec![index(&["name"], true)];
    shape
}

fn task() -> Shape {
    let mut shape = task_shape();
    let reference = Some("Project".into());
    shape.fields.push(Field { references: reference, ..Field::new("project", FieldType::Int) });
    shape.indexes = vec![index(&["project", "done"], false)];
    shape
}

#[test]
fn references_are_kept() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let root = reference("");
        let tasks = database.define_table(&root, &task()).await.unwrap();
        let projects = database.define_table(&root, &project()).await.unwrap();
        Store::post(&projects, &root, content(r#"{"name":"garden"}"#), &now()).await.unwrap();
        Store::post(&tasks, &root, content(r#"{"project":1}"#), &now()).await.unwrap();
        let lost = Store::post(&tasks, &root, content(r#"{"project":9}"#), &now()).await;
        let (kind, message) = refused(lost);
        assert_eq!(kind, Kind::Conflict);
        assert!(message.contains("tasks refers to projects"), "{message}");
        let (kind, message) = refused(Store::delete(&projects, &reference("1"), &now()).await);
        assert_eq!(kind, Kind::Conflict);
        assert!(message.contains("tasks still refers to this row of projects"), "{message}");
        let twice = Store::post(&projects, &root, content(r#"{"name":"garden"}"#), &now()).await;
        assert_eq!(refused(twice).0, Kind::Conflict);
        let sql = "select name from sqlite_schema where type = 'index' order by name";
        let names = database.run(sql, vec![], &now()).await.unwrap();
        assert_eq!(
            text(names, runnel_store::Form::Json).await,
            r#"[{"name":"projects_name_key"},{"name":"tasks_project_done_idx"}]"#
        );
        // Once more changes nothing.
        let commits = database.commits();
        database.define_table(&root, &task()).await.unwrap();
        assert_eq!(database.commits(), commits);
    });
}

#[test]
fn additions_come_by_themselves_and_nothing_else() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let root = reference("");
        tasks(&database).await;
        database.define_table(&root, &task()).await.unwrap();
        let sql = "create table owners (id integer primary key, boss integer)";
        database.run(sql, vec![], &now()).await.unwrap();
        let mut owner = shape("Owner", &[("id", FieldType::Int), ("boss", FieldType::Int)]);
        owner.fields[1].references = Some("Owner".into());
        let (kind, message) = refused(database.define_table(&root, &owner).await.map(|_| ()));
        assert_eq!((kind, message.contains("migration")), (Kind::Conflict, true), "{message}");
        let mut wrong = task_shape();
        wrong.indexes = vec![index(&["nope"], false)];
        let refusal = refused(database.define_table(&root, &wrong).await.map(|_| ()));
        assert_eq!(refusal.0, Kind::Invalid);
    });
}

#[test]
fn decimals_are_exact_and_ordered_by_value() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let root = reference("");
        let entry = shape("Entry", &[("id", FieldType::Int), ("price", FieldType::Decimal)]);
        let entries = database.define_table(&root, &entry).await.unwrap();
        for price in [r#""12.30""#, r#""-0.5""#, r#""2""#, "7", "123456789012345678901234567890"] {
            let row = content(&format!(r#"{{"price":{price}}}"#));
            Store::post(&entries, &root, row, &now()).await.unwrap();
        }
        for wrong in [r#""cheap""#, r#""1e3""#, r#""""#, "1.5", "true"] {
            let row = content(&format!(r#"{{"price":{wrong}}}"#));
            let refusal = refused(Store::post(&entries, &root, row, &now()).await);
            assert_eq!(refusal.0, Kind::Invalid, "{wrong}");
        }
        let sorted = "entries?fields=price&sort=price";
        let ordered = ["-0.5", "2", "7", "12.30", "123456789012345678901234567890"];
        let rows: Vec<String> =
            ordered.iter().map(|price| format!(r#"{{"price":"{price}"}}"#)).collect();
        assert_eq!(get(&*database, sorted).await.unwrap(), format!("[{}]", rows.join(",")));
        let same = get(&*database, "entries?fields=price&price=12.3").await.unwrap();
        assert_eq!(same, r#"[{"price":"12.30"}]"#);
    });
}

#[test]
fn dates_are_ordered_by_time() {
    run(async {
        let place = Place::new();
        let database = place.open();
        let root = reference("");
        let visit = shape("Visit", &[("id", FieldType::Int), ("at", FieldType::Date)]);
        let visits = database.define_table(&root, &visit).await.unwrap();
        for at in ["2026-11-21T12:00:00.250+02:00", "2026-11-21T10:00:00Z", "2026-11-21T10:00:01Z"]
        {
            let row = content(&format!(r#"{{"at":"{at}"}}"#));
            Store::post(&visits, &root, row, &now()).await.unwrap();
        }
        for wrong in ["yesterday", "2026-02-30T00:00:00Z", "2026-11-21T10:00:00"] {
            let row = content(&format!(r#"{{"at":"{wrong}"}}"#));
            let (kind, message) = refused(Store::post(&visits, &root, row, &now()).await);
            assert_eq!((kind, message.contains("RFC 3339")), (Kind::Invalid, true), "{message}");
        }
        let sorted = get(&*database, "visits?fields=id&sort=at").await.unwrap();
        assert_eq!(sorted, r#"[{"id":2},{"id":1},{"id":3}]"#);
        let same = get(&visits, "?at=2026-11-21T11:00:00%2B01:00").await.unwrap();
        assert_eq!(same, r#"[{"id":2,"at":"2026-11-21T10:00:00Z"}]"#);
        let table = get(&visits, "?fields=at&sort=id").await.unwrap();
        let fraction = r#"{"at":"2026-11-21T10:00:00.25Z"}"#;
        let zero = r#"{"at":"2026-11-21T10:00:00Z"}"#;
        let one = r#"{"at":"2026-11-21T10:00:01Z"}"#;
        assert_eq!(table, format!("[{fraction},{zero},{one}]"));
        assert!(get(&visits, "2").await.unwrap().ends_with(r#""at":"2026-11-21T10:00:00Z"}"#));
        let rows = Store::get(&visits, &root, &now()).await.unwrap().unwrap();
        assert!(text(rows, runnel_store::Form::Csv).await.ends_with("3,2026-11-21T10:00:01Z\r\n"));
        let sql = "select at from visits where id = 2";
        let rows = database.run(sql, vec![], &now()).await.unwrap();
        assert_eq!(text(rows, runnel_store::Form::Json).await, format!("[{zero}]"));
        // Where a moment is the key, it is written so as well.
        let made = [("d.sql".to_string(), "create table days (at DATE TEXT primary key)".into())];
        database.migrate(&root, made.to_vec().into(), &now()).await.unwrap();
        let day = content(r#"{"at":"2026-11-21T01:00:00+01:00"}"#);
        let posted = Store::post(&*database, &reference("days"), day, &now()).await.unwrap();
        assert_eq!(posted.reference.unwrap().path(), "days/2026-11-21T00:00:00Z");
        let names = Store::list(&*database, &reference("days"), &now()).await.unwrap().unwrap();
        assert_eq!(names[0].name, "2026-11-21T00:00:00Z");
        let found = get(&*database, "days/2026-11-21T00:00:00Z").await.unwrap();
        assert_eq!(found, r#"{"at":"2026-11-21T00:00:00Z"}"#);
    });
}
