//! `#OpenAPI{ }` in front of an API: its document at `/openapi.json`, and its pages at `/docs`.

use runnel_openapi::{Api, document_text, page};
use runnel_store::{
    Answer, Below, Content, Context, EntityTag, Error, Kind, Layer, Reference, Result, Store, Text,
    Value, Verb, Verbs, json,
};
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// Bytes of the description of an API at most.
const MAX_DESCRIPTION: usize = 16 << 20;

/// The store over the documented store, and over its description.
pub(super) fn make(sources: &[(String, Rc<dyn Store>)]) -> Result<Rc<dyn Store>> {
    let named = |name: &str| {
        let found = sources.iter().find(|(known, _)| known == name);
        found.map(|(_, store)| store.clone())
    };
    let (Some(source), Some(api)) = (named("source"), named("api")) else {
        return Err(Error::new(Kind::Failed, "an OpenAPI has nothing to describe"));
    };
    Ok(Rc::new(Documented { source, api, files: Rc::default() }))
}

/// A file that describes an API, ready to be sent.
struct DocumentFile {
    text: Text,
    media_type: &'static str,
    tag: EntityTag,
}

impl DocumentFile {
    fn new(text: Text, media_type: &'static str) -> DocumentFile {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let tag = EntityTag::strong(format!("{:016x}", hasher.finish()));
        DocumentFile { text, media_type, tag }
    }

    fn content(&self) -> Content {
        let content = Content::text(self.text.clone()).with_media_type(self.media_type);
        Content { entity_tag: Some(self.tag.clone()), ..content }
    }
}

/// The files of an API, written once.
struct DocumentFiles {
    document: DocumentFile,
    markup: DocumentFile,
    script: DocumentFile,
    style: DocumentFile,
    /// The header `Content-Security-Policy` of the page.
    policy: String,
}

impl DocumentFiles {
    fn of(api: &Api) -> DocumentFiles {
        let page = page(api);
        DocumentFiles {
            document: DocumentFile::new(document_text(api).into(), "application/json"),
            markup: DocumentFile::new(page.html.into(), "text/html"),
            script: DocumentFile::new(Text::from_static(page.script), "text/javascript"),
            style: DocumentFile::new(Text::from_static(page.style), "text/css"),
            policy: page.policy,
        }
    }
}

/// Which of the files.
#[derive(Clone, Copy)]
enum DocumentPart {
    Document,
    Markup,
    Script,
    Style,
}

impl DocumentPart {
    fn at(reference: &Reference) -> Option<DocumentPart> {
        match reference.path().trim_start_matches('/') {
            "openapi.json" => Some(DocumentPart::Document),
            "docs" => Some(DocumentPart::Markup),
            "docs/docs.js" => Some(DocumentPart::Script),
            "docs/docs.css" => Some(DocumentPart::Style),
            _ => None,
        }
    }
}

struct Documented {
    source: Rc<dyn Store>,
    api: Rc<dyn Store>,
    files: Rc<RefCell<Option<Rc<DocumentFiles>>>>,
}

impl Documented {
    /// The files, made of what the program says of itself when they are first asked for.
    fn files(&self) -> Answer<Rc<DocumentFiles>> {
        if let Some(files) = self.files.borrow().clone() {
            return Answer::ok(files);
        }
        let kept = self.files.clone();
        let described = self.api.get(&Reference::default(), &Context::default());
        described.and_then(|found| found.unwrap_or_default().read(MAX_DESCRIPTION)).and_then(
            move |text| {
                let made = json::parse(&text)
                    .map(|described: Value| Rc::new(DocumentFiles::of(&Api::read(&described))));
                if let Ok(files) = &made {
                    *kept.borrow_mut() = Some(files.clone());
                }
                made.into()
            },
        )
    }
}

impl Layer for Documented {
    fn below<'a>(&'a self, verb: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        let writes = matches!(verb, Verb::Put | Verb::Post | Verb::Merge | Verb::Delete);
        if writes && DocumentPart::at(reference).is_some() {
            return Err(Error::not_allowed(verb, reference));
        }
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        let (api, files) = (self.api.clone(), self.files.clone());
        Some(Rc::new(Documented { source: inner, api, files }))
    }

    fn name(&self) -> String {
        "OpenAPI".to_string()
    }

    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let Some(part) = DocumentPart::at(reference) else {
            return self.source.get(reference, context);
        };
        let exchange = context.exchange.clone();
        self.files().and_then(move |files| {
            let file = match part {
                DocumentPart::Document => &files.document,
                DocumentPart::Markup => &files.markup,
                DocumentPart::Script => &files.script,
                DocumentPart::Style => &files.style,
            };
            if let (DocumentPart::Markup, Some(exchange)) = (part, exchange)
                && let Err(error) = exchange.set_header("content-security-policy", &files.policy)
            {
                return error.into();
            }
            Answer::ok(Some(file.content()))
        })
    }

    fn layer_verbs(&self, reference: &Reference) -> Verbs {
        match DocumentPart::at(reference) {
            Some(_) => Verbs::NONE.with(Verb::Get),
            None => self.source.verbs(reference),
        }
    }
}
