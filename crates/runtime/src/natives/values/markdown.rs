//! Markdown (CommonMark 0.31 with tables, strikethrough and task lists) to HTML that is safe in a page.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply};
use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use runnel_store::{DATA_POOL, Error, Kind, Result, Value};
use runnel_syntax::{TokenKind, tokens};
use rustc_hash::FxHashMap;
use std::cell::Cell;

pub(crate) const NATIVES: [(&str, Native); 2] =
    [("markdown", markdown), ("markdownHeadings", markdown_headings)];

/// Bytes of a document.
const LONGEST: usize = 4 * 1024 * 1024;
/// Bytes that are read at once, rather than on a thread.
const AT_ONCE: usize = 32 * 1024;
/// Levels of elements: a page of hundreds of thousands is one no browser shows.
const DEEPEST: usize = 128;
/// The schemes that links and pictures may have; an address without a scheme is one of the page.
const SCHEMES: [&str; 4] = ["http", "https", "mailto", "tel"];
/// The language of code blocks whose words are marked.
const LANGUAGE: &str = "runnel";

/// `(text, keeps HTML)`: the document as HTML.
fn markdown(_: &Isolate, arguments: Arguments) -> Reply {
    let keeps_html = arguments.boolean(2);
    answered(arguments.text(1), move |text| html(text, keeps_html).map(Value::Text))
}

/// `(text)`: for each heading a list of its level, its anchor and its text.
fn markdown_headings(_: &Isolate, arguments: Arguments) -> Reply {
    answered(arguments.text(1), |text| {
        let heading = |one: Heading| {
            let level = Value::Int(one.level as i64);
            Value::List(vec![level, Value::Text(one.anchor), Value::Text(one.text)])
        };
        Ok(Value::List(headings(text).into_iter().map(heading).collect()))
    })
}

fn answered(text: String, read: impl FnOnce(&str) -> Result<Value> + Send + 'static) -> Reply {
    if text.len() > LONGEST {
        return Reply::Failed(Error::new(Kind::TooLarge, "a Markdown document has at most 4 MiB"));
    }
    if text.len() <= AT_ONCE {
        return match read(&text) {
            Ok(value) => Reply::Now(Given::Value(value)),
            Err(error) => Reply::Failed(error),
        };
    }
    let work = move || read(&text);
    Reply::later(async move { DATA_POOL.attempt(work).await.map(Given::Value) })
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

struct Heading {
    level: HeadingLevel,
    anchor: String,
    text: String,
}

/// The headings with their anchors, as GitHub makes them.
fn headings(text: &str) -> Vec<Heading> {
    let mut found: Vec<Heading> = Vec::new();
    let mut seen: FxHashMap<String, usize> = FxHashMap::default();
    let mut is_inside = false;
    for event in Parser::new_ext(text, options()) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                found.push(Heading { level, anchor: String::new(), text: String::new() });
                is_inside = true;
            }
            Event::End(TagEnd::Heading(_)) => {
                is_inside = false;
                if let Some(last) = found.last_mut() {
                    last.anchor = anchor(&last.text, &mut seen);
                }
            }
            Event::Text(part) | Event::Code(part) if is_inside => {
                if let Some(last) = found.last_mut() {
                    last.text.push_str(&part);
                }
            }
            _ => {}
        }
    }
    found
}

/// Letters in lower case, hyphens for blanks, nothing else; a number behind one that was there before.
fn anchor(text: &str, seen: &mut FxHashMap<String, usize>) -> String {
    let mut anchor = String::new();
    for letter in text.trim().chars().flat_map(char::to_lowercase) {
        match letter {
            ' ' => anchor.push('-'),
            letter if letter.is_alphanumeric() || letter == '-' || letter == '_' => {
                anchor.push(letter)
            }
            _ => {}
        }
    }
    let before = seen.entry(anchor.clone()).or_insert(0);
    *before += 1;
    if *before == 1 { anchor } else { format!("{anchor}-{}", *before - 1) }
}

