//! An API from the plain data that a program makes of its paths. The classes are those of a contract
//! (`runnel_store::Contract::read`), and `TYPE` is one of its types:
//!
//! ```text
//! API = { title, version, about, contact, servers: [ url … ], tags: [ { name, about } … ],
//!         classes: [ CLASS … ], strict, operations: [ OPERATION … ], tables: [ TABLE … ] }
//! TABLE = { path: [ SEGMENT … ], class, security }
//! OPERATION = { method: "GET", path: [ SEGMENT … ], name, tag, about, public, guarded, deprecated, hidden,
//!               security: [ "basic"|"bearer" … ],
//!               parameters: [ PARAMETER … ], body: BODY, answers: [ ANSWER … ], paged: { size, most },
//!               conditional, finds, refused: TYPE, formats: [ media type … ] }
//! SEGMENT = { text } | { name, type: TYPE } | { rest: name }
//! PARAMETER = { in: "path"|"query"|"header"|"cookie", name, type: TYPE, required, default, about, repeated,
//!               filled }
//! BODY = { type: TYPE, media: [ media type … ], member, partial, required }
//! ANSWER = { status, type: TYPE, media: [ media type … ], member, headers: [ name … ], about }
//! ```
//!
//! What does not apply is absent. `name` is the unique id of an operation; without it, and without a `tag` or
//! `about`, they follow from the method and the path. An operation needs credentials where it is `guarded` and not
//! `public`, by one of the schemes of `security` (without any by a bearer token), and a `hidden` one is left out.
//! Unless `strict` is false, fields without `?` must come, as in a contract. A `repeated` parameter has the type of
//! one value or of the list. An empty text counts as absent in a parameter that is neither a text nor an
//! enumeration, unless it is `filled`. A `partial` body names changed fields only. Content stands in the `member`
//! of an object where there is one. Of several media types of a body, JSON is described, or `multipart/form-data`
//! where the class has files. `paged` adds the query parameters `page` and `per_page` unless `parameters` has such,
//! and the headers `Link` and `X-Total-Count`. `finds` says that something is looked up, which may be missing.
//! `refused` is the type of what the program answers where a handler refuses. `formats` are the media types of an
//! answer without its own. `tables` are served without handlers; `class` is a position. Answers that the server
//! gives by itself are added: see `answers.rs`.

use crate::answers::add_automatic;
use crate::api::{
    Api, ApiAnswer, ApiBody, ApiOperation, ApiParameter, ApiTag, Paging, ParameterPlace, PathPart,
    SecurityScheme, is_binary, is_json, is_text,
};
use crate::naming;
use crate::table::table_operations;
use runnel_store::{Contract, ContractKind, ContractType, FieldType, LimitEnd, Value};

/// Parameters that choose a part of a list; where one is declared, paging adds none.
const PAGE_PARAMETERS: [&str; 6] = ["page", "per_page", "limit", "offset", "after", "before"];
/// The number of the last page that can be asked for.
const MAX_PAGE: i64 = 1_000_000;

impl Api {
    /// The API that plain data describes. What cannot be understood is left out.
    pub fn read(described: &Value) -> Api {
        let described = &with_tables(described);
        let mut api = Api {
            title: text_or(described.get("title"), "API"),
            version: text_or(described.get("version"), "1.0.0"),
            about: text(described.get("about")),
            contact: text(described.get("contact")),
            servers: texts(described.get("servers")),
            tags: list(described.get("tags")).iter().map(read_tag).collect(),
            contract: Contract::read(described),
            operations: Vec::new(),
        };
        api.contract.strict = described.get("strict") != Some(&Value::Bool(false));
        if api.servers.is_empty() {
            api.servers.push("/".into());
        }
        let shown = list(described.get("operations")).iter().filter(|one| !flag(one, "hidden"));
        let mut operations: Vec<ApiOperation> = Vec::new();
        for mut operation in shown.map(read_operation) {
            let twin = operations.iter().find(|one| same_path(&one.path, &operation.path));
            if let Some(path) = twin.map(|one| one.path.clone()) {
                take_names(&mut operation, path);
            }
            let same =
                |one: &ApiOperation| one.method == operation.method && one.path == operation.path;
            if !operations.iter().any(same) {
                operations.push(operation);
            }
        }
        for body in operations.iter_mut().filter_map(|operation| operation.body.as_mut()) {
            choose_media(&api.contract, body);
        }
        api.operations = operations;
        naming::complete(&mut api);
        api.operations.iter_mut().for_each(add_automatic);
        api
    }
}

