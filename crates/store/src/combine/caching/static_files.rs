//! Files as a web server shows them.

mod kept;
mod rules;
mod untrusted;

use crate::combine::access::guard::refuse_guarded;
use crate::combine::definition::Combinator;
use crate::combine::layer::{Below, Layer};
use crate::{
    Answer, Body, Conditions, Confinement, Content, Context, Entry, Error, Exchange, Kind,
    Reference, Result, Setting, SettingKind, SettingTable, Store, Verb, Verbs, coding_quality,
    setting_choices,
};
use kept::SiteCache;
use std::cell::RefCell;
use std::rc::Rc;

/// What a site of files does beside answering files.
#[derive(Clone, Debug)]
pub struct StaticOptions {
    /// The index file of a directory. Default `index.html`; empty for none.
    pub index: String,
    /// Whether a directory without such a file is listed. Default off.
    pub listing: bool,
    /// Whether names that begin with a dot are shown. Default off, but for `/.well-known`
    /// (RFC 8615).
    pub dot_files: bool,
    /// Which symbolic links are followed.
    pub links: Links,
    /// The `Cache-Control` of every file.
    pub cache_control: Option<String>,
    /// Patterns of paths such as `assets/*` with immutable content, which clients may cache for a
    /// year without revalidation. `*` matches any characters, `?` one.
    pub immutable: Vec<String>,
    /// The file for missing paths whose last part has no dot: for applications with client-side
    /// routing.
    pub fallback: Option<String>,
    /// The page that comes with 404.
    pub not_found: Option<String>,
    /// Whether `a.css.br`, `a.css.zst` and `a.css.gz` are sent for `a.css` to clients that accept
    /// them, unless they are older. Default on.
    pub precompressed: bool,
    /// Caches small files in memory until the store below reports a change; without change
    /// notifications, every request reads the store. Default off: every request checks the file.
    pub cached: bool,
    /// Whether strangers may have written the files: browsers show images, audio and video, download
    /// everything else, and run nothing. Default off.
    pub untrusted: bool,
}

impl Default for StaticOptions {
    fn default() -> Self {
        StaticOptions {
            index: "index.html".to_string(),
            listing: false,
            dot_files: false,
            links: Links::Inside,
            cache_control: None,
            immutable: Vec::new(),
            fallback: None,
            not_found: None,
            precompressed: true,
            cached: false,
            untrusted: false,
        }
    }
}

/// Which symbolic links of files on a disk are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// None.
    Refused,
    /// Those that lead to somewhere within the site.
    Inside,
    /// All of them, wherever they lead.
    All,
}

setting_choices!(Links {
    "inside" => Links::Inside,
    "none" => Links::Refused,
    "all" => Links::All,
});

const SETTINGS: SettingTable<StaticOptions> = SettingTable(&[
    Setting::new(
        "index",
        "the file that stands for a directory; `''` for none",
        |options: &mut StaticOptions| &mut options.index,
    ),
    Setting::new(
        "listing",
        "whether a directory without it is listed",
        |options: &mut StaticOptions| &mut options.listing,
    ),
    Setting::new(
        "dotFiles",
        "whether names that begin with a dot are shown; `/.well-known` always is",
        |options: &mut StaticOptions| &mut options.dot_files,
    ),
    Setting::new("symlinks", "which symbolic links are followed", |options: &mut StaticOptions| {
        &mut options.links
    }),
    Setting::new(
        "cacheControl",
        "the `Cache-Control` of every file",
        |options: &mut StaticOptions| &mut options.cache_control,
    ),
    Setting::custom(
        "immutable",
        "patterns of paths whose content never changes, with blanks between them",
        SettingKind::Text,
        |options, value| {
            let patterns = value.as_str().ok_or("a text")?;
            options.immutable = patterns.split_whitespace().map(str::to_string).collect();
            Ok(())
        },
    ),
    Setting::new("fallback", "the file for paths without one", |options: &mut StaticOptions| {
        &mut options.fallback
    }),
    Setting::new("notFound", "the page that comes with 404", |options: &mut StaticOptions| {
        &mut options.not_found
    }),
    Setting::new(
        "precompressed",
        "whether compressed files beside a file are sent",
        |options: &mut StaticOptions| &mut options.precompressed,
    )
    .was(&["packed"]),
    Setting::new(
        "cached",
        "whether small files are kept in memory",
        |options: &mut StaticOptions| &mut options.cached,
    )
    .was(&["keep"]),
    Setting::new(
        "untrusted",
        "whether strangers may have written the files",
        |options: &mut StaticOptions| &mut options.untrusted,
    ),
]);

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "StaticFiles",
    aliases: &[],
    help: "files as a web server shows them",
    settings: &SETTINGS,
    make: |parts| {
        let options = parts.read("a StaticFiles", &SETTINGS)?;
        if options.cached {
            refuse_guarded(&parts.source()?, "a StaticFiles with `cached`")?;
        }
        Ok(StaticFiles::new(parts.source()?, options)?.into())
    },
};

