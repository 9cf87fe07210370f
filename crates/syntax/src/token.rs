//! Tokens: the pieces of a text, as a prompt or an editor colours them.

use crate::Span;

/// A piece of a source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is, as the parser understood it.
    pub kind: TokenKind,
    /// Where.
    pub span: Span,
}

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A name: variable, class, unary message, parameter, type.
    Name,
    /// A word that begins a definition or a part of one: `class`, `var`, `test`, `get` …
    Definition,
    /// A part of a keyword message, with its colon: `at:`
    Keyword,
    /// The scheme of a reference, with its colon: `file:`
    Scheme,
    /// A piece of the path of a reference or of a property path.
    Path,
    /// A number.
    Number,
    /// A text in single quotes, or a piece of one in double quotes.
    Text,
    /// The double quote that opens a text with `{…}` in it.
    Quote,
    /// The `#` before a literal.
    Hash,
    /// `#name`, a key, the class or tag of a literal.
    Symbol,
    /// `$0`, `$name`
    Implicit,
    /// A binary message: `+`, `≤` …
    Operator,
    /// `,`
    Comma,
    /// `→`, `->`, `⇨`
    Arrow,
    /// `:=`, `←`, `+=`, `|=` …
    Assign,
    /// `=|`, the same as `put` in a property path.
    EqualBar,
    /// `|`
    Bar,
    /// `;`
    Semicolon,
    /// `.`
    Period,
    /// `:`
    Colon,
    /// `^`
    Caret,
    /// `?`
    Question,
    /// `(`
    OpenParen,
    /// `)`
    CloseParen,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// The `#-` of a signature line.
    Signature,
    /// A shell command with its `!`.
    Shell,
    /// A comment.
    Comment,
    /// A character that means nothing here.
    Unknown,
    /// The end of the text; never in the result of [`tokens`](crate::tokens).
    End,
}

impl TokenKind {
    /// The kind that closes this one.
    pub(crate) fn closer(self) -> Option<TokenKind> {
        match self {
            TokenKind::OpenParen => Some(TokenKind::CloseParen),
            TokenKind::OpenBracket => Some(TokenKind::CloseBracket),
            TokenKind::OpenBrace => Some(TokenKind::CloseBrace),
            _ => None,
        }
    }

    /// Whether it closes something.
    pub(crate) fn closes(self) -> bool {
        matches!(self, TokenKind::CloseParen | TokenKind::CloseBracket | TokenKind::CloseBrace)
    }
}