/// The description with the operations of its tables, and with the classes as these tables see them.
fn with_tables(described: &Value) -> Value {
    let mut whole = described.clone();
    let mut classes = list(described.get("classes")).to_vec();
    let mut operations = list(described.get("operations")).to_vec();
    for table in list(described.get("tables")) {
        let class = table.get("class").and_then(Value::as_i64);
        let class = class.and_then(|class| classes.get(usize::try_from(class).ok()?).cloned());
        let Some(mut class) = class else { continue };
        class.set("served", table.get("served").cloned().unwrap_or_default());
        let segments = list(table.get("path")).iter().map(|segment| text(segment.get("text")));
        let path = segments.collect::<Vec<_>>().join("/");
        let made = table_operations(&class, classes.len(), &path);
        classes.extend_from_slice(list(made.get("classes")));
        let security = table.get("security").filter(|security| !security.is_nil());
        operations.extend(list(made.get("operations")).iter().cloned().map(|mut operation| {
            if let Some(security) = security {
                operation.set("guarded", true.into());
                operation.set("security", security.clone());
            }
            operation
        }));
    }
    whole.set("classes", classes.into());
    whole.set("operations", operations.into());
    whole
}

/// Leaves the media types that describe a body best. Forms hold neither null nor objects, so JSON says more;
/// JSON holds no files.
fn choose_media(contract: &Contract, body: &mut ApiBody) {
    let has_files = match body.kind.kind {
        ContractKind::Object(class) => contract
            .classes
            .get(class)
            .is_some_and(|class| class.fields.iter().any(|field| holds_files(&field.kind))),
        _ => false,
    };
    let multipart = |media: &String| media.starts_with("multipart/");
    let fitting: Vec<String> = match has_files && body.media.iter().any(multipart) {
        true => body.media.iter().filter(|media| multipart(media)).cloned().collect(),
        false => body.media.iter().filter(|media| is_json(media)).cloned().collect(),
    };
    if !fitting.is_empty() {
        body.media = fitting;
    }
}

fn holds_files(kind: &ContractType) -> bool {
    match &kind.kind {
        ContractKind::List(Some(element)) => holds_files(element),
        _ => is_binary(kind),
    }
}

