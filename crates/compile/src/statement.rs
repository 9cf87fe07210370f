//! Statements: what becomes of the value of each.

use crate::code::{Code, Tail};
use crate::generator::Generator;
use crate::lua::names::quoted;
use crate::scope::{Scope, Variable, implicit_parameters};
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{Block, Statement, StatementKind, Word};

impl Generator<'_> {
    /// The statements of a group of the script: in the script's scope, the last one answered.
    pub(crate) fn body(&mut self, statements: &[Statement], answers: bool) {
        let tail = if answers { Tail::Return } else { Tail::Discard };
        self.statements(statements, &tail);
    }

    /// Statements in order; the last one's value goes to the tail.
    pub(crate) fn statements(&mut self, statements: &[Statement], tail: &Tail) {
        for (number, statement) in statements.iter().enumerate() {
            let last = number + 1 == statements.len();
            let mark = self.mark(statement.span);
            self.code.push_str(&mark);
            let tail = if last { tail } else { &Tail::Discard };
            self.with_temporaries(|this| this.statement(statement, tail));
        }
        if statements.is_empty() {
            self.finish(Code::constant("nil"), tail);
        }
    }

    fn statement(&mut self, statement: &Statement, tail: &Tail) {
        match &statement.kind {
            StatementKind::Expression(expression) => self.expression_to(expression, tail),
            StatementKind::Return(expression) => self.return_statement(expression, statement, tail),
            StatementKind::Class(class) => {
                self.class(class);
                let value = if self.is_class_like(class.keyword) {
                    self.helper("G");
                    Code::prefix(format!("G[{}]", quoted(&class.name.text)))
                } else {
                    Code::constant("nil")
                };
                if *tail != Tail::Discard {
                    self.finish(value, tail);
                }
            }
            StatementKind::Template { name, value } => {
                self.template(name, value, tail);
                self.coming.remove(&name.text);
            }
            StatementKind::Test { name, body } => self.test(name, body, tail),
            StatementKind::Shell(_) => self.shell_line(statement),
            StatementKind::Variables(declaration) if !declaration.marks.is_empty() => {
                if let Some(mark) = declaration.marks.first() {
                    self.error(
                        Diagnostic::error(
                            mark.span,
                            "this variable belongs to no class",
                            "no mark here",
                        )
                        .hint("only the variables of a class take marks: remove this one"),
                    );
                }
            }
            StatementKind::Variables(_) | StatementKind::Temporaries(_) => {
                if *tail != Tail::Discard {
                    self.finish(Code::constant("nil"), tail);
                }
            }
            StatementKind::Error => {
                self.error(Diagnostic::error(statement.span, "this could not be read", "here"))
            }
        }
    }

    /// Refuses a shell command: a character at the start of a line must not run one in a program.
    fn shell_line(&mut self, statement: &Statement) {
        self.error(
            Diagnostic::error(
                statement.span,
                "a line that begins with `!` is a shell command, at the prompt only",
                "this is a program",
            )
            .hint("run a command with the scheme `sh:`, as in `sh:echo/hello`"),
        );
    }

    /// Gives a value to its tail.
    pub(crate) fn finish(&mut self, value: Code, tail: &Tail) {
        match tail {
            // The parentheses keep Lua from replacing this frame: traces stay whole.
            Tail::Return if value.call => {
                self.emit(format_args!("do return ({}) end ", value.text))
            }
            Tail::Return => self.emit(format_args!("do return {} end ", value.text)),
            Tail::Keep(variable) => self.emit(format_args!("{variable}={} ", value.text)),
            Tail::Write(place) => self.write_value(&value, place),
            Tail::Discard if value.call && !value.text.starts_with('(') => {
                self.code.push_str(&value.text);
                self.code.push_str("; ");
            }
            Tail::Discard if value.simple => {}
            Tail::Discard => {
                self.helper("_");
                self.emit(format_args!("_={} ", value.text));
            }
        }
    }

    fn return_statement(
        &mut self,
        expression: &runnel_syntax::ast::Expression,
        statement: &Statement,
        tail: &Tail,
    ) {
        let Some(method) = self.method.clone() else {
            // In the script itself: ends the script with the value.
            let value = self.expression(expression);
            self.helper("K");
            self.finish(Code::call(format!("K.endScript({})", value.text)), tail);
            return;
        };
        let here = self.functions.last().map(|function| function.id);
        let is_home = here == Some(method.home) && !method.forwards;
        let answered = if is_home { self.answered(expression) } else { None };
        let value = answered.unwrap_or_else(|| self.expression(expression));
        if method.forwards {
            self.finish(Code::call(format!("self:forward_({})", value.text)), tail);
            return;
        }
        if is_home {
            self.finish(value, &Tail::Return);
            return;
        }
        if let Some(method) = &mut self.method {
            method.unwinds = true;
        }
        let home = format!("R{}", method.home);
        let variable = Variable { code: home.clone(), owner: Some(method.home), hub: None };
        self.variable_code(&variable);
        self.helper("leave");
        let mark = self.mark(statement.span);
        self.finish(Code::call(format!("{mark}leave({home},{})", value.text)), tail);
    }

    fn test(&mut self, name: &Word, body: &Block, tail: &Tail) {
        let line = self.index.line(name.span.start);
        let function = self.block(body);
        self.helper("K");
        let call = format!("K.test({},{line},{})", quoted(&name.text), function.text);
        self.finish(Code::call(call), tail);
    }

    /// A block as a Lua function.
    pub(crate) fn block(&mut self, block: &Block) -> Code {
        let function = self.coming_function();
        let implicit = implicit_parameters(block);
        let names: Vec<String> = match block.parameters.is_empty() {
            true => implicit.iter().map(|name| format!("${name}")).collect(),
            false => block.parameters.iter().map(|parameter| parameter.name.text.clone()).collect(),
        };
        self.check_count(names.len(), "parameters", block.span);
        let mut scope = Scope::default();
        for name in names {
            let variable = self.new_variable(&name, function);
            scope.names.push((name, variable));
        }
        let mut parameters = scope.names.clone();
        if block.parameters.is_empty() {
            // `$0` beside declared parameters is an error found where it is read.
            parameters.truncate(implicit.len());
        }
        let list: Vec<&str> = parameters
            .iter()
            .map(|(_, variable)| variable.code.rsplit('.').next().unwrap_or(""))
            .collect();
        let list = list.join(",");
        self.begin_loop_body(block.span, function);
        let body = self.function_body(&parameters, |this| {
            this.note_repeated(block.span);
            this.declare_hubs(&parameters);
            this.scoped(scope, |this| {
                this.declare(&block.statements);
                this.statements(&block.statements, &Tail::Return);
            });
        });
        let body = self.loop_body(block.span, function, body);
        let text = ["function(", &list, ")", &body, " end"].concat();
        Code { text, ..Code::constant("") }
    }

    /// The statements of a block in the place where it stands, in a scope of their own.
    pub(crate) fn inlined(&mut self, block: &Block, parameter: Option<(&str, &str)>, tail: &Tail) {
        let mut scope = Scope::default();
        let mut head = String::new();
        if let (Some((name, value)), Some(function)) =
            (parameter, self.functions.last().map(|function| function.id))
        {
            let variable = self.new_variable(name, function);
            let local = if variable.code.contains('.') { "" } else { "local " };
            head = format!("{local}{}={value} ", variable.code);
            if let Some(hub) = self.hub_local(&variable) {
                head.push_str(&format!("local {hub} "));
            }
            scope.names.push((name.to_string(), variable));
        }
        self.deeper(block.span, |this| {
            this.scoped(scope, |this| {
                this.count_locals(usize::from(head.starts_with("local")));
                this.code.push_str(&head);
                this.declare(&block.statements);
                this.statements(&block.statements, tail);
            });
        });
    }
}
