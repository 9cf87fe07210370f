//! The page of a browser while the changed program does not start: the error in its source.

use runnel_http::{PageTemplate, TemplateValue};
use runnel_store::{Answer, Below, Content, Context, Layer, Reference, Result, Store, Verb};
use std::any::Any;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::Duration;

/// The header with which the page waits for another version: it has that of the error it shows.
const WAITS: &str = "x-runnel-fault";
/// How long a request of the page waits, and how often it compares versions meanwhile.
const WAIT: Duration = Duration::from_secs(20);
const STEP: Duration = Duration::from_millis(200);
/// Lines of the source above and below the one with the error.
const AROUND: usize = 6;
/// Bytes of a source that is shown.
const MAX_SOURCE: u64 = 1 << 20;
/// The content security policy of the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
     connect-src 'self'; base-uri 'none'; form-action 'none'";

static PAGE: OnceLock<PageTemplate> = OnceLock::new();

/// Sets the template of the page; the first one stays.
pub(crate) fn set_page(template: PageTemplate) {
    let _ = PAGE.set(template);
}

/// A root of a server that shows the error of the next version to browsers.
pub(crate) struct Watched(Rc<dyn Store>);

impl Watched {
    /// The store itself, where the program is not watched.
    pub(crate) fn of(store: Rc<dyn Store>) -> Rc<dyn Store> {
        match Watched::is_program_watched() {
            true => Rc::new(Watched(store)),
            false => store,
        }
    }

    /// Whether this process runs a version of a program that is developed under `--watch`.
    pub(crate) fn is_program_watched() -> bool {
        std::env::var_os(super::fault::VARIABLE).is_some()
            && crate::process::handover::is_supervised()
    }
}

/// The answer to a browser that loads a page while there is an error.
fn fault(context: &Context) -> Option<Answer<Option<Content>>> {
    let exchange = context.exchange.clone()?;
    let text = super::fault::fault()?;
    if !exchange.header("accept")?.contains("text/html") {
        return None;
    }
    let shown = version(&text);
    if exchange.header(WAITS).as_deref() != Some(&shown) {
        exchange.set_status(500);
        for (name, value) in [("content-security-policy", POLICY), ("cache-control", "no-store")] {
            if let Err(error) = exchange.set_header(name, value) {
                return Some(error.into());
            }
        }
        return Some(Answer::ok(Some(Content::text(page(&text)).with_media_type("text/html"))));
    }
    Some(Answer::later(async move {
        let is_same = || super::fault::fault().is_some_and(|now| version(&now) == shown);
        let mut left = WAIT;
        while is_same() && left > Duration::ZERO {
            tokio::time::sleep(STEP).await;
            left = left.saturating_sub(STEP);
        }
        if is_same() {
            exchange.set_status(204);
        }
        Ok(Some(Content::text("")))
    }))
}

fn version(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// A line of a source.
type Line = (usize, String);

fn page(text: &str) -> String {
    let first = text.lines().find(|line| line.starts_with("error")).or(text.lines().next());
    let message = first.unwrap_or_default().trim_start_matches("error: ");
    let place = place(text);
    let lines = place.map(|(path, number)| source(path, number)).unwrap_or_default();
    let row = |at: usize| {
        let (number, line): &Line = lines.get(at)?;
        let is_wrong = place.is_some_and(|(_, wrong)| wrong == *number);
        Some(vec![
            ("number", TemplateValue::Text(number.to_string().into())),
            ("line", TemplateValue::Text(line.as_str().into())),
            ("wrong", TemplateValue::Text(if is_wrong { "wrong" } else { "" }.into())),
        ])
    };
    let shown = if lines.is_empty() { "" } else { "yes" };
    let fields = vec![
        ("message", TemplateValue::Text(message.into())),
        ("file", TemplateValue::Text(place.map_or("", |(path, _)| path).into())),
        ("hasLines", TemplateValue::Text(shown.into())),
        ("lines", TemplateValue::Rows(&row)),
        ("text", TemplateValue::Text(text.into())),
        ("version", TemplateValue::Text(version(text).into())),
    ];
    match PAGE.get() {
        Some(template) => template.fill(&fields),
        None => PageTemplate::parse("<pre>\u{e000}text\u{e001}</pre>").fill(&fields),
    }
}

/// The first place in a program that a text names: `program.st:3:7`.
fn place(text: &str) -> Option<(&str, usize)> {
    text.split(|letter: char| letter.is_whitespace() || "()".contains(letter)).find_map(|word| {
        let (path, rest) = word.split_once(".st:")?;
        let number = rest.split(':').next()?.parse().ok()?;
        Some((&word[..path.len() + 3], number))
    })
}

/// The lines of a source around a number.
fn source(path: &str, number: usize) -> Vec<Line> {
    let is_small = std::fs::metadata(path).is_ok_and(|file| file.len() <= MAX_SOURCE);
    let Some(text) = is_small.then(|| std::fs::read_to_string(path).ok()).flatten() else {
        return Vec::new();
    };
    let first = number.saturating_sub(AROUND).max(1);
    let lines = (first..).zip(text.lines().skip(first - 1)).take(number + AROUND + 1 - first);
    lines.map(|(number, line)| (number, line.to_owned())).collect()
}

impl Layer for Watched {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.0, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(Watched(inner)))
    }

    fn relays(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        self.0.describe()
    }

    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        fault(context).unwrap_or_else(|| self.0.get(reference, context))
    }

    fn layer_any(&self) -> Option<&dyn Any> {
        self.0.as_any()
    }

    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        self.0.sources()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_in_messages() {
        assert_eq!(place("error: no\n --> a/b.st:12:3\n  |"), Some(("a/b.st", 12)));
        assert_eq!(place("error: no\n   in `x` (main.st:7)"), Some(("main.st", 7)));
        assert_eq!(place("error: no such file x.st"), None);
    }

    #[test]
    fn the_page_names_the_error_and_escapes_it() {
        let page = page("error: <b> is unknown\n --> missing.st:1:1");
        assert!(page.contains("&lt;b&gt; is unknown") && !page.contains("<b>"), "{page}");
    }
}
