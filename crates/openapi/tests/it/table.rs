//! Tables that are served without handlers.

use crate::support::parse;
use runnel_openapi::{Api, document, table_operations, typescript};
use runnel_store::Value;

fn notes() -> Api {
    let class = parse(
        r#"{ "name": "Note", "fields": [
            { "name": "id", "type": { "kind": "int" } },
            { "name": "text", "type": { "kind": "string", "max": 20 }, "required": true },
            { "name": "done", "type": { "kind": "bool" }, "default": false },
            { "name": "day", "type": { "kind": "date" } },
            { "name": "limit", "type": { "kind": "int" } },
            { "name": "project", "type": { "kind": "key", "name": "int", "class": 3 } },
            { "name": "author", "type": { "kind": "string" }, "readonly": true }
        ] }"#,
    );
    let table = table_operations(&class, 0, "/notes");
    Api::read(&Value::record([
        ("title", Value::from("Notes")),
        ("classes", table.get("classes").unwrap().clone()),
        ("operations", table.get("operations").unwrap().clone()),
    ]))
}

fn at<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(value, |value, name| {
        value.get(name).unwrap_or_else(|| panic!("{name} of {path:?} is missing"))
    })
}

#[test]
fn a_table_has_six_operations() {
    let api = notes();
    let ids: Vec<&str> = api.operations.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(
        ids,
        ["listNotes", "createNote", "getNote", "replaceNote", "updateNote", "deleteNote"]
    );
    let statuses = |at: usize| -> Vec<u16> {
        api.operations[at].answers.iter().map(|answer| answer.status).collect()
    };
    assert_eq!(statuses(0), [200, 400, 422, 503]);
    assert_eq!(statuses(1), [201, 400, 409, 413, 415, 422, 503]);
    assert_eq!(statuses(2), [200, 304, 404, 503]);
    assert_eq!(statuses(3), [201, 204, 400, 404, 409, 412, 413, 415, 422, 503]);
}

#[test]
fn the_key_is_made_by_the_table_and_readonly_fields_by_the_program() {
    let document = document(&notes());
    let schemas = at(&document, &["components", "schemas"]);
    assert!(at(schemas, &["Note", "properties"]).get("id").is_some());
    let input = at(schemas, &["NoteInput"]);
    assert_eq!(at(input, &["required"]), &parse(r#"["text"]"#));
    assert_eq!(at(input, &["additionalProperties"]), &Value::Bool(false));
    for readonly in ["id", "author"] {
        assert!(at(input, &["properties"]).get(readonly).is_none(), "{readonly}");
    }
    assert_eq!(
        at(schemas, &["Note", "properties", "day"]),
        &parse(r#"{ "type": ["string", "null"], "format": "date-time" }"#)
    );
    assert!(schemas.get("NotePatch").unwrap().get("required").is_none());
    assert_eq!(
        at(schemas, &["Note", "properties", "project", "type"]),
        &parse(r#"["integer", "null"]"#),
        "a foreign key is the key of a row"
    );
}

#[test]
fn columns_are_parameters_of_the_list_but_not_the_words_of_queries() {
    let api = notes();
    let names: Vec<&str> = api.operations[0].parameters.iter().map(|one| &*one.name).collect();
    assert_eq!(
        names,
        ["limit", "offset", "sort", "id", "text", "done", "day", "project", "author"]
    );
    let client = typescript(&api);
    assert!(client.contains("  done?: boolean[];"), "{client}");
    assert!(client.contains("replaceNote: (id: number, body: NoteInput,"), "{client}");
    assert!(client.contains("): Promise<void>"), "a put answers no content");
}

#[test]
fn tables_of_a_description_become_operations() {
    let described = parse(
        r#"{ "classes": [{ "name": "Tag", "fields": [
                { "name": "id", "type": { "kind": "string" } },
                { "name": "label", "type": { "kind": "string" }, "required": true } ] }],
            "operations": [{ "method": "GET", "path": [{ "text": "version" }] }],
            "tables": [{ "path": [{ "text": "shop" }, { "text": "tags" }], "class": 0 },
                       { "path": [], "class": 7 }] }"#,
    );
    let api = Api::read(&described);
    let paths: Vec<String> = api.operations.iter().map(|one| one.path_text()).collect();
    assert_eq!(paths[..3], ["/version", "/shop/tags", "/shop/tags"]);
    assert_eq!(paths.len(), 7);
    let document = document(&api);
    let input = at(&document, &["components", "schemas", "TagInput", "required"]);
    assert_eq!(input, &parse(r#"["id","label"]"#), "a client chooses a key that is text");
}
