//! An API as the writers of documents, clients and pages see it: every name is decided.

use runnel_store::{Contract, ContractKind, ContractType, FieldType, TextForm, Value};

/// An API: classes, and operations on paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Api {
    /// Its name, for people.
    pub title: String,
    /// Its version, such as `1.2.0`.
    pub version: String,
    /// What it is for, in CommonMark.
    pub about: String,
    /// Who answers questions about it: a name, a URL or an e-mail address.
    pub contact: String,
    /// Base URLs; `/` where none is known.
    pub servers: Vec<String>,
    /// Groups of operations, in their order.
    pub tags: Vec<ApiTag>,
    /// The classes that types name by their position.
    pub contract: Contract,
    /// The operations, in the order of the program.
    pub operations: Vec<ApiOperation>,
}

/// A group of operations.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiTag {
    /// Its name.
    pub name: String,
    /// What its operations are for.
    pub about: String,
}

/// A part of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum PathPart {
    /// A fixed segment.
    Text(String),
    /// A segment that a parameter names.
    Parameter(String),
    /// The rest of the path, which a parameter names.
    Rest(String),
}

impl PathPart {
    /// The name of the parameter in its place.
    pub fn parameter(&self) -> Option<&String> {
        match self {
            PathPart::Text(_) => None,
            PathPart::Parameter(name) | PathPart::Rest(name) => Some(name),
        }
    }
}

/// One method on one path.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiOperation {
    /// The method in capitals.
    pub method: String,
    /// The path in parts.
    pub path: Vec<PathPart>,
    /// Its unique name, such as `listArticles`.
    pub id: String,
    /// Its group.
    pub tag: String,
    /// One sentence.
    pub summary: String,
    /// All that the program says about it.
    pub about: String,
    /// Whether a client has to say who it is.
    pub guarded: bool,
    /// How a client says who it is: in any of these ways.
    pub security: Vec<SecurityScheme>,
    /// Whether clients should stop using it.
    pub deprecated: bool,
    /// Parameters, those of the path first.
    pub parameters: Vec<ApiParameter>,
    /// The content of the request.
    pub body: Option<ApiBody>,
    /// Every answer, those that the server gives by itself too, ordered by status.
    pub answers: Vec<ApiAnswer>,
    /// Where it answers a part of a list.
    pub paged: Option<Paging>,
    /// Whether `ETag`, `If-Match` and `If-None-Match` are understood.
    pub conditional: bool,
    /// Whether something is looked up, which may be missing.
    pub finds: bool,
    /// What the program answers where a handler refuses, instead of a problem.
    pub refused: Option<ContractType>,
}

/// How a client says who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityScheme {
    /// A name and a password (RFC 7617).
    Basic,
    /// A token (RFC 6750).
    Bearer,
}

impl SecurityScheme {
    /// Every scheme.
    pub const ALL: [SecurityScheme; 2] = [SecurityScheme::Basic, SecurityScheme::Bearer];

    /// The name in the header `Authorization`, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            SecurityScheme::Basic => "basic",
            SecurityScheme::Bearer => "bearer",
        }
    }
}

/// How long the parts of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paging {
    /// Elements of a part where the client says nothing.
    pub size: i64,
    /// Elements of a part at most.
    pub most: i64,
}

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterPlace {
    /// In the path.
    Path,
    /// In the query string.
    Query,
    /// In a header.
    Header,
    /// In a cookie.
    Cookie,
}

impl ParameterPlace {
    /// Its name in OpenAPI documents.
    pub fn name(self) -> &'static str {
        match self {
            ParameterPlace::Path => "path",
            ParameterPlace::Query => "query",
            ParameterPlace::Header => "header",
            ParameterPlace::Cookie => "cookie",
        }
    }
}

