//! What a class says of content that a client sends.

use runnel_store::{
    Contract, ContractClass, ContractField, ContractKind, FieldType, Kind, MAX_PROBLEMS, RecordUse,
    json,
};

fn field(name: &str, kind: ContractKind) -> ContractField {
    ContractField { name: name.into(), kind, required: false, readonly: false }
}

fn plain(name: &str, kind: FieldType) -> ContractField {
    field(name, ContractKind::Plain(kind))
}

/// A person with an address, and a manager of the same class.
fn people() -> Contract {
    let person = vec![
        plain("id", FieldType::Int),
        ContractField { required: true, ..plain("name", FieldType::Text) },
        plain("age", FieldType::Int),
        plain("height", FieldType::Float),
        plain("active", FieldType::Bool),
        plain("born", FieldType::Date),
        plain("balance", FieldType::Decimal),
        field("tags", ContractKind::List),
        field("place", ContractKind::Object(1)),
        field("manager", ContractKind::Key(FieldType::Int, 0)),
        ContractField { readonly: true, ..plain("role", FieldType::Text) },
    ];
    let address = vec![ContractField { required: true, ..plain("a/b~c", FieldType::Text) }];
    Contract {
        classes: vec![
            ContractClass { name: "Person".into(), fields: person },
            ContractClass { name: "Address".into(), fields: address },
        ],
    }
}

/// The pointers of what is wrong with a JSON text.
fn wrong(text: &str, purpose: RecordUse) -> Vec<String> {
    let value = json::parse(text.as_bytes()).unwrap();
    match people().check(&value, purpose, &[]) {
        Ok(()) => Vec::new(),
        Err(error) => {
            assert_eq!(error.kind, Kind::Unprocessable);
            error.fields.into_iter().map(|field| field.pointer).collect()
        }
    }
}

#[test]
fn values_have_the_type_of_their_field() {
    for good in [
        r#"{"name":"a"}"#,
        r#"{"name":"a","age":null,"id":7}"#,
        r#"{"name":"a","age":3.0,"height":2,"active":false,"balance":"-12.30","tags":[1,"b"]}"#,
        r#"{"name":"a","age":123456789012345678901234567890}"#,
        r#"{"name":"a","born":"2026-11-21"}"#,
        r#"{"name":"a","born":"2026-11-21T05:30:00.5+01:00"}"#,
        r#"{"name":"a","place":{"a/b~c":"x"},"manager":7}"#,
        r#"{"name":"a","manager":{"name":"b","manager":{"name":"c"}}}"#,
    ] {
        assert_eq!(wrong(good, RecordUse::Create), Vec::<String>::new(), "{good}");
    }
    for (bad, pointer) in [
        (r#"{"name":"a","age":"3"}"#, "/age"),
        (r#"{"name":"a","age":3.5}"#, "/age"),
        (r#"{"name":"a","age":true}"#, "/age"),
        (r#"{"name":"a","height":"2"}"#, "/height"),
        (r#"{"name":"a","active":1}"#, "/active"),
        (r#"{"name":"a","active":"yes"}"#, "/active"),
        (r#"{"name":"a","born":"soon"}"#, "/born"),
        (r#"{"name":"a","born":"2026-13-01"}"#, "/born"),
        (r#"{"name":"a","balance":1.5}"#, "/balance"),
        (r#"{"name":"a","balance":"1e5"}"#, "/balance"),
        (r#"{"name":"a","tags":{}}"#, "/tags"),
        (r#"{"name":"a","place":"x"}"#, "/place"),
        (r#"{"name":"a","place":[]}"#, "/place"),
        (r#"{"name":"a","place":{}}"#, "/place/a~1b~0c"),
        (r#"{"name":"a","place":{"a/b~c":1}}"#, "/place/a~1b~0c"),
        (r#"{"name":"a","manager":"7"}"#, "/manager"),
        (r#"{"name":"a","manager":{"name":"b","role":"admin"}}"#, "/manager/role"),
        (r#"{"name":"a","role":"admin"}"#, "/role"),
        (r#"{"name":"a","x/y":1}"#, "/x~1y"),
        (r#"{"name":null}"#, "/name"),
        ("{}", "/name"),
        ("[]", ""),
        ("3", ""),
    ] {
        assert_eq!(wrong(bad, RecordUse::Create), [pointer], "{bad}");
    }
}

#[test]
fn a_change_has_only_what_it_changes() {
    assert_eq!(wrong(r#"{"age":3}"#, RecordUse::Change), Vec::<String>::new());
    assert_eq!(wrong(r#"{"name":null,"age":""}"#, RecordUse::Change), ["/name", "/age"]);
    assert_eq!(wrong(r#"{"role":null}"#, RecordUse::Change), ["/role"]);
    assert_eq!(wrong(r#"{"place":{}}"#, RecordUse::Change), ["/place/a~1b~0c"]);
}

#[test]
fn all_problems_are_told_up_to_a_bound() {
    let text = r#"{"age":"3","active":"yes","nope":1}"#;
    assert_eq!(wrong(text, RecordUse::Create), ["/age", "/active", "/nope", "/name"]);
    let many: Vec<String> = (0..100).map(|number| format!("\"x{number}\":1")).collect();
    assert_eq!(wrong(&format!("{{{}}}", many.join(",")), RecordUse::Create).len(), MAX_PROBLEMS);
}

#[test]
fn the_program_may_set_what_a_client_cannot() {
    let value = json::parse(br#"{"name":"a","role":"admin"}"#).unwrap();
    people().check(&value, RecordUse::Create, &["role".to_string()]).unwrap();
}
