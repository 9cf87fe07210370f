//! The scheme `search:`: the indexes of a program by their names.

use super::SearchStore;
use super::shared::Following;
use crate::definition::SearchesDefinition;
use crate::suggest::nearest_name;
use runnel_store::{
    Answer, Changes, Conditions, Content, Context, Entry, Error, Kind, Posted, Records, Reference,
    Result, Store, Value, Verb, Verbs,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Most indexes and searches that one program defines by name.
pub const MAX_SEARCHES: usize = 1_024;

/// The indexes and searches that a program has defined: `search:books?query=alan`. The first part
/// of a path is the name, the rest is what the store of that name is asked.
#[derive(Default)]
pub struct SearchScheme {
    stores: RefCell<BTreeMap<String, Rc<SearchStore>>>,
}

impl SearchScheme {
    /// Without indexes.
    pub fn new() -> SearchScheme {
        SearchScheme::default()
    }

    /// Defines an index from now on; one of the same name is replaced.
    ///
    /// # Errors
    /// As [`SearchStore::open`].
    pub fn define(&self, definition: &Value) -> Result<Rc<SearchStore>> {
        let store = Rc::new(SearchStore::open(definition)?);
        self.keep(&store)?;
        Ok(store)
    }

    /// Defines one search over several stores, all of which have to be indexes.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for another store; as [`SearchStore::together`].
    pub fn define_several(
        &self,
        definition: &Value,
        stores: &[Rc<dyn Store>],
    ) -> Result<Rc<SearchStore>> {
        let definition = SearchesDefinition::read(definition)?;
        let searches: Vec<&SearchStore> =
            stores.iter().map(|store| index_of(store)).collect::<Result<_>>()?;
        let named = definition.name.is_some();
        let store = Rc::new(SearchStore::together(definition, &searches)?);
        if named {
            self.keep(&store)?;
        }
        Ok(store)
    }

    /// Says that the index that a store is follows the source of an option, until the answered
    /// store is dropped.
    ///
    /// # Errors
    /// [`Kind::Conflict`] while somebody else in the process follows it.
    pub fn follow(&self, options: &Value, stores: &[Rc<dyn Store>]) -> Result<Rc<dyn Store>> {
        let source = options.get("source").and_then(Value::as_str).unwrap_or_default();
        let member = match stores {
            [store] => index_of(store)?.members.first(),
            _ => None,
        };
        let missing = || Error::new(Kind::Invalid, "only an index follows something");
        let following = Following::begin(&member.ok_or_else(missing)?.shared, source)?;
        Ok(Rc::new(following))
    }

    /// The index or search of a name.
    ///
    /// # Errors
    /// [`Kind::NotFound`], with the names that there are.
    pub fn named(&self, name: &str) -> Result<Rc<SearchStore>> {
        let stores = self.stores.borrow();
        stores.get(name).cloned().ok_or_else(|| {
            let names = stores.keys().map(String::as_str);
            let hint = nearest_name(name, names, "define it first: #SearchIndex{ … }");
            let shown: String = name.chars().take(80).collect();
            Error::new(Kind::NotFound, format!("there is no index `{shown}`; {hint}"))
        })
    }

    fn keep(&self, store: &Rc<SearchStore>) -> Result<()> {
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

    fn with<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        act: impl FnOnce(&SearchStore, &Reference) -> Answer<T>,
    ) -> Answer<T> {
        let Some((name, rest)) = reference.split_first() else {
            let message = "name an index: `search:books?query=…`";
            return Error::new(Kind::Invalid, message).on(verb, reference).into();
        };
        match self.named(name) {
            Ok(store) => act(&store, &rest).on(verb, reference),
            Err(error) => error.on(verb, reference).into(),
        }
    }

    fn look<T>(
        &self,
        reference: &Reference,
        none: T,
        look: impl Fn(&SearchStore, &Reference) -> T,
    ) -> T {
        match reference.split_first().map(|(name, rest)| (self.named(name), rest)) {
            Some((Ok(store), rest)) => look(&store, &rest),
            _ => none,
        }
    }
}

/// The index that a store is.
fn index_of(store: &Rc<dyn Store>) -> Result<&SearchStore> {
    let search = store.as_any().and_then(|any| any.downcast_ref::<SearchStore>());
    search.ok_or_else(|| Error::new(Kind::Invalid, format!("{} is no index", store.describe())))
}

impl Store for SearchScheme {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.with(Verb::Get, reference, |store, rest| store.get(rest, context))
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<bool> {
        self.with(Verb::Put, reference, |store, rest| store.put(rest, content, context))
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Posted> {
        self.with(Verb::Post, reference, |store, rest| store.post(rest, content, context))
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<()> {
        self.with(Verb::Merge, reference, |store, rest| store.merge(rest, content, context))
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<bool> {
        self.with(Verb::Delete, reference, |store, rest| store.delete(rest, context))
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        if reference.split_first().is_none() {
            let entry = |name: &String| Entry { name: name.clone(), collection: true };
            return Answer::ok(Some(self.stores.borrow().keys().map(entry).collect()));
        }
        self.with(Verb::List, reference, |store, rest| store.list(rest, context))
    }

    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        self.with(Verb::Post, reference, |store, rest| store.insert(rest, records, context))
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        let name = reference.split_first().map(|(name, _)| name.to_owned()).unwrap_or_default();
        self.with(Verb::Watch, reference, |store, rest| {
            store.watch(rest, context).map(|changes| super::content::below(changes, name))
        })
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        let none = Verbs::NONE.with(Verb::Get).with(Verb::List);
        self.look(reference, none, SearchStore::verbs)
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        self.look(reference, Conditions::None, SearchStore::conditions)
    }

    fn describe(&self) -> String {
        "search".into()
    }
}
