//! Classes: first what all of them declare, then what stands in their methods.

use super::builder::NameBuilder;
use super::index::{BodyKind, ClassInfo, KnownValue, MethodInfo, NameKind, NameUse, PropertyInfo};
use runnel_syntax::Span;
use runnel_syntax::ast::{
    Class, ClassKeyword, DeclaredKind, DeclaredType, Member, MemberKind, Method, Selector,
    Statement, StatementKind, VariableDeclaration,
};
use runnel_syntax::walk::parameters;

/// The selector that a head defines, and the places of its words.
pub(crate) fn selector(head: &Selector) -> (String, Vec<Span>) {
    let places = match head {
        Selector::Unary(word) | Selector::Binary(word, _) => vec![word.span],
        Selector::Keyword(parts) => parts.iter().map(|(word, _)| word.span).collect(),
    };
    (head.text(), places)
}

/// From the sign of a method to the end of its head.
fn head_span(member: Span, method: &Method) -> Span {
    let end = match &method.selector {
        Selector::Unary(word) => word.span.end,
        Selector::Binary(_, parameter) => parameter.name.span.end,
        Selector::Keyword(parts) => {
            parts.last().map_or(member.start, |(_, parameter)| parameter.name.span.end)
        }
    };
    Span::new(member.start, end)
}

