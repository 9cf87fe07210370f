//! Statements, blocks and classes.

use crate::checker::{Around, Checker};
use crate::scopes::Role;
use crate::types::{Case, Type};
use crate::world::selector_of;
use runnel_syntax::ast::{
    Block, Class, ClassKeyword, DeclaredKind, DeclaredType, ExpressionKind, MemberKind, Method,
    PathClause, PathHandler, PathMemberKind, PropertyPath, RequestParameter, Segment, Statement,
    StatementKind, VariableDeclaration, Word,
};

impl<'a> Checker<'a> {
    /// Statements in order; answers the type of the last one's value. `is_used`: something looks at it.
    pub(crate) fn statements(&mut self, statements: &'a [Statement], is_used: bool) -> Type {
        let mut last = Type::nil();
        for (number, statement) in statements.iter().enumerate() {
            let is_last = number + 1 == statements.len();
            if !(is_last && is_used) {
                self.without_effect(statement, is_last);
            }
            if !is_last {
                self.unreachable(statement, &statements[number + 1]);
            }
            last = self.statement(statement);
            if is_last && is_used {
                self.answered_assignment(statement);
            }
        }
        last
    }

    /// The value of an assignment at the end of a block is that of the block.
    fn answered_assignment(&mut self, statement: &'a Statement) {
        if let StatementKind::Expression(value) = &statement.kind
            && let ExpressionKind::Assign { target, .. } = &value.kind
            && let ExpressionKind::Name(name) = &target.kind
            && let Some(number) = self.scopes.find(name)
        {
            self.scopes.read(number);
        }
    }

    fn statement(&mut self, statement: &'a Statement) -> Type {
        match &statement.kind {
            StatementKind::Expression(value) => self.expression(value),
            StatementKind::Return(value) => {
                let kind = self.expression(value);
                if !self.around.forwards {
                    self.answers.push((kind, value.span));
                }
                // What stands behind it does not run: no value of the block.
                Type::Unset
            }
            StatementKind::Class(class) => {
                self.class(class);
                Type::Any
            }
            StatementKind::Template { value, .. } => {
                self.expression(value);
                Type::Any
            }
            StatementKind::Test { body, .. } => {
                self.scopes.open(false);
                self.scopes.declare_assigned(&body.statements);
                self.statements(&body.statements, false);
                self.close_scope();
                Type::Any
            }
            StatementKind::Variables(declaration) => {
                self.variables(declaration);
                Type::nil()
            }
            StatementKind::Temporaries(_) => Type::nil(),
            StatementKind::Shell(_) | StatementKind::Error => Type::Any,
        }
    }

    fn variables(&mut self, declaration: &'a VariableDeclaration) {
        self.doubled_names(&declaration.names);
        let kind = self.declared(declaration.kind.as_ref());
        let default = declaration.default.as_ref().map(|(_, value)| self.expression(value));
        for name in &declaration.names {
            let Some(number) = self.scopes.find(&name.text) else { continue };
            if kind == Type::Any && declaration.kind.is_some() {
                self.scopes.make_wild(number);
            }
            if declaration.kind.is_some() {
                self.scopes.write(number, &kind);
            }
            if let Some(default) = &default {
                self.scopes.write(number, default);
            }
        }
    }

    /// A block as a value; answers the type of its own value. `kinds` are those of its arguments.
    pub(crate) fn block(&mut self, block: &'a Block, kinds: &[Type], is_used: bool) -> Type {
        self.scopes.open(false);
        for (number, parameter) in block.parameters.iter().enumerate() {
            let kind = match &parameter.kind {
                Some(_) => self.declared_word(parameter.kind.as_ref()),
                None => kinds.get(number).cloned().unwrap_or(Type::Any),
            };
            let name = &parameter.name;
            self.scopes.declare(&name.text, name.span, Role::Parameter, kind);
        }
        self.scopes.declare_assigned(&block.statements);
        let kind = self.statements(&block.statements, is_used);
        self.close_scope();
        kind
    }

    fn class(&mut self, class: &'a Class) {
        let Some(id) = self.world.class(&class.name.text) else { return };
        let outer = std::mem::take(&mut self.around);
        self.doubled_members(class);
        let is_filter =
            class.keyword == ClassKeyword::Filter || self.world.is_below(id, "WriteStream");
        for member in &class.members {
            self.around = Around { class: Some(id), of_class: false, forwards: is_filter };
            match &member.kind {
                MemberKind::Variables(declaration) => {
                    if let Some((_, value)) = &declaration.default {
                        self.body(|this| {
                            let given = this.expression(value);
                            this.given_value(value, &given, declaration.kind.as_ref());
                        });
                    }
                }
                MemberKind::Rule(rule) => self.body(|this| {
                    this.block(&rule.condition, &[], true);
                    this.expression(&rule.message);
                }),
                MemberKind::Method(method) => self.method(class, method),
                MemberKind::PropertyPath(path) => {
                    self.around.forwards = false;
                    self.body(|this| this.property_path(path));
                }
                MemberKind::Clause(clause) => self.body(|this| this.clause(clause)),
                MemberKind::FilterBody(body) => self.body(|this| {
                    this.scopes.declare("object", body.span, Role::Parameter, Type::Any);
                    this.block(body, &[Type::Any], false);
                }),
                MemberKind::Parameter(_) | MemberKind::Error => {}
            }
        }
        self.around = outer;
    }

