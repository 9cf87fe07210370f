//! The page of the admin port about the buckets and objects of an S3 server: HTML that works without
//! scripts, and never any content of an object.
//!
//! ```text
//! buckets                                   the buckets
//! buckets?bucket=photos&prefix=cats/        folders and objects of a bucket
//! buckets?bucket=photos&key=cats/tom.txt    attributes and versions of an object
//! ```
//! Each takes `after`, the last name of the page before.

use runnel_http::{Fields, PageTemplate, TemplateValue};
use runnel_observe::AdminPage;
use runnel_s3::{
    CountedKeys, InspectedBucket, InspectedEntry, InspectedObject, InspectedPage, InspectedVersion,
    S3Inspector,
};
use runnel_store::{Answer, Content, Context, Entry, Error, Reference, Result, Store, Verb, Verbs};
use runnel_text::form;
use runnel_text::moment::CalendarTime;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// The templates of the pages, from `std/pages.st`.
pub(crate) struct BucketTemplates {
    /// Rows of `buckets` with `link`, `name`, `objects`, `bytes`, `versioning`, `public` and
    /// `created`; `empty`, `next`, `first`, `open`.
    pub(crate) buckets: PageTemplate,
    /// `bucket`, `prefix`, rows of `crumbs` and of `entries` with `link`, `name`, `folder`, `size`,
    /// `type` and `modified`; `empty`, `next`, `first`.
    pub(crate) folder: PageTemplate,
    /// `name`, rows of `crumbs`, of `attributes` with `name` and `value`, and of `versions` with
    /// `version`, `size`, `modified` and `marker`; `next`, `first`.
    pub(crate) object: PageTemplate,
}

static TEMPLATES: OnceLock<BucketTemplates> = OnceLock::new();

/// Sets the templates of this process; the first ones stay.
pub(crate) fn set_templates(templates: BucketTemplates) {
    // Every worker renders the same pages.
    let _ = TEMPLATES.set(templates);
}

/// The page of one server.
pub(crate) struct BucketPages(RefCell<Rc<S3Inspector>>);

