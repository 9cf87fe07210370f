//! The names of a text with all their places, and what is known of its values.

use runnel_syntax::Span;
use std::collections::HashMap;
use std::sync::Arc;

/// What is known of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KnownValue {
    /// Its class, or the class itself.
    pub(crate) class: Option<Arc<str>>,
    /// The class itself rather than an object of it.
    pub(crate) is_class: bool,
    /// The class of its elements, where it is a collection or a table.
    pub(crate) element: Option<Arc<str>>,
}

impl KnownValue {
    pub(crate) fn object(class: &str) -> KnownValue {
        KnownValue { class: Some(Arc::from(class)), ..KnownValue::default() }
    }

    pub(crate) fn is_known(&self) -> bool {
        self.class.is_some()
    }

    /// The class of its elements as a value.
    pub(crate) fn element_value(&self) -> KnownValue {
        KnownValue { class: self.element.clone(), ..KnownValue::default() }
    }
}

impl std::fmt::Display for KnownValue {
    /// `Table of Task`, `Task class`
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.class.as_deref().unwrap_or("any"))?;
        if self.is_class {
            out.write_str(" class")?;
        }
        match &self.element {
            Some(element) => write!(out, " of {element}"),
            None => Ok(()),
        }
    }
}

/// What a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NameKind {
    /// Of the script, a method, a handler or a block.
    Variable,
    /// Of a method, a block, a path, or what a handler is given.
    Parameter,
    /// A class, scheme, filter or template, of the text or of the kernel.
    Class,
    /// The store of `name:`, of the text or built in.
    Scheme,
    /// A message.
    Message,
    /// An instance variable of a class of the text.
    Property,
    /// `stdout` and the like.
    Predefined,
}

/// A name of the text.
#[derive(Clone, Debug)]
pub(crate) struct NameInfo {
    pub(crate) kind: NameKind,
    /// As written; of a message the whole selector.
    pub(crate) name: String,
    /// The class that has it: of a property.
    pub(crate) class: Option<String>,
    /// Where the text defines it: the name, and the whole definition. The first keyword of a message.
    pub(crate) definition: Option<(Span, Span)>,
    pub(crate) value: KnownValue,
    /// Several assignments give it values of several classes.
    pub(crate) is_mixed: bool,
}

/// What a place does with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameUse {
    Definition,
    Write,
    Read,
}

/// A place of a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamePlace {
    pub(crate) span: Span,
    /// The number of the name.
    pub(crate) name: usize,
    pub(crate) usage: NameUse,
    /// Which keyword of a message, counted from 0.
    pub(crate) part: usize,
}

/// The names that a place can see, with those of the ranges around it.
#[derive(Clone, Debug)]
pub(crate) struct ScopeRange {
    pub(crate) span: Span,
    pub(crate) names: Vec<usize>,
    /// What is inside sees nothing of what is around: a class.
    pub(crate) is_opaque: bool,
}

/// A message that is sent.
#[derive(Clone, Debug)]
pub(crate) struct SentPlace {
    /// The words, without colons.
    pub(crate) words: Vec<Span>,
    pub(crate) receiver: KnownValue,
    /// From the receiver to the last argument.
    pub(crate) span: Span,
}

/// A literal with keys, such as `#Task{ title: 'sow' }`.
#[derive(Clone, Debug)]
pub(crate) struct LiteralPlace {
    pub(crate) class: String,
    /// From the `#` on.
    pub(crate) span: Span,
    /// The keys as written, with their values.
    pub(crate) keys: Vec<(Span, String)>,
}

/// A reference with a path.
#[derive(Clone, Debug)]
pub(crate) struct ReferencePlace {
    pub(crate) scheme: String,
    /// The path, where it is one piece of text.
    pub(crate) path: Option<String>,
    pub(crate) span: Span,
}

/// An instance variable that a class of the text declares.
#[derive(Clone, Debug)]
pub(crate) struct PropertyInfo {
    pub(crate) class: String,
    pub(crate) name: String,
    /// The type as written.
    pub(crate) declared: String,
    pub(crate) value: KnownValue,
    pub(crate) span: Span,
    /// The whole `var …`.
    pub(crate) full: Span,
}

/// A class that the text defines or extends.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassInfo {
    pub(crate) name: String,
    pub(crate) superclass: Option<String>,
    /// `class`, `scheme` …
    pub(crate) keyword: &'static str,
    pub(crate) span: Span,
    pub(crate) name_span: Span,
    pub(crate) properties: Vec<PropertyInfo>,
    pub(crate) methods: Vec<MethodInfo>,
}

