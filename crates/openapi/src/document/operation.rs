//! Operations of a document: parameters, contents and answers.

use super::problem::{problem_example, texts};
use super::schema::{component, type_schema};
use crate::answers::{automatic, header_about, reason};
use crate::api::{
    Api, ApiAnswer, ApiBody, ApiOperation, ApiParameter, ParameterPlace, SecurityScheme, in_member,
    is_form, is_json,
};
use crate::example::ExampleMaker;
use crate::schema_names::{PROBLEM, SchemaNames, SchemaUse};
use runnel_store::{ContractKind, ContractType, FieldType, TextForm, Value};
use std::collections::BTreeMap;

/// The name of a security scheme in the document.
pub(super) fn scheme_name(scheme: SecurityScheme) -> &'static str {
    match scheme {
        SecurityScheme::Basic => "basicAuth",
        SecurityScheme::Bearer => "bearerAuth",
    }
}

/// The media type of problems.
const PROBLEM_JSON: &str = "application/problem+json";
/// Headers that OpenAPI describes elsewhere.
const DESCRIBED_ELSEWHERE: [&str; 3] = ["accept", "content-type", "authorization"];
/// The component of an answer with a status that no other answer describes.
const ANY_ERROR: &str = "Error";

/// Writes operations, and remembers which shared answers they refer to.
pub(super) struct OperationWriter<'a> {
    names: &'a SchemaNames,
    examples: ExampleMaker<'a>,
    shared: BTreeMap<u16, Value>,
}

impl<'a> OperationWriter<'a> {
    pub(super) fn new(api: &'a Api, names: &'a SchemaNames) -> Self {
        OperationWriter { names, examples: ExampleMaker::new(api, names), shared: BTreeMap::new() }
    }

    pub(super) fn operation(&mut self, operation: &ApiOperation) -> Value {
        let mut described = Value::record([
            ("operationId", Value::from(operation.id.as_str())),
            ("summary", operation.summary.as_str().into()),
            ("description", operation.about.as_str().into()),
            ("tags", texts(&[operation.tag.as_str()])),
        ]);
        if operation.deprecated {
            described.set("deprecated", true.into());
        }
        let parameters: Vec<Value> = operation
            .parameters
            .iter()
            .filter(|one| !DESCRIBED_ELSEWHERE.contains(&one.name.to_ascii_lowercase().as_str()))
            .map(|parameter| self.parameter(parameter))
            .collect();
        if !parameters.is_empty() {
            described.set("parameters", parameters.into());
        }
        if let Some(body) = &operation.body {
            described.set("requestBody", self.body(body));
        }
        let mut answers = Value::Record(Vec::new());
        for answer in &operation.answers {
            answers.set(answer.status.to_string(), self.answer(answer));
        }
        answers.set("default", component("responses", ANY_ERROR));
        described.set("responses", answers);
        let schemes = if operation.guarded { &operation.security[..] } else { &[] };
        let one =
            |scheme: &SecurityScheme| Value::record([(scheme_name(*scheme), Value::List(vec![]))]);
        described.set("security", schemes.iter().map(one).collect::<Vec<_>>().into());
        described
    }

    fn parameter(&self, parameter: &ApiParameter) -> Value {
        let mut described = Value::record([
            ("name", Value::from(parameter.name.as_str())),
            ("in", parameter.place.name().into()),
            ("required", parameter.required.into()),
        ]);
        if !parameter.about.is_empty() {
            described.set("description", parameter.about.as_str().into());
        }
        let mut schema = type_schema(self.names, &parameter.kind, SchemaUse::Input);
        if let Some(default) = &parameter.default {
            schema.set("default", default.clone());
        }
        // The head of a request has a limit of its own.
        if let (ContractKind::Form(TextForm::Url), Value::Record(fields)) =
            (&parameter.kind.kind, &mut schema)
            && parameter.kind.most.is_none()
        {
            fields.retain(|(name, _)| name != "maxLength");
        }
        if matches!(parameter.kind.kind, ContractKind::List(_)) && parameter.place.name() == "query"
        {
            described.set("style", "form".into());
            described.set("explode", true.into());
        }
        // An empty text says nothing, except of a text.
        let said = parameter.required || parameter.filled || takes_texts(&parameter.kind);
        if parameter.place == ParameterPlace::Query && !said {
            described.set("allowEmptyValue", true.into());
        }
        described.set("schema", schema);
        if let Some(example) = self.examples.parameter(parameter) {
            described.set("example", example);
        }
        described
    }

    fn body(&self, body: &ApiBody) -> Value {
        let purpose = SchemaUse::of(body);
        let mut content = Value::Record(Vec::new());
        for media in &body.media {
            content.set(media.as_str(), self.content(&body.kind, &body.member, media, purpose));
        }
        Value::record([("required", body.required.into()), ("content", content)])
    }

