//! Paths that have moved.

use crate::combine::definition::Combinator;
use crate::combine::layer::{Below, Layer};
use crate::{
    Answer, Content, Context, Error, Exchange, Kind, Outcome, Reference, Result, Setting,
    SettingKind, SettingTable, Store, Value, Verb, Wanted, is_escape,
};
use std::collections::HashMap;
use std::rc::Rc;

/// The most redirects of one combinator.
const MOST: usize = 10_000;
/// Redirects that one path may go through before it counts as a loop.
const LONGEST_CHAIN: usize = 20;
/// The longest path or address, in bytes.
const LONGEST: usize = 2048;

/// Where a [`Redirects`] sends clients.
#[derive(Clone, Debug)]
pub struct RedirectsOptions {
    /// Paths, and the path or address that each has now.
    pub from: Vec<(String, String)>,
    /// The status.
    pub status: u16,
}

impl Default for RedirectsOptions {
    /// Moved for good, with the method and the content of the request.
    fn default() -> Self {
        RedirectsOptions { from: Vec::new(), status: 308 }
    }
}

/// The statuses of a redirect (RFC 9110 section 15.4).
const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

const SETTINGS: SettingTable<RedirectsOptions> = SettingTable(&[
    Setting::custom(
        "from",
        "paths, and the path or address that each has now",
        SettingKind::Record,
        |options: &mut RedirectsOptions, value| {
            options.from = redirects_in(value)?;
            RedirectTable::of(&options.from).map(drop)
        },
    ),
    Setting::custom(
        "status",
        "the status of the answer",
        SettingKind::Count,
        |options: &mut RedirectsOptions, value| {
            let status = value.as_f64().and_then(|wanted| {
                STATUSES.into_iter().find(|status| f64::from(*status) == wanted)
            });
            options.status = status.ok_or("301, 302, 303, 307 or 308")?;
            Ok(())
        },
    ),
]);

fn redirects_in(value: &Value) -> std::result::Result<Vec<(String, String)>, Wanted> {
    let wanted = || format!("a dictionary of at most {MOST} paths and where they are now");
    let fields = value.as_record().filter(|fields| fields.len() <= MOST).ok_or_else(wanted)?;
    let texts = fields.iter().map(|(path, now)| Some((path.clone(), now.as_str()?.to_string())));
    texts.collect::<Option<_>>().ok_or_else(|| wanted().into())
}

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Redirects",
    aliases: &[],
    help: "sends clients from old paths to new ones",
    settings: &SETTINGS,
    make: |parts| {
        let options = parts.read("a Redirects", &SETTINGS)?;
        Ok(Redirects::new(parts.source()?, options)?.into())
    },
};

/// Redirects requests for some paths and passes on all others. `*` at the end of a path stands for
/// the rest, which takes the place of the `*` in the new one. The most exact path counts: the one
/// without a star, then the longest.
///
/// What a client sends never chooses the server: only the rest of a path and the query come from it,
/// and a path stays a path of this server.
pub struct Redirects {
    source: Rc<dyn Store>,
    table: Rc<RedirectTable>,
    status: u16,
}

struct RedirectTable {
    /// Without slashes at their beginning.
    exact: HashMap<String, Destination>,
    /// What stands before the star, the longest first.
    prefixes: Vec<(String, Destination)>,
}

/// A path or an address; with a star it is in two parts.
#[derive(Clone, Debug)]
struct Destination {
    before: String,
    after: Option<String>,
}

impl Redirects {
    /// Redirects before `source`.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: a path or an address that cannot be, or paths that lead to each other.
    pub fn new(source: Rc<dyn Store>, options: RedirectsOptions) -> Result<Self> {
        let table = RedirectTable::of(&options.from).map_err(|wanted| {
            Error::new(Kind::Invalid, format!("`from` of a Redirects must be {wanted}"))
        })?;
        Ok(Redirects { source, table: Rc::new(table), status: options.status })
    }

    /// Redirects a request; `false` where its path has not moved.
    fn answer(&self, reference: &Reference, context: &Context) -> Result<bool> {
        let Some(exchange) = &context.exchange else { return Ok(false) };
        let Some(mut place) = self.table.place(reference.relative_path()) else { return Ok(false) };
        if let Some(query) = reference.query().filter(|_| !place.contains('?')) {
            place.push('?');
            place.push_str(query);
        }
        let exchange: &dyn Exchange = &**exchange;
        exchange.set_header("location", &place)?;
        exchange.set_status(self.status);
        Ok(true)
    }

    /// The outcome of a write that is redirected.
    fn answer_write(&self, reference: &Reference, context: &Context) -> Option<Answer<Outcome>> {
        match self.answer(reference, context) {
            Ok(false) => None,
            Ok(true) => Some(Answer::ok(Outcome::changed())),
            Err(error) => Some(error.into()),
        }
    }
}

