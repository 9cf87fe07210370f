//! What a class says of content that a client sends.

use runnel_store::{
    Contract, ContractClass, ContractField, ContractKind, FieldType, Kind, MAX_PROBLEMS, RecordUse,
    TextForm, TextPattern, compare_decimals, json,
};
use std::cmp::Ordering;

fn field(name: &str, kind: ContractKind) -> ContractField {
    ContractField::new(name, kind)
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
        field("tags", ContractKind::List(None)),
        field("place", ContractKind::Object(1)),
        field("manager", ContractKind::Key(FieldType::Int, 0)),
        ContractField { readonly: true, ..plain("role", FieldType::Text) },
    ];
    let address = vec![ContractField { required: true, ..plain("a/b~c", FieldType::Text) }];
    Contract {
        classes: vec![
            ContractClass { name: "Person".into(), about: String::new(), fields: person },
            ContractClass { name: "Address".into(), about: String::new(), fields: address },
        ],
        ..Contract::default()
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

/// A contract as the kernel describes it.
fn described(text: &str) -> Contract {
    Contract::read(&json::parse(text.as_bytes()).unwrap())
}

/// The problems of a content: pointers and messages.
fn problems(contract: &Contract, text: &str) -> Vec<(String, String)> {
    let value = json::parse(text.as_bytes()).unwrap();
    match contract.check(&value, RecordUse::Create, &[]) {
        Ok(()) => Vec::new(),
        Err(error) => {
            error.fields.into_iter().map(|field| (field.pointer, field.message)).collect()
        }
    }
}

/// A contract of one field with this type.
fn one(kind: &str) -> Contract {
    described(&format!(
        r#"{{"classes":[{{"name":"One","fields":[{{"name":"x","type":{kind}}}]}}]}}"#
    ))
}

#[test]
fn limits_hold_at_both_ends() {
    let text = |count: usize| format!(r#"{{"x":"{}"}}"#, "ä".repeat(count));
    let lengths = one(r#"{"kind":"string","min":1,"max":3}"#);
    for (good, fits) in [(0, false), (1, true), (3, true), (4, false)] {
        assert_eq!(problems(&lengths, &text(good)).is_empty(), fits, "{good}");
    }
    let range = one(r#"{"kind":"int","min":-1,"max":3}"#);
    for (number, fits) in [("-2", false), ("-1", true), ("3", true), ("4", false), ("3.0", true)] {
        assert_eq!(problems(&range, &format!(r#"{{"x":{number}}}"#)).is_empty(), fits, "{number}");
    }
    let exact = one(r#"{"kind":"decimal","min":"0.1","max":"10"}"#);
    for (number, fits) in [
        (r#""0.1""#, true),
        (r#""0.09999999999999999999999""#, false),
        (r#""10.00""#, true),
        (r#""10.00000000000000000000001""#, false),
        ("10", true),
        ("11", false),
    ] {
        assert_eq!(problems(&exact, &format!(r#"{{"x":{number}}}"#)).is_empty(), fits, "{number}");
    }
}

#[test]
fn elements_and_nested_objects_have_pointers() {
    let contract = described(
        r#"{"classes":[
            {"name":"A","fields":[
                {"name":"tags","type":{"kind":"list","element":{"kind":"string","max":3},"max":4}},
                {"name":"parts","type":{"kind":"list","element":{"kind":"object","class":1}}}]},
            {"name":"B","fields":[{"name":"n","type":{"kind":"int"},"required":true}]}]}"#,
    );
    let text = r#"{"tags":["a",3,"long",null,"b"],"parts":[{"n":1},{},{"n":"x"},4]}"#;
    let found = problems(&contract, text);
    let pointers: Vec<&str> = found.iter().map(|(pointer, _)| pointer.as_str()).collect();
    let wanted = ["/tags", "/tags/1", "/tags/2", "/tags/3", "/parts/1/n", "/parts/2/n", "/parts/3"];
    assert_eq!(pointers, wanted);
    assert_eq!(found[2].1, "tags/2 is text of at most 3 characters, not 4");
}

#[test]
fn a_one_of_is_told_by_its_enumeration_or_by_what_fits() {
    let told = described(
        r#"{"classes":[
            {"name":"P","fields":[{"name":"by","type":{"kind":"oneOf","options":[
                {"kind":"object","class":1},{"kind":"object","class":2}]}}]},
            {"name":"Card","fields":[{"name":"kind","type":{"kind":"enum","values":["card"]}},
                {"name":"last","type":{"kind":"int"},"required":true}]},
            {"name":"Bank","fields":[{"name":"kind","type":{"kind":"enum","values":["bank"]}},
                {"name":"iban","type":{"kind":"string"}}]}]}"#,
    );
    let pointer = |text| problems(&told, text).into_iter().map(|one| one.0).collect::<Vec<_>>();
    assert_eq!(pointer(r#"{"by":{"kind":"bank","iban":"x"}}"#), Vec::<String>::new());
    assert_eq!(pointer(r#"{"by":{"kind":"card","iban":"x"}}"#), ["/by/iban", "/by/last"]);
    assert_eq!(pointer(r#"{"by":{"kind":"cash"}}"#), ["/by/kind"]);
    assert_eq!(pointer(r#"{"by":3}"#), ["/by"]);
    let either = one(r#"{"kind":"oneOf","options":[{"kind":"int"},{"kind":"bool"}]}"#);
    assert!(problems(&either, r#"{"x":true}"#).is_empty());
    assert_eq!(problems(&either, r#"{"x":"t"}"#)[0].0, "/x");
}

#[test]
fn a_strict_contract_wants_what_has_no_value_of_its_own() {
    let contract = described(
        r#"{"strict":true,"classes":[{"name":"A","fields":[
            {"name":"id","type":{"kind":"int"}},
            {"name":"title","type":{"kind":"string"}},
            {"name":"body","type":{"kind":"string","optional":true}},
            {"name":"state","type":{"kind":"string"},"default":"draft"},
            {"name":"at","type":{"kind":"moment"},"computed":true},
            {"name":"by","type":{"kind":"string"},"readonly":true}]}]}"#,
    );
    let names = |text| problems(&contract, text).into_iter().map(|one| one.0).collect::<Vec<_>>();
    assert_eq!(names("{}"), ["/title"]);
    assert_eq!(names(r#"{"title":null,"body":null,"state":null}"#), ["/title", "/state"]);
    let filled = contract.filled(json::parse(br#"{"title":"a"}"#).unwrap());
    assert_eq!(json::text(&filled), br#"{"title":"a","state":"draft"}"#);
}

#[test]
fn unknown_fields_are_dropped_on_request_only() {
    let contract = described(
        r#"{"dropUnknown":true,"classes":[{"name":"A","fields":[
            {"name":"in","type":{"kind":"list","element":{"kind":"object","class":1}}}]},
            {"name":"B","fields":[{"name":"n","type":{"kind":"int"}}]}]}"#,
    );
    let text = r#"{"x":1,"in":[{"n":1,"y":2}]}"#;
    assert!(problems(&contract, text).is_empty());
    let kept = contract.without_unknown(json::parse(text.as_bytes()).unwrap());
    assert_eq!(json::text(&kept), br#"{"in":[{"n":1}]}"#);
    let strict = Contract { drop_unknown: false, ..contract };
    assert_eq!(problems(&strict, text).len(), 2);
}

#[test]
fn the_content_may_be_of_any_type() {
    let list =
        described(r#"{"classes":[],"root":{"kind":"list","element":{"kind":"int","min":1}}}"#);
    assert!(problems(&list, "[1,2]").is_empty());
    let found = problems(&list, "[1,0]");
    assert_eq!(found, [("/1".to_string(), "1 is an integer of at least 1, not 0".to_string())]);
    assert_eq!(problems(&list, "{}")[0].1, "the content is an array, not an object");
}

#[test]
fn forms_of_text() {
    let cases = [
        (TextForm::Email, "ada@example.org", true),
        (TextForm::Email, "ada+x@sub.example.org", true),
        (TextForm::Email, "ada", false),
        (TextForm::Email, "a b@example.org", false),
        (TextForm::Email, "ada@-example.org", false),
        (TextForm::Uuid, "f81d4fae-7dec-41d0-a765-00a0c91e6bf6", true),
        (TextForm::Uuid, "f81d4fae7dec41d0a76500a0c91e6bf6", false),
        (TextForm::Url, "https://example.org:8080/a?b#c", true),
        (TextForm::Url, "http://[::1]/", true),
        (TextForm::Url, "example.org", false),
        (TextForm::Url, "javascript:alert(1)", false),
        (TextForm::Url, "http://a b/", false),
        (TextForm::Url, "http://", false),
        (TextForm::Time, "17:45", true),
        (TextForm::Time, "17:45:30.25", true),
        (TextForm::Time, "24:00", false),
        (TextForm::Time, "17:45:3", false),
        (TextForm::Moment, "2026-11-21T05:30:00Z", true),
        (TextForm::Moment, "2024-02-29T05:30:00.5+01:00", true),
        (TextForm::Moment, "2026-02-29T05:30:00Z", false),
        (TextForm::Moment, "2026-11-21T05:30:00", false),
        (TextForm::Moment, "2026-11-21", false),
        (TextForm::Moment, "2026-11-2äT05:30:00Z", false),
    ];
    for (form, text, fits) in cases {
        assert_eq!(form.admits(text), fits, "{form:?} {text}");
    }
}

#[test]
fn patterns_match_whole_texts() {
    let pattern = TextPattern::new("a|bc").unwrap();
    assert!(pattern.matches("a") && pattern.matches("bc"));
    assert!(!pattern.matches("ab") && !pattern.matches("bc\n"));
    assert!(TextPattern::new("(").is_none() && TextPattern::new("(a{1000}){1000}").is_none());
}

#[test]
fn decimals_are_compared_by_their_digits() {
    for (one, other, order) in [
        ("1", "1.000", Ordering::Equal),
        ("-0", "0", Ordering::Equal),
        ("-2", "1", Ordering::Less),
        ("-2", "-10", Ordering::Greater),
        ("0.30000000000000000001", "0.3", Ordering::Greater),
        ("10", "9.99", Ordering::Greater),
        ("+5", "05.10", Ordering::Less),
    ] {
        assert_eq!(compare_decimals(one, other), order, "{one} {other}");
    }
}
