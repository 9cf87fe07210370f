//! What HTML says about elements and attributes, and how text is escaped in each place.
//!
//! HTML Living Standard, sections 13.1.2 (void elements, raw text), 13.3 (escaping) and the index of
//! elements and attributes. The kernel's `element.lua` says the same for values that are only known
//! when a program runs.

/// Elements without content and end tag.
const VOID: [&str; 13] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr",
];

/// The elements of HTML, without those of SVG and MathML.
const ELEMENTS: &str = "a abbr address area article aside audio b base bdi bdo blockquote body br \
    button canvas caption cite code col colgroup data datalist dd del details dfn dialog div dl dt \
    em embed fieldset figcaption figure footer form fragment h1 h2 h3 h4 h5 h6 head header hgroup hr \
    html i iframe img input ins kbd label legend li link main map mark menu meta meter nav noscript \
    object ol optgroup option output p picture pre progress q rp rt ruby s samp script search \
    section select selectedcontent slot small source span strong style sub summary sup table tbody \
    td template textarea tfoot th thead time title tr track u ul var video wbr xml";

/// Elements of SVG and MathML whose names are near to those of HTML.
const FOREIGN: &str = "animate circle clipPath cursor defs desc ellipse feBlend filter font g glyph \
    line linearGradient marker mask math metadata mi mn mo mpath mrow ms mspace msqrt mtable mtd \
    mtext mtr path polygon polyline radialGradient rect set stop switch symbol text textPath tref \
    tspan use view";

/// The attributes of HTML, global ones and those of single elements.
const ATTRIBUTES: &str = "abbr accept accept-charset accesskey action allow allowfullscreen alpha \
    alt as async autocapitalize autocomplete autocorrect autofocus autoplay blocking charset checked \
    cite class closedby color colorspace cols colspan command commandfor content contenteditable \
    controls coords crossorigin data datetime decoding default defer dir dirname disabled download \
    draggable enctype enterkeyhint fetchpriority for form formaction formenctype formmethod \
    formnovalidate formtarget headers headingoffset headingreset height hidden high href hreflang \
    http-equiv id imagesizes imagesrcset inert inputmode integrity is ismap itemid itemprop itemref \
    itemscope itemtype kind label lang list loading loop low max maxlength media method min minlength \
    multiple muted name nomodule nonce novalidate open optimum part pattern ping placeholder \
    playsinline popover popovertarget popovertargetaction poster preload property readonly \
    referrerpolicy rel required reversed role rows rowspan sandbox scope selected shadowrootmode \
    shadowrootdelegatesfocus shape size sizes slot span spellcheck src srcdoc srclang srcset start \
    step style tabindex target title translate type usemap value width wrap writingsuggestions \
    key click dblclick input change submit keydown keyup focus blur drop dragstart upload live \
    align bgcolor border cellpadding cellspacing frameborder language prefix profile rev scheme \
    scrolling summary valign vlink xmlns version";

/// Where a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkupContext {
    /// Between tags.
    Text,
    /// In a `script`: text of the program is code, values are JSON.
    Script,
    /// In a `style`: text of the program is code, values are single words of it.
    Style,
}

/// What kind of value an attribute takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attribute {
    Plain,
    /// An address, which must not run code.
    Address,
    /// Code: only what is marked as markup may stand there.
    Code,
    /// Values of an animation, separated by `;`: the attribute that they become may be an address.
    Animated,
    /// `true` and `false` are words, not presence.
    Word,
}

pub(crate) fn is_void(tag: &str) -> bool {
    VOID.contains(&tag)
}

/// Whether an element is a known one of SVG or MathML.
pub(crate) fn is_foreign(tag: &str) -> bool {
    FOREIGN.split_ascii_whitespace().any(|known| known == tag)
}

pub(crate) fn elements() -> impl Iterator<Item = &'static str> {
    ELEMENTS.split_ascii_whitespace()
}

pub(crate) fn attributes() -> impl Iterator<Item = &'static str> {
    ATTRIBUTES.split_ascii_whitespace()
}

/// The name of an attribute as it is written: `_` stands for `-`.
pub(crate) fn attribute_name(key: &str) -> Option<String> {
    let name = key.replace('_', "-");
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b':' | b'@'));
    let rest = bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b':' | b'.' | b'@'));
    (first && rest).then_some(name)
}

pub(crate) fn attribute(name: &str) -> Attribute {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "href" | "src" | "action" | "formaction" | "data" | "poster" | "background" | "cite"
        | "ping" | "manifest" | "xlink:href" | "srcset" | "imagesrcset" => Attribute::Address,
        "srcdoc" => Attribute::Code,
        "values" | "to" | "from" | "by" => Attribute::Animated,
        "contenteditable" | "draggable" | "spellcheck" | "translate" | "writingsuggestions" => {
            Attribute::Word
        }
        _ if name.starts_with("aria-") => Attribute::Word,
        _ if name.starts_with("on") && name.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
            Attribute::Code
        }
        _ => Attribute::Plain,
    }
}

/// Whether an address runs code or is a document of its own: browsers ignore spaces and control
/// characters around and inside the scheme.
pub(crate) fn is_dangerous(address: &str) -> bool {
    let start: String = address
        .chars()
        .filter(|c| !c.is_control() && !c.is_whitespace())
        .take(32)
        .collect::<String>()
        .to_ascii_lowercase();
    let picture = ["png", "gif", "jpeg", "webp", "avif"]
        .iter()
        .any(|kind| start.strip_prefix("data:image/").is_some_and(|rest| rest.starts_with(kind)));
    start.starts_with("javascript:")
        || start.starts_with("vbscript:")
        || (start.starts_with("data:") && !picture)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_attributes_are_checked() {
        assert_eq!(attribute_name("data_user_id").as_deref(), Some("data-user-id"));
        assert_eq!(attribute_name("xml:lang").as_deref(), Some("xml:lang"));
        for bad in ["", "a b", "a>", "a\"", "1a", "a=b", "é"] {
            assert_eq!(attribute_name(bad), None, "{bad}");
        }
    }

    #[test]
    fn addresses_that_run_code_are_seen() {
        for bad in ["javascript:x", " JaVa\tScript\n:x", "\u{1}vbscript:x", "data:text/html,x"] {
            assert!(is_dangerous(bad), "{bad}");
        }
        for good in ["/a", "https://x/?javascript:", "data:image/png;base64,x", "mailto:a@b", ""] {
            assert!(!is_dangerous(good), "{good}");
        }
    }

    #[test]
    fn code_is_told_from_other_attributes() {
        assert_eq!(attribute("onclick"), Attribute::Code);
        assert_eq!(attribute("ONLOAD"), Attribute::Code);
        assert_eq!(attribute("on-sale"), Attribute::Plain);
        assert_eq!(attribute("aria-hidden"), Attribute::Word);
    }
}
