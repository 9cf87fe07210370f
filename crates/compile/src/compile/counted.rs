//! The variables of the script that its loops count in: `1 to: n do: { :i | sum := sum + i }`.
//!
//! The script's variables live in a table, where the prompt, references and later sources find them; each step of
//! a loop would read and write that table. A variable that a loop assigns, and that nothing but one group of
//! statements of a whole program can name, is a local of that group's function instead.

use crate::chunk::SourceRole;
use crate::generator::Generator;
use crate::references::loads::walk_all;
use crate::scope::{assigned_here, words};
use runnel_syntax::ast::{Expression, ExpressionKind, Path, Program, Statement, StatementKind};
use runnel_syntax::walk::{children, parameters};
use std::collections::{BTreeMap, BTreeSet};

/// What reaches variables by names that are known only while the program runs.
const REACHING: [&str; 3] = ["context", "shell", "asReference"];

/// Where the names of a program stand.
#[derive(Default)]
struct Uses {
    /// The groups of statements that name a variable, outside of functions of their own.
    groups: BTreeMap<String, BTreeSet<usize>>,
    /// What loops assign.
    counted: BTreeSet<String>,
    /// What other parts of the program may name.
    elsewhere: BTreeSet<String>,
}

impl Generator<'_> {
    /// The names of these variables, of a program in groups of statements.
    pub(super) fn counted_variables(
        &self,
        program: &Program,
        groups: &[&[Statement]],
    ) -> BTreeSet<String> {
        let is_open = self.known.role() != SourceRole::WholeProgram
            || self.loads
            || self.known.default_replaced()
            || words(self.source).any(|word| REACHING.contains(&word))
            || reaches_variables(program);
        if is_open {
            return BTreeSet::new();
        }
        let mut uses = Uses::default();
        for (number, group) in groups.iter().enumerate() {
            for statement in *group {
                match &statement.kind {
                    StatementKind::Expression(value) | StatementKind::Return(value) => {
                        self.note_uses(value, number, &mut uses);
                    }
                    _ => uses.note_text(statement.span.text(self.source)),
                }
            }
        }
        if let Some(signature) = &program.signature {
            uses.elsewhere.extend(parameters(&signature.selector).map(|one| one.name.text.clone()));
        }
        let Uses { groups, mut counted, elsewhere } = uses;
        counted.retain(|name| {
            groups.get(name).is_some_and(|groups| groups.len() == 1)
                && words(name).eq([name.as_str()])
                && !elsewhere.contains(name)
                && !self.observable.contains(name)
                && !self.appended.contains(name)
                && !self.known.is_predefined(name)
        });
        counted
    }

    fn note_uses(&self, whole: &Expression, group: usize, uses: &mut Uses) {
        let mut pending = vec![(whole, false)];
        while let Some((expression, repeats)) = pending.pop() {
            match &expression.kind {
                ExpressionKind::Name(name) => {
                    uses.groups.entry(name.clone()).or_default().insert(group);
                }
                ExpressionKind::Block(block) => uses.note_text(block.span.text(self.source)),
                ExpressionKind::Reference(path) | ExpressionKind::ReferenceTo(path) => {
                    uses.note_text(path.span.text(self.source));
                }
                ExpressionKind::Assign { .. } if repeats => {
                    assigned_here(expression, &mut uses.counted);
                }
                _ => {}
            }
            let in_place = self.blocks_in_place(expression);
            let mut parts = Vec::new();
            children(expression, &mut parts);
            for part in parts {
                let Some(block) = in_place.iter().find(|one| one.is(part)) else {
                    pending.push((part, repeats));
                    continue;
                };
                for statement in &block.block.statements {
                    match &statement.kind {
                        StatementKind::Expression(value) | StatementKind::Return(value) => {
                            pending.push((value, repeats || block.repeats));
                        }
                        _ => uses.note_text(statement.span.text(self.source)),
                    }
                }
            }
        }
    }
}

impl Uses {
    fn note_text(&mut self, text: &str) {
        self.elsewhere.extend(words(text).map(str::to_string));
    }
}

/// Whether a reference somewhere in the program may name any variable.
fn reaches_variables(program: &Program) -> bool {
    let mut reaches = false;
    walk_all(program, &mut |expression| {
        if let ExpressionKind::Reference(path) | ExpressionKind::ReferenceTo(path) =
            &expression.kind
        {
            reaches |= may_be_any(path);
        }
    });
    reaches
}

fn may_be_any(path: &Path) -> bool {
    match path.scheme.as_ref().map(|word| word.text.as_str()) {
        None | Some("var") => path.literal().is_none_or(|name| name.is_empty()),
        Some(scheme) => scheme == "scheme" || scheme == "default",
    }
}