/// The document as HTML, event by event: the events of a hostile one would take a hundred times its size.
fn html(text: &str, keeps_html: bool) -> Result<String> {
    let mut anchors = headings(text).into_iter().map(|heading| heading.anchor);
    let mut code: Option<String> = None;
    let mut depth = 0_usize;
    let is_too_deep = Cell::new(false);
    let events = Parser::new_ext(text, options()).take_while(|event| {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_too_deep.set(depth > DEEPEST);
        depth <= DEEPEST
    });
    let events = events.filter_map(|event| match event {
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(ref info))) if is_program(info) => {
            code = Some(String::new());
            None
        }
        Event::End(TagEnd::CodeBlock) if code.is_some() => {
            let program = code.take().unwrap_or_default();
            Some(Event::Html(program_html(&program).into()))
        }
        Event::Text(part) if code.is_some() => {
            code.get_or_insert_default().push_str(&part);
            None
        }
        Event::Start(tag) => Some(Event::Start(safe_tag(tag, &mut anchors))),
        // HTML in the text is shown as it is written.
        Event::Html(part) | Event::InlineHtml(part) if !keeps_html => Some(Event::Text(part)),
        other => Some(other),
    });
    let mut out = String::with_capacity(text.len() * 3 / 2);
    pulldown_cmark::html::push_html(&mut out, events);
    if is_too_deep.get() {
        let message = format!("elements of a Markdown document are at most {DEEPEST} levels deep");
        return Err(Error::new(Kind::Invalid, message));
    }
    Ok(out)
}

/// A heading with its anchor, a link and a picture with a harmless address, others as they are.
fn safe_tag<'a>(tag: Tag<'a>, anchors: &mut impl Iterator<Item = String>) -> Tag<'a> {
    match tag {
        Tag::Heading { level, classes, attrs, .. } => {
            Tag::Heading { level, id: anchors.next().map(CowStr::from), classes, attrs }
        }
        Tag::Link { link_type, dest_url, title, id } => {
            Tag::Link { link_type, dest_url: safe_address(dest_url), title, id }
        }
        Tag::Image { link_type, dest_url, title, id } => {
            Tag::Image { link_type, dest_url: safe_address(dest_url), title, id }
        }
        other => other,
    }
}

/// Whether the words behind a fence name the language or a file of it.
fn is_program(info: &str) -> bool {
    let mut words = info.split([' ', ',']);
    words.next() == Some(LANGUAGE)
        || words.next().is_some_and(|file| file.ends_with(".st") || file.ends_with(".rnl"))
}

/// An address whose scheme does nothing but lead elsewhere; `#` instead of another one.
fn safe_address(address: CowStr<'_>) -> CowStr<'_> {
    // Browsers drop these from an address before they look for its scheme.
    let bare: String = address.chars().filter(|one| !one.is_control() && *one != ' ').collect();
    let scheme = bare.split(['/', '?', '#']).next().and_then(|head| head.split_once(':'));
    let is_safe = scheme
        .is_none_or(|(scheme, _)| SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known)));
    if is_safe { address } else { CowStr::Borrowed("#") }
}

/// A program with its words marked: `<span class="definition">class</span>`.
fn program_html(program: &str) -> String {
    let mut out = format!("<pre><code class=\"language-{LANGUAGE}\">");
    let mut at = 0;
    for token in tokens(program) {
        let (start, end) = (token.span.start as usize, token.span.end as usize);
        let (Some(between), Some(word)) = (program.get(at..start), program.get(start..end)) else {
            continue;
        };
        escape(between, &mut out);
        match class(token.kind) {
            Some(class) => {
                out.push_str(&format!("<span class=\"{class}\">"));
                escape(word, &mut out);
                out.push_str("</span>");
            }
            None => escape(word, &mut out),
        }
        at = end;
    }
    escape(program.get(at..).unwrap_or_default(), &mut out);
    out.push_str("</code></pre>\n");
    out
}

fn class(kind: TokenKind) -> Option<&'static str> {
    Some(match kind {
        TokenKind::Definition | TokenKind::Signature => "definition",
        TokenKind::Keyword => "keyword",
        TokenKind::Scheme => "scheme",
        TokenKind::Path => "path",
        TokenKind::Number => "number",
        TokenKind::Text | TokenKind::Quote => "text",
        TokenKind::Hash | TokenKind::Symbol => "symbol",
        TokenKind::Assign | TokenKind::Arrow | TokenKind::EqualBar | TokenKind::Caret => "mark",
        TokenKind::Comment => "comment",
        _ => return None,
    })
}