/// The encodings of files that lie beside them, the best first.
const PACKED: [(&str, &str); 3] = [("br", ".br"), ("zstd", ".zst"), ("gzip", ".gz")];

/// The `Cache-Control` of what never changes under its name.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// Serves files like a web server: any store, read only, with HTTP semantics.
///
/// - A path that ends in a slash is a directory: the answer is its index file, or its listing if
///   enabled. Without the slash the client is redirected to the path with it (308), so that
///   relative links of the page resolve.
/// - Hidden names, links out of the site, FIFOs and devices look like missing files; no answer
///   reveals the difference.
/// - The response headers (`Cache-Control`, `Vary`, `Content-Encoding`) and the status are set on
///   the exchange of the context. Without an exchange, files are read plainly and directories
///   return their index file.
pub struct StaticFiles {
    site: Rc<ServedFiles>,
}

struct ServedFiles {
    source: Rc<dyn Store>,
    /// The source without ways out of it, once there is one.
    confined: RefCell<Option<Rc<dyn Store>>>,
    kept: Option<SiteCache>,
    options: StaticOptions,
}

/// One read.
struct Visit {
    reference: Reference,
    context: Context,
}

impl StaticFiles {
    /// The files of a store.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: a `Cache-Control` that no header can carry. [`Kind::Denied`]: a store that
    /// cannot be confined ([`Confinement::Impossible`]).
    pub fn new(source: Rc<dyn Store>, options: StaticOptions) -> Result<Self> {
        let control = options.cache_control.as_deref().unwrap_or_default();
        if !control.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            let message =
                "the cache control of static files has a character that no header can have";
            return Err(Error::new(Kind::Invalid, message));
        }
        let kept = options.cached.then(SiteCache::default);
        let site = ServedFiles { source, confined: RefCell::default(), kept, options };
        if let Some(links) = site.confinement()
            && matches!(site.source.confined(&Reference::default(), links), Confinement::Impossible)
        {
            let message = format!(
                "static files cannot keep symbolic links of `{}` inside; put it in front of the \
                 static files, or say `symlinks: 'all'`",
                site.source.describe()
            );
            return Err(Error::new(Kind::Denied, message));
        }
        Ok(StaticFiles { site: Rc::new(site) })
    }
}

impl Visit {
    fn path(&self) -> &str {
        self.reference.path()
    }

    fn exchange(&self) -> Option<&Rc<dyn Exchange>> {
        self.context.exchange.as_ref()
    }

    /// Says something beside the content.
    fn say(&self, name: &str, value: &str) -> Result<()> {
        match self.exchange() {
            Some(exchange) => exchange.set_header(name, value),
            None => Ok(()),
        }
    }
}

impl ServedFiles {
    /// Whether links within the site are followed; `None` where every link is.
    fn confinement(&self) -> Option<bool> {
        match self.options.links {
            Links::All => None,
            Links::Inside => Some(true),
            Links::Refused => Some(false),
        }
    }

