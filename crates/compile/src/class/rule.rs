//! Rules: what the variables of an object have to obey together.

use crate::code::{MethodContext, Tail};
use crate::generator::Generator;
use crate::lua::names::quoted;
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{
    Block, Class, Expression, ExpressionKind, Rule, Statement, StatementKind,
};
use runnel_syntax::walk::{walk, walk_deep};
use std::collections::BTreeSet;

impl Generator<'_> {
    /// `K.rule(class, variables, condition, message, field, refuses)`: both functions get the object
    /// and the values of these variables.
    pub(super) fn rule(&mut self, class: &Class, rule: &Rule) {
        let variables = self.inherited_variables(&class.name.text);
        if let Some(field) = rule.field.as_ref().filter(|field| !variables.contains(&field.text)) {
            let title = format!("{} has no variable `{}`", class.name.text, field.text);
            let known: Vec<&str> = variables.iter().map(String::as_str).collect();
            let hint = format!("its variables are {}", known.join(", "));
            self.error(Diagnostic::error(field.span, title, "not known").hint(hint));
        }
        let mut used = BTreeSet::new();
        let mut visit = |expression: &Expression| match &expression.kind {
            ExpressionKind::Name(name) if variables.contains(name) => {
                used.insert(name.clone());
            }
            _ => {}
        };
        walk_deep(&rule.condition.statements, &mut visit);
        walk(&rule.message, &mut visit);
        let mut names: Vec<&str> = used.iter().map(String::as_str).collect();
        // The first one is what a parameter of the block stands for.
        if let Some(field) = &rule.field {
            names.retain(|name| *name != field.text);
            names.insert(0, &field.text);
        }
        let context =
            || MethodContext { class: class.name.text.clone(), ..MethodContext::default() };
        let strict = std::mem::replace(&mut self.lenient, true);
        let condition = self.method_function(context(), &names, &rule.condition, &Tail::Return);
        self.lenient = strict;
        let kind = StatementKind::Expression(rule.message.clone());
        let said = Block {
            parameters: Vec::new(),
            statements: vec![Statement { kind, span: rule.message.span }],
            span: rule.message.span,
        };
        let message = self.method_function(context(), &names, &said, &Tail::Return);
        let list: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        let field = rule.field.as_ref().map_or("nil".into(), |field| quoted(&field.text));
        let mark = self.mark(rule.condition.span);
        self.emit(format_args!(
            "{mark}K.rule(C,{{{}}},{condition},{message},{field},{}) ",
            list.join(","),
            rule.refuses
        ));
    }
}
