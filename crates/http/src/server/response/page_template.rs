//! HTML with slots: a page that a standard program renders once and the server fills for each response.
//!
//! Errors and listings are answered when no program can run: its memory is used up, its handler loops,
//! or files are served without any fiber. So the engine renders them when a server starts, with
//! marks where the values belong, and a response only escapes and copies.

use runnel_text::escape;
use std::borrow::Cow;
use std::sync::OnceLock;

/// The characters around the name of a slot, from the private use area: no page has them otherwise.
const OPEN: char = '\u{e000}';
const CLOSE: char = '\u{e001}';
/// The slot of the nonce of a content security policy.
pub(crate) const NONCE: &str = "nonce";

/// A page with slots. `OPEN name CLOSE` stands for a value, `OPEN +name CLOSE … OPEN -name CLOSE` for
/// a section, which is repeated for each row and left out where there is no value.
#[derive(Debug, Default)]
pub struct PageTemplate(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Text(String),
    Slot(String),
    Section(String, PageTemplate),
}

/// The value of a slot.
pub enum TemplateValue<'a> {
    /// A text, which is escaped.
    Text(Cow<'a, str>),
    /// The rows of a section by number, up to the first that is missing.
    Rows(&'a dyn Fn(usize) -> Option<Fields<'a>>),
}

/// Values by the names of their slots.
pub type Fields<'a> = Vec<(&'static str, TemplateValue<'a>)>;

impl PageTemplate {
    /// The template in a text. A section without an end reaches to the end of the text. Its inline
    /// styles and scripts carry the nonce of a response that has one.
    pub fn parse(text: &str) -> PageTemplate {
        let mut text = text.to_string();
        for tag in ["<style", "<script"] {
            let plain = format!("{tag}>");
            let nonce = format!(
                "{tag}{OPEN}+{NONCE}{CLOSE} nonce=\"{OPEN}{NONCE}{CLOSE}\"{OPEN}-{NONCE}{CLOSE}>"
            );
            text = text.replace(&plain, &nonce);
        }
        parse(&mut text.split(OPEN), "")
    }

    /// The page with these values.
    pub fn fill(&self, fields: &Fields<'_>) -> String {
        let mut out = String::new();
        self.write(fields, &mut out);
        out
    }

    fn write(&self, fields: &Fields<'_>, out: &mut String) {
        let value = |name: &str| Some(&fields.iter().find(|(known, _)| *known == name)?.1);
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Slot(name) => {
                    if let Some(TemplateValue::Text(text)) = value(name) {
                        escape::html_into(text, out);
                    }
                }
                Piece::Section(name, section) => match value(name) {
                    Some(TemplateValue::Text(text)) if !text.is_empty() => {
                        section.write(fields, out)
                    }
                    Some(TemplateValue::Rows(rows)) => {
                        (0..).map_while(rows).for_each(|row| section.write(&row, out));
                    }
                    _ => {}
                },
            }
        }
    }
}

/// Reads pieces up to the end of the section of this name. The first part stands before any mark.
fn parse<'a>(parts: &mut impl Iterator<Item = &'a str>, section: &str) -> PageTemplate {
    let mut pieces = Vec::new();
    while let Some(part) = parts.next() {
        let Some((mark, text)) = part.split_once(CLOSE) else {
            pieces.push(Piece::Text(part.to_owned()));
            continue;
        };
        match (mark.strip_prefix('+'), mark.strip_prefix('-')) {
            (Some(name), _) => {
                let mut inner = vec![Piece::Text(text.to_owned())];
                inner.extend(parse(parts, name).0);
                // What follows the end of the section is the last piece of `inner`.
                let after = match inner.pop() {
                    Some(Piece::Text(after)) => after,
                    other => {
                        inner.extend(other);
                        String::new()
                    }
                };
                pieces.push(Piece::Section(name.to_owned(), PageTemplate(inner)));
                pieces.push(Piece::Text(after));
            }
            (_, Some(name)) if name == section => {
                pieces.push(Piece::Text(text.to_owned()));
                return PageTemplate(pieces);
            }
            _ => {
                pieces.push(Piece::Slot(mark.to_owned()));
                pieces.push(Piece::Text(text.to_owned()));
            }
        }
    }
    pieces.push(Piece::Text(String::new()));
    PageTemplate(pieces)
}

