//! What handlers declare, as the data that the kernel reads.

use super::around::Around;
use super::page_sizes;
use crate::class::declared::comment_above;
use crate::generator::Generator;
use crate::lua::names::quoted;
use runnel_syntax::ast::{
    ClauseKind, DeclaredAnswer, ExpressionKind, ParameterPlace, PathHandler, RequestParameter,
};
use runnel_syntax::walk::walk_deep;

impl Generator<'_> {
    /// `local Q=K.requestParameters{…}` where there are any.
    pub(super) fn parameters(&mut self, parameters: &[&RequestParameter]) -> String {
        match parameters.is_empty() {
            true => String::new(),
            false => format!("local Q=K.requestParameters{} ", self.parameter_list(parameters)),
        }
    }

    /// The parameters as data of the kernel.
    fn parameter_list(&mut self, parameters: &[&RequestParameter]) -> String {
        let mut list = Vec::new();
        for parameter in parameters {
            let place = match parameter.place {
                ParameterPlace::Query => "query",
                ParameterPlace::Header => "header",
                ParameterPlace::Cookie => "cookie",
            };
            let mut parts =
                vec![format!("name={},place={}", quoted(&parameter.name.text), quoted(place))];
            if let Some(kind) = &parameter.kind {
                parts.push(format!("type={}", self.declared_type(kind)));
            }
            if let Some(default) = &parameter.default {
                parts.push(format!("default={}", quoted(&default.text)));
            }
            if let Some(about) = comment_above(self.source, parameter.name.span.start)
                .filter(|_| parameter.place != ParameterPlace::Query)
            {
                parts.push(format!("about={}", quoted(&about)));
            }
            list.push(format!("{{{}}}", parts.join(",")));
        }
        format!("{{{}}}", list.join(","))
    }

    /// What a handler declares, for documents and tables of routes.
    pub(super) fn declaration(&mut self, around: &Around, handler: &PathHandler) -> String {
        let mut parts: Vec<String> =
            handler.marks.iter().map(|mark| format!("{}=true", mark.text)).collect();
        if reads_parts(handler) {
            parts.push("parts=true".into());
        }
        let guarded = around.clauses.iter().any(|clause| clause.kind == ClauseKind::Guard);
        if (guarded && !handler.marks.iter().any(|mark| mark.text == "public"))
            || handler.allowed.is_some()
        {
            parts.push("guarded=true".into());
        }
        if around.clauses.iter().any(|clause| clause.kind == ClauseKind::Find) {
            parts.push("finds=true".into());
        }
        let rescue = around.clauses.iter().rev().find(|one| one.kind == ClauseKind::Rescue);
        if let Some(answer) = rescue.and_then(|rescue| rescue.answer) {
            parts.push(format!("refused={}", self.declared_type(answer)));
        }
        if !around.parameters.is_empty() {
            parts.push(format!("parameters={}", self.parameter_list(&around.parameters)));
        }
        if let Some(paged) = &handler.paged {
            let (size, most) = page_sizes(paged);
            parts.push(format!("paged={{size={size},most={most}}}"));
        }
        if let Some(content) = &handler.content {
            parts.push(format!("content={}", self.declared_type(content)));
        }
        if let Some(member) = &handler.member {
            parts.push(format!("member={}", quoted(&member.text)));
        }
        if !handler.answers.is_empty() {
            let answers: Vec<String> =
                handler.answers.iter().map(|answer| self.declared_answer(answer)).collect();
            parts.push(format!("answers={{{}}}", answers.join(",")));
        }
        if let Some(about) = comment_above(self.source, handler.word.span.start) {
            parts.push(format!("about={}", quoted(&about)));
        }
        format!("{{{}}}", parts.join(","))
    }

    fn declared_answer(&mut self, answer: &DeclaredAnswer) -> String {
        let mut parts = Vec::new();
        if let Some(status) = &answer.status {
            parts.push(format!("status={}", status.text));
        }
        if let Some(kind) = &answer.kind {
            parts.push(format!("type={}", self.declared_type(kind)));
        }
        if let Some(member) = &answer.member {
            parts.push(format!("member={}", quoted(&member.text)));
        }
        let headers: Vec<String> =
            answer.headers.iter().map(|header| quoted(&header.text)).collect();
        if !headers.is_empty() {
            parts.push(format!("headers={{{}}}", headers.join(",")));
        }
        format!("{{{}}}", parts.join(","))
    }
}

/// Whether a handler reads the parts of a form.
fn reads_parts(handler: &PathHandler) -> bool {
    let mut found = false;
    walk_deep(&handler.body.statements, &mut |expression| {
        if let ExpressionKind::Reference(path) | ExpressionKind::ReferenceTo(path) =
            &expression.kind
        {
            found |= path.scheme.as_ref().is_some_and(|word| word.text == "parts");
        }
    });
    found
}
