//! Documents: schemas for each use, answers, names, order.

use crate::support::{api, descriptions, parse};
use proptest::prelude::*;
use runnel_openapi::{Api, ApiOperation, document, document_text, typescript};
use runnel_store::{Contract, RecordUse, Value, json};

fn at<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(value, |value, name| {
        value.get(name).unwrap_or_else(|| panic!("{name} of {path:?} is missing"))
    })
}

fn operation<'a>(api: &'a Api, id: &str) -> &'a ApiOperation {
    api.operations.iter().find(|one| one.id == id).unwrap_or_else(|| panic!("{id} is missing"))
}

fn statuses(api: &Api, id: &str) -> Vec<u16> {
    operation(api, id).answers.iter().map(|answer| answer.status).collect()
}

#[test]
fn input_and_output_of_a_class_have_schemas_of_their_own() {
    let document = document(&api("todos"));
    let schemas = at(&document, &["components", "schemas"]);
    let names: Vec<&str> =
        schemas.as_record().unwrap().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Todo", "TodoInput", "TodoPatch", "Problem"]);
    assert_eq!(
        at(schemas, &["Todo", "required"]),
        &parse(r#"["id","title","completed","order","url"]"#)
    );
    assert_eq!(at(schemas, &["TodoInput", "required"]), &parse(r#"["title"]"#));
    assert_eq!(
        at(schemas, &["TodoInput", "properties"]),
        &parse(
            r#"{ "title": { "type": "string", "minLength": 1, "maxLength": 200 },
                 "completed": { "type": "boolean", "default": false },
                 "order": { "type": ["integer", "null"], "minimum": 0, "format": "int64" } }"#
        )
    );
    assert!(at(schemas, &["TodoPatch"]).get("required").is_none());
    assert!(at(schemas, &["TodoPatch", "properties", "completed"]).get("default").is_none());
}

#[test]
fn content_in_an_object_and_refusals_have_their_types() {
    let described = parse(
        r#"{ "strict": true, "classes": [
            { "name": "Task", "fields": [{ "name": "title", "type": { "kind": "string" } }] },
            { "name": "Refusal", "fields": [{ "name": "failed", "type": { "kind": "string" } }] } ],
          "operations": [{ "method": "PUT", "guarded": true,
            "path": [{ "text": "tasks" }, { "name": "id", "type": { "kind": "int" } }],
            "body": { "type": { "kind": "object", "class": 0 }, "media": ["application/json"],
                      "member": "task", "partial": true, "required": true },
            "answers": [{ "status": 200, "type": { "kind": "object", "class": 0 }, "member": "task" }],
            "refused": { "kind": "object", "class": 1 } }] }"#,
    );
    let api = Api::read(&described);
    let document = document(&api);
    let put = at(&document, &["paths", "/tasks/{id}", "put"]);
    let json = ["content", "application/json", "schema"];
    let body = at(at(put, &["requestBody"]), &json);
    assert_eq!(
        body,
        &parse(
            r##"{ "type": "object", "properties": { "task": { "$ref": "#/components/schemas/TaskPatch" } },
                 "required": ["task"], "additionalProperties": false }"##
        )
    );
    let answer = at(at(put, &["responses", "200"]), &json);
    assert_eq!(
        at(answer, &["properties"]),
        &parse(r##"{ "task": { "$ref": "#/components/schemas/Task" } }"##)
    );
    for (status, problem) in [("401", false), ("422", false), ("400", true), ("404", true)] {
        let answer = at(put, &["responses", status]);
        assert_eq!(
            at(answer, &json),
            &parse(r##"{ "$ref": "#/components/schemas/Refusal" }"##),
            "{status}"
        );
        let also = at(answer, &["content"]).get("application/problem+json").is_some();
        assert_eq!(also, problem, "{status}");
    }
    let server = at(put, &["responses", "413"]);
    assert_eq!(server, &parse(r##"{ "$ref": "#/components/responses/ContentTooLarge" }"##));
    let client = typescript(&api);
    assert!(client.contains("body: { task: TaskPatch }"), "{client}");
    assert!(client.contains("Promise<{ task: Task }>"), "{client}");
}

#[test]
fn a_union_is_told_apart_by_its_enumeration() {
    let document = document(&api("blog"));
    let by = at(&document, &["components", "schemas", "PaymentInput", "properties", "by"]);
    assert_eq!(
        at(by, &["discriminator"]),
        &parse(
            r##"{ "propertyName": "kind", "mapping": {
                "card": "#/components/schemas/CardInput",
                "transfer": "#/components/schemas/TransferInput",
                "instant": "#/components/schemas/TransferInput" } }"##
        )
    );
    let tip = at(&document, &["components", "schemas", "Payment", "properties", "tip"]);
    assert_eq!(at(tip, &["anyOf"]).as_list().unwrap().len(), 2, "a union or null");
    let card = at(&document, &["components", "schemas", "Card", "required"]);
    assert!(card.as_list().unwrap().contains(&"kind".into()));
}

#[test]
fn answers_of_the_server_are_there_only_where_they_apply() {
    let api = api("blog");
    assert_eq!(statuses(&api, "getRoot"), [200, 503]);
    assert_eq!(statuses(&api, "listArticles"), [200, 406, 422, 503]);
    assert_eq!(statuses(&api, "getArticle"), [200, 304, 404, 503]);
    assert_eq!(statuses(&api, "createArticle"), [201, 400, 401, 403, 409, 413, 415, 422, 503]);
    assert_eq!(statuses(&api, "updateArticle"), [200, 400, 401, 403, 404, 412, 413, 415, 422, 503]);
    assert_eq!(statuses(&api, "deleteArticle"), [204, 401, 403, 404, 503]);
}

#[test]
fn only_guarded_operations_need_credentials() {
    let document = document(&api("blog"));
    let security = |path: &str, method: &str| at(&document, &["paths", path, method, "security"]);
    assert_eq!(security("/articles", "get"), &parse("[]"));
    assert_eq!(security("/articles", "post"), &parse(r#"[{ "bearerAuth": [] }]"#));
    let todos = runnel_openapi::document(&api("todos"));
    assert!(at(&todos, &["components"]).get("securitySchemes").is_none());
}

#[test]
fn operations_say_which_credentials_they_need() {
    let api = Api::read(&parse(
        r#"{ "classes": [{ "name": "Note", "fields": [{ "name": "text", "type": { "kind": "string" } }] }],
            "operations": [
                { "method": "GET", "path": [{ "text": "a" }], "guarded": true, "security": ["basic"] },
                { "method": "GET", "path": [{ "text": "b" }], "guarded": true, "security": ["bearer", "basic"] },
                { "method": "GET", "path": [{ "text": "c" }], "guarded": true },
                { "method": "GET", "path": [{ "text": "d" }], "security": ["basic"] }],
            "tables": [{ "path": [{ "text": "notes" }], "class": 0, "security": ["basic"] }] }"#,
    ));
    let document = document(&api);
    let security = |path: &str| at(&document, &["paths", path, "get", "security"]);
    assert_eq!(security("/a"), &parse(r#"[{ "basicAuth": [] }]"#));
    assert_eq!(security("/b"), &parse(r#"[{ "basicAuth": [] }, { "bearerAuth": [] }]"#));
    assert_eq!(security("/c"), &parse(r#"[{ "bearerAuth": [] }]"#));
    assert_eq!(security("/d"), &parse("[]"));
    assert_eq!(security("/notes"), &parse(r#"[{ "basicAuth": [] }]"#));
    let schemes = at(&document, &["components", "securitySchemes"]);
    assert_eq!(at(schemes, &["basicAuth", "scheme"]), &Value::from("basic"));
    assert_eq!(at(schemes, &["bearerAuth", "scheme"]), &Value::from("bearer"));
}

#[test]
fn hidden_operations_and_headers_that_openapi_describes_elsewhere_are_left_out() {
    let text = document_text(&api("blog"));
    assert!(!text.contains("/inner"), "a hidden path");
    assert!(!text.contains("\"Accept\""), "a header that has its own place");
    assert!(text.contains("\"X-Trace\""));
}

#[test]
fn paths_with_other_names_for_parameters_are_one_path() {
    let document = document(&api("todos"));
    let paths = at(&document, &["paths"]).as_record().unwrap();
    let names: Vec<&str> = paths.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["/todos", "/todos/{id}"]);
    let parameter = &at(&document, &["paths", "/todos/{id}", "delete", "parameters"]);
    assert_eq!(parameter.as_list().unwrap()[0].get("name"), Some(&"id".into()));
}

#[test]
fn names_follow_from_methods_and_paths_and_are_unique() {
    let described = |operations: &str| {
        let api = parse(&format!(r#"{{ "operations": [{operations}] }}"#));
        let ids = Api::read(&api).operations.into_iter().map(|one| one.id);
        ids.collect::<Vec<_>>()
    };
    let list = r#""answers": [{ "type": { "kind": "list" } }]"#;
    let all = described(&format!(
        r#"{{ "method": "GET", "path": [{{ "text": "user-stories" }}], {list} }},
           {{ "method": "POST", "path": [{{ "text": "user-stories" }}] }},
           {{ "method": "PUT", "path": [{{ "text": "boxes" }}, {{ "name": "id" }}] }},
           {{ "method": "GET", "path": [{{ "text": "a" }}, {{ "text": "b" }}] }},
           {{ "method": "GET", "path": [{{ "text": "a" }}, {{ "text": "b" }}, {{ "name": "c" }}] }},
           {{ "method": "GET", "path": [{{ "text": "x" }}], "name": "replaceBox" }}"#
    ));
    assert_eq!(
        all,
        ["listUserStories", "createUserStory", "replaceBox2", "getAB", "getAB2", "replaceBox"]
    );
}

#[test]
fn a_document_is_the_same_each_time_and_reads_back() {
    for (name, described) in descriptions() {
        let text = document_text(&Api::read(&described));
        assert_eq!(text, document_text(&Api::read(&described)), "{name}");
        assert_eq!(json::parse(text.as_bytes()).unwrap(), document(&api(name)), "{name}");
    }
}

/// The example of each JSON body is content that its contract admits.
#[test]
fn examples_of_bodies_satisfy_their_contract() {
    for (name, described) in descriptions() {
        let api = Api::read(&described);
        let document = document(&api);
        let mut seen = 0;
        for operation in &api.operations {
            let Some(body) = operation.body.as_ref().filter(|body| !body.is_form()) else {
                continue;
            };
            let method = operation.method.to_ascii_lowercase();
            let place = ["paths", &operation.path_text(), &method, "requestBody", "content"];
            let example = at(at(&document, &place), &["application/json", "example"]);
            let contract = Contract { root: Some(body.kind.clone()), ..api.contract.clone() };
            let purpose = if body.partial { RecordUse::Change } else { RecordUse::Create };
            let checked = contract.check(example, purpose, &[]);
            assert!(checked.is_ok(), "{name} {}: {checked:?} of {example:?}", operation.id);
            seen += 1;
        }
        assert!(seen > 0, "{name}");
    }
}

fn arbitrary_value() -> impl Strategy<Value = Value> {
    let names = [
        "kind",
        "class",
        "fields",
        "name",
        "type",
        "path",
        "method",
        "operations",
        "answers",
        "body",
        "element",
        "options",
        "text",
        "rest",
        "status",
        "media",
        "parameters",
        "in",
        "pattern",
        "min",
    ];
    let words = ["object", "list", "oneOf", "string", "int", "key", "GET", "query", "(", "a{9}{9}"];
    let leaf = prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::Bool),
        (-3i64..700).prop_map(Value::Int),
        prop::sample::select(words.to_vec()).prop_map(Value::from),
        ".{0,6}".prop_map(Value::Text),
    ];
    leaf.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            prop::collection::vec((prop::sample::select(names.to_vec()), inner), 0..6)
                .prop_map(Value::record),
        ]
    })
}

proptest! {
    #[test]
    fn any_description_is_written(classes in arbitrary_value(), operations in arbitrary_value()) {
        let described = Value::record([
            ("classes", Value::List(vec![classes.clone(), classes])),
            ("operations", Value::List(vec![operations.clone(), operations])),
        ]);
        let api = Api::read(&described);
        let text = document_text(&api);
        prop_assert!(json::parse(text.as_bytes()).is_ok());
        prop_assert!(typescript(&api).contains("createClient"));
    }
}

#[test]
fn a_body_is_json_unless_it_has_files() {
    let media = |fields: &str| {
        let described = parse(&format!(
            r#"{{ "classes": [{{ "name": "A", "fields": [{fields}] }}], "operations": [
                {{ "method": "POST", "path": [], "body": {{ "type": {{ "kind": "object", "class": 0 }},
                   "media": ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"] }} }}] }}"#
        ));
        Api::read(&described).operations[0].body.clone().unwrap().media
    };
    assert_eq!(media(r#"{ "name": "a", "type": { "kind": "string" } }"#), ["application/json"]);
    let files = r#"{ "name": "a", "type": { "kind": "list", "element": { "kind": "file" } } }"#;
    assert_eq!(media(files), ["multipart/form-data"]);
}

#[test]
fn pages_of_lists_have_parameters_and_headers() {
    let document = document(&api("blog"));
    let list = at(&document, &["paths", "/articles", "get"]);
    let parameters = at(list, &["parameters"]).as_list().unwrap();
    let named = |name: &str| {
        let is = |one: &&Value| one.get("name") == Some(&name.into());
        at(parameters.iter().find(is).unwrap(), &["schema", "maximum"]).as_i64()
    };
    assert_eq!((named("page"), named("per_page")), (Some(1_000_000), Some(100)));
    let headers = at(list, &["responses", "200", "headers"]);
    assert!(headers.get("Link").is_some() && headers.get("X-Total-Count").is_some());
}
