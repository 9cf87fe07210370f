//! The page: a form, and below it what was found. It is whole without JavaScript; with it, the
//! script takes the parts that it wants out of the same page.

use super::assets::{ICON, SCRIPT, STYLE};
use super::choice::Choice;
use super::form;
use super::found::{Found, Group};
use super::markup;
use super::options::PageOptions;
use crate::MAX_QUERY_CHARS;
use std::fmt::Write;

/// Interpretations that can be chosen at once; the others unfold.
const VISIBLE_CHOICES: usize = 3;

/// Writes the page. `base` leads from its address to the addresses below it; `results` are the
/// documents of the groups as markup, in order.
pub(crate) fn page(
    options: &PageOptions,
    base: &str,
    found: Option<&Found>,
    results: &[String],
) -> String {
    let texts = options.texts;
    let query = found.map_or("", |found| &found.query);
    let mut out = String::with_capacity(4_096);
    out.push_str("<!DOCTYPE html>\n<html lang=\"");
    out.push_str(texts.language);
    out.push_str("\"><head><meta charset=\"utf-8\">");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    if !query.is_empty() {
        // Pages of results are without end; search engines look at what they lead to instead.
        out.push_str("<meta name=\"robots\" content=\"noindex\">");
    }
    out.push_str("<title>");
    if !query.is_empty() {
        markup::write(query, &mut out);
        out.push_str(" \u{2013} ");
    }
    markup::write(&options.title, &mut out);
    out.push_str("</title>");
    let base = markup::escaped(base);
    let _ = write!(
        out,
        "<link rel=\"icon\" type=\"image/svg+xml\" href=\"{base}{}\">\
         <link rel=\"stylesheet\" href=\"{base}{}\">\
         <script src=\"{base}{}\" defer></script></head>",
        ICON.address(),
        STYLE.address(),
        SCRIPT.address(),
    );
    out.push_str("<body><header><h1><a href=\"?\">");
    markup::write(&options.title, &mut out);
    out.push_str("</a></h1></header><main>");
    write_form(options, &base, query, &mut out);
    out.push_str("<p id=\"count\" role=\"status\" tabindex=\"-1\">");
    if let Some(found) = found {
        markup::write(&texts.count(found.total), &mut out);
    }
    out.push_str("</p><div id=\"found\">");
    if let Some(found) = found {
        write_choices(options, found, &mut out);
        let mut results = results.iter();
        for group in &found.groups {
            write_group(options, group, &mut results, &mut out);
        }
        write_pages(options, found, &mut out);
    }
    out.push_str("</div></main></body></html>\n");
    out
}

fn write_form(options: &PageOptions, base: &str, query: &str, out: &mut String) {
    let texts = options.texts;
    out.push_str("<form id=\"search\" role=\"search\" method=\"get\" autocomplete=\"off\"");
    let data = [
        ("none", texts.none),
        ("one", texts.one),
        ("many", texts.many),
        ("failed", texts.failed),
        ("shown", texts.shown),
    ];
    let _ = write!(out, " data-live=\"{base}live\"");
    for (name, text) in data {
        let _ = write!(out, " data-{name}=\"{}\"", markup::escaped(text));
    }
    let _ = write!(
        out,
        "><label for=\"q\">{}</label><input type=\"search\" id=\"q\" name=\"q\" \
         maxlength=\"{MAX_QUERY_CHARS}\" spellcheck=\"false\" autocapitalize=\"none\" \
         enterkeyhint=\"search\"{} value=\"{}\"><button>{}</button></form>",
        markup::escaped(texts.label),
        if query.is_empty() { " autofocus" } else { "" },
        markup::escaped(query),
        markup::escaped(texts.button),
    );
}

fn write_choices(options: &PageOptions, found: &Found, out: &mut String) {
    if found.choices.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<nav id=\"choices\" aria-labelledby=\"which\"><h2 id=\"which\">{}</h2><ul>",
        markup::escaped(options.texts.choices),
    );
    let visible = found.choices.len().min(VISIBLE_CHOICES);
    let (first, others) = found.choices.split_at(visible);
    first.iter().for_each(|choice| write_choice(options, found, choice, out));
    out.push_str("</ul>");
    if !others.is_empty() {
        let more = options.texts.more_choices.replacen('#', &others.len().to_string(), 1);
        let _ = write!(out, "<details><summary>{}</summary><ul>", markup::escaped(&more));
        others.iter().for_each(|choice| write_choice(options, found, choice, out));
        out.push_str("</ul></details>");
    }
    out.push_str("</nav>");
}

fn write_choice(options: &PageOptions, found: &Found, choice: &Choice, out: &mut String) {
    let query = form::encoded(&found.excluded.around(&choice.meaning.query()));
    let _ = write!(out, "<li><a href=\"?q={}&amp;via=choice\">", markup::escaped(&query));
    choice.meaning.write(options, out);
    let _ = write!(out, " <span class=\"number\">{}</span></a></li>", choice.count);
}

fn write_group<'a>(
    options: &PageOptions,
    group: &Group,
    results: &mut impl Iterator<Item = &'a String>,
    out: &mut String,
) {
    let key = markup::escaped(&format!("{} {}", group.meaning.categories(), group.meaning.query()));
    let _ = write!(out, "<section data-group=\"{key}\"><h2>");
    group.meaning.write(options, out);
    let _ = write!(out, "</h2><ol start=\"{}\">", group.first);
    for result in results.take(group.hits.len()) {
        // The script moves the focus to the first of further results.
        let _ = write!(out, "<li tabindex=\"-1\">{result}</li>");
    }
    out.push_str("</ol></section>");
}

fn write_pages(options: &PageOptions, found: &Found, out: &mut String) {
    if found.pages < 2 && found.page == 1 {
        return;
    }
    let texts = options.texts;
    let query = markup::escaped(&form::encoded(&found.query));
    let _ = write!(out, "<nav id=\"pages\" aria-label=\"{}\">", markup::escaped(texts.pages));
    if found.page > 1 {
        let before = (found.page - 1).min(found.pages.max(1));
        let text = markup::escaped(texts.previous);
        let _ = write!(out, "<a rel=\"prev\" href=\"?q={query}&amp;page={before}\">{text}</a>");
    }
    let place = texts.page.replacen('#', &found.page.to_string(), 1);
    let place = place.replacen('#', &found.pages.to_string(), 1);
    let _ = write!(out, "<span>{}</span>", markup::escaped(&place));
    if found.page < found.pages {
        let text = markup::escaped(texts.next);
        let next = found.page + 1;
        let _ = write!(out, "<a rel=\"next\" href=\"?q={query}&amp;page={next}\">{text}</a>");
    }
    out.push_str("</nav>");
}
