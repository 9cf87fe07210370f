//! One walk over the tree: scopes and names. The rules are those of the compiler: a name belongs to the innermost
//! scope around it that assigns or declares it; methods do not see the variables of the script.

use super::index::{
    BodyKind, KnownValue, NameIndex, NameInfo, NameKind, NamePlace, NameUse, ScopeRange,
};
use crate::knowledge::Knowledge;
use runnel_syntax::Span;
use runnel_syntax::ast::{
    AssignOperator, Block, Expression, ExpressionKind, Parameter, Program, Statement, StatementKind,
};
use runnel_syntax::walk::{parameters, walk};
use std::collections::HashMap;

/// Reads the names of a program.
pub(super) fn index(program: &Program, source: &str, knowledge: &Knowledge) -> NameIndex {
    let mut builder = NameBuilder {
        source,
        knowledge,
        index: NameIndex::default(),
        scopes: Vec::new(),
        numbers: HashMap::new(),
        class: None,
        is_class_side: false,
        element: None,
        query: None,
    };
    builder.collect_classes(&program.statements);
    builder.open(Span::new(0, source.len() as u32), false);
    if let Some(signature) = &program.signature {
        for parameter in parameters(&signature.selector) {
            builder.parameter(parameter, KnownValue::default());
        }
    }
    builder.declare_assigned(&program.statements);
    builder.statements(&program.statements);
    builder.close();
    builder.finish()
}

/// An open scope.
struct OpenScope {
    names: HashMap<String, usize>,
    number: usize,
    is_opaque: bool,
}

/// The state of the walk.
pub(super) struct NameBuilder<'a> {
    pub(super) source: &'a str,
    pub(super) knowledge: &'a Knowledge,
    pub(super) index: NameIndex,
    scopes: Vec<OpenScope>,
    /// Names without a scope: classes, schemes, messages, properties.
    numbers: HashMap<(NameKind, String), usize>,
    /// The class around.
    pub(super) class: Option<String>,
    pub(super) is_class_side: bool,
    /// What `$0` is.
    pub(super) element: Option<KnownValue>,
    /// In query brackets, what their names are fields of.
    pub(super) query: Option<KnownValue>,
}

