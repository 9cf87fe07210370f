//! The check of content against a contract: every problem, each with its JSON pointer.

use super::kind::{ContractKind, ContractType, words_of};
use super::{
    Contract, ContractClass, ContractField, MAX_PROBLEMS, RecordUse, pointer_of, unprocessable,
};
use crate::{Error, FieldProblem, Kind, Result, Value};

/// Objects inside each other that are checked; content nested deeper does not parse.
const MAX_DEPTH: usize = 128;

/// The problems that were found, up to [`MAX_PROBLEMS`].
#[derive(Default)]
struct Problems(Vec<FieldProblem>);

impl Problems {
    fn add(&mut self, pointer: &Pointer<'_>, message: String) {
        if self.0.len() < MAX_PROBLEMS {
            self.0.push(FieldProblem { pointer: pointer.text(), message });
        }
    }

    fn is_full(&self) -> bool {
        self.0.len() >= MAX_PROBLEMS
    }
}

/// A place in the content. Its text is made for problems only.
#[derive(Clone, Copy)]
struct Pointer<'a> {
    step: PointerStep<'a>,
    above: Option<&'a Pointer<'a>>,
}

#[derive(Clone, Copy)]
enum PointerStep<'a> {
    Field(&'a str),
    Element(usize),
}

impl<'a> Pointer<'a> {
    const ROOT: Pointer<'static> = Pointer { step: PointerStep::Field(""), above: None };

    fn field(name: &'a str, above: &'a Pointer<'a>) -> Self {
        Pointer { step: PointerStep::Field(name), above: Some(above) }
    }

    fn text(&self) -> String {
        let Some(above) = self.above else { return String::new() };
        match self.step {
            PointerStep::Field(name) => format!("{}{}", above.text(), pointer_of(name)),
            PointerStep::Element(at) => format!("{}/{at}", above.text()),
        }
    }

    /// The field in words: `tags/2` for an element of a list.
    fn label(&self) -> String {
        match (self.step, self.above) {
            (PointerStep::Field(_), None) => "the content".into(),
            (PointerStep::Field(name), _) => name.into(),
            (PointerStep::Element(at), Some(above)) if above.above.is_some() => {
                format!("{}/{at}", above.label())
            }
            (PointerStep::Element(at), _) => at.to_string(),
        }
    }

    fn depth(&self) -> usize {
        self.above.map_or(0, |above| above.depth() + 1)
    }
}

impl Contract {
    /// Checks content from a client, except for the fields that the program has set in it.
    ///
    /// # Errors
    /// [`Kind::Unprocessable`] with all problems of the content, at most [`MAX_PROBLEMS`].
    pub fn check(&self, value: &Value, purpose: RecordUse, granted: &[String]) -> Result<()> {
        let mut problems = Problems::default();
        match (&self.root, self.classes.first()) {
            (Some(root), _) => self.value(root, value, purpose, &Pointer::ROOT, &mut problems),
            (None, Some(class)) => {
                self.object(class, value, purpose, &Pointer::ROOT, &mut problems);
            }
            (None, None) => return Ok(()),
        }
        problems
            .0
            .retain(|problem| !granted.iter().any(|name| problem.pointer == pointer_of(name)));
        match problems.0.is_empty() {
            true => Ok(()),
            false => Err(unprocessable(problems.0)),
        }
    }

