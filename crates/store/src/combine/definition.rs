//! Definitions of combinators: one row says what a combinator is called, which options it has and
//! how it is made. The classes of the language and the checks of the manual come from the rows.

use crate::{Error, Kind, Result, Setting, SettingInfo, SettingList, SettingTable, Store, Value};
use std::any::Any;
use std::rc::Rc;

/// A combinator that programs can use.
pub struct Combinator {
    /// The name of its class.
    pub class: &'static str,
    /// Other names of the class: those of the original.
    pub aliases: &'static [&'static str],
    /// What it does, in one line.
    pub help: &'static str,
    /// Its options.
    pub settings: &'static dyn SettingList,
    /// Makes it of its parts.
    pub make: fn(&CombinatorParts) -> Result<CombinedStore>,
}

impl Combinator {
    /// The options in the order of the table.
    pub fn infos(&self) -> Vec<SettingInfo> {
        self.settings.infos()
    }
}

/// The options of a combinator without options.
pub(super) const NO_SETTINGS: SettingTable<()> = SettingTable(&[]);

/// What a combinator is made of.
#[derive(Default)]
pub struct CombinatorParts {
    /// A record of the options that were set.
    pub options: Value,
    /// Its sources: the source first, or one for each name.
    pub sources: Vec<Rc<dyn Store>>,
    /// The names of the sources, as the combinator understands them.
    pub names: Vec<String>,
}

impl CombinatorParts {
    /// The source.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: there is none.
    pub fn source(&self) -> Result<Rc<dyn Store>> {
        let missing = || Error::new(Kind::Invalid, "a combinator needs a source");
        self.sources.first().cloned().ok_or_else(missing)
    }

    /// The source with a name.
    pub fn named(&self, name: &str) -> Option<Rc<dyn Store>> {
        let at = self.names.iter().position(|known| known == name)?;
        self.sources.get(at).cloned()
    }

    /// Reads the options with a table. The caller handles names that the table lacks: the kernel
    /// refuses unknown ones, and adds some of its own, such as the contract of a class.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: the requirement that a value violates.
    pub fn read<T: Default>(&self, class: &str, table: &SettingTable<T>) -> Result<T> {
        let mut options = T::default();
        for (name, value) in self.options.as_record().unwrap_or_default() {
            table.set(&mut options, class, name, value).unwrap_or(Ok(()))?;
        }
        Ok(options)
    }

    /// Whether an option was set.
    pub fn has(&self, name: &str) -> bool {
        self.options.get(name).is_some()
    }

    /// A text among the options that is not part of a table's struct.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.options.get(name).and_then(Value::as_str)
    }
}

/// The maximum number of stores that a combinator keeps content in.
pub(super) const STORES: usize = 64;

/// Checks the stores that content is kept in: at least one, not too many, none twice.
///
/// # Errors
/// [`Kind::Invalid`]: what is wrong with them.
pub(super) fn check_stores(class: &str, stores: &[Rc<dyn Store>]) -> Result<()> {
    let wrong = |message: String| Err(Error::new(Kind::Invalid, message));
    let count = stores.len();
    if !(1..=STORES).contains(&count) {
        return wrong(format!(
            "`stores` of {class} must be from 1 to {STORES} stores (got {count})"
        ));
    }
    for (at, store) in stores.iter().enumerate() {
        if let Some(first) = stores[..at].iter().position(|other| is_same(other, store)) {
            let (first, at) = (first + 1, at + 1);
            return wrong(format!(
                "`stores` of {class} has the same store twice, as number {first} and number {at}"
            ));
        }
    }
    Ok(())
}

/// Whether two stores are one, also as two views of the same subtree.
fn is_same(one: &Rc<dyn Store>, other: &Rc<dyn Store>) -> bool {
    if Rc::ptr_eq(one, other) {
        return true;
    }
    let (name, sources) = (one.describe(), [one.sources(), other.sources()]);
    let is_subtree = name.starts_with("relative ") && name == other.describe();
    is_subtree
        && matches!(&sources.map(|mut list| list.pop()),
        [Some((_, one)), Some((_, other))] if Rc::ptr_eq(one, other))
}

/// A combinator that was made, and what a program may control beside the verbs.
pub struct CombinedStore {
    /// The store.
    pub store: Rc<dyn Store>,
    control: Option<Rc<dyn Any>>,
}

impl CombinedStore {
    /// A store with nothing to control.
    pub fn plain(store: Rc<dyn Store>) -> Self {
        CombinedStore { store, control: None }
    }

    /// A store with a part that programs control: a cache or delayed writes.
    pub(super) fn controlled(store: Rc<dyn Store>, control: Rc<dyn Any>) -> Self {
        CombinedStore { store, control: Some(control) }
    }

    /// The part that programs control, where it is of this type.
    pub fn control<T: 'static>(&self) -> Option<Rc<T>> {
        self.control.clone()?.downcast().ok()
    }
}

impl<S: Store + 'static> From<S> for CombinedStore {
    fn from(store: S) -> Self {
        CombinedStore::plain(Rc::new(store))
    }
}

/// Options of combinators that convert in either direction.
pub(super) struct ConverterOptions {
    pub(super) up: bool,
}

impl Default for ConverterOptions {
    fn default() -> Self {
        ConverterOptions { up: true }
    }
}

/// The direction of a converter.
pub(super) const UP: Setting<ConverterOptions> =
    Setting::new("up", "converts for readers; `false` converts for writers", |options| {
        &mut options.up
    });
