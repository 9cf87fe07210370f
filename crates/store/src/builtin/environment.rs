//! The process environment as a store.

use crate::{
    Answer, Body, ChangeKind, Changes, Content, Context, Entry, Error, Kind, Outcome, Reference,
    Result, Store, Value, Verb, Verbs, Watchers,
};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::rc::Rc;

/// Size limit of a variable in bytes: Linux's limit for the environment of a child process.
const MAX_LENGTH: usize = 128 << 10;

/// The variables of the process environment.
///
/// Changing the environment of a running process is not safe while other threads read it. Changes
/// are therefore kept in an overlay, which this store reads from then on. [`Environment::overlay`]
/// passes it to child processes. Clones share the overlay.
///
/// Reading the root returns the list of all names. Putting nil deletes. A value that is not UTF-8
/// is returned as bytes. A watch reports changes through this store and its clones; the process
/// makes no others.
#[derive(Clone, Default)]
pub struct Environment {
    changes: Rc<RefCell<BTreeMap<String, Option<String>>>>,
    watchers: Watchers,
}

impl Environment {
    /// The environment of this process, without changes.
    pub fn new() -> Self {
        Environment::default()
    }

    /// The changes so far, for a child process: a name with its new value, or with none where it
    /// was deleted.
    pub fn overlay(&self) -> Vec<(String, Option<String>)> {
        let changes = self.changes.borrow();
        changes.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// A variable as it is now, where it is set and is text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.value(name)?.into_string().ok()
    }

    fn names(&self) -> Vec<String> {
        let inherited = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let mut names: BTreeSet<String> = inherited.collect();
        for (name, value) in self.changes.borrow().iter() {
            match value {
                Some(_) => names.insert(name.clone()),
                None => names.remove(name),
            };
        }
        names.retain(|name| is_name(name));
        names.into_iter().collect()
    }

    fn value(&self, name: &str) -> Option<OsString> {
        match self.changes.borrow().get(name) {
            Some(change) => change.clone().map(OsString::from),
            None => std::env::var_os(name),
        }
    }

    fn set(&self, name: &str, value: Option<String>) -> bool {
        let before = self.value(name).is_some();
        let kind = if value.is_some() { ChangeKind::Changed } else { ChangeKind::Deleted };
        self.changes.borrow_mut().insert(name.to_string(), value);
        self.watchers.publish(kind, &Reference::from_path(name));
        before
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for Environment {
    fn get(&self, reference: &Reference, _: &Context) -> Answer<Option<Content>> {
        let name = &*reference.key();
        if name.is_empty() {
            let names = self.names().into_iter().map(Value::Text).collect();
            return Answer::ok(Some(Content::value(Value::List(names))));
        }
        if !is_name(name) {
            return Answer::ok(None);
        }
        Answer::ok(self.value(name).map(|value| match value.into_string() {
            Ok(text) => Content::text(text),
            Err(value) => Content::bytes(value.into_vec()),
        }))
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        if let Err(error) = context.unconditional(Verb::Put, reference) {
            return error.into();
        }
        let name = match checked_name(reference) {
            Ok(name) => name.into_owned(),
            Err(error) => return Answer::from(error).on(Verb::Put, reference),
        };
        let this = self.clone();
        if matches!(content.body, Body::Value(Value::Nil)) {
            this.set(&name, None);
            return Answer::ok(Outcome::changed());
        }
        let text = content.read(MAX_LENGTH).and_then(|bytes| text_of(bytes.into()).into());
        text.map(move |text| Outcome::put(!this.set(&name, Some(text)))).on(Verb::Put, reference)
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        if let Err(error) = context.unconditional(Verb::Delete, reference) {
            return error.into();
        }
        let name = &*reference.key();
        let existed = is_name(name) && self.value(name).is_some() && self.set(name, None);
        Answer::ok(Outcome::deleted(existed))
    }

    fn list(&self, reference: &Reference, _: &Context) -> Answer<Option<Vec<Entry>>> {
        let entries = || {
            let names = self.names().into_iter().filter(|name| !name.contains('/'));
            names.map(|name| Entry { name, collection: false }).collect()
        };
        Answer::ok(reference.relative_path().is_empty().then(entries))
    }

    fn watch(&self, reference: &Reference, _: &Context) -> Answer<Changes> {
        Answer::ok(self.watchers.watch(reference))
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        let reading = Verbs::NONE.with(Verb::Get).with(Verb::List).with(Verb::Watch);
        if reference.relative_path().is_empty() {
            return reading;
        }
        reading.with(Verb::Put).with(Verb::Delete)
    }

    crate::without!(
        post, merge, keys, attributes, relocate, query, tables, conditions, links, as_any, sources
    );

    fn describe(&self) -> String {
        "environment".to_string()
    }
}

/// What the system takes as a name of a variable.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

fn checked_name(reference: &Reference) -> Result<Cow<'_, str>> {
    let name = reference.key();
    if is_name(&name) {
        return Ok(name);
    }
    let message = "a variable needs a name, without `=` and zero bytes";
    Err(Error::new(Kind::Invalid, message))
}

fn text_of(bytes: Vec<u8>) -> Result<String> {
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => {
            let message = "a variable of the environment has to be text without zero bytes";
            Err(Error::new(Kind::Unsupported, message))
        }
    }
}
