//! Property paths with what their braces hold.

use super::builder::Builder;
use super::document::Doc;
use super::expression::Bracketed;
use super::list::ListLayout;
use crate::ast::{
    DeclaredAnswer, ParameterPlace, PathClause, PathHandler, PathMemberKind, PropertyPath,
    RequestParameter,
};

impl Builder<'_> {
    pub(super) fn property_path(&mut self, path: &PropertyPath, end: u32) -> Doc {
        let open = self.text(format!("{} {{", path.address.text));
        let end = end.saturating_sub(1);
        let opened = self.brace_after(path.address.span.end);
        let mut list = ListLayout::new(self, Some(opened), end);
        for (at, member) in path.members.iter().enumerate() {
            list.comments(self, member.span.start);
            let doc = match &member.kind {
                PathMemberKind::Handler(handler) => self.path_handler(handler),
                PathMemberKind::Clause(clause) => self.path_clause(clause),
                PathMemberKind::Parameter(parameter) => self.request_parameter(parameter),
                PathMemberKind::Path(path) => self.property_path(path, member.span.end),
            };
            let next = path.members.get(at + 1).map_or(end, |next| next.span.start);
            list.item(self, doc, (member.span.start, member.span.end), next);
        }
        list.comments(self, end);
        if list.is_empty() {
            return self.text(format!("{} {{}}", path.address.text));
        }
        let first = path.members.first().map_or(end, |member| member.span.start);
        let forced =
            list.must_break(self) || path.members.len() > 1 || self.begins_on_new_line(first);
        let inner = list.bracketed(self, open, "}");
        self.bracket(Bracketed { inner, forced })
    }

    /// `post <Article> for: { … } → 201 <Article> | 409 { … }`
    fn path_handler(&mut self, handler: &PathHandler) -> Doc {
        let mut head = handler.word.text.clone();
        for mark in &handler.marks {
            head.push_str(&format!(" {}", mark.text));
        }
        if let Some(paged) = &handler.paged {
            head.push_str(" paged");
            if let Some(size) = &paged.size {
                head.push_str(&format!(": {}", size.text));
            }
            if let Some(most) = &paged.most {
                head.push_str(&format!("..{}", most.text));
            }
        }
        if let Some(content) = &handler.content {
            head.push_str(&format!("{} <{content}>", member(handler.member.as_ref())));
        }
        let mut parts = Vec::new();
        if let Some(allowed) = &handler.allowed {
            head.push_str(" for: ");
            parts.push(self.text(std::mem::take(&mut head)));
            let block = self.block(allowed, false);
            parts.push(self.bracket(block));
        }
        for (at, answer) in handler.answers.iter().enumerate() {
            head.push_str(if at == 0 { " →" } else { " |" });
            head.push_str(&declared_answer(answer));
        }
        head.push(' ');
        parts.push(self.text(head));
        parts.push(self.body(&handler.body));
        self.concat(parts)
    }

    /// `guard user { … }`
    pub(super) fn path_clause(&mut self, clause: &PathClause) -> Doc {
        let name = clause.name.as_ref().map_or(String::new(), |name| format!(" {}", name.text));
        let answer =
            clause.answer.as_ref().map_or(String::new(), |answer| format!(" → <{answer}>"));
        let closed = if clause.closed.is_some() { " closed" } else { "" };
        let head = self.text(format!("{}{name}{closed}{answer} ", clause.word.text));
        let body = self.body(&clause.body);
        self.concat(vec![head, body])
    }

    /// `header <uuid> X-Key.`
    pub(super) fn request_parameter(&mut self, parameter: &RequestParameter) -> Doc {
        let place = match parameter.place {
            ParameterPlace::Query => "query",
            ParameterPlace::Header => "header",
            ParameterPlace::Cookie => "cookie",
        };
        let kind = parameter.kind.as_ref().map_or(String::new(), |kind| format!(" <{kind}>"));
        let default = parameter.default.as_ref().map_or(String::new(), |default| {
            let written = default.span.text(self.source);
            format!(" ← {written}")
        });
        self.text(format!("{place}{kind} {}{default}.", parameter.name.text))
    }
}

fn declared_answer(answer: &DeclaredAnswer) -> String {
    let mut text = String::new();
    if let Some(status) = &answer.status {
        text.push_str(&format!(" {}", status.text));
    }
    if let Some(kind) = &answer.kind {
        text.push_str(&format!("{} <{kind}>", member(answer.member.as_ref())));
    }
    for header in &answer.headers {
        text.push_str(&format!(" {}", header.text));
    }
    text
}

/// `article:`
fn member(word: Option<&crate::ast::Word>) -> String {
    word.map_or(String::new(), |word| format!(" {}:", word.text))
}