impl NameBuilder<'_> {
    fn finish(self) -> NameIndex {
        let mut index = self.index;
        index.places.sort_by_key(|place| (place.span.start, place.span.end));
        index.scopes.sort_by_key(|scope| (scope.span.start, u32::MAX - scope.span.end));
        index.values.sort_by_key(|(span, _)| span.end);
        index.sends.sort_by_key(|sent| (sent.span.start, u32::MAX - sent.span.end));
        index.bodies.sort_by_key(|(span, _)| span.start);
        index
    }

    // Scopes -------------------------------------------------------------------------------------

    pub(super) fn open(&mut self, span: Span, is_opaque: bool) {
        let number = self.index.scopes.len();
        self.index.scopes.push(ScopeRange { span, names: Vec::new(), is_opaque });
        self.scopes.push(OpenScope { names: HashMap::new(), number, is_opaque });
    }

    pub(super) fn close(&mut self) {
        self.scopes.pop();
    }

    pub(super) fn find(&self, name: &str) -> Option<usize> {
        for scope in self.scopes.iter().rev() {
            if let Some(number) = scope.names.get(name) {
                return Some(*number);
            }
            if scope.is_opaque {
                return None;
            }
        }
        None
    }

    /// A new name of the innermost scope.
    pub(super) fn declare(
        &mut self,
        name: &str,
        span: Span,
        kind: NameKind,
        value: KnownValue,
    ) -> usize {
        let number = self.index.names.len();
        self.index.names.push(NameInfo {
            kind,
            name: name.to_owned(),
            class: None,
            definition: Some((span, span)),
            value,
            is_mixed: false,
        });
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.insert(name.to_owned(), number);
            let range = scope.number;
            self.index.scopes[range].names.push(number);
        }
        number
    }

    /// A name without a scope, which is made where it is met first.
    pub(super) fn global(&mut self, kind: NameKind, name: &str) -> usize {
        if let Some(number) = self.numbers.get(&(kind, name.to_owned())) {
            return *number;
        }
        let number = self.index.names.len();
        let info = NameInfo {
            kind,
            name: name.to_owned(),
            class: None,
            definition: None,
            value: KnownValue::default(),
            is_mixed: false,
        };
        self.index.names.push(info);
        self.numbers.insert((kind, name.to_owned()), number);
        number
    }

    /// A property of a class; subclasses share that of the class that declares it.
    pub(super) fn property(&mut self, class: &str, name: &str) -> Option<usize> {
        let property = self.index.property(class, name)?;
        let (owner, spans) = (property.class.clone(), (property.span, property.full));
        let value = property.value.clone();
        let number = self.global(NameKind::Property, &format!("{owner} {name}"));
        let info = &mut self.index.names[number];
        name.clone_into(&mut info.name);
        (info.class, info.definition, info.value) = (Some(owner), Some(spans), value);
        Some(number)
    }

    pub(super) fn place(&mut self, name: usize, span: Span, usage: NameUse) {
        self.part(name, span, usage, 0);
    }

    pub(super) fn part(&mut self, name: usize, span: Span, usage: NameUse, part: usize) {
        if span.start < span.end {
            self.index.places.push(NamePlace { span, name, usage, part });
        }
    }

    /// A name with its only place so far.
    pub(super) fn define(
        &mut self,
        name: &str,
        span: Span,
        kind: NameKind,
        value: KnownValue,
    ) -> usize {
        let number = self.declare(name, span, kind, value);
        self.place(number, span, NameUse::Definition);
        number
    }

    pub(super) fn parameter(&mut self, parameter: &Parameter, given: KnownValue) {
        let declared = parameter.kind.as_ref().map(|word| self.declared_word(&word.text));
        if let Some(word) = &parameter.kind {
            self.class_place(&word.text, word.span);
        }
        let value = declared.filter(KnownValue::is_known).unwrap_or(given);
        let name = &parameter.name;
        self.define(&name.text, name.span, NameKind::Parameter, value);
    }

    /// Declares the names that statements assign or declare themselves and no scope around has.
    pub(super) fn declare_assigned(&mut self, statements: &[Statement]) {
        let mut found: Vec<(&str, Span)> = Vec::new();
        for statement in statements {
            match &statement.kind {
                StatementKind::Expression(value) | StatementKind::Return(value) => {
                    walk(value, &mut |expression| assigned_here(expression, &mut found));
                }
                StatementKind::Variables(declaration) => {
                    found.extend(declaration.names.iter().map(|word| (&*word.text, word.span)));
                }
                StatementKind::Temporaries(names) => {
                    found.extend(names.iter().map(|word| (&*word.text, word.span)));
                }
                _ => {}
            }
        }
        // A walk does not keep the order of the text.
        found.sort_by_key(|(_, span)| span.start);
        for (name, span) in found {
            if self.find(name).is_none() {
                self.declare(name, span, NameKind::Variable, KnownValue::default());
            }
        }
    }

    /// What a variable is assigned; values of different classes are not known.
    pub(super) fn assign(&mut self, number: usize, value: &KnownValue) {
        let info = &mut self.index.names[number];
        if info.is_mixed || !value.is_known() {
            return;
        }
        if !info.value.is_known() {
            info.value = value.clone();
        } else if info.value.class != value.class {
            info.value = KnownValue::default();
            info.is_mixed = true;
        } else if info.value.element != value.element {
            info.value.element = info.value.element.clone().or(value.element.clone());
        }
    }

    // Statements ---------------------------------------------------------------------------------

    /// Statements in order; answers what is known of the last one's value.
    pub(super) fn statements(&mut self, statements: &[Statement]) -> KnownValue {
        let mut last = KnownValue::default();
        for statement in statements {
            last = self.statement(statement);
        }
        last
    }

    fn statement(&mut self, statement: &Statement) -> KnownValue {
        match &statement.kind {
            StatementKind::Expression(value) | StatementKind::Return(value) => {
                return self.expression(value);
            }
            StatementKind::Class(class) => self.class(class),
            StatementKind::Template { name, value } => {
                let number = self.global(NameKind::Class, &name.text);
                self.index.names[number].definition = Some((name.span, statement.span));
                self.place(number, name.span, NameUse::Definition);
                self.expression(value);
            }
            StatementKind::Variables(declaration) => self.variables(declaration),
            StatementKind::Temporaries(names) => {
                for name in names {
                    if let Some(number) = self.find(&name.text) {
                        self.place(number, name.span, NameUse::Definition);
                    }
                }
            }
            StatementKind::Test { body, .. } => {
                self.block(body, &[]);
            }
            StatementKind::Shell(_) | StatementKind::Error => {}
        }
        KnownValue::default()
    }

    /// A block; answers what is known of its own value. `given`: its arguments.
    pub(super) fn block(&mut self, block: &Block, given: &[KnownValue]) -> KnownValue {
        self.index.bodies.push((block.span, BodyKind::Statements));
        self.open(block.span, false);
        let outer = self.element.take();
        if let Some(first) = given.first().filter(|_| block.parameters.is_empty()) {
            self.element = Some(first.clone());
        }
        for (number, parameter) in block.parameters.iter().enumerate() {
            let before = self.index.names.len();
            self.parameter(parameter, given.get(number).cloned().unwrap_or_default());
            if parameter.kind.is_none() {
                self.index.block_parameters.push(before);
            }
        }
        self.declare_assigned(&block.statements);
        let value = self.statements(&block.statements);
        self.element = outer;
        self.close();
        value
    }
}

fn assigned_here<'a>(expression: &'a Expression, found: &mut Vec<(&'a str, Span)>) {
    let ExpressionKind::Assign { target, operator, .. } = &expression.kind else { return };
    if *operator == AssignOperator::Post {
        return;
    }
    match &target.kind {
        ExpressionKind::Name(name) => found.push((name, target.span)),
        ExpressionKind::Array { class: None, elements } => {
            found.extend(elements.iter().filter_map(|element| match &element.kind {
                ExpressionKind::Name(name) => Some((name.as_str(), element.span)),
                _ => None,
            }));
        }
        _ => {}
    }
}