impl RedirectTable {
    fn of(from: &[(String, String)]) -> std::result::Result<RedirectTable, Wanted> {
        let mut table = RedirectTable { exact: HashMap::new(), prefixes: Vec::new() };
        for (path, now) in from {
            let (before, has_star) = path_of(path)?;
            let destination = Destination::of(now, has_star)?;
            match has_star {
                true => table.prefixes.push((before, destination)),
                false => drop(table.exact.insert(before, destination)),
            }
        }
        table.prefixes.sort_by_key(|(before, _)| std::cmp::Reverse(before.len()));
        match from.iter().find(|(path, _)| table.is_loop(path)) {
            Some((path, _)) => Err(format!("paths that end somewhere: `{path}` does not").into()),
            None => Ok(table),
        }
    }

    fn find<'a>(&'a self, path: &'a str) -> Option<(&'a Destination, &'a str)> {
        if let Some(found) = self.exact.get(path) {
            return Some((found, ""));
        }
        self.prefixes.iter().find_map(|(before, destination)| {
            Some((destination, path.strip_prefix(before.as_str())?))
        })
    }

    /// Where a path is now, as the value of `Location`.
    fn place(&self, path: &str) -> Option<String> {
        let (destination, rest) = self.find(path)?;
        destination.place(rest)
    }

    /// Whether a path leads from one redirect to the next without an end.
    fn is_loop(&self, path: &str) -> bool {
        let mut path = path.trim_start_matches('/').replace('*', "x");
        for _ in 0..LONGEST_CHAIN {
            match self.place(&path) {
                Some(place) if place.starts_with('/') => {
                    path = place.trim_start_matches('/').to_string();
                }
                _ => return false,
            }
        }
        true
    }
}

/// A path of this server, and whether it ends in a star.
fn path_of(path: &str) -> std::result::Result<(String, bool), Wanted> {
    let wanted = || -> Wanted {
        "paths such as `/old`, or `/blog/*` with one `*` behind the last slash".into()
    };
    let inner = path.strip_prefix('/').filter(|_| path.len() <= LONGEST).ok_or_else(wanted)?;
    let bad = |letter: char| letter.is_control() || matches!(letter, '\\' | '?' | '#');
    let (before, has_star) = match inner.strip_suffix('*') {
        Some(before) if before.is_empty() || before.ends_with('/') => (before, true),
        Some(_) => return Err(wanted()),
        None => (inner, false),
    };
    match before.starts_with('/') || before.contains(bad) || before.contains('*') {
        true => Err(wanted()),
        false => Ok((before.to_string(), has_star)),
    }
}

impl Destination {
    fn of(now: &str, may_have_star: bool) -> std::result::Result<Destination, Wanted> {
        let wanted = || -> Wanted {
            format!(
                "paths of this server, or addresses that begin with `https://` and have a path \
                 before the `*`, not `{now}`"
            )
            .into()
        };
        let bad = |letter: char| letter.is_control() || matches!(letter, '\\' | ' ');
        if now.len() > LONGEST || now.contains(bad) || now.matches('*').count() > 1 {
            return Err(wanted());
        }
        let own = match now.split_once("://") {
            Some(("http" | "https", rest)) => {
                let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
                // A star in the host would let a client choose the server.
                if host.is_empty() || host.contains(['*', '@']) {
                    return Err(wanted());
                }
                now.len() - rest.len() + host.len()
            }
            _ if now.starts_with('/') && !now.starts_with("//") => 0,
            _ => return Err(wanted()),
        };
        match now[own..].split_once('*') {
            None => Ok(Destination { before: escaped(now), after: None }),
            // Behind a slash alone: `https://a.example*` could become another host.
            Some((before, after)) if may_have_star && before.ends_with('/') => {
                let before = format!("{}{before}", &now[..own]);
                Ok(Destination { before: escaped(&before), after: Some(escaped(after)) })
            }
            Some(_) => Err(wanted()),
        }
    }

    /// The place of the rest of a path; `None` for a rest that could mean more than a path below.
    fn place(&self, rest: &str) -> Option<String> {
        let Some(after) = &self.after else { return Some(self.before.clone()) };
        // `/*` with the rest `/a.example` would be `//a.example`: another server.
        let rest = rest.trim_start_matches(['/', '\\']);
        let is_dots = |segment: &str| matches!(segment, "." | "..");
        if rest.split(['/', '\\']).any(is_dots) {
            return None;
        }
        Some(format!("{}{}{after}", self.before, escaped_rest(rest)))
    }
}

/// An address of the program, with escapes for what a header cannot have.
fn escaped(address: &str) -> String {
    escape_bytes(address, |byte, _| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte))
}

/// The rest of a path that a client sent, as a path of RFC 3986.
fn escaped_rest(rest: &str) -> String {
    escape_bytes(rest, |byte, behind| match byte {
        b'%' => is_escape(behind),
        byte => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte),
    })
}

