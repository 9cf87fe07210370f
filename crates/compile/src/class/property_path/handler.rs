//! The function that answers a verb: checks, body, answer.

use super::around::{Around, prologue};
use super::{page_sizes, verb_name};
use crate::code::{MethodContext, Tail};
use crate::generator::Generator;
use crate::lua::names::quoted;
use runnel_syntax::ast::{Block, Class, ClauseKind, PathHandler, PathVerb, Word};

impl Generator<'_> {
    /// The function that answers a verb.
    pub(super) fn handler(
        &mut self,
        class: &Class,
        around: &Around,
        handler: &PathHandler,
        parameters: &str,
    ) -> String {
        let (names, mut variables) = around.visible();
        let mut list = vec!["theRef", "newValue"];
        list.extend(names.iter().map(String::as_str));
        // A handler that does not cut its list itself may use the name for anything.
        if handler.paged.is_some() && mentions(self.source, &handler.body, "page") {
            list.push("page");
            variables.push("q".to_string());
        }
        let pages = handler.verb == PathVerb::Get;
        let context =
            MethodContext { class: class.name.text.clone(), pages, ..MethodContext::default() };
        let body = self.method_function(context, &list, &handler.body, &Tail::Return);
        if declares_nothing(around, handler) {
            return body;
        }
        let mut setup = [parameters, "local B=", &body, " "].concat();
        let code = self.checks(class, around, handler, &mut setup);
        let client = if pages { ",client" } else { "" };
        let answer = format!("B(self,t,n{}{client})", tail(&variables));
        let answer = self.answer(around, handler, answer, &mut setup);
        let path: Vec<String> =
            (1..=around.path_names().len()).map(|at| format!("p{at}")).collect();
        let mut whole = format!("{code}return {answer}");
        for clause in around.clauses.iter().rev().filter(|one| one.kind == ClauseKind::Rescue) {
            let (function, arguments) = (&clause.function, &clause.arguments);
            whole = format!(
                "return K.rescued(function() {whole} end,function(a) return {function}({arguments}) end)"
            );
        }
        format!(
            "(function() {setup}return function(self,t,n{}{client}) {whole} end end)()",
            tail(&path)
        )
    }

    /// What runs before the body; `setup` gets the functions that it calls.
    fn checks(
        &mut self,
        class: &Class,
        around: &Around,
        handler: &PathHandler,
        setup: &mut String,
    ) -> String {
        let source = self.source;
        let uses = |name: &str| {
            mentions(source, &handler.body, name)
                || handler.allowed.as_ref().is_some_and(|allowed| mentions(source, allowed, name))
        };
        let public = handler.marks.iter().any(|mark| mark.text == "public");
        let mut code = prologue(around, &uses, public);
        if let Some(allowed) = &handler.allowed {
            let (names, variables) = around.visible();
            let mut list = vec!["theRef"];
            list.extend(names.iter().map(String::as_str));
            let context =
                MethodContext { class: class.name.text.clone(), ..MethodContext::default() };
            let function = self.method_function(context, &list, allowed, &Tail::Return);
            setup.extend(["local F=", &function, " "]);
            let found = around.clauses.iter().rev().find(|one| one.kind == ClauseKind::Find);
            let name = member(found.and_then(|found| found.name));
            code.push_str(&format!("K.guarded(F(self,t{}){name}) ", tail(&variables)));
        }
        if let Some(paged) = &handler.paged {
            let (size, most) = page_sizes(paged);
            setup.push_str(&format!("local G=K.pager({size},{most}) "));
            code.push_str("local q=G(t) ");
        }
        if let Some(content) = &handler.content {
            let kind = self.declared_type(content);
            let partial = handler.marks.iter().any(|mark| mark.text == "partial");
            let verb = quoted(if partial { "merge" } else { verb_name(handler.verb) });
            let member = member(handler.member.as_ref());
            setup.push_str(&format!("local V=K.contentReader({kind},{verb}{member}) "));
            code.push_str("n=V(n) ");
        }
        if is_streamed(handler) {
            code.push_str("n=K.streamOf(n) ");
        }
        if let Some(status) = usual_status(handler) {
            code.push_str(&format!("K.usualStatus({status}) "));
        }
        code
    }

    /// The answer of the body as the client gets it.
    fn answer(
        &mut self,
        around: &Around,
        handler: &PathHandler,
        mut answer: String,
        setup: &mut String,
    ) -> String {
        if let Some(answered) = handler.answers.first().and_then(|answer| answer.kind.as_ref()) {
            let kind = self.declared_type(answered);
            let place = quoted(&format!("{} {}", verb_name(handler.verb), around.pattern));
            let tagged = handler.verb == PathVerb::Get;
            setup.push_str(&format!("local A=K.answerCheck({kind},{place},{tagged}) "));
            answer = format!("A({answer})");
        }
        if handler.paged.is_some() {
            answer = format!("K.pageOf(q,{answer})");
        }
        if let Some(first) = handler.answers.first().filter(|answer| answer.member.is_some()) {
            answer = format!("K.enveloped({answer}{})", member(first.member.as_ref()));
        }
        for clause in around.clauses.iter().rev().filter(|one| one.kind == ClauseKind::After) {
            let (function, arguments) = (&clause.function, &clause.arguments);
            answer = format!(
                "K.afterwards(function() return {answer} end,function(a) {function}({arguments}) end)"
            );
        }
        if usual_status(handler) == Some("204") {
            answer = format!("K.withoutContent({answer})");
        }
        answer
    }
}

/// `,"article"` where content stands in the member of an object.
fn member(word: Option<&Word>) -> String {
    word.map_or(String::new(), |word| format!(",{}", quoted(&word.text)))
}

/// Whether a name stands in the text of a block as a word of its own.
fn mentions(source: &str, block: &Block, name: &str) -> bool {
    let text = block.span.text(source);
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let after = &text[at + name.len()..];
        // `name:` is a part of a message.
        let is_keyword = after.starts_with(':') && !after.starts_with(":=");
        !text[..at].ends_with(is_part) && !after.starts_with(is_part) && !is_keyword
    })
}

/// Whether the content is a stream.
fn is_streamed(handler: &PathHandler) -> bool {
    handler.marks.iter().any(|mark| mark.text == "streamed")
}

/// Whether the body of a handler is all there is.
fn declares_nothing(around: &Around, handler: &PathHandler) -> bool {
    around.parameters.is_empty()
        && around.clauses.is_empty()
        && handler.paged.is_none()
        && handler.content.is_none()
        && !is_streamed(handler)
        && handler.allowed.is_none()
        && usual_status(handler).is_none()
        && handler.answers.first().is_none_or(|answer| answer.kind.is_none())
}

/// The status code that a handler declares first, unless it is that of every answer.
fn usual_status(handler: &PathHandler) -> Option<&str> {
    let first = handler.answers.first()?.status.as_ref()?;
    (first.text != "200").then_some(first.text.as_str())
}

/// `,a,b` of a list of arguments.
fn tail(variables: &[String]) -> String {
    variables.iter().map(|variable| format!(",{variable}")).collect()
}
