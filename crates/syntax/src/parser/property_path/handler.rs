//! Handlers of a path: `get public → <[Article]> { … }`, `post <Article> for: { … } → 201 <Article> | 409 { … }`.

use crate::ast::{DeclaredAnswer, DeclaredType, PagedMark, PathHandler, PathVerb, Word};
use crate::parser::Parser;
use crate::{Diagnostic, Span, TokenKind};

impl Parser<'_> {
    /// A handler; the next token is its verb.
    pub(super) fn path_handler(&mut self, verb: PathVerb) -> PathHandler {
        let word = self.bump_as(TokenKind::Definition);
        let word = self.word_at(word);
        let mut marks = Vec::new();
        let mut paged = None;
        loop {
            match self.word() {
                "paged" | "paged:" => paged = Some(self.paged_mark()),
                _ if self.at(TokenKind::Name) && !self.next.newline => {
                    let mark = self.bump_as(TokenKind::Definition);
                    marks.push(self.word_at(mark));
                }
                _ => break,
            }
        }
        let member = self.content_member();
        let content = self.handler_type();
        let allowed = match self.word() == "for:" {
            true => {
                self.bump_as(TokenKind::Definition);
                Some(self.expected_block("condition"))
            }
            false => None,
        };
        let mut answers = Vec::new();
        if self.at(TokenKind::Arrow) && !self.recovering {
            self.bump();
            answers.push(self.declared_answer());
            while self.at(TokenKind::Bar) && !self.recovering {
                self.bump();
                answers.push(self.declared_answer());
            }
        }
        let body = self.expected_block("verb");
        PathHandler { verb, word, marks, paged, member, content, allowed, answers, body }
    }

    /// `paged`, `paged: 10`, `paged: 10..50`
    fn paged_mark(&mut self) -> PagedMark {
        let sized = self.at(TokenKind::Keyword);
        self.bump_as(TokenKind::Definition);
        if !sized {
            return PagedMark { size: None, most: None };
        }
        let start = self.next.span.start;
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let rest = self.rest(start);
        let size = digits(rest);
        let most = rest[size..].strip_prefix("..").map(digits);
        let end = start + (size + most.map_or(0, |length| length + 2)) as u32;
        if size == 0 || most == Some(0) {
            self.error(
                Diagnostic::error(self.next.span, "the size of a page is missing", "expected here")
                    .hint("write how many a page has, and how many at most: `paged: 20..100`"),
            );
            return PagedMark { size: None, most: None };
        }
        self.take_until(end, TokenKind::Number);
        let word = |from: u32, to: u32| self.word_at(Span::new(from, to));
        PagedMark {
            size: Some(word(start, start + size as u32)),
            most: most.map(|length| word(end - length as u32, end)),
        }
    }

    /// `article:` in front of a type
    fn content_member(&mut self) -> Option<Word> {
        let wanted = self.at(TokenKind::Keyword) && self.is_type_at(self.next.span.end + 1);
        if !wanted || self.recovering {
            return None;
        }
        let keyword = self.bump_as(TokenKind::Definition);
        let mut word = self.word_at(keyword);
        word.text.pop();
        Some(word)
    }

    /// `<Article>`
    pub(super) fn handler_type(&mut self) -> Option<DeclaredType> {
        if self.recovering {
            return None;
        }
        let (kind, marks) = self.marked_type()?;
        if let Some(mark) = marks.first() {
            let title = format!("`{}` says nothing here", mark.text);
            self.note(
                Diagnostic::error(mark.span, title, "not known")
                    .hint("variables of the class have marks; here stands a type alone"),
            );
        }
        Some(kind)
    }

    /// `201 <Article> Location`, `201 article: <Article>`
    fn declared_answer(&mut self) -> DeclaredAnswer {
        let status = self.at(TokenKind::Number).then(|| {
            let number = self.bump();
            self.word_at(number)
        });
        let member = self.content_member();
        let kind = self.handler_type();
        let mut headers: Vec<Word> = Vec::new();
        while self.at(TokenKind::Name) {
            let name = self.bump();
            headers.push(self.word_at(name));
        }
        if status.is_none() && kind.is_none() && !self.recovering {
            self.error(
                Diagnostic::error(self.next.span, "the answer is missing", "expected here").hint(
                    "name its type, its status code or both: `→ <Article>`, `→ 204`, `→ 201 <Article> | 409`",
                ),
            );
        }
        DeclaredAnswer { status, member, kind, headers }
    }
}
