//! Collections as stores: a reference with a query searches, one with a path is a document.
//!
//! The room has the verbs of the store, the parameters and the JSON of a search, and the handover
//! of folders between processes.

mod answer_cache;
mod answer_json;
mod bulk_load;
mod collection_registry;
mod content;
mod document_keys;
mod document_writes;
mod folder_takeover;
mod handover;
mod marked_documents;
mod record_reader;
mod scheme;
mod search_parameters;

pub use answer_cache::{MAX_KEPT_ANSWERS, MAX_KEPT_BYTES};
pub use folder_takeover::{HANDOVER_TIME, hand_over_among};
pub use record_reader::MAX_COLUMNS;
pub use scheme::{MAX_SEARCHES, SearchScheme};
pub use search_parameters::{MAX_IDS, MAX_SEARCH_PARAMETERS};

use crate::answer::highlight::Highlighter;
use crate::answer::highlight::Markers;
use crate::answer::search_answer::SearchAnswer;
use crate::collection::Collection;
use crate::collection::id::Id;
use crate::definition::{SearchDefinition, SearchesDefinition};
use crate::request::Request;
use crate::search::Search;
use crate::site::PageSource;
use answer_cache::AnswerCache;
use bytes::Bytes;
use collection_registry::CollectionHandle;
use content::{document, tag_of};
use document_keys::DocumentKeys;
use runnel_store::{
    Answer, Body, Changes, Conditions, Content, Context, Entry, Error, Kind, Outcome, Query,
    Records, Reference, Result, Store, Tables, Value, Verb, Verbs,
};
use search_parameters::SearchParameters;
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, PoisonError};

/// Most documents of a listing.
pub const MAX_LISTED: usize = 1 << 20;

/// The class of answers in programs: an object with `total`, `allocations` and `ids`.
const ANSWER_CLASS: &str = "SearchAnswer";

thread_local! {
    static ANSWER_CLASS_NAME: Rc<str> = Rc::from(ANSWER_CLASS);
}

/// An index with its documents as a store, or several indexes searched together.
///
/// - A get of the root searches. The parameters of its query are `query`, `ids` (default 20),
///   `offset`, `unique`, `filter`, `sort`, `flat`, `documents`, `highlight`, `positions`,
///   `snippet`, `words`, `facets` and `at_least`; others are ignored. `ids` and `offset` are the
///   integer at their start: `5abc` is 5 and `x` is 0. Without a query the answer is empty. The
///   answer is JSON as by [`SearchAnswer::write_json`] and has a weak entity tag, which changes
///   with every write.
/// - A path is the identifier of a document: get, put, merge, delete. The content is JSON or plain
///   data; the verb answers when the write is durable, searches see it before. Putting nil deletes.
/// - A post adds records by their key: one, a list, or a table ([`runnel_store::TABLE_RECORD`]).
/// - Listing returns the identifiers, at most [`MAX_LISTED`]; watching reports changed documents.
/// - Several indexes together have each of them under its name: `all:books/7`.
pub struct SearchStore {
    name: String,
    members: Vec<SearchMember>,
    /// The search over all of them.
    search: Search,
    /// Whether the program defined a search over several indexes.
    several: bool,
    /// The memory of an earlier answer, for reuse.
    spare: RefCell<SearchAnswer>,
    kept: RefCell<AnswerCache>,
}

/// One of the indexes of a search.
#[derive(Clone)]
pub(crate) struct SearchMember {
    pub(crate) shared: Arc<CollectionHandle>,
    pub(crate) keys: Rc<DocumentKeys>,
}

impl SearchMember {
    pub(crate) fn collection(&self) -> Arc<Collection> {
        self.shared.collection()
    }
}

