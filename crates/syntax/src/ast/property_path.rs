//! Property paths: what they take, who may ask them, what they answer, and the paths below them.

use super::{Block, DeclaredType, Word};
use crate::Span;

/// A path with what its braces hold.
#[derive(Clone, Debug, PartialEq)]
pub struct PropertyPath {
    /// The segments; none for `/`.
    pub segments: Vec<Segment>,
    /// The path as written, without the parameters behind its `?`.
    pub pattern: Word,
    /// The path with these parameters, as written.
    pub address: Word,
    /// `?:<int>limit=20&:<string?>tag`: for the verbs without content of this path.
    pub parameters: Vec<RequestParameter>,
    /// What its braces hold, in order.
    pub members: Vec<PathMember>,
}

impl PropertyPath {
    /// The handlers of the path itself.
    pub fn handlers(&self) -> impl Iterator<Item = &PathHandler> {
        self.members.iter().filter_map(|member| match &member.kind {
            PathMemberKind::Handler(handler) => Some(&**handler),
            _ => None,
        })
    }

    /// The clauses of the path itself.
    pub fn clauses(&self) -> impl Iterator<Item = &PathClause> {
        self.members.iter().filter_map(|member| match &member.kind {
            PathMemberKind::Clause(clause) => Some(clause),
            _ => None,
        })
    }

    /// The parameters that its braces declare: for each verb, and for the paths below.
    pub fn declared_parameters(&self) -> impl Iterator<Item = &RequestParameter> {
        self.members.iter().filter_map(|member| match &member.kind {
            PathMemberKind::Parameter(parameter) => Some(parameter),
            _ => None,
        })
    }

    /// The paths in its braces.
    pub fn paths(&self) -> impl Iterator<Item = &PropertyPath> {
        self.members.iter().filter_map(|member| match &member.kind {
            PathMemberKind::Path(path) => Some(path),
            _ => None,
        })
    }
}

/// What stands in the braces of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathMember {
    /// What it is.
    pub kind: PathMemberKind,
    /// Where.
    pub span: Span,
}

/// The kinds of members of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum PathMemberKind {
    /// `get { … }`
    Handler(Box<PathHandler>),
    /// `guard { … }`
    Clause(PathClause),
    /// `header <string> name.`
    Parameter(RequestParameter),
    /// `/below { … }`
    Path(PropertyPath),
}

/// A segment of a property path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// A literal segment.
    Literal(Word),
    /// `:name` or `:<int>name`
    Parameter(PathParameter),
    /// `*` or `*:rest`: everything that follows; only as the last.
    Rest(Option<Word>),
}

/// `:name` or `:<int 1..>name`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathParameter {
    /// What converts; otherwise the path is another one.
    pub kind: Option<DeclaredType>,
    /// The name.
    pub name: Word,
}

/// Where a request carries a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterPlace {
    /// Behind the `?` of the address.
    Query,
    /// A header field.
    Header,
    /// A cookie.
    Cookie,
}

/// A parameter beside the path: `:<int 1..100>limit=20` behind `?`, or `header <uuid> X-Key.`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestParameter {
    /// Where requests carry it.
    pub place: ParameterPlace,
    /// Its name in a request.
    pub name: Word,
    /// What its values are; any text without one.
    pub kind: Option<DeclaredType>,
    /// What it holds where a request leaves it out: a literal, without quotes.
    pub default: Option<Word>,
}

/// `post <Article> → 201 <Article> { … }`
#[derive(Clone, Debug, PartialEq)]
pub struct PathHandler {
    /// The verb.
    pub verb: PathVerb,
    /// The verb as written.
    pub word: Word,
    /// `public` and its like.
    pub marks: Vec<Word>,
    /// `paged`, `paged: 10`, `paged: 10..50`
    pub paged: Option<PagedMark>,
    /// `article: <Article>`: the one member of an object in which the content stands.
    pub member: Option<Word>,
    /// What the request carries.
    pub content: Option<DeclaredType>,
    /// `for: { … }`: who may.
    pub allowed: Option<Block>,
    /// What it answers, the usual one first; none where nothing is said.
    pub answers: Vec<DeclaredAnswer>,
    /// The statements.
    pub body: Block,
}

impl PathHandler {
    /// The HTTP method that it answers.
    pub fn http_method(&self) -> String {
        match self.word.text.as_str() {
            "|=" => "GET".to_owned(),
            "=|" => "PUT".to_owned(),
            "+=" => "POST".to_owned(),
            "merge" => "PATCH".to_owned(),
            word => word.to_ascii_uppercase(),
        }
    }

    /// Whether it answers a page for clients that prefer one: `get html { … }`.
    pub fn is_page(&self) -> bool {
        self.marks.iter().any(|mark| mark.text == "html")
    }
}

/// `paged: 10..50`: the answer is a list of which clients get a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagedMark {
    /// The rows of a page unless a client asks for a number.
    pub size: Option<Word>,
    /// How many it has at most.
    pub most: Option<Word>,
}

/// `201 <Article> Location`: one answer of a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredAnswer {
    /// The status code, as written.
    pub status: Option<Word>,
    /// `article: <Article>`: the one member of an object in which its content stands.
    pub member: Option<Word>,
    /// What it carries.
    pub kind: Option<DeclaredType>,
    /// Its headers.
    pub headers: Vec<Word>,
}

/// What a clause does before or after a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClauseKind {
    /// Refuses requests: 401 where it answers nil, 403 where it answers false.
    Guard,
    /// Gives handlers a value.
    With,
    /// Gives handlers a value; 404 where it is nil.
    Find,
    /// Runs before handlers.
    Before,
    /// Runs behind handlers.
    After,
    /// Answers what clients did wrong.
    Rescue,
}

/// `guard user { … }`
#[derive(Clone, Debug, PartialEq)]
pub struct PathClause {
    /// What it does.
    pub kind: ClauseKind,
    /// Its keyword.
    pub word: Word,
    /// The name of its value in handlers.
    pub name: Option<Word>,
    /// `guard user closed { … }`: each handler says for itself who may.
    pub closed: Option<Word>,
    /// `rescue → <Failure>`: what it answers.
    pub answer: Option<DeclaredType>,
    /// The statements.
    pub body: Block,
}

/// The verbs of a property path, whichever way they were written (`get` or `|=`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathVerb {
    /// `get`, `|=`
    Get,
    /// `put`, `=|`
    Put,
    /// `post`, `+=`
    Post,
    /// `merge`
    Merge,
    /// `delete`
    Delete,
    /// `list`
    List,
}