    /// The store that is read; `None` where the site does not exist or cannot be confined.
    fn store(&self) -> Option<Rc<dyn Store>> {
        if let Some(confined) = &*self.confined.borrow() {
            return Some(confined.clone());
        }
        let Some(links) = self.confinement() else { return Some(self.source.clone()) };
        let confined = match self.source.confined(&Reference::default(), links) {
            Confinement::By(confined) => confined,
            Confinement::Inherent => self.source.clone(),
            Confinement::Missing | Confinement::Impossible => return None,
        };
        *self.confined.borrow_mut() = Some(confined.clone());
        Some(confined)
    }

    /// Reads the content at a path. Hidden content is missing. `guessed` marks a path that no
    /// client named, whose absence is worth caching.
    fn read(
        self: &Rc<Self>,
        path: &str,
        context: &Context,
        guessed: bool,
    ) -> Answer<Option<Content>> {
        let Some(store) = self.store() else { return Answer::ok(None) };
        let reference = Reference::from_path(path.to_string());
        let seen = |answer: Answer<Option<Content>>| match answer {
            Answer::Ready(result) => Answer::Ready(visible(result)),
            later => Answer::later(async move { visible(later.await) }),
        };
        let Some(kept) = &self.kept else { return seen(store.get(&reference, context)) };
        if let Some(found) = kept.get(&store, path) {
            return Answer::ok(found);
        }
        let (site, path, ticket) = (self.clone(), path.to_string(), kept.ticket());
        // The cache needs the content, not the short answer for a client that has it already.
        let context = Context { known: None, ..context.clone() };
        seen(store.get(&reference, &context)).map(move |found| {
            if let Some(kept) = &site.kept {
                kept.put(&store, path, found.as_ref(), guessed, ticket);
            }
            found
        })
    }

    fn visit(self: &Rc<Self>, visit: Visit) -> Answer<Option<Content>> {
        let path = visit.path();
        if !self.options.dot_files && rules::is_hidden(path) {
            return self.missing(visit, false);
        }
        let site = self.clone();
        if path.is_empty() || path.ends_with('/') {
            return self.directory(visit);
        }
        self.read(path, &visit.context, false).and_then(move |found| match found {
            Some(content) if !matches!(content.body, Body::Value(_)) => {
                let path = visit.path().to_string();
                site.file(visit, path, content)
            }
            found => site.no_file(visit, found.is_some()),
        })
    }

    /// The index file of a directory, or its listing.
    fn directory(self: &Rc<Self>, visit: Visit) -> Answer<Option<Content>> {
        let site = self.clone();
        if self.options.index.is_empty() {
            return site.listed(visit);
        }
        let path = format!("{}{}", visit.path(), self.options.index);
        self.read(&path, &visit.context, true).and_then(move |found| match found {
            Some(content) if !matches!(content.body, Body::Value(_)) => {
                site.file(visit, path, content)
            }
            _ => site.listed(visit),
        })
    }

    /// A directory without an index file: the server shows its listing, if there is one.
    fn listed(self: &Rc<Self>, visit: Visit) -> Answer<Option<Content>> {
        if !self.options.listing {
            return self.missing(visit, true);
        }
        let site = self.clone();
        let Some(store) = self.store() else { return site.missing(visit, true) };
        let listing = store.list(&visit.reference, &visit.context);
        let decide = move |listing: Result<Option<Vec<Entry>>>| match listing {
            Ok(Some(_)) => Answer::ok(None),
            Ok(None) | Err(_) => site.missing(visit, true),
        };
        match listing {
            Answer::Ready(listing) => decide(listing),
            later => Answer::later(async move { decide(later.await).await }),
        }
    }

    /// There is no file at the path; perhaps it is a directory without its slash.
    fn no_file(self: &Rc<Self>, visit: Visit, is_collection: bool) -> Answer<Option<Content>> {
        let site = self.clone();
        let name = &self.options.index;
        let index = match name.is_empty() {
            true => Answer::ok(None),
            false => self.read(&format!("{}/{name}", visit.path()), &visit.context, false),
        };
        index.and_then(move |index| match index {
            Some(content) if visit.exchange().is_none() => Answer::ok(Some(content)),
            Some(_) => redirect(&visit).into(),
            None if is_collection && site.options.listing && visit.exchange().is_some() => {
                redirect(&visit).into()
            }
            None => site.missing(visit, true),
        })
    }

