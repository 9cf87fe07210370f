//! The schema of problems (RFC 9457), as `crates/http/src/server/response/problem_form.rs` writes them.

use runnel_store::Value;

/// Invalid fields of a problem at most.
const MAX_FIELDS: i64 = 100;

fn described(kind: &str, about: &str) -> Value {
    Value::record([("type", Value::from(kind)), ("description", about.into())])
}

pub(super) fn problem_schema() -> Value {
    let field = Value::record([
        ("type", Value::from("object")),
        (
            "properties",
            Value::record([
                ("pointer", described("string", "The field, as a JSON pointer (RFC 6901).")),
                ("detail", described("string", "What is wrong with it.")),
            ]),
        ),
        ("required", texts(&["pointer", "detail"])),
    ]);
    let mut errors = described("array", "The invalid fields.");
    errors.set("items", field);
    errors.set("maxItems", MAX_FIELDS.into());
    let properties = Value::record([
        ("type", described("string", "Always `about:blank`: the status says what it is.")),
        ("title", described("string", "The reason phrase of the status.")),
        ("status", described("integer", "The status code.")),
        ("detail", described("string", "What is wrong, for people.")),
        ("instance", described("string", "The id of the request.")),
        ("errors", errors),
    ]);
    Value::record([
        ("type", "object".into()),
        ("description", "Why a request failed (RFC 9457).".into()),
        ("properties", properties),
        ("required", texts(&["type", "title", "status"])),
    ])
}

/// An example of a problem with this status.
pub(super) fn problem_example(status: u16, title: &str) -> Value {
    let mut example = Value::record([
        ("type", Value::from("about:blank")),
        ("title", title.into()),
        ("status", i64::from(status).into()),
    ]);
    if status == 422 {
        let field = Value::record([
            ("pointer", Value::from("/title")),
            ("detail", "title is required".into()),
        ]);
        example.set("detail", "title is required".into());
        example.set("errors", vec![field].into());
    }
    example
}

pub(super) fn texts(texts: &[&str]) -> Value {
    texts.iter().map(|text| Value::from(*text)).collect::<Vec<_>>().into()
}
