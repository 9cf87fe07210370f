//! Property paths: their handlers with what they declare, and the paths below them.
//!
//! A handler that declares anything is a function around its body: it reads the parameters, runs the
//! clauses from the outside in, reads the content, and gives the body all of these as arguments. In
//! this function `p…` are parameters of the path, `r…` those of the request, `v…` values of clauses.

mod around;
mod declaration;
mod handler;

pub(super) use around::Around;

use super::declared::comment_above;
use crate::code::{MethodContext, Tail};
use crate::generator::Generator;
use crate::lua::names::quoted;
use around::{Clause, prologue, variable_name};
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{
    Class, ClauseKind, DeclaredType, MemberKind, PagedMark, PathClause, PathHandler, PathVerb,
    PropertyPath, RequestParameter, Segment, Word,
};

/// Elements of a page, where neither the program nor the client says how many; and at most.
const PAGE_SIZE: u32 = 20;
const PAGE_LIMIT: u32 = 100;
/// What can stand behind a verb.
const MARKS: [&str; 7] = ["public", "any", "partial", "streamed", "deprecated", "hidden", "html"];

fn verb_name(verb: PathVerb) -> &'static str {
    match verb {
        PathVerb::Get => "get",
        PathVerb::Put => "put",
        PathVerb::Post => "post",
        PathVerb::Merge => "merge",
        PathVerb::Delete => "delete",
        PathVerb::List => "list",
    }
}

fn carries_content(verb: PathVerb) -> bool {
    matches!(verb, PathVerb::Put | PathVerb::Post | PathVerb::Merge)
}

/// How many elements a page has, and how many at most.
fn page_sizes(paged: &PagedMark) -> (u32, u32) {
    let number = |word: &Option<Word>| word.as_ref().and_then(|word| word.text.parse().ok());
    let size = number(&paged.size).unwrap_or(PAGE_SIZE);
    (size, number(&paged.most).unwrap_or(PAGE_LIMIT.max(size)).max(size))
}

