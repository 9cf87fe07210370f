//! Names with an ending below and without it above.

use crate::combine::answers::{in_order, renamed};
use crate::combine::definition::Combinator;
use crate::combine::layer::{Below, Layer, PathUp};
use crate::{
    Answer, Change, Changes, Context, Entry, Reference, Result, Setting, SettingTable, Store, Verb,
};
use futures_util::{StreamExt, stream};
use std::rc::Rc;

#[derive(Default)]
struct ExtensionOptions {
    extension: String,
}

const SETTINGS: SettingTable<ExtensionOptions> = SettingTable(&[Setting::new(
    "extension",
    "the ending that names have in the source",
    |options| &mut options.extension,
)]);

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Extension",
    aliases: &["ExtensionStore", "MPWExtensionStore", "MPWExtensionMapper", "ExtensionMapper"],
    help: "an implied file extension",
    settings: &SETTINGS,
    make: |parts| {
        let ExtensionOptions { extension } = parts.read("an Extension", &SETTINGS)?;
        Ok(Extension::new(parts.source()?, &extension).into())
    },
};

/// Appends an extension to the last path segment for the source: `tasks/1` here is `tasks/1.json`
/// there.
///
/// Listings show the names with the extension, without it, and all collections. Collections and the
/// root keep their names, so listings, transactions, definitions and statements use the reference
/// unchanged. A change of any other name may be of a collection, so it is reported as lost there.
pub struct Extension {
    source: Rc<dyn Store>,
    ending: Rc<str>,
}

impl Extension {
    /// Appends `extension`, with or without its dot, to the references for `source`.
    pub fn new(source: Rc<dyn Store>, extension: &str) -> Self {
        let extension = extension.trim_start_matches('.');
        let ending = if extension.is_empty() { String::new() } else { format!(".{extension}") };
        Extension { source, ending: ending.into() }
    }

    fn named(&self, reference: &Reference) -> Reference {
        let path = reference.path().trim_end_matches('/');
        if path.is_empty() {
            return reference.clone();
        }
        reference.with_path(format!("{path}{}", self.ending))
    }
}

/// The name that something below has here.
fn above(ending: &str, below: &Reference) -> Option<Reference> {
    let path = below.path().strip_suffix(ending)?;
    let named = !path.is_empty() && !path.ends_with('/');
    named.then(|| below.with_path(path))
}

impl Layer for Extension {
    fn below<'a>(&'a self, verb: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(match verb {
            Verb::List | Verb::Define | Verb::Begin => Below::same(&self.source, reference),
            _ => Below::at(&self.source, self.named(reference)),
        })
    }

    fn up(&self, _: &Reference) -> Option<PathUp> {
        let ending = self.ending.clone();
        Some(Box::new(move |below| above(&ending, below)))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(Extension { source: inner, ending: self.ending.clone() }))
    }

    fn name(&self) -> String {
        format!("extension {}", &*self.ending)
    }

    fn layer_list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let ending = self.ending.clone();
        let listed = self.source.list(reference, context);
        listed.map(move |listed| {
            let named = listed?.into_iter().filter_map(|entry| match entry.collection {
                true => Some(entry),
                false => {
                    let name = entry.name.strip_suffix(&*ending)?;
                    (!name.is_empty()).then(|| Entry { name: name.to_string(), ..entry })
                }
            });
            Some(in_order(named.collect()))
        })
    }

    fn layer_watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        let ending = self.ending.clone();
        let inner = self.source.watch(reference, context);
        let inner = inner.map(move |changes| -> Changes {
            Box::pin(changes.map(move |change| {
                let change = change?;
                Ok(match above(&ending, &change.reference) {
                    Some(reference) => Change { reference, ..change },
                    None => Change::lost(change.reference),
                })
            }))
        });
        let below = self.named(reference);
        if &below == reference {
            return inner;
        }
        let on = reference.clone();
        let own = renamed(self.source.watch(&below, context), reference, move |_| Some(on.clone()));
        own.and_then(move |own| {
            inner.map(move |inner| Box::pin(stream::select(own, inner)) as Changes)
        })
    }
}