    /// Checks that a record for a table has what every row needs, from programs and clients.
    ///
    /// # Errors
    /// [`Kind::Invalid`] with the fields that are missing.
    pub fn complete(&self, value: &Value, purpose: RecordUse) -> Result<()> {
        let (Some(class), Some(fields)) = (self.classes.first(), value.as_record()) else {
            return Ok(());
        };
        let mut problems = Problems::default();
        for field in class.fields.iter().filter(|field| field.required) {
            let value = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(&field.name));
            let kept = purpose == RecordUse::Change
                || (purpose == RecordUse::Replace && (field.readonly || field.name == "id"));
            let missing = value.map_or(!kept, |(_, value)| value.is_nil());
            if missing {
                let (name, class) = (&field.name, &class.name);
                let place = Pointer::field(name, &Pointer::ROOT);
                problems.add(&place, format!("{name} of {class} is required"));
            }
        }
        match problems.0.is_empty() {
            true => Ok(()),
            false => Err(Error { kind: Kind::Invalid, ..unprocessable(problems.0) }),
        }
    }

    /// Checks one object.
    fn object(
        &self,
        class: &ContractClass,
        value: &Value,
        purpose: RecordUse,
        at: &Pointer<'_>,
        problems: &mut Problems,
    ) {
        let Some(fields) = value.as_record() else {
            let wanted = match value {
                Value::List(_) => "one object is expected here, not an array".into(),
                value => format!("an object is expected here, not {}", words_of(value)),
            };
            return problems.add(at, wanted);
        };
        for (name, value) in fields {
            if problems.is_full() {
                return;
            }
            let place = Pointer::field(name, at);
            match class.fields.iter().find(|field| field.name == *name) {
                Some(field) => self.field(field, value, purpose, &place, problems),
                None if self.drop_unknown => {}
                None => {
                    let known = class.fields.iter().filter(|field| !field.readonly);
                    let known: Vec<&str> = known.map(|field| field.name.as_str()).collect();
                    let (class, known) = (&class.name, known.join(", "));
                    problems.add(&place, format!("{class} has no field `{name}`; it has {known}"));
                }
            }
        }
        if purpose == RecordUse::Change {
            return;
        }
        // A client cannot set readonly fields.
        for field in class.fields.iter().filter(|field| field.must_come(self.strict)) {
            let given = fields.iter().any(|(name, _)| *name == field.name);
            if !given {
                let place = Pointer::field(&field.name, at);
                problems.add(&place, format!("{} is required", field.name));
            }
        }
    }

    fn field(
        &self,
        field: &ContractField,
        value: &Value,
        purpose: RecordUse,
        at: &Pointer<'_>,
        problems: &mut Problems,
    ) {
        let name = &field.name;
        if field.readonly {
            // The key may be repeated where the path names it, and left open where it is made.
            let key = name == "id" && purpose != RecordUse::Create;
            let open = value.is_nil() && purpose == RecordUse::Create;
            if !key && !open {
                return problems.add(at, format!("{name} cannot be set by a client"));
            }
        }
        if value.is_nil() {
            if (field.required || self.strict && !field.kind.optional) && !field.readonly {
                problems.add(at, format!("{name} is required; it cannot be null"));
            }
            return;
        }
        self.value(&field.kind, value, purpose, at, problems);
    }

    /// Checks one value that is declared with a type.
    fn value(
        &self,
        kind: &ContractType,
        value: &Value,
        purpose: RecordUse,
        at: &Pointer<'_>,
        problems: &mut Problems,
    ) {
        if problems.is_full() || (value.is_nil() && kind.optional) {
            return;
        }
        if at.depth() > MAX_DEPTH {
            return problems.add(at, format!("more than {MAX_DEPTH} objects inside each other"));
        }
        match &kind.kind {
            ContractKind::Object(class) | ContractKind::Key(_, class)
                if value.as_record().is_some() || matches!(kind.kind, ContractKind::Object(_)) =>
            {
                if let Some(class) = self.classes.get(*class) {
                    // The object as a whole is new; it may name a row by its key.
                    let root = at.above.is_none();
                    let purpose = if root { purpose } else { RecordUse::Replace };
                    self.object(class, value, purpose, at, problems);
                }
                return;
            }
            ContractKind::OneOf(options) => return self.one_of(options, value, at, problems),
            _ => {}
        }
        if let Some(found) = kind.fault(value) {
            let message = format!("{} is {}, not {found}", at.label(), kind.words());
            problems.add(at, message);
        }
        if let (ContractKind::List(Some(element)), Some(items)) = (&kind.kind, value.as_list()) {
            for (position, item) in items.iter().enumerate() {
                let place = Pointer { step: PointerStep::Element(position), above: Some(at) };
                self.value(element, item, RecordUse::Replace, &place, problems);
            }
        }
    }

    /// Checks a value of one of several types: of classes with an enumeration of the same name, the
    /// one whose text stands there; otherwise the first that the value fits.
    fn one_of(
        &self,
        options: &[ContractType],
        value: &Value,
        at: &Pointer<'_>,
        problems: &mut Problems,
    ) {
        if let (Some(field), Some(_)) = (self.discriminator(options), value.as_record()) {
            let texts = |option: &ContractType| self.texts_of(option, field);
            let said = value.get(field).and_then(Value::as_str);
            let chosen = said.and_then(|said| {
                options.iter().find(|option| texts(option).iter().any(|text| text == said))
            });
            if let Some(option) = chosen {
                return self.value(option, value, RecordUse::Replace, at, problems);
            }
            let all = options.iter().flat_map(|option| texts(option).iter().cloned()).collect();
            let kind = ContractType::from(ContractKind::Enumeration(all));
            let place = Pointer::field(field, at);
            return problems.add(&place, format!("{field} is {}", kind.words()));
        }
        let fits = |option: &ContractType| {
            let mut found = Problems::default();
            self.value(option, value, RecordUse::Replace, at, &mut found);
            found.0.is_empty()
        };
        if !options.iter().any(fits) {
            let names: Vec<String> = options.iter().map(|option| self.name_of(option)).collect();
            problems.add(at, format!("{} fits none of {}", at.label(), names.join(", ")));
        }
    }

    /// The field that tells the classes of a one-of apart: an enumeration in each of them, with
    /// different texts.
    pub fn discriminator(&self, options: &[ContractType]) -> Option<&str> {
        let class = |option: &ContractType| match option.kind {
            ContractKind::Object(class) => self.classes.get(class),
            _ => None,
        };
        let tells = |name: &str| {
            let mut seen: Vec<&String> = Vec::new();
            options.iter().all(|option| {
                let texts = self.texts_of(option, name);
                let fresh = !texts.is_empty() && !texts.iter().any(|text| seen.contains(&text));
                seen.extend(texts);
                fresh
            })
        };
        let first = class(options.first()?)?;
        first.fields.iter().map(|field| field.name.as_str()).find(|name| tells(name))
    }

    /// The texts of an enumeration in a class.
    fn texts_of(&self, option: &ContractType, field: &str) -> &[String] {
        let ContractKind::Object(class) = option.kind else { return &[] };
        let fields = self.classes.get(class).map_or(&[][..], |class| &class.fields);
        match fields.iter().find(|one| one.name == field).map(|one| &one.kind.kind) {
            Some(ContractKind::Enumeration(texts)) => texts,
            _ => &[],
        }
    }

    fn name_of(&self, option: &ContractType) -> String {
        match option.kind {
            ContractKind::Object(class) => {
                self.classes.get(class).map_or(String::new(), |class| class.name.clone())
            }
            _ => option.words(),
        }
    }

    /// The content without the fields that its classes lack, where they are dropped.
    pub fn without_unknown(&self, value: Value) -> Value {
        match (self.drop_unknown, &self.root, self.classes.first()) {
            (true, Some(root), _) => self.pruned(root, value),
            (true, None, Some(_)) => self.pruned(&ContractKind::Object(0).into(), value),
            _ => value,
        }
    }

    fn pruned(&self, kind: &ContractType, value: Value) -> Value {
        match (&kind.kind, value) {
            (ContractKind::List(Some(element)), Value::List(items)) => {
                Value::List(items.into_iter().map(|item| self.pruned(element, item)).collect())
            }
            (ContractKind::Object(class) | ContractKind::Key(_, class), Value::Record(fields)) => {
                let Some(class) = self.classes.get(*class) else { return Value::Record(fields) };
                let known = |name: &str| class.fields.iter().find(|field| field.name == name);
                let kept = fields.into_iter().filter_map(|(name, value)| {
                    let field = known(&name)?;
                    let value = self.pruned(&field.kind, value);
                    Some((name, value))
                });
                Value::Record(kept.collect())
            }
            (ContractKind::OneOf(options), value) => {
                let fits = |option: &&ContractType| {
                    let mut found = Problems::default();
                    let one = std::slice::from_ref(*option);
                    self.one_of(one, &value, &Pointer::ROOT, &mut found);
                    found.0.is_empty()
                };
                match options.iter().find(fits) {
                    Some(option) => self.pruned(option, value),
                    None => value,
                }
            }
            (_, value) => value,
        }
    }
}
