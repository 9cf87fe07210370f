//! The tree: plain data, close to the text, so that the formatter can give the text back.

pub(crate) mod definitions;
mod property_path;

use crate::Span;
pub use property_path::{
    ClauseKind, DeclaredAnswer, PagedMark, ParameterPlace, PathClause, PathHandler, PathMember,
    PathMemberKind, PathParameter, PathVerb, PropertyPath, RequestParameter, Segment,
};

/// A whole source text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// The `#-…` line in the head, where there is one.
    pub signature: Option<Signature>,
    /// The statements in order.
    pub statements: Vec<Statement>,
    /// All comments in order, also those inside statements; without line ends.
    pub comments: Vec<Comment>,
}

/// A comment: `// …`, `#! …`, `# …`, or a double-quoted string standing alone as a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Where, marks included.
    pub span: Span,
    /// Whether only white space stands before it on its line.
    pub own_line: bool,
}

/// A name with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The name as written.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// `#-<result>name:<type>parameter keyword:<type>parameter`
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// The declared result type, `void` included; `None` when not written.
    pub result: Option<Word>,
    /// The name, such as `serve`, and the parameters with their keywords.
    pub selector: Selector,
    /// Where.
    pub span: Span,
}

/// The head of a method: unary, binary or keyword.
#[derive(Clone, Debug, PartialEq)]
pub enum Selector {
    /// `-name`
    Unary(Word),
    /// `-+ other`
    Binary(Word, Parameter),
    /// `-at: index put: value`; the words have no colon.
    Keyword(Vec<(Word, Parameter)>),
}

impl Selector {
    /// The selector, such as `name`, `+` or `at:put:`.
    pub fn text(&self) -> String {
        match self {
            Selector::Unary(word) | Selector::Binary(word, _) => word.text.clone(),
            Selector::Keyword(parts) => {
                parts.iter().map(|(word, _)| format!("{}:", word.text)).collect()
            }
        }
    }
}

/// `<type>name`; the type may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The type such as `int`.
    pub kind: Option<Word>,
    /// The name.
    pub name: Word,
    /// The value where none is given, as written: in the signature of a program.
    pub default: Option<Word>,
}

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// What it is.
    pub kind: StatementKind,
    /// Where, without the period.
    pub span: Span,
}

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// An expression.
    Expression(Expression),
    /// `^ expression`: returns from the method, or forwards inside a filter body.
    Return(Expression),
    /// `class`, `scheme`, `filter` … definitions.
    Class(Class),
    /// `object Name : #Class{ … }`
    Template {
        /// The name of the template.
        name: Word,
        /// The object literal.
        value: Expression,
    },
    /// `var <int> x.` outside a class: declares local names.
    Variables(VariableDeclaration),
    /// `| a b c |`: declares local names, without effect.
    Temporaries(Vec<Word>),
    /// `test 'name' { … }`
    Test {
        /// What is tested, for people.
        name: Word,
        /// The statements.
        body: Block,
    },
    /// `!command …` at the start of a line: a shell command (at the prompt only).
    Shell(String),
    /// Text that could not be read as a statement; there is a diagnostic for it.
    Error,
}

/// `var <type mark …> a, b.` The names share the type and its marks.
#[derive(Clone, Debug, PartialEq)]
pub struct VariableDeclaration {
    /// The type such as `int`.
    pub kind: Option<DeclaredType>,
    /// The marks behind the type, such as `required`.
    pub marks: Vec<Word>,
    /// The names.
    pub names: Vec<Word>,
    /// `← value` behind the name: the mark as written, and the value.
    pub default: Option<(Word, Expression)>,
}

/// A type with its limits: of a variable of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredType {
    /// What its values are.
    pub kind: DeclaredKind,
    /// `?`: nil is a value of it.
    pub optional: bool,
    /// Where, without the brackets and the marks.
    pub span: Span,
}

/// The kinds of declared types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclaredKind {
    /// `int`, `string 1..120`, `string /[a-z]+/`, `Address`
    Named {
        /// The name of the type.
        name: Word,
        /// The range of a number, or the length of text.
        limits: Option<TypeRange>,
        /// The pattern without its slashes.
        pattern: Option<Word>,
    },
    /// `'draft' 'published'`: the texts without their quotes.
    Enumeration(Vec<Word>),
    /// `[string] 0..10`
    List {
        /// The type of each element.
        element: Box<DeclaredType>,
        /// How many elements.
        limits: Option<TypeRange>,
    },
    /// `Card | Transfer`
    OneOf(Vec<DeclaredType>),
}