fn escape(text: &str, out: &mut String) {
    let _ = pulldown_cmark_escape::escape_html(&mut *out, text);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn html(text: &str, keeps_html: bool) -> String {
        super::html(text, keeps_html).unwrap()
    }

    #[test]
    fn markup_of_the_text_is_shown_and_not_obeyed() {
        assert_eq!(html("a <b>x</b>\n\n<script>alert(1)</script>\n", false), {
            "<p>a &lt;b&gt;x&lt;/b&gt;</p>\n&lt;script&gt;alert(1)&lt;/script&gt;\n"
        });
        assert_eq!(html("a <b>x</b>", true), "<p>a <b>x</b></p>\n");
        assert_eq!(
            html("```\"><script>\n<i>\n```", false),
            "<pre><code class=\"language-&quot;&gt;&lt;script&gt;\">&lt;i&gt;\n</code></pre>\n"
        );
    }

    #[test]
    fn addresses_have_a_scheme_that_only_leads_elsewhere() {
        for address in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "java&#10;script:alert(1)",
            "&#1;javascript:alert(1)",
            "data:text/html;base64,x",
            "vbscript:x",
            "file:///etc/passwd",
        ] {
            let written = html(&format!("[x](<{address}>) ![y](<{address}>)"), false);
            assert!(written.contains("href=\"#\""), "{address}: {written}");
            assert!(written.contains("src=\"#\""), "{address}: {written}");
        }
        for address in ["https://a.example/b?c=d:e", "a/b:c.md#d", "#x", "mailto:a@b.example"] {
            let written = html(&format!("[x]({address})"), false);
            assert!(written.contains(&format!("href=\"{address}\"")), "{address}: {written}");
        }
        assert_eq!(html("<javascript:x>", false), "<p><a href=\"#\">javascript:x</a></p>\n");
    }

    #[test]
    fn headings_have_anchors_as_on_github() {
        let text = "# A `b`: c!\n\n## Same\n\n## Same\n";
        let anchors: Vec<String> = headings(text).into_iter().map(|one| one.anchor).collect();
        assert_eq!(anchors, ["a-b-c", "same", "same-1"]);
        assert!(html(text, false).contains("<h2 id=\"same-1\">Same</h2>"));
    }

    #[test]
    fn the_words_of_programs_are_marked() {
        let written = html("```runnel\nx := 'a < b'. // c\n```", false);
        assert_eq!(
            written,
            "<pre><code class=\"language-runnel\">x <span class=\"mark\">:=</span> \
             <span class=\"text\">&#39;a &lt; b&#39;</span>. <span class=\"comment\">// c</span>\n\
             </code></pre>\n"
        );
    }

    #[test]
    fn depth_is_bounded() {
        assert!(super::html(&"> ".repeat(DEEPEST - 1), false).is_ok());
        for hostile in [">".repeat(LONGEST), "* > ".repeat(10_000)] {
            let error = super::html(&hostile, false).unwrap_err();
            assert!(error.to_string().contains("at most 128 levels"), "{error}");
        }
    }

    #[test]
    fn hostile_texts_take_time_and_memory_in_proportion() {
        let parts = [
            "[",
            "![",
            "*a ",
            "`a``",
            "[a](",
            "<a ",
            "<!-- ",
            "&#",
            "# a\n",
            "[a]:b\n",
            "```\n",
            "~~a",
            "**x",
            "|",
            "\\",
            "- ",
            "<![CDATA[",
            "a\0",
        ];
        for part in parts {
            let text = part.repeat(LONGEST / 16 / part.len());
            let start = std::time::Instant::now();
            if let Ok(written) = super::html(&text, false) {
                assert!(written.len() <= text.len() * 8, "{part:?}: {} bytes", written.len());
            }
            // A quadratic algorithm takes minutes for these.
            assert!(start.elapsed().as_secs() < 20, "{part:?}: {:?}", start.elapsed());
        }
        let table = format!(
            "{0}|\n{1}|\n{2}",
            "|a".repeat(2_000),
            "|-".repeat(2_000),
            "|\n".repeat(100_000)
        );
        let written = html(&table, false);
        assert!(written.len() < table.len() * 8, "{} bytes", written.len());
    }
}