    /// A file with its response headers.
    fn file(
        self: &Rc<Self>,
        visit: Visit,
        path: String,
        content: Content,
    ) -> Answer<Option<Content>> {
        let content = rules::with_charset(content);
        let options = &self.options;
        let bare = path.trim_start_matches('/');
        let control = match options.immutable.iter().any(|pattern| rules::fits(pattern, bare)) {
            true => Some(FOR_EVER),
            false => options.cache_control.as_deref(),
        };
        if let Some(control) = control
            && let Err(error) = visit.say("cache-control", control)
        {
            return error.into();
        }
        let packable = content.media_type.as_deref().is_some_and(rules::is_packable);
        if !options.precompressed || !packable {
            return Answer::ok(Some(content));
        }
        if let Err(error) = visit.say("vary", "accept-encoding") {
            return error.into();
        }
        let accepted = visit.exchange().and_then(|exchange| exchange.header("accept-encoding"));
        let Some(accepted) = accepted else { return Answer::ok(Some(content)) };
        self.packed(visit, path, content, wanted(&accepted))
    }

    /// The first of some encodings that lies beside a file, or the file.
    fn packed(
        self: &Rc<Self>,
        visit: Visit,
        path: String,
        content: Content,
        mut wanted: Vec<(&'static str, &'static str)>,
    ) -> Answer<Option<Content>> {
        // A client that already has the plain file gets the short answer.
        let known = visit.context.knows(&content);
        let Some((coding, ending)) = wanted.pop().filter(|_| !known) else {
            return Answer::ok(Some(content));
        };
        let site = self.clone();
        let found = self.read(&format!("{path}{ending}"), &visit.context, true);
        found.and_then(move |found| match found {
            Some(packed) if packed.modified >= content.modified => {
                if let Err(error) = visit.say("content-encoding", coding) {
                    return error.into();
                }
                Answer::ok(Some(Content { media_type: content.media_type, ..packed }))
            }
            _ => site.packed(visit, path, content, wanted),
        })
    }

    /// Answers for a missing or hidden path.
    fn missing(self: &Rc<Self>, visit: Visit, may_fall_back: bool) -> Answer<Option<Content>> {
        let Some(exchange) = visit.exchange().cloned() else { return Answer::ok(None) };
        let name = visit.path().rsplit('/').next().unwrap_or_default();
        let site = self.clone();
        if let Some(page) = &self.options.fallback
            && may_fall_back
            && !name.contains('.')
        {
            return self.read(page, &visit.context, true).and_then(move |found| match found {
                // The path may lead to something else tomorrow.
                Some(content) => match exchange.set_header("cache-control", "no-cache") {
                    Ok(()) => Answer::ok(Some(rules::with_charset(content))),
                    Err(error) => error.into(),
                },
                None => site.not_found(&exchange),
            });
        }
        site.not_found(&exchange)
    }

    fn not_found(self: &Rc<Self>, exchange: &Rc<dyn Exchange>) -> Answer<Option<Content>> {
        let Some(page) = &self.options.not_found else { return Answer::ok(None) };
        let exchange = exchange.clone();
        self.read(page, &Context::default(), true).map(move |found| {
            let content = rules::with_charset(found?);
            exchange.set_status(404);
            // It is no content of this path: there is nothing to compare or to continue.
            Some(Content { entity_tag: None, modified: None, ..content })
        })
    }
}

/// The encodings that a client takes, the one it likes least first.
fn wanted(accepted: &str) -> Vec<(&'static str, &'static str)> {
    let plain = coding_quality(accepted, "identity");
    let mut wanted: Vec<_> = PACKED
        .into_iter()
        .rev()
        .map(|coding| (coding_quality(accepted, coding.0), coding))
        .filter(|(quality, _)| *quality > 0 && *quality >= plain)
        .collect();
    wanted.sort_by_key(|(quality, _)| *quality);
    wanted.into_iter().map(|(_, coding)| coding).collect()
}