impl SearchStore {
    /// Opens the collection of a definition. All threads of a process that open the same folder, or
    /// define the same index in memory, share the collection.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for an invalid definition, [`Kind::Conflict`] for a folder in use with
    /// another definition; otherwise those of [`Collection::open`].
    pub fn open(definition: &Value) -> Result<SearchStore> {
        let read = SearchDefinition::read(definition)?;
        let keys = Rc::new(DocumentKeys::new(&read));
        let config = read.collection.search.clone();
        handover::start();
        let shared = CollectionHandle::open(read.collection, &read.name, definition)?;
        let search = Search::new(vec![shared.collection().index().clone()], config)
            .map_err(|error| Error::new(Kind::Invalid, error.message()))?;
        Ok(SearchStore {
            name: read.name,
            members: vec![SearchMember { shared, keys }],
            search,
            several: false,
            spare: RefCell::default(),
            kept: RefCell::default(),
        })
    }

    /// A search over several indexes, in this order.
    ///
    /// # Errors
    /// [`Kind::Invalid`] without an index, with too many, and with the same index twice.
    pub fn together(definition: SearchesDefinition, stores: &[&SearchStore]) -> Result<Self> {
        let members: Vec<SearchMember> =
            stores.iter().flat_map(|store| store.members.iter().cloned()).collect();
        let indexes = members.iter().map(|member| member.collection().index().clone()).collect();
        let search = Search::new(indexes, definition.search)
            .map_err(|error| Error::new(Kind::Invalid, error.message()))?;
        let names: Vec<&str> = members.iter().map(|member| member.keys.index()).collect();
        Ok(SearchStore {
            name: definition.name.unwrap_or_else(|| names.join("+")),
            members,
            search,
            several: true,
            spare: RefCell::default(),
            kept: RefCell::default(),
        })
    }

    /// The name in programs.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The search, for filters, orders and facets.
    pub fn searching(&self) -> &Search {
        &self.search
    }

    /// The markers around matches.
    fn markers(&self) -> &Markers {
        self.searching().config.markers()
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.members.iter().map(|member| member.collection().len()).sum()
    }

    /// Whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The version, different after every write.
    fn version(&self) -> u64 {
        match &self.members[..] {
            [one] => one.collection().version(),
            several => {
                let mut hasher = DefaultHasher::new();
                several.iter().for_each(|one| one.collection().version().hash(&mut hasher));
                hasher.finish()
            }
        }
    }

    fn search(&self, reference: &Reference, context: &Context) -> Result<Content> {
        // Read before searching, so that a write in between invalidates the cached answer.
        let version = self.version();
        let tag = self.kept.borrow_mut().tag(version);
        if context.known.as_ref() == Some(&tag) {
            return Ok(Content { entity_tag: Some(tag), ..Content::default() });
        }
        let asked = reference.query().unwrap_or_default();
        let kept = self.kept.borrow().get(asked);
        let text = match kept {
            Some(text) => text,
            None => {
                let parameters = SearchParameters::read(asked)?;
                let mut found = self.spare.take();
                let text = self.search_json(&parameters, &mut found).map(Bytes::from);
                self.spare.replace(found);
                let text = text?;
                self.kept.borrow_mut().insert(version, asked, &text);
                text
            }
        };
        let class = ANSWER_CLASS_NAME.with(Rc::clone);
        Ok(Content { entity_tag: Some(tag), class: Some(class), ..content::json(text) })
    }

    /// The member of a path, and the rest of the path: the identifier of a document.
    fn member_at(&self, reference: &Reference) -> Result<Option<(&SearchMember, Reference)>> {
        if reference.relative_path().is_empty() {
            return Ok(None);
        }
        let [only] = &self.members[..] else {
            let Some((first, rest)) = reference.split_first() else { return Ok(None) };
            let named = self.members.iter().find(|member| member.keys.index() == first);
            let member = named.ok_or_else(|| {
                Error::new(Kind::NotFound, format!("this search has no index {first}"))
            })?;
            return Ok(Some((member, rest)));
        };
        Ok(Some((only, reference.clone())))
    }

    /// The member and the identifier of a path.
    fn document_at(&self, reference: &Reference) -> Result<Option<(&SearchMember, Id)>> {
        let Some((member, rest)) = self.member_at(reference)? else { return Ok(None) };
        Ok(member.keys.id_of_path(&rest.key()).map(|id| (member, id)))
    }

