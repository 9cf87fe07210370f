//! Arguments that a message does not take, and values that a declared variable does not take.

use crate::checker::Checker;
use crate::sends::Sent;
use crate::types::{Case, Type};
use runnel_catalogue::{Kind, KindOption, Message};
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{DeclaredKind, DeclaredType, Expression, ExpressionKind};

/// Classes whose objects no message takes for each other, but for those in one group.
const APART: [&[&str]; 12] = [
    &["Number", "BigInteger", "Decimal", "Boolean"],
    &["ByteSize"],
    &["String", "MutableString"],
    &["Array", "MutableArray", "Interval", "Set", "Rows", "Collection"],
    &["Dictionary"],
    &["Block"],
    &["Pattern"],
    &["Point"],
    &["Rectangle"],
    &["Duration", "Period"],
    &["Date", "Day", "TimeOfDay"],
    &["Data"],
];

fn group(class: &str) -> Option<usize> {
    APART.iter().position(|group| group.contains(&class))
}

impl<'a> Checker<'a> {
    pub(crate) fn argument_rules(&mut self, sent: &Sent<'a, '_>, definition: &'a Message) {
        let names = sent.selector.split(':');
        for ((argument, parameter), name) in
            sent.arguments.iter().zip(&definition.parameters).zip(names)
        {
            self.dictionary_units(&sent.selector, argument.expression);
            if self.argument_unit(name, argument.expression, &parameter.kind) {
                continue;
            }
            if argument.answer.is_some() {
                self.block_arity(sent, argument.expression, &parameter.kind);
            }
            let Some(what) = self.refused_by(&argument.kind, &parameter.kind) else { continue };
            let title =
                format!("`{}` takes {}, not {what}", sent.selector, spelled(&parameter.kind));
            let found = Diagnostic::warning(argument.expression.span, title, what);
            let hint = format!("`{definition}`");
            self.report(found.hint(hint).code("wrong-type"));
        }
    }

    /// What an argument is, where that is certainly none of what a parameter takes.
    fn refused_by(&self, given: &Type, wanted: &Kind) -> Option<String> {
        let known = given.known();
        let first = *known.first()?;
        let wanted: Vec<usize> = wanted
            .options
            .iter()
            .map(|option| match option {
                KindOption::Class(name) => group(name),
                KindOption::Block(_) => group("Block"),
                _ => None,
            })
            .collect::<Option<_>>()?;
        let is_refused = |case: &Case| match case {
            Case::Object(id) => {
                let name = self.world.classes[*id].name;
                // A size counts as its bytes where a number is taken, but not the other way round.
                let counts =
                    name == "ByteSize" && group("Number").is_some_and(|one| wanted.contains(&one));
                !counts && group(name).is_some_and(|one| !wanted.contains(&one))
            }
            Case::Nil | Case::Class(_) => false,
        };
        known.iter().all(is_refused).then(|| self.world.shown(first))
    }

    /// A block with more parameters than a message gives it.
    fn block_arity(&mut self, sent: &Sent<'a, '_>, argument: &'a Expression, wanted: &Kind) {
        let mut most = 0;
        for option in &wanted.options {
            match option {
                KindOption::Block(Some(names)) => most = most.max(names.len()),
                KindOption::Block(None) | KindOption::Any => return,
                _ => {}
            }
        }
        let is_block = wanted.options.iter().any(|one| matches!(one, KindOption::Block(_)));
        let mut inner = argument;
        while let ExpressionKind::Parenthesized(next) = &inner.kind {
            inner = next;
        }
        let ExpressionKind::Block(block) = &inner.kind else { return };
        let Some(surplus) = block.parameters.get(most).filter(|_| is_block) else { return };
        let count = match most {
            0 => "no argument".to_owned(),
            1 => "one argument".to_owned(),
            most => format!("{most} arguments"),
        };
        let title = format!("`{}` gives its block {count}", sent.selector);
        let name = &surplus.name;
        let found = Diagnostic::warning(name.span, title, format!("`{}` is always nil", name.text));
        self.report(found.hint("remove the parameter").code("block-arity"));
    }

    /// A value for a variable of a class whose type it certainly is not.
    pub(crate) fn given_value(
        &mut self,
        value: &'a Expression,
        given: &Type,
        declared: Option<&'a DeclaredType>,
    ) {
        let Some(declared) = declared else { return };
        if self.protected > 0 || self.sight.loads {
            return;
        }
        let DeclaredKind::Named { name, .. } = &declared.kind else { return };
        let takes: &[&str] = match name.text.to_ascii_lowercase().as_str() {
            "int" | "integer" | "long" | "float" | "double" | "number" => {
                &["Number", "BigInteger", "Decimal"]
            }
            "bool" | "boolean" => &["Boolean"],
            "string" | "text" | "email" | "url" | "uuid" | "time" => &["String", "MutableString"],
            _ => return,
        };
        let is_refused = |case: &Case| match case {
            Case::Object(id) => {
                let class = self.world.classes[*id].name;
                group(class).is_some() && !takes.contains(&class)
            }
            Case::Nil | Case::Class(_) => false,
        };
        let known = given.known();
        if known.is_empty() || !known.iter().all(is_refused) {
            return;
        }
        let what = self.world.shown(known[0]);
        let title = format!("a variable of type <{}> does not take {what}", name.text);
        let found =
            Diagnostic::warning(value.span, title, what).also(declared.span, "declared here");
        self.report(found.hint("convert the value, or change the type").code("wrong-type"));
    }
}

/// `a Number or a String`
fn spelled(kind: &Kind) -> String {
    let options: Vec<String> = kind.options.iter().map(ToString::to_string).collect();
    options.join(" or ")
}
