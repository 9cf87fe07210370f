//! The type of an expression.

use crate::checker::Checker;
use crate::kernel::Predefined;
use crate::scopes::literal;
use crate::types::{Case, Type};
use runnel_syntax::Span;
use runnel_syntax::ast::{
    AssignOperator, Expression, ExpressionKind, Pair, Path, PathPart, TextPart, Word,
};

impl<'a> Checker<'a> {
    pub(crate) fn expression(&mut self, expression: &'a Expression) -> Type {
        match &expression.kind {
            ExpressionKind::Integer(_) | ExpressionKind::Float(_) => self.of("Number"),
            ExpressionKind::Text(_) | ExpressionKind::Symbol(_) => self.of("String"),
            ExpressionKind::Interpolated(parts) => {
                for part in parts {
                    if let TextPart::Expression(inner) = part {
                        self.expression(inner);
                    }
                }
                self.of("String")
            }
            ExpressionKind::Pattern(_) => self.of("Pattern"),
            ExpressionKind::Name(name) => self.name(name, expression.span),
            ExpressionKind::Implicit(_) | ExpressionKind::Error => Type::Any,
            ExpressionKind::Reference(path) => self.reference(path),
            ExpressionKind::ReferenceTo(path) => {
                self.path_values(path);
                self.reference_to(path)
            }
            ExpressionKind::Array { class, elements } => {
                elements.iter().for_each(|element| drop(self.expression(element)));
                match class {
                    None => self.of("Array"),
                    Some(_) => Type::Any,
                }
            }
            ExpressionKind::Dictionary(pairs) => {
                self.doubled_keys(pairs);
                self.pairs(pairs);
                self.of("Dictionary")
            }
            ExpressionKind::Object { class, pairs, children } => {
                self.object(class, pairs.as_deref(), children.as_deref())
            }
            ExpressionKind::Block(block) => {
                self.block(block, &[], true);
                self.of("Block")
            }
            ExpressionKind::Parenthesized(inner) => self.expression(inner),
            ExpressionKind::Send { .. }
            | ExpressionKind::Pipe { .. }
            | ExpressionKind::Cascade { .. } => self.sends(expression),
            ExpressionKind::Subscript { receiver, index } => {
                self.expression(receiver);
                self.queries += 1;
                self.expression(index);
                self.queries -= 1;
                Type::Any
            }
            ExpressionKind::Next(inner) => {
                self.expression(inner);
                Type::Any
            }
            ExpressionKind::Assign { target, operator, value, .. } => {
                self.assignment(target, *operator, value)
            }
            ExpressionKind::Connect { left, right, .. } => {
                self.expression(left);
                self.expression(right);
                self.kept_answers(left, right);
                self.of("Connection")
            }
        }
    }

    /// Objects of a class of the kernel.
    pub(crate) fn of(&self, class: &str) -> Type {
        self.world.type_of_class(class)
    }

    fn name(&mut self, name: &'a str, span: Span) -> Type {
        match name {
            "nil" => return Type::nil(),
            "true" | "false" => return self.of("Boolean"),
            "self" => return self.this(),
            "super" => return Type::Any,
            "break" | "continue" if self.scopes.find(name).is_none() => return Type::Any,
            _ => {}
        }
        self.dotted(name, span);
        if let Some(number) = self.scopes.find(name) {
            let kind = self.scopes.read(number);
            // A variable with the name of a class is the class until it has a value.
            return if self.world.class(name).is_some() { Type::Any } else { kind };
        }
        if let Some(predefined) = self.world.kernel.names.get(name) {
            return match predefined {
                Predefined::Object(class) => self.of(class),
                Predefined::Class(class) => self.class_itself(class),
            };
        }
        if self.world.class(name).is_none() && self.around.class.is_none() && self.queries == 0 {
            // A part of a program, whose other parts define more.
            self.sight.is_library = true;
        }
        self.class_itself(name)
    }

    fn class_itself(&self, name: &str) -> Type {
        match self.world.class(name) {
            Some(id) => Type::Cases(vec![Case::Class(id)]),
            None => Type::Any,
        }
    }

    fn path_values(&mut self, path: &'a Path) {
        for part in &path.parts {
            if let PathPart::Expression(inner) | PathPart::Segments(inner) = part {
                self.expression(inner);
            }
        }
    }

    /// The variable that `var:name…` or `ref:name` names.
    fn variable_of(&self, path: &Path) -> Option<usize> {
        let is_variable = path.scheme.as_ref().is_none_or(|scheme| scheme.text == "var");
        match path.parts.first() {
            Some(PathPart::Text(text)) if is_variable => {
                self.scopes.find(text.split('/').next().unwrap_or_default())
            }
            _ => None,
        }
    }

    fn reference(&mut self, path: &'a Path) -> Type {
        self.path_values(path);
        if let Some(number) = self.variable_of(path) {
            let kind = self.scopes.read(number);
            let whole = literal(path).is_some_and(|name| !name.contains('/'));
            return if whole { kind } else { Type::Any };
        }
        let scheme = path.scheme.as_ref().map_or("", |word| word.text.as_str());
        match (scheme, literal(path)) {
            ("this" | "self", Some(name)) => {
                self.own_variable(name, path);
                self.type_of_field(name)
            }
            ("body", Some("stream")) => self.of("ContentStream"),
            _ => Type::Any,
        }
    }