    /// The only index of a path, for verbs on a whole index.
    fn collection_at(&self, verb: Verb, reference: &Reference) -> Result<&SearchMember> {
        match (self.member_at(reference), &self.members[..]) {
            (Ok(None), [only]) => Ok(only),
            (Ok(Some((member, rest))), [_, _, ..]) if rest.relative_path().is_empty() => Ok(member),
            (Err(error), _) => Err(error),
            _ => Err(Error::not_allowed(verb, reference)),
        }
    }

    fn get_now(&self, reference: &Reference, context: &Context) -> Result<Option<Content>> {
        if reference.relative_path().is_empty() {
            return self.search(reference, context).map(Some);
        }
        let Some((member, id)) = self.document_at(reference)? else { return Ok(None) };
        let Some(bytes) = member.collection().document(&id) else { return Ok(None) };
        let tag = tag_of(&bytes);
        if context.known.as_ref() == Some(&tag) {
            return Ok(Some(Content { entity_tag: Some(tag), ..Content::default() }));
        }
        Ok(Some(document(bytes, tag)))
    }

    fn list_now(&self, reference: &Reference) -> Result<Option<Vec<Entry>>> {
        let member = match self.collection_at(Verb::List, reference) {
            Ok(member) => member,
            Err(_) if reference.relative_path().is_empty() => {
                let name = |member: &SearchMember| Entry {
                    name: member.keys.index().to_owned(),
                    collection: true,
                };
                let mut entries: Vec<Entry> = self.members.iter().map(name).collect();
                entries.sort();
                return Ok(Some(entries));
            }
            Err(_) => return Ok(None),
        };
        let ids = member.collection().ids(0, MAX_LISTED + 1);
        if ids.len() > MAX_LISTED {
            let message = format!("there are more than {MAX_LISTED} documents; search them");
            return Err(Error::new(Kind::TooLarge, message));
        }
        let entry = |id: Id| Entry { name: id.to_string(), collection: false };
        let mut entries: Vec<Entry> = ids.into_iter().map(entry).collect();
        entries.sort();
        Ok(Some(entries))
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for SearchStore {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        Answer::Ready(self.get_now(reference, context)).on(Verb::Get, reference)
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let at = match self.document_at(reference) {
            Ok(Some((member, id))) => Ok((member.clone(), id)),
            Ok(None) => match self.member_at(reference) {
                Ok(Some((member, rest))) => Err(member.keys.invalid_path_error(&rest.key())),
                _ => Err(Error::not_allowed(Verb::Put, reference)),
            },
            Err(error) => Err(error),
        };
        match at {
            Ok((member, id)) => document_writes::put(member, id, content, context)
                .map(Outcome::put)
                .on(Verb::Put, reference),
            Err(error) => error.on(Verb::Put, reference).into(),
        }
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let posted = context.unconditional(Verb::Post, reference).and_then(|()| {
            let columns = search_parameters::columns(reference.query().unwrap_or_default())?;
            Ok((self.collection_at(Verb::Post, reference)?.clone(), columns))
        });
        match posted {
            Ok((member, columns)) => {
                bulk_load::post(member, columns, content).on(Verb::Post, reference)
            }
            Err(error) => error.on(Verb::Post, reference).into(),
        }
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        match self.document_at(reference) {
            Ok(Some((member, id))) => {
                let merged = document_writes::merge(member.clone(), id, content, context);
                merged.map(|()| Outcome::changed()).on(Verb::Merge, reference)
            }
            Ok(None) if reference.relative_path().is_empty() => {
                Error::not_allowed(Verb::Merge, reference).into()
            }
            Ok(None) => document_writes::missing_error().on(Verb::Merge, reference).into(),
            Err(error) => error.on(Verb::Merge, reference).into(),
        }
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        match self.document_at(reference) {
            Ok(Some((member, id))) => document_writes::delete(member, &id, context)
                .map(Outcome::deleted)
                .on(Verb::Delete, reference),
            Ok(None) if reference.relative_path().is_empty() => {
                Error::not_allowed(Verb::Delete, reference).into()
            }
            // No document has an invalid key.
            Ok(None) => match &context.only_if {
                Some(condition) => condition.check(None).map(|()| Outcome::deleted(false)).into(),
                None => Answer::ok(Outcome::deleted(false)),
            },
            Err(error) => error.on(Verb::Delete, reference).into(),
        }
    }

    fn list(&self, reference: &Reference, _: &Context) -> Answer<Option<Vec<Entry>>> {
        Answer::Ready(self.list_now(reference)).on(Verb::List, reference)
    }

    fn query(&self, reference: &Reference, query: &Query, _: &Context) -> Answer<Content> {
        // The only query is the count of documents; searches find them.
        let counted = query.count && query.filter.is_none() && query.limit.is_none();
        if !counted || query.offset != 0 {
            return Error::not_allowed(Verb::Query, reference).into();
        }
        let count = match self.collection_at(Verb::Query, reference) {
            Ok(member) => member.collection().len(),
            Err(_) if reference.relative_path().is_empty() => self.len(),
            Err(error) => return error.into(),
        };
        Answer::ok(Content::value(Value::Int(count as i64)))
    }

    fn watch(&self, reference: &Reference, _: &Context) -> Answer<Changes> {
        let watched = match self.member_at(reference) {
            Ok(None) => match &self.members[..] {
                [only] => Ok(only.collection().watchers().watch(reference)),
                _ => Err(Error::new(
                    Kind::NotAllowed,
                    "several indexes are watched one by one, by their names",
                )),
            },
            Ok(Some((member, rest))) => {
                let names = self.members.len() > 1;
                let changes = member.collection().watchers().watch(&rest);
                let name = member.keys.index().to_owned();
                Ok(if names { content::below(changes, name) } else { changes })
            }
            Err(error) => Err(error),
        };
        Answer::Ready(watched).on(Verb::Watch, reference)
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        let read = Verbs::NONE.with(Verb::Get).with(Verb::Watch);
        match self.collection_at(Verb::Post, reference) {
            Ok(_) => read.with(Verb::Post).with(Verb::List),
            Err(_) if reference.relative_path().is_empty() => read.with(Verb::List),
            Err(_) => read.with(Verb::Put).with(Verb::Merge).with(Verb::Delete),
        }
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        match reference.relative_path().is_empty() {
            true => Conditions::None,
            false => Conditions::Tags,
        }
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    runnel_store::without!(appends, keys, attributes, relocate, queues, links, sources);

    fn describe(&self) -> String {
        format!("search {}", self.name)
    }

    fn tables(&self) -> Option<&dyn Tables> {
        Some(self)
    }
}

impl Tables for SearchStore {
    fn insert(&self, reference: &Reference, records: Box<dyn Records>, _: &Context) -> Answer<u64> {
        match self.collection_at(Verb::Post, reference) {
            Ok(member) => bulk_load::insert(member.clone(), records).on(Verb::Post, reference),
            Err(error) => error.on(Verb::Post, reference).into(),
        }
    }

    runnel_store::without!(
        change_all,
        explain,
        run,
        migrate,
        define,
        key_value_store,
        snapshot,
        back_up,
        vacuum,
        begin
    );
}

impl PageSource for SearchStore {
    fn search_into(&self, query: &str, request: &Request<'_>, answer: &mut SearchAnswer) {
        self.search.search_into(query, request, answer);
    }

    fn document(&self, index: usize, id: &Id) -> Option<Bytes> {
        self.members.get(index)?.collection().document(id)
    }

    fn highlight(
        &self,
        index: usize,
        answer: &SearchAnswer,
        look: &mut dyn FnMut(&Highlighter<'_>),
    ) {
        if let Some(index) = self.search.indexes().get(index) {
            let index = index.read().unwrap_or_else(PoisonError::into_inner);
            look(&Highlighter::new(&index, answer));
        }
    }

    /// The folder of the first index.
    fn folder(&self) -> Option<PathBuf> {
        self.members.first()?.shared.definition.folder.clone()
    }

    fn is_several(&self) -> bool {
        self.several
    }
}

/// Whether content is nil.
fn is_nil(content: &Content) -> bool {
    matches!(content.body, Body::Value(Value::Nil))
}
