//! Definitions: classes, schemes, filters and their like.

mod declared;
mod property_path;
mod rule;

use crate::code::{ClassFacts, MethodContext, Tail};
use crate::generator::Generator;
use crate::lua::names::{self, quoted};
use crate::scope::Scope;
use runnel_syntax::ast::{
    Block, Class, ClassKeyword, MemberKind, Method, Selector, VariableDeclaration,
};
use runnel_syntax::walk::parameters;

impl Generator<'_> {
    pub(crate) fn collect_class(&mut self, class: &Class) {
        let facts = self.classes.entry(class.name.text.clone()).or_insert_with(|| ClassFacts {
            superclass: class.superclass.as_ref().map(|word| word.text.clone()),
            ..ClassFacts::default()
        });
        for member in &class.members {
            if let MemberKind::Variables(declaration) = &member.kind {
                facts.variables.extend(declaration.names.iter().map(|word| word.text.clone()));
                if declaration.kind.is_some() || declaration.default.is_some() {
                    facts.typed.extend(declaration.names.iter().map(|word| word.text.clone()));
                }
            }
        }
    }

    /// Whether the value of a definition is a class that a program can run.
    pub(crate) fn is_class_like(&self, keyword: ClassKeyword) -> bool {
        !matches!(keyword, ClassKeyword::Protocol | ClassKeyword::Notification)
    }

    pub(crate) fn class(&mut self, class: &Class) {
        let superclass = match &class.superclass {
            Some(word) => self.class_value(word),
            None => "nil".into(),
        };
        self.coming.remove(&class.name.text);
        self.helper("K");
        let mark = self.mark(class.name.span);
        self.emit(format_args!(
            "do {mark}local C,S,SM=K.define({},{},{superclass}) ",
            quoted(class.keyword.word()),
            quoted(&class.name.text)
        ));
        self.count_locals(3);
        self.scoped(Scope { opaque: true, ..Scope::default() }, |this| {
            let mut around = this.class_clauses(class);
            for member in &class.members {
                match &member.kind {
                    MemberKind::Variables(declaration) => {
                        this.variables(class, declaration, member.span.start);
                    }
                    MemberKind::Rule(rule) => this.rule(class, rule),
                    MemberKind::Method(method) => this.method(class, method),
                    MemberKind::PropertyPath(path) => this.property_path(class, path, &mut around),
                    MemberKind::FilterBody(body) => this.filter_body(class, body),
                    MemberKind::Clause(_) | MemberKind::Parameter(_) | MemberKind::Error => {}
                }
            }
        });
        self.code.push_str("K.defined(C) end ");
    }

    fn variables(&mut self, class: &Class, declaration: &VariableDeclaration, start: u32) {
        let marks = self.declared_marks(&class.name.text, declaration, start);
        let kind = match &declaration.kind {
            Some(kind) => Some(self.declared_type(kind)),
            // A value needs a place to be kept, and any value fits.
            None => declaration.default.as_ref().map(|_| quoted("any")),
        };
        for name in &declaration.names {
            let field = names::field(&name.text);
            let quoted_name = quoted(&name.text);
            // Accessors with the field's name in their code take one look-up less than closures.
            let get = format!("function(s) return s.{field} end");
            self.helper("O");
            let set = format!("function(s,v) s.{field}=v if O.{field} then O.{field}(s) end end");
            self.code.push_str(&match &kind {
                None => format!("K.ivar(C,{quoted_name},nil,{get},{set}) "),
                Some(kind) => {
                    let mark = self.mark(name.span);
                    format!("{mark}K.typedIvar(C,{quoted_name},{kind},{{{marks}}},{get}) ")
                }
            });
        }
    }

    fn method(&mut self, class: &Class, method: &Method) {
        let name = match &method.selector {
            Selector::Unary(word) => names::unary(&word.text),
            Selector::Binary(word, _) => names::binary(&word.text),
            Selector::Keyword(parts) => {
                names::keyword(parts.iter().map(|(word, _)| word.text.as_str()))
            }
        };
        let Some(body) = &method.body else {
            self.emit(format_args!("K.promise(C,{}) ", quoted(&name)));
            return;
        };
        let list: Vec<&str> =
            parameters(&method.selector).map(|parameter| parameter.name.text.as_str()).collect();
        let is_void = method.result.as_ref().is_some_and(|word| word.text == "void");
        let context = MethodContext {
            class: class.name.text.clone(),
            class_side: method.class_side,
            // A filter's own `-<void>writeObject:` forwards like the body of a filter.
            forwards: is_void && name == "writeObject_" && is_filter(class),
            ..MethodContext::default()
        };
        let tail = if is_void { Tail::Discard } else { Tail::Return };
        let function = self.method_function(context, &list, body, &tail);
        let adder = if method.class_side { "K.classMethod" } else { "K.method" };
        let word = match &method.selector {
            Selector::Unary(word) | Selector::Binary(word, _) => word.span,
            Selector::Keyword(parts) => parts.first().map_or(body.span, |(word, _)| word.span),
        };
        let mark = self.mark(word);
        self.emit(format_args!("{mark}{adder}(C,{},{function}) ", quoted(&name)));
    }

    fn filter_body(&mut self, class: &Class, body: &Block) {
        let context = MethodContext {
            class: class.name.text.clone(),
            forwards: true,
            ..MethodContext::default()
        };
        let function = self.method_function(context, &["object"], body, &Tail::Discard);
        let mark = self.mark(body.span);
        self.emit(format_args!("{mark}K.method(C,\"writeObject_\",{function}) "));
    }

    /// A method as a Lua function; where a block in it returns from it, with a home to return to.
    fn method_function(
        &mut self,
        context: MethodContext,
        parameters: &[&str],
        body: &Block,
        tail: &Tail,
    ) -> String {
        self.check_count(parameters.len(), "parameters", body.span);
        let function = self.coming_function();
        let mut scope = Scope { opaque: true, ..Scope::default() };
        for name in parameters {
            let variable = self.new_variable(name, function);
            scope.names.push(((*name).to_string(), variable));
        }
        // The block's own parameters, for filter bodies written `|{ :object | … }`.
        let mut declared = scope.names.clone();
        for (parameter, (_, variable)) in body.parameters.iter().zip(&declared) {
            scope.names.push((parameter.name.text.clone(), variable.clone()));
        }
        let client = context.pages.then(|| self.new_variable("client", function));
        declared.extend(client.iter().map(|variable| ("client".to_string(), variable.clone())));
        let list: Vec<&str> = declared
            .iter()
            .map(|(_, variable)| variable.code.rsplit('.').next().unwrap_or(""))
            .collect();
        let outer = self.method.replace(MethodContext { home: function, client, ..context });
        let outer_brackets = self.brackets.take();
        let outer_loops = std::mem::take(&mut self.loops);
        let text = self.function_body(&declared, |this| {
            this.declare_hubs(&declared);
            this.scoped(scope, |this| {
                this.declare(&body.statements);
                this.statements(&body.statements, tail);
            });
        });
        self.brackets = outer_brackets;
        self.loops = outer_loops;
        let unwinds = self.method.as_ref().is_some_and(|method| method.unwinds);
        self.method = outer;
        let list = if list.is_empty() { String::new() } else { format!(",{}", list.join(",")) };
        if !unwinds {
            return ["function(self", &list, ")", &text, " end"].concat();
        }
        self.helper("home");
        let home = format!(") return (home(function(R{function})");
        ["function(self", &list, &home, &text, " end)) end"].concat()
    }
}

/// Whether a class is a filter by its own words.
fn is_filter(class: &Class) -> bool {
    let above = class.superclass.as_ref().map(|word| word.text.as_str());
    class.keyword == ClassKeyword::Filter || matches!(above, Some("Filter" | "MPWFilter"))
}
