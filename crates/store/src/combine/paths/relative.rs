//! A store seen from one of its references: the result of `ref:… asScheme`.

use super::encoded_slashes::climbs;
use crate::combine::definition::Combinator;
use crate::combine::layer::{Below, Layer, PathUp};
use crate::{
    Answer, Confinement, Context, Error, Kind, Outcome, Reference, Result, Setting, SettingTable,
    Store, Verb,
};
use std::rc::Rc;

#[derive(Default)]
struct RelativeOptions {
    base: String,
    base_scheme: Option<String>,
}

const SETTINGS: SettingTable<RelativeOptions> = SettingTable(&[
    Setting::new("base", "the path of the subtree", |options| &mut options.base),
    Setting::new("baseScheme", "the scheme of the references there", |options| {
        &mut options.base_scheme
    }),
]);

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "RelativeStore",
    aliases: &["MPWPathRelativeStore", "MPWRelScheme", "PathRelativeStore"],
    help: "a subtree of a store",
    settings: &SETTINGS,
    make: |parts| {
        let RelativeOptions { base, base_scheme } = parts.read("a RelativeStore", &SETTINGS)?;
        let base = Reference::from_path(base);
        let base = match base_scheme {
            Some(scheme) => base.with_scheme(scheme),
            None => base,
        };
        Ok(Relative::new(parts.source()?, base).into())
    },
};

/// The part of a store below a base reference: `a/b` here is `BASE/a/b` there.
///
/// References cannot leave the base: one with a part `..` is [`Kind::Denied`], whether or not it
/// would lead out, because stores below differ in what such a part means to them. The query of a
/// reference goes along; where it has none, that of the base does.
pub struct Relative {
    source: Rc<dyn Store>,
    base: Reference,
}

impl Relative {
    /// What lies below `base` in `source`.
    pub fn new(source: Rc<dyn Store>, base: Reference) -> Self {
        Relative { source, base }
    }

    fn joined(&self, reference: &Reference) -> Result<Reference> {
        if reference.segments().any(|part| part == "..") {
            return Err(Error::new(Kind::Denied, "the path may not contain `..` here"));
        }
        let below = self.base.join(reference.path());
        Ok(match reference.query() {
            Some(query) => below.with_query(query),
            None => below,
        })
    }
}

impl Layer for Relative {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::at(&self.source, self.joined(reference)?))
    }

    /// A request stays below the base for a server that decodes slashes first, too.
    fn around<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        if context.exchange.is_some() && reference.segments().any(climbs) {
            let message = "the path contains `..` beside an escaped slash";
            return Error::malformed_reference(message).on(verb, reference).into();
        }
        match self.joined(reference) {
            Ok(below) => act(&*self.source, &below, context),
            Err(error) => error.on(verb, reference).into(),
        }
    }

    fn up(&self, _: &Reference) -> Option<PathUp> {
        let base = self.base.clone();
        Some(Box::new(move |changed| below_base(&base, changed)))
    }

    /// A store has the collections that its content makes: the last deletion takes them away.
    fn layer_delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        let levels = reference.segments().count().saturating_sub(1);
        let prunes = Some(context.prunes.unwrap_or(levels));
        let context = Context { prunes, ..context.clone() };
        self.around(Verb::Delete, reference, &context, |inner, on, context| {
            inner.delete(on, context)
        })
    }

    fn renames_below(&self, _: &Reference) -> bool {
        false
    }

    fn over(&self, _: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        None
    }

    fn relays(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        format!("relative {}", self.base)
    }

    fn layer_confined(&self, reference: &Reference, links: bool) -> Confinement {
        // The source itself confines paths below the base.
        match self.joined(reference) {
            Ok(below) => self.source.confined(&below, links),
            Err(_) => Confinement::Impossible,
        }
    }

    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        vec![("source".to_string(), self.source.clone())]
    }
}

/// What lies below the base, seen from there.
fn below_base(base: &Reference, reference: &Reference) -> Option<Reference> {
    let base = base.relative_path().trim_end_matches('/');
    let rest = reference.relative_path().strip_prefix(base)?;
    let below = base.is_empty() || rest.is_empty() || rest.starts_with('/');
    below.then(|| reference.with_path(rest.trim_start_matches('/')))
}