/// The pages that a server answers by itself.
#[derive(Debug)]
pub struct ServerPages {
    /// `code`, `title`, `detail`, `instance`, and rows of `fields` with `pointer` and `message`.
    pub error: PageTemplate,
    /// `title`, `parent`, and rows of `entries` with `link`, `name` and `folder`.
    pub listing: PageTemplate,
}

static PAGES: OnceLock<ServerPages> = OnceLock::new();

/// Sets the pages of this process; the first ones stay. Without them, pages are plain HTML.
pub fn set_server_pages(pages: ServerPages) {
    // Every worker renders the same pages.
    let _ = PAGES.set(pages);
}

/// The pages of this process.
pub(crate) fn server_pages() -> &'static ServerPages {
    static PLAIN: OnceLock<ServerPages> = OnceLock::new();
    PAGES.get().unwrap_or_else(|| {
        PLAIN.get_or_init(|| {
            let marked = |text: &str| text.replace('{', "\u{e000}").replace('}', "\u{e001}");
            ServerPages {
                error: PageTemplate::parse(&marked(PLAIN_ERROR)),
                listing: PageTemplate::parse(&marked(PLAIN_LISTING)),
            }
        })
    })
}

const PLAIN_ERROR: &str = "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\">\
    <title>{code} {title}</title><h1>{code} {title}</h1>{+detail}<p>{detail}</p>{-detail}\
    {+fields}<p><code>{pointer}</code> {message}</p>{-fields}\
    {+instance}<p>Request {instance}</p>{-instance}</html>\n";

const PLAIN_LISTING: &str = "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\">\
    <title>{title}</title><h1>{title}</h1><ul>{+parent}<li><a href=\"{parent}\">Parent</a></li>\
    {-parent}{+entries}<li><a href=\"{link}\">{name}</a></li>{-entries}</ul></html>\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> String {
        let text = text.replace('{', "\u{e000}").replace('}', "\u{e001}");
        let row = |number: usize| {
            let name: &str = ["x", "<y>"].get(number)?;
            Some(vec![("name", TemplateValue::Text(name.into()))])
        };
        let fields = vec![
            ("a", TemplateValue::Text("1 & 2".into())),
            ("none", TemplateValue::Text("".into())),
            ("rows", TemplateValue::Rows(&row)),
        ];
        PageTemplate::parse(&text).fill(&fields)
    }

    #[test]
    fn values_are_escaped_where_they_belong() {
        assert_eq!(
            filled("<p title=\"{a}\">{a}{missing}</p>"),
            "<p title=\"1 &amp; 2\">1 &amp; 2</p>"
        );
        assert_eq!(filled("plain"), "plain");
        assert_eq!(filled(""), "");
    }

    #[test]
    fn inline_styles_carry_the_nonce_of_the_response() {
        let template = PageTemplate::parse("<style>a { }</style><script src=\"x\"></script>");
        let with = |nonce: &'static str| vec![(NONCE, TemplateValue::Text(nonce.into()))];
        let rest = " { }</style><script src=\"x\"></script>";
        assert_eq!(template.fill(&with("a1")), format!("<style nonce=\"a1\">a{rest}"));
        assert_eq!(template.fill(&with("")), format!("<style>a{rest}"));
        assert_eq!(template.fill(&Vec::new()), format!("<style>a{rest}"));
    }

    #[test]
    fn sections_are_repeated_or_left_out() {
        assert_eq!(filled("[{+rows}<i>{name}</i>{-rows}]"), "[<i>x</i><i>&lt;y&gt;</i>]");
        assert_eq!(filled("[{+none}gone{-none}{+missing}gone{-missing}]"), "[]");
        assert_eq!(filled("{+a}<b>{a}</b>{-a}."), "<b>1 &amp; 2</b>.");
        assert_eq!(filled("{+a}({+a}{a}{-a}){-a}"), "(1 &amp; 2)");
        assert_eq!(filled("{+a}open"), "open");
    }
}
