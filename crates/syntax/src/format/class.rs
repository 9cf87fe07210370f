//! Definitions with members, and signatures.

use super::builder::Builder;
use super::document::Doc;
use super::expression::Bracketed;
use super::list::ListLayout;
use crate::ast::{Class, Member, MemberKind, Method, Rule, Selector, Signature};

impl Builder<'_> {
    pub(super) fn signature(&mut self, signature: &Signature) -> Doc {
        let result = signature.result.as_ref();
        let result = result.map_or(String::new(), |result| format!("<{}>", result.text));
        self.text(format!("#-{result}{}", selector(&signature.selector)))
    }

    pub(super) fn class(&mut self, class: &Class) -> Doc {
        let mut head = format!("{} {} ", class.keyword.word(), class.name.text);
        if let Some(superclass) = &class.superclass {
            head.push_str(&format!(": {} ", superclass.text));
        }
        let end = class.span.end.saturating_sub(1);
        if let [Member { kind: MemberKind::FilterBody(body), span }] = class.members.as_slice()
            && self.comment_before(span.start).is_none()
            && self.source[span.end as usize..class.span.end as usize].trim().len() <= 1
        {
            let head = self.text(format!("{head}|"));
            let body = self.body(body);
            return self.concat(vec![head, body]);
        }
        let opened = self.brace_after(class.superclass.as_ref().unwrap_or(&class.name).span.end);
        let open = self.text(format!("{head}{{"));
        let mut list = ListLayout::new(self, Some(opened), end);
        for (at, member) in class.members.iter().enumerate() {
            list.comments(self, member.span.start);
            let doc = self.member(member);
            let next = class.members.get(at + 1).map_or(end, |next| next.span.start);
            list.item(self, doc, (member.span.start, member.span.end), next);
        }
        list.comments(self, end);
        if list.is_empty() {
            return self.text(format!("{head}{{}}"));
        }
        let first = class.members.first().map_or(end, |member| member.span.start);
        // Variables alone may stand on one line, as in a record.
        let variables =
            class.members.iter().all(|one| matches!(one.kind, MemberKind::Variables(_)));
        let several = class.members.len() > 1 && !variables;
        let forced = list.must_break(self) || several || self.begins_on_new_line(first);
        let inner = list.bracketed(self, open, "}");
        self.bracket(Bracketed { inner, forced })
    }

    /// Behind the opening brace that follows the head of a definition.
    pub(super) fn brace_after(&self, head: u32) -> u32 {
        let rest = &self.source[head as usize..];
        head + rest.find('{').map_or(0, |at| at as u32 + 1)
    }

    fn member(&mut self, member: &Member) -> Doc {
        let mut parts = vec![match &member.kind {
            MemberKind::Variables(variables) => {
                let variables = self.variables(variables);
                let period = self.text(".");
                self.concat(vec![variables, period])
            }
            MemberKind::Rule(rule) => self.rule(rule),
            MemberKind::Method(method) => self.method(method),
            MemberKind::PropertyPath(path) => self.property_path(path, member.span.end),
            MemberKind::Clause(clause) => self.path_clause(clause),
            MemberKind::Parameter(parameter) => self.request_parameter(parameter),
            MemberKind::FilterBody(body) => {
                let bar = self.text("|");
                let body = self.body(body);
                self.concat(vec![bar, body])
            }
            MemberKind::Error => self.verbatim(member.span),
        }];
        parts.extend(self.gap(member.span.end));
        let doc = self.concat(parts);
        self.docs.group(doc)
    }

    /// `refuse { … } message: '…' at: #field.`
    fn rule(&mut self, rule: &Rule) -> Doc {
        let field = rule.field.as_ref().map(|field| field.text.as_str());
        let (head, tail) = match (rule.refuses, field) {
            (true, None) => ("refuse ".to_string(), ".".to_string()),
            (true, Some(field)) => ("refuse ".to_string(), format!(" at: #{field}.")),
            (false, field) => (format!("check: #{} ", field.unwrap_or_default()), ".".to_string()),
        };
        let head = self.text(head);
        let body = self.block(&rule.condition, false);
        let body = self.bracket(body);
        let said = self.text(" message: ");
        let message = self.expression(&rule.message);
        let tail = self.text(tail);
        self.concat(vec![head, body, said, message, tail])
    }

    fn method(&mut self, method: &Method) -> Doc {
        let sign = if method.class_side { "+" } else { "-" };
        let result = method.result.as_ref();
        let result = result.map_or(String::new(), |result| format!("<{}>", result.text));
        let head = format!("{sign}{result}{}", selector(&method.selector));
        match &method.body {
            Some(body) => {
                let head = self.text(format!("{head} "));
                let body = self.body(body);
                self.concat(vec![head, body])
            }
            None => self.text(format!("{head}.")),
        }
    }
}

/// `name`, `+ other`, `at: index put:<int>value`
fn selector(selector: &Selector) -> String {
    match selector {
        Selector::Unary(word) => word.text.clone(),
        Selector::Binary(word, parameter) => {
            format!("{} {}", word.text, Builder::parameter(parameter))
        }
        Selector::Keyword(parts) => {
            let parts = parts.iter().map(|(word, parameter)| {
                let space = if parameter.kind.is_some() { "" } else { " " };
                let default = parameter.default.as_ref().map(|value| format!("={}", value.text));
                let default = default.unwrap_or_default();
                format!("{}:{space}{}{default}", word.text, Builder::parameter(parameter))
            });
            parts.collect::<Vec<_>>().join(" ")
        }
    }
}