/// `1..120`, `0..`, `..10`: both ends belong to the range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeRange {
    /// The least value, as written.
    pub least: Option<Word>,
    /// The greatest value, as written.
    pub most: Option<Word>,
    /// Where.
    pub span: Span,
}

/// `refuse { … } message: '…' at: #field.`, `check: #field { … } message: '…'.`: what the
/// variables of an object have to obey together.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// `refuse` rather than `check:`: what the condition finds true is wrong.
    pub refuses: bool,
    /// The variable that the message is about.
    pub field: Option<Word>,
    /// The condition; it reads the variables by their names.
    pub condition: Block,
    /// What is wrong, for people.
    pub message: Expression,
}

/// Which keyword began a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassKeyword {
    /// `class`
    Class,
    /// `extension`: adds to a class that exists.
    Extension,
    /// `scheme`: a class whose default superclass is `Scheme`.
    Scheme,
    /// `filter`: default superclass `Filter`.
    Filter,
    /// `system`: default superclass `System`.
    System,
    /// `protocol`
    Protocol,
    /// `connector`
    Connector,
    /// `notification`
    Notification,
}

impl ClassKeyword {
    /// The word of the source text.
    pub fn word(self) -> &'static str {
        match self {
            ClassKeyword::Class => "class",
            ClassKeyword::Extension => "extension",
            ClassKeyword::Scheme => "scheme",
            ClassKeyword::Filter => "filter",
            ClassKeyword::System => "system",
            ClassKeyword::Protocol => "protocol",
            ClassKeyword::Connector => "connector",
            ClassKeyword::Notification => "notification",
        }
    }
}

/// A definition with a body in braces.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// The keyword.
    pub keyword: ClassKeyword,
    /// The name.
    pub name: Word,
    /// The superclass after `:`.
    pub superclass: Option<Word>,
    /// The members in order.
    pub members: Vec<Member>,
    /// Where the whole definition stands.
    pub span: Span,
}

/// A member of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// What it is.
    pub kind: MemberKind,
    /// Where.
    pub span: Span,
}

/// The kinds of members.
#[derive(Clone, Debug, PartialEq)]
pub enum MemberKind {
    /// `var <int> x.`
    Variables(VariableDeclaration),
    /// `-name { … }`, `+name { … }`; in a protocol without body.
    Method(Method),
    /// `refuse { … } message: '…'.`, `check: #field { … } message: '…'.`
    Rule(Box<Rule>),
    /// `/path/:param { get { … } put { … } }`
    PropertyPath(PropertyPath),
    /// `guard { … }` and its like: for every path of the class.
    Clause(PathClause),
    /// `header <string> name.`: for every path of the class.
    Parameter(RequestParameter),
    /// `|{ … }`: what a filter does with each object.
    FilterBody(Block),
    /// Text that could not be read; there is a diagnostic for it.
    Error,
}

/// A method.
#[derive(Clone, Debug, PartialEq)]
pub struct Method {
    /// `+` instead of `-`.
    pub class_side: bool,
    /// The declared result type; `void` methods answer nil.
    pub result: Option<Word>,
    /// Its name and parameters.
    pub selector: Selector,
    /// Its statements; `None` in a protocol.
    pub body: Option<Block>,
}

