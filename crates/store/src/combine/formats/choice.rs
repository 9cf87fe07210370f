//! The format of an answer, chosen by the address: `articles.csv`, `articles?format=csv`.

use crate::combine::definition::{Combinator, NO_SETTINGS};
use crate::combine::layer::{Below, Layer};
use crate::{
    Answer, ChosenFormat, Content, Context, Exchange, Form, Kind, Reference, Result, Store, Verb,
};
use std::rc::Rc;

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "FormatChoice",
    aliases: &[],
    help: "formats by file extension or `?format=`",
    settings: &NO_SETTINGS,
    make: |parts| Ok(FormatChoice::new(parts.source()?).into()),
};

/// The formats that an address can name, with their file extensions.
const FORMATS: [(&str, ChosenFormat); 5] = [
    ("json", ChosenFormat::Data(Form::Json)),
    ("csv", ChosenFormat::Data(Form::Csv)),
    ("text", ChosenFormat::Data(Form::Text)),
    ("txt", ChosenFormat::Data(Form::Text)),
    ("html", ChosenFormat::Page),
];

/// Answers GET requests of clients in the format that their address names, whatever they accept.
///
/// A reference that the source has wins over the format: `logo.txt` is the file where there is one.
pub struct FormatChoice {
    source: Rc<dyn Store>,
}

impl FormatChoice {
    /// Chooses formats of the answers of `source`.
    pub fn new(source: Rc<dyn Store>) -> Self {
        FormatChoice { source }
    }
}

/// The format of `?format=`.
fn by_query(exchange: &dyn Exchange) -> Option<ChosenFormat> {
    format_named(&exchange.query("format")?)
}

/// The format of a file extension, and the reference without it.
fn by_extension(reference: &Reference) -> Option<(ChosenFormat, Reference)> {
    let (path, extension) = reference.path().rsplit_once('.')?;
    let format = format_named(extension)?;
    let named = !path.is_empty() && !path.ends_with('/');
    named.then(|| (format, reference.with_path(path)))
}

fn format_named(name: &str) -> Option<ChosenFormat> {
    FORMATS.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
}

impl Layer for FormatChoice {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(FormatChoice::new(inner)))
    }

    fn name(&self) -> String {
        "format choice".into()
    }

    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let Some(exchange) = context.exchange.clone() else {
            return self.source.get(reference, context);
        };
        if let Some(format) = by_query(&*exchange) {
            exchange.choose_format(format);
        }
        let found = self.source.get(reference, context);
        let Some((format, plain)) = by_extension(reference) else { return found };
        let (source, context) = (self.source.clone(), context.clone());
        found.then(move |found| match found {
            Ok(Some(content)) => Answer::ok(Some(content)),
            Err(error) if !matches!(error.kind, Kind::NotFound | Kind::NotAllowed) => error.into(),
            _ => {
                exchange.choose_format(format);
                source.get(&plain, &context)
            }
        })
    }
}
