//! Which forms of a class an API needs, and their names: what is answered (`Article`), what a client
//! sends (`ArticleInput`), and what changes (`ArticlePatch`).

use crate::api::{Api, ApiBody};
use crate::naming::free_name;
use runnel_store::{ContractField, ContractKind, ContractType};
use std::collections::{BTreeMap, BTreeSet};

/// The component that every error refers to.
pub(crate) const PROBLEM: &str = "Problem";

/// What an object is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SchemaUse {
    /// It is answered: every field is there.
    Output,
    /// A client sends it whole.
    Input,
    /// A client sends the fields that change.
    Patch,
}

impl SchemaUse {
    /// The use of the content of a request.
    pub(crate) fn of(body: &ApiBody) -> SchemaUse {
        let whole = matches!(body.kind.kind, ContractKind::Object(_) | ContractKind::Key(..));
        if body.partial && whole { SchemaUse::Patch } else { SchemaUse::Input }
    }

    /// The use of what is inside: the parts of a change are whole.
    pub(crate) fn inner(self) -> SchemaUse {
        if self == SchemaUse::Patch { SchemaUse::Input } else { self }
    }
}

/// The names of all forms of classes that operations need.
pub(crate) struct SchemaNames {
    names: BTreeMap<(usize, SchemaUse), String>,
    /// Classes that come in forms, so that fields may be files.
    forms: BTreeSet<usize>,
    /// Fields that tell the classes of a one-of apart.
    tells: BTreeSet<(usize, String)>,
    /// The discriminators of these one-ofs.
    told: Vec<ClassTexts>,
}

/// The field that tells the classes of a one-of apart, and the class of each of its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassTexts {
    pub(crate) field: String,
    pub(crate) classes: Vec<(String, usize)>,
    positions: Vec<usize>,
}

impl ClassTexts {
    fn of(api: &Api, options: &[ContractType]) -> Option<ClassTexts> {
        let field = api.contract.discriminator(options)?.to_string();
        let mut told = ClassTexts { field, classes: Vec::new(), positions: positions(options)? };
        for class in &told.positions {
            let fields = api.contract.classes.get(*class).map_or(&[][..], |class| &class.fields);
            let own = fields.iter().find(|one| one.name == told.field).map(|one| &one.kind.kind);
            if let Some(ContractKind::Enumeration(texts)) = own {
                told.classes.extend(texts.iter().map(|text| (text.clone(), *class)));
            }
        }
        Some(told)
    }
}

/// The classes of a one-of that has nothing else.
fn positions(options: &[ContractType]) -> Option<Vec<usize>> {
    options
        .iter()
        .map(|option| match option.kind {
            ContractKind::Object(class) => Some(class),
            _ => None,
        })
        .collect()
}

impl SchemaNames {
    /// The forms that the operations of an API need.
    pub(crate) fn of(api: &Api) -> SchemaNames {
        let mut names = SchemaNames {
            names: BTreeMap::new(),
            forms: BTreeSet::new(),
            tells: BTreeSet::new(),
            told: Vec::new(),
        };
        for operation in &api.operations {
            for answer in &operation.answers {
                if let Some(kind) = &answer.kind {
                    names.collect(api, kind, SchemaUse::Output, false);
                }
            }
            if let Some(body) = &operation.body {
                names.collect(api, &body.kind, SchemaUse::of(body), body.is_form());
            }
        }
        names.assign(api);
        names
    }

    fn collect(&mut self, api: &Api, kind: &ContractType, purpose: SchemaUse, form: bool) {
        match &kind.kind {
            ContractKind::Object(class) | ContractKind::Key(_, class) => {
                self.collect_class(api, *class, purpose, form);
            }
            ContractKind::List(Some(element)) => {
                self.collect(api, element, purpose.inner(), form);
            }
            ContractKind::OneOf(options) => {
                if let Some(told) = ClassTexts::of(api, options) {
                    let fields = told.positions.iter().map(|class| (*class, told.field.clone()));
                    self.tells.extend(fields);
                    if !self.told.contains(&told) {
                        self.told.push(told);
                    }
                }
                options.iter().for_each(|option| self.collect(api, option, purpose.inner(), form));
            }
            _ => {}
        }
    }