fn escape_bytes(text: &str, is_plain: impl Fn(u8, &[u8]) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (at, byte) in text.bytes().enumerate() {
        match is_plain(byte, &text.as_bytes()[at..]) {
            true => escaped.push(char::from(byte)),
            false => {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                escaped.push('%');
                escaped.push(char::from(DIGITS[usize::from(byte >> 4)]));
                escaped.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
        }
    }
    escaped
}

impl Layer for Redirects {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        let (table, status) = (self.table.clone(), self.status);
        Some(Rc::new(Redirects { source: inner, table, status }))
    }

    fn relays(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        "redirects".to_string()
    }

    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        match self.answer(reference, context) {
            Ok(false) => self.source.get(reference, context),
            Ok(true) => Answer::ok(Some(Content::default())),
            Err(error) => error.into(),
        }
    }

    fn layer_put(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        self.answer_write(reference, context)
            .unwrap_or_else(|| self.source.put(reference, content, context))
    }

    fn layer_post(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        self.answer_write(reference, context)
            .unwrap_or_else(|| self.source.post(reference, content, context))
    }

    fn layer_merge(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        self.answer_write(reference, context)
            .unwrap_or_else(|| self.source.merge(reference, content, context))
    }

    fn layer_delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        self.answer_write(reference, context)
            .unwrap_or_else(|| self.source.delete(reference, context))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn table(from: &[(&str, &str)]) -> std::result::Result<RedirectTable, Wanted> {
        let owned: Vec<_> =
            from.iter().map(|(path, now)| (path.to_string(), now.to_string())).collect();
        RedirectTable::of(&owned)
    }

    #[test]
    fn paths_lead_to_their_new_place() {
        let table = table(&[
            ("/old", "/new"),
            ("/blog/*", "/posts/*"),
            ("/blog/2020/*", "https://archive.example/2020/*.html"),
            ("/blog/feed", "/feed.xml"),
            ("/*", "/all/*"),
            ("/", "/start"),
            ("/all/*", "https://all.example/"),
        ])
        .unwrap();
        for (path, place) in [
            ("old", "/new"),
            ("blog/a/b", "/posts/a/b"),
            ("blog/", "/posts/"),
            ("blog/feed", "/feed.xml"),
            ("blog/2020/x", "https://archive.example/2020/x.html"),
            ("", "/start"),
            ("else", "/all/else"),
            ("all/a", "https://all.example/"),
            ("blog/a b/ü\"<", "/posts/a%20b/%C3%BC%22%3C"),
            ("blog/a%2Fb%", "/posts/a%2Fb%25"),
        ] {
            assert_eq!(table.place(path).as_deref(), Some(place), "{path}");
        }
    }

    #[test]
    fn a_client_never_chooses_the_server() {
        let table = table(&[("/go/*", "/*"), ("/out/*", "https://a.example/*")]).unwrap();
        for rest in [
            "/evil.example",
            "//evil.example",
            "\\evil.example",
            "/\\evil.example",
            "\\/evil.example",
            "%5Cevil.example",
            "https://evil.example",
            "\tevil.example",
            "\r\nLocation: x",
            "@evil.example",
            ".evil.example",
            "#evil",
            "?evil",
        ] {
            let place = table.place(&format!("go/{rest}")).unwrap();
            let mut letters = place.chars();
            assert_eq!(letters.next(), Some('/'), "{rest:?}");
            assert!(!matches!(letters.next(), Some('/' | '\\')), "{rest:?}: {place}");
            assert!(place.bytes().all(|byte| byte.is_ascii_graphic()), "{rest:?}: {place}");
            let out = table.place(&format!("out/{rest}")).unwrap();
            assert!(out.starts_with("https://a.example/"), "{rest:?}: {out}");
        }
        for rest in ["..", "../a", "a/../../b", ".", "a\\..\\b"] {
            assert_eq!(table.place(&format!("go/{rest}")), None, "{rest}");
        }
    }

    #[test]
    fn places_that_cannot_be_are_refused() {
        for (path, now) in [
            ("old", "/new"),
            ("/old", "new"),
            ("/old", "//evil.example"),
            ("/old", "/\\evil.example"),
            ("/old", "javascript:alert(1)"),
            ("/old", "data:text/html,x"),
            ("/old", "https://"),
            ("/old", "https://*/"),
            ("/old/*", "https://*.example/"),
            ("/old/*", "https://a.example*"),
            ("/old/*", "https://a.example:*"),
            ("/old/*", "https://user@a.example/*"),
            ("/old", "/new/*"),
            ("/old*", "/new"),
            ("/*/old", "/new"),
            ("//old", "/new"),
            ("/old/*", "/*/*"),
            ("/old", "/a\r\nb"),
            ("/old?x", "/new"),
            ("", "/new"),
        ] {
            assert!(table(&[(path, now)]).is_err(), "{path} → {now}");
        }
    }

    #[test]
    fn paths_that_lead_to_each_other_are_refused() {
        for from in [
            &[("/a", "/a")][..],
            &[("/a", "/b"), ("/b", "/a")],
            &[("/a/*", "/a/b/*")],
            &[("/a/*", "/b/*"), ("/b/*", "/a/*")],
            &[("/*", "/x")],
        ] {
            assert!(table(from).is_err(), "{from:?}");
        }
        assert!(table(&[("/a", "/b"), ("/b", "/c")]).is_ok());
    }
}
