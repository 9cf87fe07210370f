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