/// A row of a table.
type Row = Vec<(&'static str, String)>;

impl BucketPages {
    pub(crate) fn new(inspector: S3Inspector) -> Self {
        BucketPages(RefCell::new(Rc::new(inspector)))
    }

    /// Shows another store.
    pub(crate) fn show(&self, inspector: S3Inspector) {
        self.0.replace(Rc::new(inspector));
    }

    /// What the admin port serves. Keys are for users, where there are some.
    pub(crate) fn page(self: &Rc<Self>, port: u16) -> AdminPage {
        let title = match port {
            0 => "Buckets".to_string(),
            port => format!("Buckets on port {port}"),
        };
        let needs_token = !self.0.borrow().is_open();
        AdminPage { path: "buckets", title, store: self.clone(), needs_token }
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for BucketPages {
    fn get(&self, reference: &Reference, _: &Context) -> Answer<Option<Content>> {
        let query = reference.query().unwrap_or_default();
        let field = |name: &str| {
            let value = form::field(query.as_bytes(), name);
            value.map(|value| value.into_owned()).unwrap_or_default()
        };
        let [bucket, prefix, key, after] = ["bucket", "prefix", "key", "after"].map(field);
        let inspector = self.0.borrow().clone();
        Answer::later(async move {
            let page = match (bucket.is_empty(), key.is_empty()) {
                (true, _) => Some(buckets(&inspector, &after).await?),
                (false, true) => folder(&inspector, &bucket, &prefix, &after).await?,
                (false, false) => object(&inspector, &bucket, &key, &after).await?,
            };
            let html = |page| Content::text(page).with_media_type("text/html; charset=utf-8");
            Ok(page.map(html))
        })
    }

    fn list(&self, reference: &Reference, _: &Context) -> Answer<Option<Vec<Entry>>> {
        Error::not_allowed(Verb::List, reference).into()
    }

    fn verbs(&self, _: &Reference) -> Verbs {
        Verbs::NONE.with(Verb::Get)
    }

    runnel_store::without!(
        put, post, merge, delete, keys, attributes, relocate, query, watch, tables, conditions,
        links, as_any, sources
    );

    fn describe(&self) -> String {
        "buckets of an S3 server".to_string()
    }
}

async fn buckets(inspector: &S3Inspector, after: &str) -> Result<String> {
    let page = inspector.buckets(after).await?;
    let links = paging(&[], after, page.next.as_deref());
    let rows: Vec<Row> = page.entries.iter().map(bucket_row).collect();
    let open = if inspector.is_open() { "yes" } else { "" };
    Ok(fill(|templates| &templates.buckets, &[("open", open)], &links, vec![("buckets", rows)]))
}

fn bucket_row(bucket: &InspectedBucket) -> Row {
    let objects = |counted: CountedKeys| match counted.more {
        true => format!("over {}", counted.objects),
        false => counted.objects.to_string(),
    };
    let bytes = |counted: CountedKeys| counted.bytes.filter(|_| !counted.more).map(size);
    vec![
        ("link", link(&[("bucket", &bucket.name)])),
        ("name", bucket.name.clone()),
        ("objects", bucket.counted.map_or("–".to_string(), objects)),
        ("bytes", bucket.counted.and_then(bytes).unwrap_or("–".to_string())),
        ("versioning", bucket.versioning.unwrap_or("Off").to_string()),
        ("public", if bucket.is_public { "yes" } else { "" }.to_string()),
        ("private", if bucket.is_public { "" } else { "yes" }.to_string()),
        ("created", bucket.created.map_or("–".to_string(), time)),
    ]
}

async fn folder(
    inspector: &S3Inspector,
    bucket: &str,
    prefix: &str,
    after: &str,
) -> Result<Option<String>> {
    let Some(page) = inspector.folder(bucket, prefix, after).await? else { return Ok(None) };
    let links = paging(&[("bucket", bucket), ("prefix", prefix)], after, page.next.as_deref());
    let (crumbs, _) = crumbs(bucket, prefix);
    let rows: Vec<Row> =
        page.entries.iter().map(|entry| entry_row(bucket, prefix, entry)).collect();
    let texts = [("bucket", bucket), ("prefix", prefix)];
    let rows = vec![("crumbs", crumbs), ("entries", rows)];
    Ok(Some(fill(|templates| &templates.folder, &texts, &links, rows)))
}

fn entry_row(bucket: &str, prefix: &str, entry: &InspectedEntry) -> Row {
    let within = |key: &str| match key.strip_prefix(prefix) {
        // The object of the prefix itself.
        None | Some("") => key.to_string(),
        Some(rest) => rest.to_string(),
    };
    match entry {
        InspectedEntry::Folder(folder) => vec![
            ("link", link(&[("bucket", bucket), ("prefix", folder)])),
            ("name", within(folder)),
            ("folder", "folder".to_string()),
        ],
        InspectedEntry::Object(key, object) => vec![
            ("link", link(&[("bucket", bucket), ("key", key)])),
            ("name", within(key)),
            ("size", size(object.size)),
            ("type", object.media_type.clone()),
            ("modified", time(object.modified)),
        ],
    }
}

async fn object(
    inspector: &S3Inspector,
    bucket: &str,
    key: &str,
    after: &str,
) -> Result<Option<String>> {
    let found = inspector.object(bucket, key, after).await?;
    let Some((object, versions)) = found else { return Ok(None) };
    let links = paging(&[("bucket", bucket), ("key", key)], after, versions.next.as_deref());
    let (crumbs, name) = crumbs(bucket, key);
    let attributes = object.as_ref().map(attributes).unwrap_or_default();
    let versions = version_rows(&versions);
    let is_deleted = if object.is_none() { "yes" } else { "" };
    let has_versions = if versions.is_empty() { "" } else { "yes" };
    let texts = [("name", name), ("deleted", is_deleted), ("hasVersions", has_versions)];
    let rows = vec![("crumbs", crumbs), ("attributes", attributes), ("versions", versions)];
    Ok(Some(fill(|templates| &templates.object, &texts, &links, rows)))
}

fn attributes(object: &InspectedObject) -> Vec<Row> {
    let bytes = match object.size {
        0..1_000 => format!("{} bytes", object.size),
        bytes => format!("{} ({bytes} bytes)", size(bytes)),
    };
    let mut rows = vec![
        ("Size", bytes),
        ("Media type", object.media_type.clone()),
        ("Entity tag", object.entity_tag.clone()),
        ("Last change", time(object.modified)),
    ];
    if let Some([algorithm, kind, value]) = &object.checksum {
        let of_what = if kind == "COMPOSITE" { "of the parts" } else { "of the whole object" };
        rows.push(("Checksum", format!("{algorithm} {value}, {of_what}")));
    }
    rows.extend(object.parts.map(|parts| ("Parts", parts.to_string())));
    rows.extend(object.version.clone().map(|version| ("Version", version)));
    let row = |(name, value): (&str, String)| vec![("name", name.to_string()), ("value", value)];
    rows.into_iter().map(row).collect()
}

fn version_rows(versions: &InspectedPage<InspectedVersion>) -> Vec<Row> {
    let row = |version: &InspectedVersion| {
        vec![
            ("version", version.version.clone()),
            ("modified", time(version.modified)),
            ("size", version.size.map_or("–".to_string(), size)),
            ("marker", if version.is_marker { "yes" } else { "" }.to_string()),
        ]
    };
    versions.entries.iter().map(row).collect()
}

/// Links to the buckets and to the folders above a key, and the last part of its name.
fn crumbs<'a>(bucket: &'a str, key: &'a str) -> (Vec<Row>, &'a str) {
    let row = |name: &str, link: String| vec![("name", name.to_string()), ("link", link)];
    if key.is_empty() {
        return (Vec::new(), bucket);
    }
    let mut crumbs = vec![row(bucket, link(&[("bucket", bucket)]))];
    let inner = key.strip_suffix('/').unwrap_or(key);
    let mut start = 0;
    for (end, _) in inner.match_indices('/') {
        let folder = link(&[("bucket", bucket), ("prefix", &key[..=end])]);
        crumbs.push(row(&key[start..=end], folder));
        start = end + 1;
    }
    (crumbs, &key[start..])
}

/// Links to the next page, and to the first one from a later one.
fn paging(fields: &[(&str, &str)], after: &str, next: Option<&str>) -> [(&'static str, String); 3] {
    let next = next.map_or(String::new(), |next| link(&[fields, &[("after", next)]].concat()));
    let first = if after.is_empty() { String::new() } else { link(fields) };
    let turns = format!("{next}{first}");
    [("next", next), ("first", first), ("turns", turns)]
}

/// A link to this page with a query.
fn link(fields: &[(&str, &str)]) -> String {
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={}", form::encode(value))).collect();
    format!("?{}", fields.join("&"))
}

/// Fills a template; a table of no rows has the field `empty`.
fn fill(
    template: fn(&BucketTemplates) -> &PageTemplate,
    texts: &[(&'static str, &str)],
    links: &[(&'static str, String)],
    tables: Vec<(&'static str, Vec<Row>)>,
) -> String {
    let Some(templates) = TEMPLATES.get() else { return PLAIN.to_string() };
    let readers: Vec<_> = tables
        .iter()
        .map(|(_, rows)| {
            move |at: usize| {
                let row: &Row = rows.get(at)?;
                Some(row.iter().map(|(name, text)| (*name, text_value(text))).collect())
            }
        })
        .collect();
    let is_empty = tables.last().is_none_or(|(_, rows)| rows.is_empty());
    let texts = texts.iter().map(|(name, text)| (*name, text_value(text)));
    let links = links.iter().map(|(name, text)| (*name, text_value(text)));
    let mut fields: Fields<'_> = texts.chain(links).collect();
    for ((name, _), rows) in tables.iter().zip(&readers) {
        fields.push((*name, TemplateValue::Rows(rows)));
    }
    fields.push(("empty", text_value(if is_empty { "yes" } else { "" })));
    template(templates).fill(&fields)
}

fn text_value(text: &str) -> TemplateValue<'_> {
    TemplateValue::Text(text.into())
}

/// What is shown where the pages could not be rendered.
const PLAIN: &str = "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>Buckets</title>\
    <p>This page could not be rendered; the log says why.</p></html>\n";

/// `1.5 MB`
fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1_000 {
        return format!("{bytes} B");
    }
    let (mut value, mut unit) = (bytes as f64 / 1_000.0, 0);
    // Rounded to one digit, it would be 1000.0.
    while value >= 999.95 && unit + 1 < UNITS.len() {
        (value, unit) = (value / 1_000.0, unit + 1);
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// `2026-11-21 00:41:59 UTC`
fn time(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let time = CalendarTime::from_seconds(i64::try_from(seconds).unwrap_or(i64::MAX));
    format!("{} {} UTC", time.date(), time.time())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_to_one_digit() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (999_949, "999.9 kB"),
            (999_950, "1.0 MB"),
            (5_368_709_120, "5.4 GB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn every_folder_above_a_key_has_a_link() {
        let of = |key| {
            let (crumbs, name) = crumbs("b", key);
            let names: Vec<String> = crumbs.iter().map(|crumb| crumb[0].1.clone()).collect();
            (names.join("|"), name)
        };
        assert_eq!(of(""), (String::new(), "b"));
        assert_eq!(of("a"), ("b".to_string(), "a"));
        assert_eq!(of("a/b/"), ("b|a/".to_string(), "b/"));
        assert_eq!(of("a//c"), ("b|a/|/".to_string(), "c"));
        assert_eq!(of("/"), ("b".to_string(), "/"));
    }
}
