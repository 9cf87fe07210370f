//! The classes of the kernel and of the program, and what they understand.

use crate::guards::GuardFacts;
use crate::kernel::{Kernel, KernelClass, canonical};
use crate::types::{Case, ClassId, Type};
use runnel_catalogue::{Catalogue, Kind, KindOption, Message};
use runnel_syntax::ast::{
    Class, ClassKeyword, DeclaredType, MemberKind, Method, Program, Selector, Statement,
    StatementKind,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Superclasses above each other; more are a circle.
const MOST_LEVELS: usize = 64;
/// Classes that answer messages for something else, or stand for values of any kind.
const OPEN: [&str; 14] = [
    "HigherOrder",
    "Enumerator",
    "Connection",
    "Constraint",
    "Connector",
    "Object",
    "Class",
    "Protocol",
    "Notification",
    "Nil",
    "Null",
    "Fiber",
    "Rows",
    "LiveList",
];
/// Classes whose objects stand in for each other: what one of them understands, none is refused.
const KIN: [&[&str]; 4] = [
    &["String", "MutableString", "Raw"],
    &["Number", "BigInteger", "Decimal"],
    &["Array", "MutableArray", "Rows"],
    &["Date", "Day", "TimeOfDay"],
];

/// Names that two classes of the kernel have.
const TWICE: [&str; 1] = ["Table"];

/// What is known of a class.
#[derive(Default)]
pub(crate) struct ClassFacts<'a> {
    pub(crate) name: &'a str,
    pub(crate) above: Option<ClassId>,
    below: Vec<ClassId>,
    kernel: Option<&'a KernelClass>,
    /// Selectors that the program defines, with their methods where they are written out.
    own: FxHashMap<String, Option<&'a Method>>,
    meta: FxHashMap<String, Option<&'a Method>>,
    /// The variables that the program declares.
    pub(crate) variables: FxHashMap<&'a str, Option<&'a DeclaredType>>,
    /// The program defines it, rather than extends it.
    pub(crate) of_program: bool,
    /// It understands what cannot be known here.
    open: bool,
    /// Who may read its paths.
    pub(crate) guards: GuardFacts,
}

impl ClassFacts<'_> {
    /// Whether the program defines a message of its objects here.
    pub(crate) fn defines_own(&self, selector: &str) -> bool {
        self.own.contains_key(selector)
    }
}

/// All classes.
pub(crate) struct World<'a> {
    pub(crate) classes: Vec<ClassFacts<'a>>,
    by_name: FxHashMap<&'a str, ClassId>,
    pub(crate) kernel: &'a Kernel,
    catalogue: &'a Catalogue,
    /// Every selector that a class understands.
    pub(crate) selectors: FxHashSet<String>,
    /// Those of the kernel.
    of_kernel: FxHashSet<&'a str>,
    /// In how many places the program defines a message.
    defined: FxHashMap<String, u32>,
    /// A class of the program defines `doesNotUnderstand:`.
    pub(crate) answers_anything: bool,
}

impl<'a> World<'a> {
    pub(crate) fn new(program: &'a Program, kernel: &'a Kernel, catalogue: &'a Catalogue) -> Self {
        let mut world = World {
            classes: Vec::with_capacity(kernel.classes.len() + 8),
            by_name: FxHashMap::default(),
            kernel,
            catalogue,
            selectors: FxHashSet::default(),
            of_kernel: FxHashSet::default(),
            defined: FxHashMap::default(),
            answers_anything: false,
        };
        // The order of classes is that of their names, so that findings are the same each time.
        let mut classes: Vec<_> = kernel.classes.iter().collect();
        classes.sort_unstable_by_key(|(name, _)| *name);
        for &(name, class) in &classes {
            world.by_name.insert(name, world.classes.len());
            world.of_kernel.extend(class.own.iter().chain(&class.meta).map(String::as_str));
            // A text that changes refuses in its own words; others answer for something else.
            let answers = class.own.contains("doesNotUnderstand:") && name != "MutableString";
            let open = answers || OPEN.contains(&name.as_str());
            let facts = ClassFacts { name, kernel: Some(class), open, ..ClassFacts::default() };
            world.classes.push(facts);
        }
        for (alias, name) in &kernel.aliases {
            if let Some(id) = world.by_name.get(name.as_str()) {
                world.by_name.insert(alias, *id);
            }
        }
        for (name, class) in classes {
            if let Some(above) = &class.above {
                world.put_below(world.by_name[name.as_str()], above);
            }
        }
        world.selectors.extend(world.of_kernel.iter().map(|one| (*one).to_owned()));
        world.selectors.extend(catalogue.selectors().map(|one| canonical(one).to_owned()));
        world.define(&program.statements);
        world
    }