/// Whether two paths match the same requests. A document has one entry for both.
fn same_path(one: &[PathPart], other: &[PathPart]) -> bool {
    let same = |(one, other): (&PathPart, &PathPart)| match (one, other) {
        (PathPart::Text(one), PathPart::Text(other)) => one == other,
        (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
    };
    one.len() == other.len() && one.iter().zip(other).all(same)
}

/// Gives the parameters of a path the names of another operation on it.
fn take_names(operation: &mut ApiOperation, path: Vec<PathPart>) {
    let names: Vec<&String> = path.iter().filter_map(PathPart::parameter).collect();
    let own = operation.parameters.iter_mut().filter(|one| one.place == ParameterPlace::Path);
    for (parameter, name) in own.zip(names) {
        parameter.name.clone_from(name);
    }
    operation.path = path;
}

fn read_tag(tag: &Value) -> ApiTag {
    ApiTag { name: text(tag.get("name")), about: text(tag.get("about")) }
}

fn read_operation(described: &Value) -> ApiOperation {
    let segments = list(described.get("path"));
    let mut parameters: Vec<ApiParameter> = Vec::new();
    let stated: Vec<ApiParameter> =
        list(described.get("parameters")).iter().filter_map(read_parameter).collect();
    let mut path = Vec::new();
    for segment in segments {
        let part = read_segment(segment);
        if let PathPart::Parameter(name) | PathPart::Rest(name) = &part {
            let known =
                |one: &&ApiParameter| one.place == ParameterPlace::Path && one.name == *name;
            let parameter = stated.iter().find(known).cloned();
            parameters.push(parameter.unwrap_or_else(|| path_parameter(name, &part, segment)));
        }
        path.push(part);
    }
    parameters.extend(stated.into_iter().filter(|one| one.place != ParameterPlace::Path));
    let paged = described.get("paged").filter(|paged| !paged.is_nil()).map(read_paging);
    if let Some(paged) = paged {
        add_page_parameters(paged, &mut parameters);
    }
    let formats = texts(described.get("formats"));
    let answers = list(described.get("answers")).iter();
    ApiOperation {
        method: text_or(described.get("method"), "GET").to_ascii_uppercase(),
        path,
        id: text(described.get("name")),
        tag: text(described.get("tag")),
        summary: String::new(),
        about: text(described.get("about")),
        guarded: flag(described, "guarded") && !flag(described, "public"),
        security: read_security(described),
        deprecated: flag(described, "deprecated"),
        parameters,
        body: described.get("body").filter(|body| !body.is_nil()).map(read_body),
        answers: answers.filter_map(|answer| read_answer(answer, &formats)).collect(),
        paged,
        conditional: flag(described, "conditional"),
        finds: flag(described, "finds"),
        refused: described
            .get("refused")
            .filter(|kind| !kind.is_nil())
            .map(|kind| read_type(Some(kind))),
    }
}

/// The schemes of credentials.
fn read_security(described: &Value) -> Vec<SecurityScheme> {
    let named = texts(described.get("security"));
    let is_named = |scheme: &SecurityScheme| named.iter().any(|name| name == scheme.name());
    let schemes: Vec<_> = SecurityScheme::ALL.into_iter().filter(is_named).collect();
    if schemes.is_empty() { vec![SecurityScheme::Bearer] } else { schemes }
}

fn read_segment(segment: &Value) -> PathPart {
    match (segment.get("text"), segment.get("rest"), segment.get("name")) {
        (_, Some(Value::Text(rest)), _) => PathPart::Rest(rest.clone()),
        (_, _, Some(Value::Text(name))) => PathPart::Parameter(name.clone()),
        (text_of, ..) => PathPart::Text(text(text_of)),
    }
}

fn path_parameter(name: &str, part: &PathPart, segment: &Value) -> ApiParameter {
    let rest = matches!(part, PathPart::Rest(_));
    ApiParameter {
        place: ParameterPlace::Path,
        name: name.to_string(),
        kind: ContractType { optional: false, ..read_type(segment.get("type")) },
        required: true,
        filled: true,
        default: None,
        about: if rest { "The rest of the path.".into() } else { text(segment.get("about")) },
    }
}

fn read_parameter(described: &Value) -> Option<ApiParameter> {
    let place = match described.get("in")?.as_str()? {
        "path" => ParameterPlace::Path,
        "header" => ParameterPlace::Header,
        "cookie" => ParameterPlace::Cookie,
        _ => ParameterPlace::Query,
    };
    let mut kind = read_type(described.get("type"));
    // An absent parameter is nil; no text in a request says nil.
    kind.optional = false;
    if flag(described, "repeated") && !matches!(kind.kind, ContractKind::List(_)) {
        kind = ContractKind::List(Some(Box::new(kind))).into();
    }
    Some(ApiParameter {
        place,
        name: text(described.get("name")),
        kind,
        required: flag(described, "required") || place == ParameterPlace::Path,
        filled: flag(described, "filled"),
        default: described.get("default").filter(|value| !value.is_nil()).cloned(),
        about: text(described.get("about")),
    })
}

fn read_paging(described: &Value) -> Paging {
    let number = |name: &str| described.get(name).and_then(Value::as_i64);
    let size = number("size").unwrap_or(20);
    Paging { size, most: number("most").unwrap_or(size) }
}

fn add_page_parameters(paged: Paging, parameters: &mut Vec<ApiParameter>) {
    let chooses = |one: &ApiParameter| {
        one.place == ParameterPlace::Query && PAGE_PARAMETERS.contains(&one.name.as_str())
    };
    if parameters.iter().any(chooses) {
        return;
    }
    let end = |number: i64| Some(LimitEnd { text: number.to_string(), number: number as f64 });
    let number = |name: &str, most, default: i64, about: &str| ApiParameter {
        place: ParameterPlace::Query,
        name: name.into(),
        kind: ContractType { least: end(1), most, ..ContractKind::Plain(FieldType::Int).into() },
        required: false,
        filled: false,
        default: Some(Value::Int(default)),
        about: about.into(),
    };
    parameters.push(number("page", end(MAX_PAGE), 1, "The number of the page."));
    parameters.push(number("per_page", end(paged.most), paged.size, "Elements of a page."));
}

fn read_body(described: &Value) -> ApiBody {
    let kind = read_type(described.get("type"));
    let media = texts(described.get("media"));
    ApiBody {
        media: if media.is_empty() { vec![default_media(&kind)] } else { media },
        member: text(described.get("member")),
        partial: flag(described, "partial"),
        required: described.get("required") != Some(&Value::Bool(false)) && !kind.optional,
        kind,
    }
}

fn read_answer(described: &Value, formats: &[String]) -> Option<ApiAnswer> {
    let status = described.get("status").and_then(Value::as_i64).unwrap_or(200);
    let status = u16::try_from(status).ok().filter(|status| (200..600).contains(status))?;
    let kind = described.get("type").filter(|kind| !kind.is_nil());
    let kind = kind.map(|kind| read_type(Some(kind)));
    let mut media = texts(described.get("media"));
    if let (Some(kind), true) = (&kind, media.is_empty()) {
        media = if formats.is_empty() { answered_media(kind) } else { formats.to_vec() };
    }
    Some(ApiAnswer {
        problem: status >= 400 && kind.is_none() && media.is_empty(),
        status,
        kind,
        media,
        member: text(described.get("member")),
        headers: texts(described.get("headers")),
        about: text(described.get("about")),
    })
}

/// The media types of an answer whose declaration names none.
fn answered_media(kind: &ContractType) -> Vec<String> {
    let mut media: Vec<String> = match &kind.kind {
        ContractKind::OneOf(options) => options.iter().flat_map(answered_media).collect(),
        // Whatever the handler answers; a decimal number, or its text.
        ContractKind::Plain(FieldType::Any | FieldType::Decimal) => {
            vec!["application/json".into(), "text/plain".into()]
        }
        _ => vec![default_media(kind)],
    };
    media.sort();
    media.dedup();
    media
}

/// The media type of content whose declaration names none.
fn default_media(kind: &ContractType) -> String {
    let media = match &kind.kind {
        ContractKind::File | ContractKind::Image | ContractKind::Plain(FieldType::Bytes) => {
            "application/octet-stream"
        }
        _ if is_text(kind) => "text/plain",
        _ => "application/json",
    };
    media.into()
}

/// A type of the contract; any value where none is described.
fn read_type(described: Option<&Value>) -> ContractType {
    let root = described.cloned().unwrap_or_default();
    let contract = Contract::read(&Value::record([("root", root)]));
    contract.root.unwrap_or_else(|| ContractKind::Plain(FieldType::Any).into())
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_list).unwrap_or_default()
}

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().trim().to_string()
}

fn text_or(value: Option<&Value>, otherwise: &str) -> String {
    let text = text(value);
    if text.is_empty() { otherwise.into() } else { text }
}

fn texts(value: Option<&Value>) -> Vec<String> {
    list(value).iter().filter_map(|one| Some(one.as_str()?.to_string())).collect()
}

fn flag(described: &Value, name: &str) -> bool {
    described.get(name) == Some(&Value::Bool(true))
}
