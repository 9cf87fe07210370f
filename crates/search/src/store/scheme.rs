//! The scheme `search:`: the indexes of a program, by name.

use super::SearchStore;
use super::collection_registry::FollowedSource;
use crate::definition::SearchesDefinition;
use crate::text::name_hint::name_hint;
use runnel_store::{
    Answer, Below, Context, Entry, Error, Kind, Layer, PathUp, Reference, Result, Store, Value,
    Verb, Verbs,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Most indexes and searches that one program defines by name.
pub const MAX_SEARCHES: usize = 1_024;

/// The indexes and searches that a program has defined: `search:books?query=alan`. The first
/// segment of a path is the name, the rest goes to the store of that name.
#[derive(Default)]
pub struct SearchScheme {
    stores: RefCell<BTreeMap<String, Rc<SearchStore>>>,
}

impl SearchScheme {
    /// A scheme without indexes.
    pub fn new() -> SearchScheme {
        SearchScheme::default()
    }

    /// Defines an index; it replaces one of the same name.
    ///
    /// # Errors
    /// Those of [`SearchStore::open`].
    pub fn define(&self, definition: &Value) -> Result<Rc<SearchStore>> {
        let store = Rc::new(SearchStore::open(definition)?);
        self.register(&store)?;
        Ok(store)
    }

    /// Defines a search over several stores, all of which must be indexes.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for another store; otherwise those of [`SearchStore::together`].
    pub fn define_several(
        &self,
        definition: &Value,
        stores: &[Rc<dyn Store>],
    ) -> Result<Rc<SearchStore>> {
        let definition = SearchesDefinition::read(definition)?;
        let searches: Vec<&SearchStore> =
            stores.iter().map(|store| as_index(store)).collect::<Result<_>>()?;
        let named = definition.name.is_some();
        let store = Rc::new(SearchStore::together(definition, &searches)?);
        if named {
            self.register(&store)?;
        }
        Ok(store)
    }

    /// Registers that an index follows the source in the options, until the returned store is
    /// dropped.
    ///
    /// # Errors
    /// [`Kind::Conflict`] while another worker of the process follows it.
    pub fn follow(&self, options: &Value, stores: &[Rc<dyn Store>]) -> Result<Rc<dyn Store>> {
        let source = options.get("source").and_then(Value::as_str).unwrap_or_default();
        let member = match stores {
            [store] => as_index(store)?.members.first(),
            _ => None,
        };
        let missing = || Error::new(Kind::Invalid, "only an index can follow a source");
        let following = FollowedSource::register(&member.ok_or_else(missing)?.shared, source)?;
        Ok(Rc::new(following))
    }

    /// The index or search of a name.
    ///
    /// # Errors
    /// [`Kind::NotFound`], with the known names.
    pub fn named(&self, name: &str) -> Result<Rc<SearchStore>> {
        let stores = self.stores.borrow();
        stores.get(name).cloned().ok_or_else(|| {
            let names = stores.keys().map(String::as_str);
            let hint = name_hint(name, names, "define it first: #SearchIndex{ … }");
            let shown: String = name.chars().take(80).collect();
            Error::new(Kind::NotFound, format!("there is no index `{shown}`; {hint}"))
        })
    }

    fn register(&self, store: &Rc<SearchStore>) -> Result<()> {
        let mut stores = self.stores.borrow_mut();
        if stores.len() >= MAX_SEARCHES && !stores.contains_key(store.name()) {
            let message = format!("a program has at most {MAX_SEARCHES} indexes");
            return Err(Error::new(Kind::TooLarge, message));
        }
        let before = stores.insert(store.name().to_owned(), store.clone());
        drop(stores);
        drop(before);
        Ok(())
    }
}

/// The index behind a store.
fn as_index(store: &Rc<dyn Store>) -> Result<&SearchStore> {
    let search = store.as_any().and_then(|any| any.downcast_ref::<SearchStore>());
    search.ok_or_else(|| Error::new(Kind::Invalid, format!("{} is no index", store.describe())))
}

impl Layer for SearchScheme {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        let Some((name, rest)) = reference.split_first() else {
            let message = "name an index: `search:books?query=…`";
            return Err(Error::new(Kind::Invalid, message));
        };
        Ok(Below::found(self.named(name)?, rest))
    }

    fn up(&self, reference: &Reference) -> Option<PathUp> {
        let (name, _) = reference.split_first()?;
        let index = Reference::from_path(name);
        Some(Box::new(move |below| Some(index.join(below.relative_path()))))
    }

    fn over(&self, _: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        None
    }

    fn name(&self) -> String {
        "search".into()
    }

    fn layer_list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        if reference.split_first().is_none() {
            let entry = |name: &String| Entry { name: name.clone(), collection: true };
            return Answer::ok(Some(self.stores.borrow().keys().map(entry).collect()));
        }
        let listed = self.around(Verb::List, reference, context, |store, rest, context| {
            store.list(rest, context)
        });
        listed.on(Verb::List, reference)
    }

    fn layer_verbs(&self, reference: &Reference) -> Verbs {
        let none = Verbs::NONE.with(Verb::Get).with(Verb::List);
        let below = self.below(Verb::Get, reference);
        below.map_or(none, |below| below.store.verbs(&below.reference))
    }

    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        Vec::new()
    }
}