/// A method that the text defines.
#[derive(Clone, Debug)]
pub(crate) struct MethodInfo {
    pub(crate) selector: String,
    pub(crate) is_of_class: bool,
    /// `-<int>at:<int>index put:<string>value`
    pub(crate) signature: String,
    pub(crate) parameters: Vec<String>,
    pub(crate) answer: KnownValue,
    pub(crate) name_span: Span,
    pub(crate) span: Span,
}

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct NameIndex {
    pub(crate) names: Vec<NameInfo>,
    /// In the order of the text.
    pub(crate) places: Vec<NamePlace>,
    /// In the order of their starts; those inside behind those around.
    pub(crate) scopes: Vec<ScopeRange>,
    pub(crate) sends: Vec<SentPlace>,
    /// Expressions of known class, in the order of their ends.
    pub(crate) values: Vec<(Span, KnownValue)>,
    pub(crate) literals: Vec<LiteralPlace>,
    pub(crate) references: Vec<ReferencePlace>,
    /// `[{ … }]` with the class of the elements.
    pub(crate) queries: Vec<(Span, KnownValue)>,
    /// Parameters of blocks without a declared type.
    pub(crate) block_parameters: Vec<usize>,
    pub(crate) classes: HashMap<String, ClassInfo>,
    /// Blocks, paths and class bodies: what may stand there.
    pub(crate) bodies: Vec<(Span, BodyKind)>,
}

/// What stands in braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyKind {
    /// Members of a class, scheme, filter …
    Class,
    /// Members of a property path.
    Path,
    /// Statements.
    Statements,
}

impl NameIndex {
    /// The name at a byte, and its place.
    pub(crate) fn name_at(&self, offset: u32) -> Option<(&NamePlace, &NameInfo)> {
        let after = self.places.partition_point(|place| place.span.start <= offset);
        // Spans may lie in each other: a text with an expression in it is no name, so few do.
        let near = self.places[..after].iter().rev().take(8);
        let mut found = near.filter(|place| place.span.end >= offset);
        let place = found.next()?;
        Some((place, &self.names[place.name]))
    }

    pub(crate) fn places_of(&self, name: usize) -> impl Iterator<Item = &NamePlace> {
        self.places.iter().filter(move |place| place.name == name)
    }

    /// The names that a byte sees, the innermost first.
    pub(crate) fn visible(&self, offset: u32) -> Vec<usize> {
        let mut names = Vec::new();
        let holds = |scope: &&ScopeRange| scope.span.start <= offset && offset <= scope.span.end;
        let end = self.scopes.partition_point(|scope| scope.span.start <= offset);
        for scope in self.scopes[..end].iter().rev().filter(holds) {
            names.extend(&scope.names);
            if scope.is_opaque {
                break;
            }
        }
        names
    }

    /// The class of the text around a byte.
    pub(crate) fn class_at(&self, offset: u32) -> Option<&ClassInfo> {
        let holds = |class: &&ClassInfo| class.span.start <= offset && offset < class.span.end;
        self.classes.values().find(holds)
    }

    /// The innermost body around a byte.
    pub(crate) fn body_at(&self, offset: u32) -> Option<BodyKind> {
        let holds = |body: &&(Span, BodyKind)| {
            body.0.start < offset && offset < body.0.end.max(body.0.start + 1)
        };
        self.bodies.iter().filter(holds).max_by_key(|(span, _)| span.start).map(|(_, kind)| *kind)
    }

    /// A class of the text and those above it that are of the text.
    pub(crate) fn lineage<'a>(&'a self, class: &'a str) -> impl Iterator<Item = &'a ClassInfo> {
        let above = |class: &&'a ClassInfo| self.classes.get(class.superclass.as_deref()?);
        std::iter::successors(self.classes.get(class), above).take(64)
    }

    pub(crate) fn property<'a>(&'a self, class: &'a str, name: &str) -> Option<&'a PropertyInfo> {
        self.lineage(class).find_map(|class| class.properties.iter().find(|one| one.name == name))
    }

    pub(crate) fn method<'a>(
        &'a self,
        class: &'a str,
        selector: &str,
        is_class: bool,
    ) -> Option<&'a MethodInfo> {
        let is = |one: &&MethodInfo| one.selector == selector && one.is_of_class == is_class;
        self.lineage(class).find_map(|class| class.methods.iter().find(is))
    }

    /// The first class of the kernel above a class of the text; the class itself when it is no class of the text.
    pub(crate) fn kernel_class<'a>(&'a self, class: &'a str) -> &'a str {
        match self.lineage(class).last() {
            None => class,
            Some(last) => match &last.superclass {
                Some(above) => above,
                None => match last.keyword {
                    "scheme" => "Scheme",
                    "filter" => "Filter",
                    "extension" => class,
                    _ => "Object",
                },
            },
        }
    }
}