    fn put_below(&mut self, id: ClassId, above: &str) {
        match self.class(above) {
            Some(above) if above != id && self.classes[id].above.is_none() => {
                self.classes[id].above = Some(above);
                self.classes[above].below.push(id);
            }
            Some(_) => {}
            None => self.classes[id].open = true,
        }
    }

    fn define(&mut self, statements: &'a [Statement]) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Class(class) => self.define_class(class),
                StatementKind::Template { name, value } => {
                    use runnel_syntax::ast::ExpressionKind::Object;
                    let id = self.new_class(&name.text);
                    match &value.kind {
                        Object { class, .. } => self.put_below(id, &class.text),
                        _ => self.classes[id].open = true,
                    }
                }
                StatementKind::Test { body, .. } => self.define(&body.statements),
                _ => {}
            }
        }
    }

    fn new_class(&mut self, name: &'a str) -> ClassId {
        let id = self.classes.len();
        self.classes.push(ClassFacts { name, of_program: true, ..ClassFacts::default() });
        self.by_name.insert(name, id);
        id
    }

    fn define_class(&mut self, class: &'a Class) {
        let known = self.class(&class.name.text);
        let id = match known {
            Some(id) if class.keyword == ClassKeyword::Extension => id,
            Some(id) if self.classes[id].of_program => id,
            // A class of the kernel that is extended or replaced: which one is decided when it runs.
            Some(id) => {
                self.classes[id].open = true;
                id
            }
            None => {
                let id = self.new_class(&class.name.text);
                let root = match class.keyword {
                    ClassKeyword::Class | ClassKeyword::Extension => "Object",
                    ClassKeyword::Scheme => "Scheme",
                    ClassKeyword::Filter => "Filter",
                    ClassKeyword::System => "System",
                    ClassKeyword::Protocol => "Protocol",
                    ClassKeyword::Connector => "Connector",
                    ClassKeyword::Notification => "Notification",
                };
                let above = class.superclass.as_ref().map_or(root, |word| word.text.as_str());
                self.put_below(id, above);
                id
            }
        };
        self.classes[id].guards = GuardFacts::of(class);
        for member in &class.members {
            match &member.kind {
                MemberKind::Variables(declaration) => {
                    for name in &declaration.names {
                        let kind = declaration.kind.as_ref();
                        self.classes[id].variables.insert(&name.text, kind);
                        for selector in [name.text.clone(), setter(&name.text)] {
                            self.selectors.insert(selector.clone());
                            self.classes[id].own.entry(selector).or_insert(None);
                        }
                    }
                }
                MemberKind::Method(method) => {
                    let selector = selector_of(&method.selector);
                    self.selectors.insert(selector.clone());
                    *self.defined.entry(selector.clone()).or_default() += 1;
                    if selector == "doesNotUnderstand:" {
                        self.classes[id].open = true;
                        self.answers_anything = true;
                    }
                    let facts = &mut self.classes[id];
                    let side = if method.class_side { &mut facts.meta } else { &mut facts.own };
                    side.insert(selector, Some(method));
                }
                MemberKind::FilterBody(_) => {
                    self.classes[id].own.insert("writeObject:".into(), None);
                }
                _ => {}
            }
        }
    }

    pub(crate) fn class(&self, name: &str) -> Option<ClassId> {
        self.by_name.get(name).copied()
    }

    /// A class and those above it.
    pub(crate) fn lineage(&self, id: ClassId) -> impl Iterator<Item = &ClassFacts<'a>> {
        let ids = std::iter::successors(Some(id), |id| self.classes[*id].above);
        ids.take(MOST_LEVELS).map(|id| &self.classes[id])
    }

    pub(crate) fn is_below(&self, id: ClassId, name: &str) -> bool {
        self.lineage(id).any(|class| class.name == name)
    }

    /// Whether a class, or one above it, understands what cannot be known here.
    pub(crate) fn is_open(&self, id: ClassId) -> bool {
        self.classes[id].open
            || self.lineage(id).any(|class| class.open && class.name != "Object")
            || self.lineage(id).count() == MOST_LEVELS
    }

    fn defines(&self, id: ClassId, selector: &str, of_class: bool) -> bool {
        let class = &self.classes[id];
        let (program, kernel) = match of_class {
            true => (&class.meta, class.kernel.map(|class| &class.meta)),
            false => (&class.own, class.kernel.map(|class| &class.own)),
        };
        program.contains_key(selector) || kernel.is_some_and(|all| all.contains(selector))
    }

    fn inherits(&self, id: ClassId, selector: &str, of_class: bool) -> bool {
        let mut next = Some(id);
        for _ in 0..MOST_LEVELS {
            let Some(id) = next else { return false };
            if self.defines(id, selector, of_class) {
                return true;
            }
            next = self.classes[id].above;
        }
        true
    }

    /// The classes below a class, which objects that are known as its own may belong to.
    fn all_below(&self, id: ClassId) -> Vec<ClassId> {
        let mut all = self.classes[id].below.clone();
        let mut at = 0;
        while at < all.len() && all.len() <= self.classes.len() {
            all.extend(&self.classes[all[at]].below);
            at += 1;
        }
        all
    }

    /// Whether what a case stands for may understand a message.
    pub(crate) fn may_understand(&self, case: Case, selector: &str) -> bool {
        let selector = canonical(selector);
        let (id, of_class) = match case {
            Case::Nil => return true,
            Case::Object(id) => (id, false),
            Case::Class(id) => (id, true),
        };
        if self.is_open(id) || self.inherits(id, selector, of_class) {
            return true;
        }
        let name = self.classes[id].name;
        let kin = KIN.iter().filter(|group| !of_class && group.contains(&name));
        let kin = kin.flat_map(|group| group.iter().filter_map(|name| self.class(name)));
        kin.into_iter().any(|kin| self.inherits(kin, selector, of_class))
            || self
                .all_below(id)
                .into_iter()
                .any(|below| self.classes[below].open || self.defines(below, selector, of_class))
    }

    /// The selectors that a class understands, without those that every object understands.
    pub(crate) fn selectors_of(&self, case: Case) -> Vec<&str> {
        let (Case::Object(id) | Case::Class(id)) = case else { return Vec::new() };
        let of_class = matches!(case, Case::Class(_));
        let mut all: Vec<&str> = Vec::new();
        for class in self.lineage(id) {
            let (program, kernel) = match of_class {
                true => (&class.meta, class.kernel.map(|class| &class.meta)),
                false => (&class.own, class.kernel.map(|class| &class.own)),
            };
            all.extend(program.keys().map(String::as_str));
            all.extend(kernel.into_iter().flatten().map(String::as_str));
        }
        all
    }

    /// Whether one class of the program, and none of the kernel, defines a message.
    pub(crate) fn is_defined_once(&self, selector: &str) -> bool {
        self.defined.get(selector) == Some(&1) && !self.of_kernel.contains(selector)
    }

    /// The method of the program that an object of a class runs, where no class below has another one.
    pub(crate) fn method(&self, case: Case, selector: &str) -> Option<&'a Method> {
        let (Case::Object(id) | Case::Class(id)) = case else { return None };
        let of_class = matches!(case, Case::Class(_));
        if self.all_below(id).into_iter().any(|below| self.defines(below, selector, of_class)) {
            return None;
        }
        for class in self.lineage(id) {
            let side = if of_class { &class.meta } else { &class.own };
            if let Some(method) = side.get(selector) {
                return *method;
            }
            let kernel = class.kernel.map(|class| if of_class { &class.meta } else { &class.own });
            if kernel.is_some_and(|all| all.contains(selector)) {
                return None;
            }
        }
        None
    }

    /// The declared type of the variable that a message reads, where no class below answers it otherwise.
    pub(crate) fn field(&self, case: Case, selector: &str) -> Option<&'a DeclaredType> {
        let Case::Object(id) = case else { return None };
        if self.all_below(id).into_iter().any(|below| self.defines(below, selector, false)) {
            return None;
        }
        let class = self.lineage(id).find(|class| class.own.contains_key(selector))?;
        let is_written = class.own.get(selector).is_some_and(Option::is_some);
        class.variables.get(selector).copied().flatten().filter(|_| !is_written)
    }

    /// What the catalogue says of a message to a class of the kernel, where no class below says something
    /// else.
    pub(crate) fn documented(&self, case: Case, selector: &str) -> Option<&'a Message> {
        let (Case::Object(id) | Case::Class(id)) = case else { return None };
        let of_class = matches!(case, Case::Class(_));
        let name = canonical(selector);
        let defining = std::iter::successors(Some(id), |id| self.classes[*id].above)
            .take(MOST_LEVELS)
            .find(|id| self.defines(*id, name, of_class))?;
        if self.is_open(id) {
            return None;
        }
        let found = self.definition(defining, selector, of_class)?;
        let differs = |below: ClassId| {
            self.defines(below, name, of_class)
                && match self.definition(below, selector, of_class) {
                    Some(other) => {
                        other.answer != found.answer || other.parameters != found.parameters
                    }
                    None => self.classes[below].of_program,
                }
        };
        (!self.all_below(id).into_iter().any(differs)).then_some(found)
    }

    /// The definition of a message in the catalogue, unless the program defines it itself.
    fn definition(&self, id: ClassId, selector: &str, of_class: bool) -> Option<&'a Message> {
        let (class, name) = (&self.classes[id], canonical(selector));
        if if of_class { &class.meta } else { &class.own }.contains_key(name) {
            return None;
        }
        [selector, name].iter().find_map(|one| self.catalogue.message(class.name, one, of_class))
    }

    /// The type of what a definition of the catalogue writes.
    pub(crate) fn type_of_kind(&self, kind: &Kind, receiver: Case) -> Type {
        let mut all = if kind.may_be_nil { Type::nil() } else { Type::Unset };
        for option in &kind.options {
            let one = match option {
                KindOption::Class(name) => self.type_of_class(name),
                KindOption::Receiver => match receiver {
                    // What a class answers of its own kind is an object of it.
                    Case::Class(id) | Case::Object(id) => Type::object(id),
                    Case::Nil => Type::Any,
                },
                KindOption::Block(_) => self.type_of_class("Block"),
                KindOption::Any | KindOption::Nothing => Type::Any,
            };
            all = all.join(&one);
        }
        all
    }

    /// Objects of a class by its name.
    pub(crate) fn type_of_class(&self, name: &str) -> Type {
        match self.class(name) {
            Some(id) if name != "Object" && !TWICE.contains(&name) => Type::object(id),
            _ => Type::Any,
        }
    }

    /// The name of a case with its article.
    pub(crate) fn shown(&self, case: Case) -> String {
        match case {
            Case::Nil => "nil".into(),
            Case::Object(id) => article(self.classes[id].name),
            Case::Class(id) => format!("the class {}", self.classes[id].name),
        }
    }

    /// How a literal of a class takes a property; `None` where that cannot be known.
    pub(crate) fn takes_property(&self, id: ClassId, name: &str) -> Option<bool> {
        // Combinators refuse what is no option; other classes that read their literals take what they like.
        let reads = |class: &&ClassFacts<'_>| class.kernel.is_some_and(|class| class.takes_any);
        let reader = self.lineage(id).find(reads).map(|class| class.name);
        let is_combinator = reader == Some("MappingStore");
        let is_free = reader.is_some() || self.inherits(id, "at:put:", false);
        if self.is_open(id) || is_free && !is_combinator {
            return None;
        }
        let mut takes = self.inherits(id, &setter(name), false);
        for class in self.lineage(id) {
            takes |= class.variables.contains_key(name)
                || class.kernel.is_some_and(|class| class.variables.iter().any(|one| one == name));
        }
        Some(takes)
    }

    /// Whether an option of the kernel's class is a duration.
    pub(crate) fn takes_duration(&self, id: ClassId, name: &str) -> bool {
        self.lineage(id).any(|class| class.kernel.is_some_and(|one| one.durations.contains(name)))
    }

    /// Whether an option of the kernel's class is a size.
    pub(crate) fn takes_size(&self, id: ClassId, name: &str) -> bool {
        self.lineage(id).any(|class| class.kernel.is_some_and(|one| one.sizes.contains(name)))
    }

    /// The properties that a literal of a class may have.
    pub(crate) fn properties(&self, id: ClassId) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for class in self.lineage(id) {
            all.extend(class.variables.keys().map(|name| (*name).to_owned()));
            all.extend(class.kernel.into_iter().flat_map(|class| class.variables.iter().cloned()));
        }
        let setters = self.selectors_of(Case::Object(id));
        all.extend(setters.into_iter().filter_map(|selector| {
            let name = selector.strip_prefix("set")?.strip_suffix(':')?;
            let first = name.chars().next().filter(|one| one.is_uppercase())?;
            Some(first.to_lowercase().chain(name.chars().skip(1)).collect())
        }));
        all
    }
}

/// The selector that sets a property.
pub(crate) fn setter(name: &str) -> String {
    let mut rest = name.chars();
    let first = rest.next().map(|one| one.to_ascii_uppercase());
    format!("set{}{}:", first.map(String::from).unwrap_or_default(), rest.as_str())
}

/// The selector of a method, operators by their names.
pub(crate) fn selector_of(selector: &Selector) -> String {
    match selector {
        Selector::Binary(word, _) => canonical(&word.text).to_owned(),
        other => other.text(),
    }
}

fn article(name: &str) -> String {
    let vowel = name.starts_with(['A', 'E', 'I', 'O', 'U']);
    format!("{} {name}", if vowel { "an" } else { "a" })
}