impl NameBuilder<'_> {
    /// Finds the classes of the text, so that what is used before its definition is known.
    pub(super) fn collect_classes(&mut self, statements: &[Statement]) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Class(class) => self.collect_class(class),
                StatementKind::Test { body, .. } => self.collect_classes(&body.statements),
                StatementKind::Template { name, value } => {
                    let span = Span::new(name.span.start, value.span.end);
                    let info = ClassInfo { name_span: name.span, span, ..ClassInfo::default() };
                    let info = ClassInfo { name: name.text.clone(), keyword: "object", ..info };
                    self.index.classes.entry(name.text.clone()).or_insert(info);
                }
                _ => {}
            }
        }
    }

    fn collect_class(&mut self, class: &Class) {
        let name = &class.name.text;
        let (mut properties, mut methods) = (Vec::new(), Vec::new());
        for member in &class.members {
            match &member.kind {
                MemberKind::Variables(declaration) => {
                    self.collect_properties(name, declaration, member, &mut properties);
                }
                MemberKind::Method(method) => methods.push(self.method_info(method, member.span)),
                _ => {}
            }
        }
        let info = self.index.classes.entry(name.clone()).or_default();
        let is_new = info.name.is_empty();
        if is_new || class.keyword != ClassKeyword::Extension {
            name.clone_into(&mut info.name);
            info.superclass = class.superclass.as_ref().map(|word| word.text.clone());
            info.keyword = class.keyword.word();
            (info.span, info.name_span) = (class.span, class.name.span);
        }
        info.properties.extend(properties);
        info.methods.extend(methods);
    }

    fn collect_properties(
        &self,
        class: &str,
        declaration: &VariableDeclaration,
        member: &Member,
        properties: &mut Vec<PropertyInfo>,
    ) {
        let kind = declaration.kind.as_ref();
        let marks: String =
            declaration.marks.iter().map(|mark| format!(" {}", mark.text)).collect();
        for name in &declaration.names {
            properties.push(PropertyInfo {
                class: class.to_owned(),
                name: name.text.clone(),
                declared: kind.map_or_else(String::new, |kind| format!("<{kind}{marks}>")),
                value: kind.map_or_else(KnownValue::default, |kind| self.declared(kind)),
                span: name.span,
                full: member.span,
            });
        }
    }

    fn method_info(&self, method: &Method, span: Span) -> MethodInfo {
        let (selector, words) = selector(&method.selector);
        let answer = method.result.as_ref().map(|word| self.declared_word(&word.text));
        let name_span = words.first().copied().unwrap_or(span);
        MethodInfo {
            selector,
            is_of_class: method.class_side,
            signature: head_span(span, method).text(self.source).to_owned(),
            parameters: parameters(&method.selector).map(|one| one.name.text.clone()).collect(),
            answer: answer.unwrap_or_default(),
            name_span,
            span,
        }
    }

    // What the members hold ----------------------------------------------------------------------

    pub(super) fn class(&mut self, class: &Class) {
        let number = self.global(NameKind::Class, &class.name.text);
        if class.keyword != ClassKeyword::Extension {
            self.index.names[number].definition = Some((class.name.span, class.span));
            self.place(number, class.name.span, NameUse::Definition);
        } else {
            self.place(number, class.name.span, NameUse::Read);
        }
        if let Some(above) = &class.superclass {
            self.class_place(&above.text, above.span);
        }
        let outer = self.class.replace(class.name.text.clone());
        let body = Span::new(class.name.span.end, class.span.end);
        self.index.bodies.push((body, BodyKind::Class));
        self.open(class.span, true);
        for member in &class.members {
            self.member(&class.name.text, member);
        }
        self.close();
        self.class = outer;
    }

    fn member(&mut self, class: &str, member: &Member) {
        match &member.kind {
            MemberKind::Variables(declaration) => {
                for name in &declaration.names {
                    if let Some(number) = self.property(class, &name.text) {
                        self.place(number, name.span, NameUse::Definition);
                    }
                }
                self.declared_places(declaration.kind.as_ref());
                if let Some((_, value)) = &declaration.default {
                    self.expression(value);
                }
            }
            MemberKind::Method(method) => self.method(method, member.span),
            MemberKind::Rule(rule) => {
                if let Some(number) =
                    rule.field.as_ref().and_then(|field| self.property(class, &field.text))
                {
                    let span = rule.field.as_ref().map_or(Span::default(), |field| field.span);
                    self.place(number, span, NameUse::Read);
                }
                let outer = self.query.replace(KnownValue::object(class));
                self.block(&rule.condition, &[]);
                self.query = outer;
                self.expression(&rule.message);
            }
            MemberKind::PropertyPath(path) => self.property_path(path, member.span),
            MemberKind::Clause(clause) => self.clause(clause),
            MemberKind::Parameter(parameter) => self.request_parameter(parameter),
            MemberKind::FilterBody(body) => {
                self.open(body.span, false);
                self.declare(
                    "object",
                    Span::new(body.span.start, body.span.start),
                    NameKind::Parameter,
                    KnownValue::default(),
                );
                self.block(body, &[]);
                self.close();
            }
            MemberKind::Error => {}
        }
    }

    fn method(&mut self, method: &Method, span: Span) {
        let (name, words) = selector(&method.selector);
        let number = self.global(NameKind::Message, &name);
        for (part, word) in words.iter().enumerate() {
            self.part(number, *word, NameUse::Definition, part);
        }
        let info = &mut self.index.names[number];
        if info.definition.is_none() {
            info.definition = words.first().map(|word| (*word, span));
        }
        if let Some(result) = &method.result {
            self.class_place(&result.text, result.span);
        }
        self.is_class_side = method.class_side;
        self.open(span, false);
        for parameter in parameters(&method.selector) {
            self.parameter(parameter, KnownValue::default());
        }
        if let Some(body) = &method.body {
            self.index.bodies.push((body.span, BodyKind::Statements));
            self.declare_assigned(&body.statements);
            self.statements(&body.statements);
        }
        self.close();
        self.is_class_side = false;
    }

    /// `var <int> x` outside a class.
    pub(super) fn variables(&mut self, declaration: &VariableDeclaration) {
        let declared = declaration.kind.as_ref().map(|kind| self.declared(kind));
        self.declared_places(declaration.kind.as_ref());
        let default = declaration.default.as_ref().map(|(_, value)| self.expression(value));
        let value = declared.filter(KnownValue::is_known).or(default).unwrap_or_default();
        for name in &declaration.names {
            if let Some(number) = self.find(&name.text) {
                self.place(number, name.span, NameUse::Definition);
                self.assign(number, &value);
            }
        }
    }

    // Declared types -----------------------------------------------------------------------------

    /// What values of a declared type are.
    pub(super) fn declared(&self, kind: &DeclaredType) -> KnownValue {
        match &kind.kind {
            DeclaredKind::Named { name, .. } => self.declared_word(&name.text),
            DeclaredKind::Enumeration(_) => KnownValue::object("String"),
            DeclaredKind::List { element, .. } => {
                let element = self.declared(element);
                KnownValue { element: element.class, ..KnownValue::object("Array") }
            }
            DeclaredKind::OneOf(_) => KnownValue::default(),
        }
    }

    pub(super) fn declared_word(&self, name: &str) -> KnownValue {
        let class = match name.to_ascii_lowercase().as_str() {
            "int" | "integer" | "long" | "float" | "double" | "number" => "Number",
            "decimal" => "Decimal",
            "bool" | "boolean" => "Boolean",
            "string" | "text" | "email" | "url" | "uuid" => "String",
            "date" => "Day",
            "moment" | "datetime" => "Date",
            "time" => "TimeOfDay",
            "bytes" | "data" | "file" | "image" => "Data",
            "ref" => "Reference",
            _ => {
                return self
                    .class_value(name)
                    .map_or_else(KnownValue::default, |class| KnownValue::object(&class));
            }
        };
        KnownValue::object(class)
    }

    /// The plain name of a class that exists.
    pub(super) fn class_value(&self, name: &str) -> Option<String> {
        use runnel_compile::Known;
        if self.index.classes.contains_key(name) {
            return Some(name.to_owned());
        }
        let names = &self.knowledge.names;
        names.is_class(name).then(|| names.plain(name).to_owned())
    }

    /// A place that names a class, where there is one of that name.
    pub(super) fn class_place(&mut self, name: &str, span: Span) {
        if let Some(plain) = self.class_value(name) {
            let number = self.global(NameKind::Class, &plain);
            self.place(number, span, NameUse::Read);
        }
    }

    /// The classes that a declared type names.
    pub(super) fn declared_places(&mut self, kind: Option<&DeclaredType>) {
        match kind.map(|kind| &kind.kind) {
            Some(DeclaredKind::Named { name, .. }) => self.class_place(&name.text, name.span),
            Some(DeclaredKind::List { element, .. }) => self.declared_places(Some(element)),
            Some(DeclaredKind::OneOf(options)) => {
                options.iter().for_each(|option| self.declared_places(Some(option)));
            }
            Some(DeclaredKind::Enumeration(_)) | None => {}
        }
    }
}