    fn content(&self, kind: &ContractType, member: &str, media: &str, purpose: SchemaUse) -> Value {
        if !is_json(media) && !is_form(media) {
            return Value::record([("schema", text_schema(self.names, kind, media, purpose))]);
        }
        let schema = in_object(member, type_schema(self.names, kind, purpose), purpose);
        let mut content = Value::record([("schema", schema)]);
        if let Some(example) = self.examples.content(kind, purpose).filter(|_| is_json(media)) {
            content.set("example", in_member(member, example));
        }
        content
    }

    fn answer(&mut self, answer: &ApiAnswer) -> Value {
        let known = automatic(answer.status)
            .filter(|(_, about)| *about == answer.about && answer.kind.is_none());
        if let Some((name, about)) = known {
            if !self.shared.contains_key(&answer.status) {
                let described = self.described(answer, about);
                self.shared.insert(answer.status, described);
            }
            return component("responses", name);
        }
        self.described(answer, &answer.about)
    }

    fn described(&self, answer: &ApiAnswer, about: &str) -> Value {
        let mut described = Value::record([("description", Value::from(about))]);
        let mut headers = Value::Record(Vec::new());
        for name in &answer.headers {
            let mut header =
                Value::record([("schema", Value::record([("type", Value::from("string"))]))]);
            let about = header_about(name);
            if !about.is_empty() {
                header.set("description", about.into());
            }
            headers.set(name.as_str(), header);
        }
        if !answer.headers.is_empty() {
            described.set("headers", headers);
        }
        let mut content = Value::Record(Vec::new());
        if answer.problem {
            content.set(PROBLEM_JSON, problem_content(answer.status));
        }
        if let Some(kind) = &answer.kind {
            for media in &answer.media {
                content.set(
                    media.as_str(),
                    self.content(kind, &answer.member, media, SchemaUse::Output),
                );
            }
        }
        if content.as_record().is_some_and(|fields| !fields.is_empty()) {
            described.set("content", content);
        }
        described
    }

    /// The shared answers that operations refer to.
    pub(super) fn responses(&self) -> Value {
        let mut responses = Value::Record(Vec::new());
        for (status, described) in &self.shared {
            if let Some((name, _)) = automatic(*status) {
                responses.set(name, described.clone());
            }
        }
        let content = Value::record([(PROBLEM_JSON, problem_content(500))]);
        let error = Value::record([
            ("description", Value::from("Another error, such as one of the server.")),
            ("content", content),
        ]);
        responses.set(ANY_ERROR, error);
        responses
    }
}

/// The schema of an object with one member.
fn in_object(member: &str, schema: Value, purpose: SchemaUse) -> Value {
    if member.is_empty() {
        return schema;
    }
    let mut object = Value::record([
        ("type", Value::from("object")),
        ("properties", Value::record([(member, schema)])),
        ("required", texts(&[member])),
    ]);
    if purpose != SchemaUse::Output {
        object.set("additionalProperties", false.into());
    }
    object
}

/// Whether the values of a parameter are texts without a form, or lists.
fn takes_texts(kind: &ContractType) -> bool {
    matches!(
        kind.kind,
        ContractKind::List(_)
            | ContractKind::Enumeration(_)
            | ContractKind::Plain(FieldType::Text | FieldType::Any)
    )
}

fn problem_content(status: u16) -> Value {
    Value::record([
        ("schema", component("schemas", PROBLEM)),
        ("example", problem_example(status, phrase(status))),
    ])
}

/// The reason phrase that the server writes.
fn phrase(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        406 => "Not Acceptable",
        409 => "Conflict",
        412 => "Precondition Failed",
        413 => "Payload Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Entity",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => reason(status),
    }
}

/// Content that is neither JSON nor a form: its type where that is text, and otherwise some text.
fn text_schema(names: &SchemaNames, kind: &ContractType, media: &str, purpose: SchemaUse) -> Value {
    let lines = matches!(kind.kind, ContractKind::Plain(_) | ContractKind::Form(_))
        || matches!(kind.kind, ContractKind::Enumeration(_));
    match media.starts_with("text/") {
        _ if matches!(kind.kind, ContractKind::File | ContractKind::Image) => {
            type_schema(names, kind, purpose)
        }
        true if lines => type_schema(names, kind, purpose),
        true => Value::record([("type", Value::from("string"))]),
        false if media.contains("json") => Value::record([("type", Value::from("string"))]),
        false => Value::record([("type", Value::from("string")), ("format", "binary".into())]),
    }
}