    /// The declared type of a variable of the class around.
    fn type_of_field(&self, name: &str) -> Type {
        let Some(id) = self.around.class else { return Type::Any };
        let declared = self.world.lineage(id).find_map(|class| class.variables.get(name));
        self.declared(declared.copied().flatten())
    }

    fn reference_to(&mut self, path: &'a Path) -> Type {
        if let Some(number) = self.variable_of(path) {
            self.scopes.read(number);
            self.scopes.make_wild(number);
        }
        self.of("Reference")
    }

    fn pairs(&mut self, pairs: &'a [Pair]) {
        for pair in pairs {
            self.expression(&pair.key);
            self.expression(&pair.value);
        }
    }

    fn object(
        &mut self,
        class: &'a Word,
        pairs: Option<&'a [Pair]>,
        children: Option<&'a [Expression]>,
    ) -> Type {
        let pairs = pairs.unwrap_or_default();
        children.iter().flat_map(|all| all.iter()).for_each(|child| drop(self.expression(child)));
        let id = self.world.class(&class.text);
        for pair in pairs {
            self.expression(&pair.key);
            let kind = self.expression(&pair.value);
            if let (Some(id), ExpressionKind::Symbol(name)) = (id, &pair.key.kind) {
                let declared = self.world.lineage(id).find_map(|one| one.variables.get(&**name));
                self.given_value(&pair.value, &kind, declared.copied().flatten());
                self.option_unit(id, name, &pair.value);
            }
        }
        let is_element = class.text.starts_with(|first: char| first.is_ascii_lowercase());
        if is_element && id.is_none() {
            return self.of("Element");
        }
        self.doubled_keys(pairs);
        let Some(id) = id else {
            self.sight.is_library = true;
            return Type::Any;
        };
        self.properties(id, pairs, class);
        // A method may replace what was made.
        let object = Case::Object(id);
        let replaces = self.world.lineage(id).any(|class| {
            self.world.method(object, "connectComponents").is_some() && class.of_program
        });
        if replaces || children.is_some() {
            return Type::Any;
        }
        Type::object(id)
    }

    fn assignment(
        &mut self,
        target: &'a Expression,
        operator: AssignOperator,
        value: &'a Expression,
    ) -> Type {
        let kind = self.expression(value);
        let given = if operator == AssignOperator::Put { kind.clone() } else { Type::Any };
        match &target.kind {
            ExpressionKind::Name(name) => {
                self.dotted(name, target.span);
                if let Some(number) = self.scopes.find(name) {
                    self.scopes.write(number, &given);
                    match operator {
                        AssignOperator::Put => {}
                        AssignOperator::Post => drop(self.scopes.read(number)),
                        AssignOperator::Follow | AssignOperator::Join => {
                            self.scopes.read(number);
                            self.scopes.make_wild(number);
                        }
                    }
                }
            }
            ExpressionKind::Array { class: None, .. } | ExpressionKind::Dictionary(_) => {
                self.taken_apart(target);
            }
            ExpressionKind::Reference(path) => {
                self.path_values(path);
                if let Some(number) = self.variable_of(path) {
                    self.scopes.read(number);
                    self.scopes.make_wild(number);
                }
                self.written_field(path, value, &given);
            }
            _ => drop(self.expression(target)),
        }
        if matches!(operator, AssignOperator::Follow | AssignOperator::Join) {
            self.linked(value);
        }
        kind
    }

    /// The names that a list or dictionary of names gives parts of a value.
    fn taken_apart(&mut self, target: &'a Expression) {
        match &target.kind {
            ExpressionKind::Name(name) => {
                if let Some(number) = self.scopes.find(name) {
                    self.scopes.make_wild(number);
                }
            }
            ExpressionKind::Array { class: None, elements } => {
                elements.iter().for_each(|element| self.taken_apart(element));
            }
            ExpressionKind::Dictionary(pairs) => {
                pairs.iter().for_each(|pair| self.taken_apart(&pair.value));
            }
            _ => {}
        }
    }

    fn written_field(&mut self, path: &'a Path, value: &'a Expression, given: &Type) {
        let scheme = path.scheme.as_ref().map_or("", |word| word.text.as_str());
        let ("this" | "self", Some(name)) = (scheme, literal(path)) else { return };
        self.own_variable(name, path);
        let Some(id) = self.around.class.filter(|_| scheme == "this") else { return };
        let declared = self.world.lineage(id).find_map(|class| class.variables.get(name));
        self.given_value(value, given, declared.copied().flatten());
    }

    /// Both sides of a constraint may be written.
    fn linked(&mut self, value: &'a Expression) {
        let mut names = Vec::new();
        runnel_syntax::walk::walk(value, &mut |inner| match &inner.kind {
            ExpressionKind::Name(name) => names.extend(self.scopes.find(name)),
            ExpressionKind::Reference(path) => names.extend(self.variable_of(path)),
            _ => {}
        });
        for number in names {
            self.scopes.make_wild(number);
        }
    }
}