    /// What sees no variable around it.
    fn body<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let answers = std::mem::take(&mut self.answers);
        let protected = std::mem::take(&mut self.protected);
        self.scopes.open(true);
        let result = run(self);
        self.close_scope();
        self.protected = protected;
        self.answers = answers;
        result
    }

    fn method(&mut self, class: &'a Class, method: &'a Method) {
        self.around.of_class = method.class_side;
        let Some(body) = &method.body else { return };
        self.body(|this| {
            let selector = selector_of(&method.selector);
            // What only a name asks for, as in `action: 'up:'`, may need the parameter.
            let is_plain = this.world.is_defined_once(&selector)
                && this.sight.sent.contains(&selector)
                && !this.sight.words.contains(selector.as_str())
                && !body.statements.is_empty();
            let role = if is_plain { Role::MethodParameter } else { Role::Parameter };
            this.declare_parameters(&method.selector, role);
            this.scopes.declare_assigned(&body.statements);
            let is_void = method.result.as_ref().is_some_and(|word| word.text == "void");
            let last = this.statements(&body.statements, !is_void);
            let mut all = if is_void { Type::nil() } else { last.clone() };
            for (kind, _) in &this.answers {
                all = all.join(kind);
            }
            this.note_answer(method, if this.around.forwards { &Type::Any } else { &all });
            this.method_answers(class, method, body, &last);
        });
    }

    fn property_path(&mut self, path: &'a PropertyPath) {
        self.scopes.open(false);
        for segment in &path.segments {
            match segment {
                Segment::Parameter(parameter) => {
                    let kind = match &parameter.kind {
                        Some(kind) => self.declared(Some(kind)),
                        None => Type::Any,
                    };
                    let name = &parameter.name;
                    self.scopes.declare(&name.text, name.span, Role::Parameter, kind);
                }
                Segment::Rest(Some(name)) => self.given(name),
                Segment::Literal(_) | Segment::Rest(None) => {}
            }
        }
        path.parameters.iter().for_each(|one| self.request_parameter(one));
        for member in &path.members {
            match &member.kind {
                PathMemberKind::Handler(handler) => self.handler(handler),
                PathMemberKind::Clause(clause) => self.clause(clause),
                PathMemberKind::Parameter(parameter) => self.request_parameter(parameter),
                PathMemberKind::Path(path) => self.property_path(path),
            }
        }
        self.close_scope();
    }

    fn request_parameter(&mut self, parameter: &'a RequestParameter) {
        self.given(&parameter.name);
    }

    fn given(&mut self, name: &'a Word) {
        self.scopes.declare(&name.text, name.span, Role::Parameter, Type::Any);
    }

    fn handler(&mut self, handler: &'a PathHandler) {
        if let Some(allowed) = &handler.allowed {
            self.block(allowed, &[], true);
        }
        let answers = std::mem::take(&mut self.answers);
        let last = self.block(&handler.body, &[], true);
        self.answers = answers;
        self.handler_answer(handler, &last);
    }

    fn clause(&mut self, clause: &'a PathClause) {
        self.block(&clause.body, &[], true);
        if let Some(name) = &clause.name {
            self.given(name);
        }
    }

    // Declared types -----------------------------------------------------------------------------

    /// The type that a word in angle brackets names; nil is a value of each.
    pub(crate) fn declared_word(&self, word: Option<&Word>) -> Type {
        let Some(word) = word else { return Type::Any };
        let name = match word.text.to_ascii_lowercase().as_str() {
            "int" | "integer" | "long" | "float" | "double" | "number" => "Number",
            "bool" | "boolean" => "Boolean",
            "string" | "text" => "String",
            _ => return Type::Any,
        };
        self.world.type_of_class(name)
    }

    /// The same for a type with limits.
    pub(crate) fn declared(&self, kind: Option<&DeclaredType>) -> Type {
        match kind.map(|kind| &kind.kind) {
            Some(DeclaredKind::Named { name, .. }) => self.declared_word(Some(name)),
            Some(DeclaredKind::Enumeration(_)) => self.world.type_of_class("String"),
            Some(DeclaredKind::List { .. }) => self.world.type_of_class("Array"),
            Some(DeclaredKind::OneOf(_)) | None => Type::Any,
        }
    }

    /// What `self` is.
    pub(crate) fn this(&self) -> Type {
        match self.around.class {
            Some(id) if self.around.of_class => Type::Cases(vec![Case::Class(id)]),
            Some(id) => Type::object(id),
            None => Type::Any,
        }
    }
}