/// A parameter of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiParameter {
    /// Where it stands.
    pub place: ParameterPlace,
    /// Its name.
    pub name: String,
    /// What its values are; a list where it may be repeated.
    pub kind: ContractType,
    /// Whether it must be there.
    pub required: bool,
    /// Whether an empty text is refused. Otherwise it counts as absent, unless the parameter is a text.
    pub filled: bool,
    /// What holds where it is absent.
    pub default: Option<Value>,
    /// What it is, for people.
    pub about: String,
}

/// The content of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiBody {
    /// What it is.
    pub kind: ContractType,
    /// Its media types.
    pub media: Vec<String>,
    /// The one member of an object in which it stands, or nothing.
    pub member: String,
    /// Whether it names changed fields only.
    pub partial: bool,
    /// Whether it must be there.
    pub required: bool,
}

impl ApiBody {
    /// Whether forms are accepted, which can hold files.
    pub fn is_form(&self) -> bool {
        self.media.iter().any(|media| is_form(media))
    }
}

/// What an operation answers.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiAnswer {
    /// The status code.
    pub status: u16,
    /// The content, where there is any.
    pub kind: Option<ContractType>,
    /// Its media types.
    pub media: Vec<String>,
    /// The one member of an object in which the content stands, or nothing.
    pub member: String,
    /// Headers that matter.
    pub headers: Vec<String>,
    /// When it is given.
    pub about: String,
    /// Whether the content is a problem (RFC 9457).
    pub problem: bool,
}

impl ApiOperation {
    /// The path with names between braces, as OpenAPI writes it.
    pub fn path_text(&self) -> String {
        let mut text = String::new();
        for part in &self.path {
            match part {
                PathPart::Text(name) => text += &format!("/{name}"),
                PathPart::Parameter(name) | PathPart::Rest(name) => text += &format!("/{{{name}}}"),
            }
        }
        if text.is_empty() { "/".into() } else { text }
    }

    /// The parameters of one place.
    pub fn parameters_in(&self, place: ParameterPlace) -> impl Iterator<Item = &ApiParameter> {
        self.parameters.iter().filter(move |parameter| parameter.place == place)
    }

    /// The answers of success.
    pub fn successes(&self) -> impl Iterator<Item = &ApiAnswer> {
        self.answers.iter().filter(|answer| (200..300).contains(&answer.status))
    }

    /// Whether it changes nothing.
    pub fn is_read(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD")
    }
}

/// Whether a media type is a form.
pub(crate) fn is_form(media: &str) -> bool {
    media.starts_with("multipart/form-data") || media == "application/x-www-form-urlencoded"
}

/// Whether content of a media type is JSON.
pub(crate) fn is_json(media: &str) -> bool {
    let name = media.split(';').next().unwrap_or_default().trim();
    name == "application/json" || name.ends_with("+json")
}

/// Whether a type takes every value.
pub(crate) fn is_any(kind: &ContractType) -> bool {
    kind.kind == ContractKind::Plain(FieldType::Any)
}

/// Whether the values of a type are the bytes of a file.
pub(crate) fn is_binary(kind: &ContractType) -> bool {
    matches!(
        kind.kind,
        ContractKind::File | ContractKind::Image | ContractKind::Plain(FieldType::Bytes)
    )
}

/// Whether the server sends a value of a type as plain text: texts, numbers, true and false. A moment of a
/// program is a date, which is JSON.
pub(crate) fn is_text(kind: &ContractType) -> bool {
    matches!(
        kind.kind,
        ContractKind::Plain(
            FieldType::Text
                | FieldType::Int
                | FieldType::Float
                | FieldType::Decimal
                | FieldType::Bool
        ) | ContractKind::Enumeration(_)
            | ContractKind::Form(TextForm::Email | TextForm::Url | TextForm::Uuid | TextForm::Time)
    )
}

/// A value in an object with this one member; the value itself where there is no name.
pub(crate) fn in_member(member: &str, value: Value) -> Value {
    if member.is_empty() { value } else { Value::record([(member, value)]) }
}