/// Sends a client to the same path with a slash. The place is relative, so that no path can make it
/// another server's, and a site works wherever it is mounted.
fn redirect(visit: &Visit) -> Result<Option<Content>> {
    let Some(exchange) = visit.exchange() else { return Ok(None) };
    let name = visit.path().rsplit('/').next().unwrap_or_default();
    let mut place = format!("{}/", rules::escaped(name));
    if let Some(query) = visit.reference.query() {
        place.push('?');
        place.push_str(query);
    }
    exchange.set_header("location", &place)?;
    exchange.set_status(308);
    Ok(Some(Content::default()))
}

/// What a visitor may not see, and what cannot be a name, is missing.
fn visible(found: Result<Option<Content>>) -> Result<Option<Content>> {
    use Kind::{Conflict, Denied, Invalid, NotFound, Unsupported};
    match found {
        Err(error)
            if matches!(error.kind, Conflict | Denied | Invalid | NotFound | Unsupported) =>
        {
            Ok(None)
        }
        found => found,
    }
}

impl Layer for StaticFiles {
    fn below<'a>(&'a self, verb: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        match self.site.store() {
            Some(store) => Ok(Below::found(store, reference.clone())),
            None => Err(Error::new(Kind::NotFound, "there are no files here").on(verb, reference)),
        }
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        let options = self.site.options.clone();
        Some(Rc::new(StaticFiles::new(inner, options).ok()?))
    }

    fn name(&self) -> String {
        "static files".to_string()
    }

    /// Files are read, listed and watched; everything else is refused.
    fn around<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        if !matches!(verb, Verb::Watch) {
            return Error::not_allowed(verb, reference).into();
        }
        match self.below(verb, reference) {
            Ok(below) => act(&**below.store, &below.reference, context),
            Err(error) => error.into(),
        }
    }

    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let visit = Visit { reference: reference.clone(), context: context.clone() };
        let found = self.site.visit(visit);
        if !self.site.options.untrusted {
            return found;
        }
        let context = context.clone();
        found.and_then(move |found| {
            found.map(|file| untrusted::protect(file, &context)).transpose().into()
        })
    }

    fn layer_list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let hidden = !self.site.options.dot_files;
        if !self.site.options.listing {
            let message = "these files are not listed";
            return Error::new(Kind::NotAllowed, message).on(Verb::List, reference).into();
        }
        if hidden && rules::is_hidden(reference.path()) {
            return Answer::ok(None);
        }
        let Some(store) = self.site.store() else { return Answer::ok(None) };
        store.list(reference, context).map(move |entries| {
            let shown = |entry: &Entry| !(hidden && entry.name.starts_with('.'));
            entries.map(|entries| entries.into_iter().filter(shown).collect())
        })
    }

    fn layer_verbs(&self, _: &Reference) -> Verbs {
        let verbs = Verbs::NONE.with(Verb::Get).with(Verb::Watch);
        if self.site.options.listing { verbs.with_public_list() } else { verbs }
    }

    fn layer_conditions(&self, _: &Reference) -> Conditions {
        Conditions::None
    }

    /// The same files of the confined source; of two answers about links, the stricter one counts.
    fn layer_confined(&self, reference: &Reference, links: bool) -> Confinement {
        let Some(own) = self.site.confinement() else { return Confinement::Impossible };
        let links = links && own;
        match self.site.source.confined(reference, links) {
            Confinement::By(inner) if reference.name().is_none() => {
                let links = if links { Links::Inside } else { Links::Refused };
                let options = StaticOptions { links, ..self.site.options.clone() };
                StaticFiles::new(inner, options)
                    .map_or(Confinement::Impossible, |files| Confinement::By(Rc::new(files)))
            }
            Confinement::By(_) => Confinement::Impossible,
            other => other,
        }
    }

    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        vec![("source".to_string(), self.site.source.clone())]
    }
}