impl Generator<'_> {
    /// The clauses and parameters of a class: for each of its paths, and for what it answers
    /// besides them. The code is left inside a `do`, which the caller ends.
    pub(super) fn class_clauses<'a>(&mut self, class: &'a Class) -> Around<'a> {
        let mut around = Around::default();
        for member in &class.members {
            if let MemberKind::Parameter(parameter) = &member.kind {
                around.parameters.push(parameter);
            }
        }
        for member in &class.members {
            if let MemberKind::Clause(clause) = &member.kind {
                self.clause(class, &mut around, clause);
            }
        }
        if around.clauses.iter().any(|clause| clause.kind == ClauseKind::Guard) {
            let mut code = self.parameters(&around.parameters);
            code.push_str("K.guardedBy(C,function(self,t) ");
            code.push_str(&prologue(&around, &|_| true, false));
            code.push_str("end) ");
            self.emit(format_args!("do {code}end "));
        }
        around
    }

    /// Compiles a clause and adds it to what holds.
    fn clause<'a>(&mut self, class: &Class, around: &mut Around<'a>, clause: &'a PathClause) {
        let (mut names, mut variables) = around.visible();
        // What failed may have failed before the other values were there.
        if clause.kind == ClauseKind::Rescue {
            names.truncate(around.path_names().len());
            variables.truncate(names.len());
        }
        let mut list: Vec<&str> = match clause.kind {
            ClauseKind::After => vec!["answer"],
            ClauseKind::Rescue => vec!["error"],
            _ => Vec::new(),
        };
        let takes = !list.is_empty();
        list.push("theRef");
        list.extend(names.iter().map(String::as_str));
        let context = MethodContext { class: class.name.text.clone(), ..MethodContext::default() };
        let function = self.method_function(context, &list, &clause.body, &Tail::Return);
        around.values += 1;
        let place = format!("c{}", around.values);
        let mark = self.mark(clause.word.span);
        self.emit(format_args!("{mark}local {place}={function} "));
        self.count_locals(1);
        let mut arguments = vec!["self".to_owned()];
        if takes {
            arguments.push("a".into());
        }
        arguments.push("t".into());
        arguments.extend(variables);
        let value = clause.name.as_ref().map(|_| format!("v{}", around.values));
        if let Some(name) = &clause.name {
            self.check_new_name(around, name);
        }
        around.clauses.push(Clause {
            kind: clause.kind,
            name: clause.name.as_ref(),
            closed: clause.closed.is_some(),
            function: place,
            arguments: arguments.join(","),
            value,
            answer: clause.answer.as_ref(),
        });
    }

    fn check_new_name(&mut self, around: &Around, name: &Word) {
        if around.visible().0.contains(&name.text) {
            let title = format!("`{}` has a value here already", name.text);
            let fault = Diagnostic::error(name.span, title, "the same name again");
            self.error(fault.hint("name the value of this clause differently"));
        }
    }

    pub(super) fn property_path<'a>(
        &mut self,
        class: &Class,
        path: &'a PropertyPath,
        outer: &mut Around<'a>,
    ) {
        // All paths share what was seen: a copy for each would cost the square of their number.
        let seen = std::mem::take(&mut outer.seen);
        let mut around = outer.clone();
        around.seen = seen;
        around.pattern = format!("{}{}", outer.pattern.trim_end_matches('/'), path.pattern.text);
        if matches!(outer.segments.last(), Some(Segment::Rest(_))) {
            let title = "`*` stands for everything that follows";
            let fault = Diagnostic::error(path.pattern.span, title, "nothing can be below it");
            self.error(fault.hint("write this path beside the one that ends with `*`"));
        }
        around.segments.extend(&path.segments);
        for parameter in path.declared_parameters() {
            self.check_parameter(&around, parameter);
            around.parameters.push(parameter);
        }
        self.code.push_str("do ");
        for clause in path.clauses() {
            self.clause(class, &mut around, clause);
        }
        self.path_handlers(class, path, &mut around);
        for below in path.paths() {
            self.property_path(class, below, &mut around);
        }
        self.code.push_str("end ");
        outer.seen = around.seen;
    }

    fn check_parameter(&mut self, around: &Around, parameter: &RequestParameter) {
        if around.visible().0.contains(&variable_name(&parameter.name.text)) {
            let title = format!("there is a parameter `{}` already", parameter.name.text);
            let fault = Diagnostic::error(parameter.name.span, title, "the same name again");
            self.error(fault.hint("remove one of the two, or rename it"));
        }
    }

    /// The segments as data of the kernel, and what tells paths apart.
    fn path_segments(&mut self, path: &[&Segment]) -> (Vec<String>, String) {
        let mut segments = Vec::new();
        let mut shape = String::new();
        for segment in path {
            match segment {
                Segment::Literal(word) => {
                    segments.push(quoted(&word.text));
                    shape.push_str(&format!("/{}", word.text));
                }
                Segment::Parameter(parameter) => {
                    let kind = parameter.kind.as_ref();
                    let read = kind.map_or("nil".into(), |kind| self.declared_type(kind));
                    segments.push(format!("{{{},{read}}}", quoted(&parameter.name.text)));
                    shape.push_str("/:");
                    shape.push_str(&kind.map_or(String::new(), DeclaredType::to_string));
                }
                Segment::Rest(name) => {
                    let name = name.as_ref().map_or("nil".into(), |name| quoted(&name.text));
                    segments.push(format!("{{{name},rest=true}}"));
                    shape.push_str("/*");
                }
            }
        }
        (segments, shape)
    }

    /// `K.path(class, pattern, segments, handlers, what they declare)`
    fn path_handlers(&mut self, class: &Class, path: &PropertyPath, around: &mut Around) {
        if path.handlers().next().is_none() {
            return;
        }
        let (segments, shape) = self.path_segments(&around.segments);
        // What stands behind `?` is for requests without content.
        let seen = std::mem::take(&mut around.seen);
        let mut asking = around.clone();
        around.seen = seen;
        for parameter in &path.parameters {
            self.check_parameter(&asking, parameter);
            asking.parameters.push(parameter);
        }
        let written = self.parameters(&around.parameters);
        let asked = self.parameters(&asking.parameters);
        let mut verbs = Vec::new();
        let mut declared = Vec::new();
        let mut page = None;
        for handler in path.handlers() {
            self.check_handler(handler, &shape, around);
            let (around, parameters) = match carries_content(handler.verb) {
                true => (&*around, &written),
                false => (&asking, &asked),
            };
            let verb = verb_name(handler.verb);
            let function = self.handler(class, around, handler, parameters);
            let declaration = self.declaration(around, handler);
            if handler.is_page() {
                page = Some((function, declaration));
                continue;
            }
            verbs.push((verb, function));
            declared.push(format!("{verb}={declaration}"));
        }
        if let Some((function, declaration)) = page {
            match verbs.iter_mut().find(|(verb, _)| *verb == "get") {
                Some((_, data)) => *data = format!("K.dataOrPage({data},{function})"),
                None => {
                    verbs.push(("get", function));
                    declared.push(format!("get={declaration}"));
                }
            }
        }
        let verbs: Vec<String> =
            verbs.into_iter().map(|(verb, function)| format!("{verb}={function}")).collect();
        let mark = self.mark(path.pattern.span);
        let about = comment_above(self.source, path.pattern.span.start);
        if let Some(about) = about {
            declared.push(format!("about={}", quoted(&about)));
        }
        self.emit(format_args!(
            "{mark}K.path(C,{},{{{}}},{{{}}},{{{}}}) ",
            quoted(&around.pattern),
            segments.join(","),
            verbs.join(","),
            declared.join(",")
        ));
    }

    fn check_handler(&mut self, handler: &PathHandler, shape: &str, around: &mut Around) {
        let verb = verb_name(handler.verb);
        let form = if handler.is_page() { " html" } else { "" };
        let key = format!("{verb}{form} {shape}");
        if let Some(first) = around.seen.insert(key, handler.word.span) {
            self.error(
                Diagnostic::error(
                    handler.word.span,
                    format!("`{verb}` of this path can never be reached"),
                    "the same path and verb again",
                )
                .also(first, "this one answers")
                .hint("remove one of the two, or give them different paths"),
            );
        }
        for mark in &handler.marks {
            if !MARKS.contains(&mark.text.as_str()) {
                let title = format!("`{}` says nothing about a handler", mark.text);
                let fault = Diagnostic::error(mark.span, title, "not known");
                self.error(fault.hint(
                    "behind a verb stand public, any, partial, streamed, paged, html, deprecated or hidden",
                ));
            }
        }
        let ruled = handler.allowed.is_some()
            || handler.marks.iter().any(|mark| matches!(mark.text.as_str(), "public" | "any"));
        if !ruled && around.clauses.iter().any(|clause| clause.closed) {
            let title = format!("this `{verb}` does not say who may");
            let fault = Diagnostic::error(handler.word.span, title, "behind a closed guard");
            self.error(fault.hint(
                "write `for: { … }` with a rule, `any` for everybody known, or `public` behind the verb",
            ));
        }
        if let Some(content) = handler.content.as_ref().filter(|_| !carries_content(handler.verb)) {
            let title = format!("a request with {verb} carries no content");
            let fault = Diagnostic::error(content.span, title, "its type");
            self.error(
                fault.hint(format!(
                    "what it answers stands behind an arrow: `{verb} → <{content}>`"
                )),
            );
        }
        self.check_streamed(handler);
        if handler.paged.is_some() && handler.verb != PathVerb::Get {
            let title = format!("what {verb} answers has no pages");
            let fault = Diagnostic::error(handler.word.span, title, "this handler");
            self.error(fault.hint("`paged` stands behind `get`"));
        }
        if handler.is_page()
            && (handler.verb != PathVerb::Get
                || handler.answers.iter().any(|answer| answer.kind.is_some()))
        {
            let title = "`html` stands behind `get`, and a page has no type";
            let fault = Diagnostic::error(handler.word.span, title, "this handler");
            self.error(fault.hint("write `get html { … }` beside `get → <…> { … }`"));
        }
        for status in handler.answers.iter().filter_map(|answer| answer.status.as_ref()) {
            if !status.text.parse().is_ok_and(|status: u16| (200..600).contains(&status)) {
                let title = format!("`{}` is no status code of an answer", status.text);
                let fault = Diagnostic::error(status.span, title, "here");
                self.error(fault.hint("status codes of answers lie from 200 to 599"));
            }
        }
    }

    /// A stream is read by its handler: it has no type, and comes with content alone.
    fn check_streamed(&mut self, handler: &PathHandler) {
        let Some(mark) = handler.marks.iter().find(|mark| mark.text == "streamed") else { return };
        let verb = verb_name(handler.verb);
        if !carries_content(handler.verb) {
            let title = format!("a request with {verb} carries no content");
            let fault = Diagnostic::error(mark.span, title, "nothing to stream");
            self.error(fault.hint("`streamed` stands behind put, post or merge"));
        } else if let Some(content) = &handler.content {
            let title = "a stream has no type: its handler runs before the content is there";
            let fault = Diagnostic::error(content.span, title, "this type")
                .also(mark.span, "the content is a stream");
            self.error(fault.hint(format!(
                "leave one of the two out: `{verb} streamed {{ … body:stream … }}` or `{verb} <{content}>`"
            )));
        }
    }
}