/// Statements in braces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// `:a :b |`, types are allowed as in `:<int>a`.
    pub parameters: Vec<Parameter>,
    /// The statements.
    pub statements: Vec<Statement>,
    /// Where, braces included.
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// What it is.
    pub kind: ExpressionKind,
    /// Where.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpressionKind {
    /// A whole number of any size: decimal digits with an optional `-`. The text keeps how it was
    /// written (`0xff`, `1_000`).
    Integer(String),
    /// A number with a fraction or an exponent.
    Float(f64),
    /// `'…'`, unescaped.
    Text(String),
    /// `"…{…}…"`
    Interpolated(Vec<TextPart>),
    /// `#name`, `#'text'`
    Symbol(String),
    /// `/…/`, with `/` for `\/`: a regular expression.
    Pattern(String),
    /// A name: a variable, a parameter, a class, `nil`, `true`, `self` …
    Name(String),
    /// `$0`, `$name`: a parameter of the block that is not declared.
    Implicit(String),
    /// `scheme:path`: reads; as the target of an assignment, writes.
    Reference(Path),
    /// `ref:scheme:path`, `ref:name`: the reference itself. The path has no scheme for a name.
    ReferenceTo(Path),
    /// `[…]`, `#(…)`, `#[…]`, `#Class(…)`, `#Class[…]` with a capitalised class or none.
    Array {
        /// The class to build, when one is written.
        class: Option<Word>,
        /// The elements.
        elements: Vec<Expression>,
    },
    /// `#{ key: value }`
    Dictionary(Vec<Pair>),
    /// `#Class{ key: value }`, `#tag{ … }[ … ]`, `#tag[ … ]`: an object or an element. A
    /// capitalised class with brackets alone is an [`ExpressionKind::Array`].
    Object {
        /// The class or tag as written.
        class: Word,
        /// The attributes, when there are braces.
        pairs: Option<Vec<Pair>>,
        /// The children, when there are brackets.
        children: Option<Vec<Expression>>,
    },
    /// `{ … }`
    Block(Block),
    /// `( … )`
    Parenthesized(Box<Expression>),
    /// `receiver message`
    Send {
        /// To whom.
        receiver: Box<Expression>,
        /// What.
        message: SentMessage,
    },
    /// `receiver first; second: 2`: each message goes to the receiver; the last one's answer.
    Cascade {
        /// To whom.
        receiver: Box<Expression>,
        /// At least two.
        messages: Vec<SentMessage>,
    },
    /// `left | message`: the result of the left is the receiver.
    Pipe {
        /// The left side.
        left: Box<Expression>,
        /// The message.
        message: SentMessage,
    },
    /// `receiver[index]`; with a block literal as the index it is a query.
    Subscript {
        /// Of what.
        receiver: Box<Expression>,
        /// The index, key or query.
        index: Box<Expression>,
    },
    /// `receiver?`: the next object of a stream, or the value of a reference.
    Next(Box<Expression>),
    /// `target := value` and the like; to the right.
    Assign {
        /// A name, a reference or a subscript.
        target: Box<Expression>,
        /// How.
        operator: AssignOperator,
        /// The mark as written: `:=`, `←`, `<-`, `⇦` …
        mark: Word,
        /// What.
        value: Box<Expression>,
    },
    /// `left → right` (also `->`, `⇨`); to the right: `a → (b → c)`.
    Connect {
        /// The source.
        left: Box<Expression>,
        /// The arrow as written.
        mark: Word,
        /// The target.
        right: Box<Expression>,
    },
    /// Text that could not be read as an expression; there is a diagnostic for it.
    Error,
}

/// A message without its receiver.
#[derive(Clone, Debug, PartialEq)]
pub enum SentMessage {
    /// `name`
    Unary(Word),
    /// `+ argument`; also `!`, `!!`, `,`, `@`.
    Binary(Word, Box<Expression>),
    /// `at: 1 put: 2`; the words have no colon.
    Keyword(Vec<(Word, Expression)>),
}

/// What an assignment does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignOperator {
    /// `:=`, `←`, `<-`, `⇦`: put.
    Put,
    /// `+=`: post.
    Post,
    /// `|=`: the left follows the right.
    Follow,
    /// `=|=`: both follow each other.
    Join,
}

/// `key: value` in a literal.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The key: a [`ExpressionKind::Symbol`] for `key:` and `#key:`, or any simple expression.
    pub key: Expression,
    /// The value.
    pub value: Expression,
}

/// A piece of an interpolated text.
#[derive(Clone, Debug, PartialEq)]
pub enum TextPart {
    /// Text as it is.
    Text(String),
    /// `{expression}`
    Expression(Expression),
}

/// What stands after a scheme's colon.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The scheme; `None` for `ref:name`.
    pub scheme: Option<Word>,
    /// The pieces in order, put together without anything between.
    pub parts: Vec<PathPart>,
    /// Where, scheme included.
    pub span: Span,
}

/// A piece of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum PathPart {
    /// Text as it is.
    Text(String),
    /// `{expression}`: one value, encoded for its place.
    Expression(Expression),
    /// `{*expression}`: several segments.
    Segments(Expression),
}

impl Path {
    /// The whole path when it has no `{…}` in it.
    pub fn literal(&self) -> Option<String> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                PathPart::Text(piece) => text.push_str(piece),
                PathPart::Expression(_) | PathPart::Segments(_) => return None,
            }
        }
        Some(text)
    }
}
