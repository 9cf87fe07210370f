//! Text that grows in a loop: `text := text , part` appends in constant time.
//!
//! Joining copies both texts, so that a loop of n steps would copy n²/2 bytes. Such an assignment
//! keeps the pieces instead, and the next read of the variable joins them (`text/append.lua`). A variable
//! of the script does so behind the metatable of all variables; each read of a local asks for it.

use crate::code::Code;
use crate::generator::Generator;
use crate::lua::names::quoted;
use crate::scope::Variable;
use runnel_syntax::ast::{
    AssignOperator, Expression, ExpressionKind, PathPart, SentMessage, Statement, StatementKind,
};
use runnel_syntax::walk::{bodies, walk_deep};
use std::collections::BTreeSet;

/// What is appended to a variable, where a value is the variable itself with commas behind it.
fn parts<'a>(name: &str, value: &'a Expression) -> Option<Vec<&'a Expression>> {
    let mut list = Vec::new();
    let mut at = value;
    loop {
        match &at.kind {
            ExpressionKind::Send { receiver, message: SentMessage::Binary(word, part) }
                if word.text == "," =>
            {
                list.push(&**part);
                at = receiver;
            }
            ExpressionKind::Name(first) if first == name && !list.is_empty() => {
                list.reverse();
                return Some(list);
            }
            _ => return None,
        }
    }
}

/// The names of variables that statements append to in this way, and of those that references name.
#[derive(Default)]
pub(crate) struct Appended {
    names: BTreeSet<String>,
    referenced: BTreeSet<String>,
}

impl Appended {
    pub(crate) fn of(statements: &[Statement]) -> BTreeSet<String> {
        let mut found = Appended::default();
        collect(statements, &mut found);
        &found.names - &found.referenced
    }
}

fn collect(statements: &[Statement], found: &mut Appended) {
    walk_deep(statements, &mut |expression| {
        if let ExpressionKind::Reference(path) | ExpressionKind::ReferenceTo(path) =
            &expression.kind
            && let Some(PathPart::Text(text)) = path.parts.first()
        {
            found.referenced.extend(text.split('/').next().map(str::to_string));
        }
        if let ExpressionKind::Assign { target, operator: AssignOperator::Put, value, .. } =
            &expression.kind
            && let ExpressionKind::Name(name) = &target.kind
            && parts(name, value).is_some()
        {
            found.names.insert(name.clone());
        }
    });
    for statement in statements {
        match &statement.kind {
            StatementKind::Test { body, .. } => collect(&body.statements, found),
            StatementKind::Class(class) => {
                bodies(class, &mut |block| collect(&block.statements, found));
            }
            _ => {}
        }
    }
}

impl Generator<'_> {
    fn keeps_pieces(&self, name: &str, variable: &Variable) -> bool {
        self.appended.contains(name)
            && !self.observable.contains(name)
            && variable.hub.is_none()
            && (variable.owner.is_some() || self.top_table == "V")
    }

    /// The code that reads a variable.
    pub(crate) fn read_variable(&mut self, name: &str, variable: &Variable) -> String {
        let code = self.variable_code(variable);
        if variable.owner.is_some() && self.keeps_pieces(name, variable) {
            self.helper("K");
            return format!("K.joined({code})");
        }
        code
    }

    /// Whether an append is the last statement of the block of a loop: to answer the text would join it in
    /// each step, and the loop does not use the answer.
    pub(super) fn is_unused_append(
        &self,
        target: &Expression,
        operator: AssignOperator,
        value: &Expression,
    ) -> bool {
        let ExpressionKind::Name(name) = &target.kind else { return false };
        self.functions.last().is_some_and(|function| function.is_repeated)
            && operator == AssignOperator::Put
            && parts(name, value).is_some()
    }

    /// Emits `name := name , part`; `None` for any other assignment.
    pub(crate) fn append(
        &mut self,
        name: &str,
        variable: &Variable,
        value: &Expression,
    ) -> Option<Code> {
        let parts = parts(name, value).filter(|_| self.keeps_pieces(name, variable))?;
        let code = self.variable_code(variable);
        self.helper("K");
        // What the parts do may write the variable too: its length tells what stood in it before.
        let (before, size) = (self.temporary(), self.temporary());
        let key = quoted(name);
        match variable.owner {
            Some(_) => self.emit(format_args!("{before},{size}=K.appending({code}) ")),
            None => self.emit(format_args!("{before},{size}=K.appendingVariable({key}) ")),
        }
        let codes = self.expressions(&parts);
        let texts: Vec<&str> = codes.iter().map(|code| code.text.as_str()).collect();
        let list = texts.join(",");
        let mark = self.mark(value.span);
        self.code.push_str(&match variable.owner {
            Some(_) => format!("{code}={mark}K.append({before},{size},{list}) "),
            None => format!("{mark}K.appendVariable({key},{before},{size},{list}); "),
        });
        Some(Code::prefix(self.read_variable(name, variable)))
    }
}