    fn collect_class(&mut self, api: &Api, class: usize, purpose: SchemaUse, form: bool) {
        let Some(described) = api.contract.classes.get(class) else { return };
        let new_form = form && self.forms.insert(class);
        if self.names.insert((class, purpose), String::new()).is_some() && !new_form {
            return;
        }
        for field in &described.fields {
            if purpose == SchemaUse::Output || !field.readonly {
                self.collect(api, &field.kind, purpose.inner(), form);
            }
        }
    }

    /// Decides the names in the order of the classes. A class that is only sent keeps its own name.
    fn assign(&mut self, api: &Api) {
        let mut taken = BTreeSet::from([PROBLEM.to_string()]);
        let uses: Vec<(usize, SchemaUse)> = self.names.keys().copied().collect();
        for (class, purpose) in uses {
            let name = api.contract.classes.get(class).map_or("Class", |class| &class.name);
            let kept = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let name: String = name.chars().map(|one| if kept(one) { one } else { '_' }).collect();
            let end = match purpose {
                SchemaUse::Output => "",
                SchemaUse::Input if !self.names.contains_key(&(class, SchemaUse::Output)) => "",
                SchemaUse::Input => "Input",
                SchemaUse::Patch => "Patch",
            };
            let free = free_name(format!("{name}{end}"), &mut taken);
            self.names.insert((class, purpose), free);
        }
    }

    /// The name of a form of a class.
    pub(crate) fn name(&self, class: usize, purpose: SchemaUse) -> Option<&str> {
        self.names.get(&(class, purpose)).map(String::as_str)
    }

    /// Every form in the order of the classes.
    pub(crate) fn all(&self) -> impl Iterator<Item = (usize, SchemaUse, &str)> {
        self.names.iter().map(|((class, purpose), name)| (*class, *purpose, name.as_str()))
    }

    /// The discriminator of a one-of, if it has one.
    pub(crate) fn discriminator(&self, options: &[ContractType]) -> Option<&ClassTexts> {
        let positions = positions(options)?;
        self.told.iter().find(|told| told.positions == positions)
    }

    /// Whether a class comes in forms.
    pub(crate) fn in_forms(&self, class: usize) -> bool {
        self.forms.contains(&class)
    }

    /// Whether a field tells its class apart from others: then it is always there.
    pub(crate) fn tells(&self, class: usize, field: &str) -> bool {
        self.tells.contains(&(class, field.to_string()))
    }

    /// Whether a field belongs to a form of its class.
    pub(crate) fn has_field(
        &self,
        class: usize,
        purpose: SchemaUse,
        field: &ContractField,
    ) -> bool {
        let sent = !field.readonly && (!crate::api::is_binary(&field.kind) || self.in_forms(class));
        purpose == SchemaUse::Output || sent
    }

    /// Whether a field is always there.
    pub(crate) fn must_come(
        &self,
        api: &Api,
        class: usize,
        purpose: SchemaUse,
        field: &ContractField,
    ) -> bool {
        match purpose {
            SchemaUse::Output => !field.included,
            SchemaUse::Input => {
                field.must_come(api.contract.strict) || self.tells(class, &field.name)
            }
            SchemaUse::Patch => false,
        }
    }

    /// Whether the value of a field may be nil.
    pub(crate) fn is_nullable(
        &self,
        api: &Api,
        class: usize,
        purpose: SchemaUse,
        field: &ContractField,
    ) -> bool {
        let strict = api.contract.strict;
        // A key that the program makes is there as soon as something is answered.
        let made = purpose == SchemaUse::Output && strict && field.name == "id";
        let firm = field.required || (strict && !field.kind.optional) || made;
        !firm && !self.tells(class, &field.name)
    }
}
