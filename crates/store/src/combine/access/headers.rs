//! Headers that every answer has, or has not.

use super::header_text::{header_name, is_value};
use crate::combine::definition::Combinator;
use crate::combine::layer::{Below, Layer};
use crate::{
    Answer, Context, Exchange, Reference, Result, Setting, SettingKind, SettingTable, SettingValue,
    Store, Value, Verb, Wanted,
};
use std::rc::Rc;

/// The most headers that one combinator sets, and that it removes.
const MOST: usize = 50;

/// What a [`Headers`] does.
#[derive(Clone, Debug, Default)]
pub struct HeadersOptions {
    /// Headers by name: they replace those of the source.
    pub set: Vec<(String, String)>,
    /// Names of headers that the source may not set.
    pub remove: Vec<String>,
}

const SETTINGS: SettingTable<HeadersOptions> = SettingTable(&[
    Setting::custom(
        "set",
        "headers by name, which replace those of the source",
        SettingKind::Record,
        |options: &mut HeadersOptions, value| {
            options.set = headers_in(value)?;
            Ok(())
        },
    ),
    Setting::custom(
        "remove",
        "names of headers that the source may not set",
        SettingKind::Texts,
        |options: &mut HeadersOptions, value| {
            let mut names: Vec<String> = Vec::new();
            names.assign(value, None)?;
            let names = names.iter().map(|name| header_name(name)).collect::<Option<Vec<_>>>();
            let names = names.filter(|names| names.len() <= MOST);
            options.remove = names.ok_or("names of headers that the server itself does not set")?;
            Ok(())
        },
    ),
]);

/// The headers of a dictionary.
fn headers_in(value: &Value) -> std::result::Result<Vec<(String, String)>, Wanted> {
    let fields = value.as_record().filter(|fields| fields.len() <= MOST);
    let fields = fields.ok_or_else(|| format!("a dictionary of at most {MOST} headers"))?;
    let mut headers = Vec::with_capacity(fields.len());
    for (name, value) in fields {
        let known = header_name(name).filter(|name| name != "set-cookie");
        let Some(known) = known else {
            return Err("headers that the server and handlers do not set themselves".into());
        };
        let value = value.as_str().filter(|value| is_value(value));
        let value = value.ok_or("a dictionary of texts without line breaks")?;
        headers.push((known, value.to_string()));
    }
    Ok(headers)
}

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Headers",
    aliases: &[],
    help: "sets and removes headers of answers",
    settings: &SETTINGS,
    make: |parts| {
        let options = parts.read("a Headers", &SETTINGS)?;
        Ok(Headers::new(parts.source()?, options).into())
    },
};

/// Sets headers of every answer of a source, of errors too, and removes those that the source sets
/// by itself. The last word counts: that of the outermost combinator.
pub struct Headers {
    source: Rc<dyn Store>,
    options: Rc<HeadersOptions>,
}

impl Headers {
    /// Changes the headers of `source`. Names are in lower case.
    pub fn new(source: Rc<dyn Store>, options: HeadersOptions) -> Self {
        Headers { source, options: Rc::new(options) }
    }
}

impl HeadersOptions {
    /// Changes the headers once the source has set its own.
    fn apply<T>(&self, exchange: &dyn Exchange, answered: Result<T>) -> Result<T> {
        self.remove.iter().for_each(|name| exchange.unset(name));
        for (name, value) in &self.set {
            exchange.set_header(name, value)?;
        }
        answered.map_err(|mut error| {
            if let Some(response) = &mut error.response {
                let own = |name: &str| {
                    let same = |other: &str| name.eq_ignore_ascii_case(other);
                    self.remove.iter().any(|other| same(other))
                        || self.set.iter().any(|(other, _)| same(other))
                };
                response.headers.retain(|(name, _)| !own(name));
            }
            error
        })
    }
}

impl Layer for Headers {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(Headers { source: inner, options: self.options.clone() }))
    }

    fn relays(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        "headers".to_string()
    }

    fn around<T: 'static>(
        &self,
        _: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        let answer = act(&*self.source, reference, context);
        let Some(exchange) = &context.exchange else { return answer };
        match answer {
            Answer::Ready(answered) => self.options.apply(&**exchange, answered).into(),
            Answer::Later(answer) => {
                let (options, exchange) = (self.options.clone(), exchange.clone());
                Answer::later(async move { options.apply(&*exchange, answer.await) })
            }
        }
    }
}
