//! Element literals: what they write, what they refuse, and that no text of a client becomes markup.
#![allow(clippy::unwrap_used)]

use crate::support::{Lab, explained};

/// A program that answers an element, and its markup.
const WRITTEN: &[(&str, &str)] = &[
    ("#p[ 'hello' ]", "<p>hello</p>"),
    ("#p[ 'a & b < c' ]", "<p>a &amp; b &lt; c</p>"),
    ("#br[]", "<br>"),
    ("#div[]", "<div></div>"),
    ("#div{ id: 'n' }", "<div id=\"n\"></div>"),
    ("n := '<x>'.\n#p{ title: n }[ n ]", "<p title=\"&lt;x&gt;\">&lt;x&gt;</p>"),
    ("#p[ 'a', nil, false, true, 0, 1.5, -2, 'b' ]", "<p>a01.5-2b</p>"),
    ("#p[ 12345678901234567890 ]", "<p>12345678901234567890</p>"),
    ("#fragment[ #b[ 'x' ], 'y' ]", "<b>x</b>y"),
    ("#ul[ [ #li[ 'a' ], [ #li[ 'b' ] ] ] ]", "<ul><li>a</li><li>b</li></ul>"),
    ("#html[ #body[] ]", "<!DOCTYPE html><html><body></body></html>"),
    ("n := 2.\n#p[ \"a {n} < {n + 1}\" ]", "<p>a 2 &lt; 3</p>"),
    // Lists.
    ("#ul[ [ 1, 2 ] collect: { :n | #li[ n ] } ]", "<ul><li>1</li><li>2</li></ul>"),
    ("#ul[ (1 to: 3) collect: { :n | n * n } ]", "<ul>149</ul>"),
    ("#ul[ #{ a: 1, b: 2 } collect: { :n | #li[ n ] } ]", "<ul><li>1</li><li>2</li></ul>"),
    ("list := nil.\n#ul[ list collect: { :n | #li[ n ] } ]", "<ul></ul>"),
    (
        "#table[ (1 to: 2) collect: { :r | #tr[ (1 to: r) collect: { :c | #td[ r * c ] } ] } ]",
        "<table><tr><td>1</td></tr><tr><td>2</td><td>4</td></tr></table>",
    ),
    ("#p[ [ 'a', nil, 'b' ] collect: { :x | x } ]", "<p>ab</p>"),
    ("#p[ [ 3, 4 ] collect: { :x | y := x + 1. #b[ y ] } ]", "<p><b>4</b><b>5</b></p>"),
    // Conditions.
    ("#p[ 3 > 2 ifTrue: { #b[ 'y' ] } ifFalse: { 'n' } ]", "<p><b>y</b></p>"),
    ("#p[ 'a', (3 > 4 ifTrue: { #b[ 'y' ] }), 'z' ]", "<p>az</p>"),
    ("x := nil.\n#p[ x ifNil: { 'none' } ]", "<p>none</p>"),
    ("x := 7.\n#p[ x ifNotNil: { :y | #b[ y ] } ]", "<p><b>7</b></p>"),
    // Elements are values.
    ("b := #b[ 'x' ].\n#p[ b, b ]", "<p><b>x</b><b>x</b></p>"),
    ("n := 1. b := #b[ n ]. n := 2.\n#p[ b, n ]", "<p><b>1</b>2</p>"),
    ("#p[ (#b[ 'x' ]) ]", "<p><b>x</b></p>"),
    (
        "f := { :t :c | #section[ #h2[ t ], c ] }.\nf value: 'T' value: #p[ 'x' ]",
        "<section><h2>T</h2><p>x</p></section>",
    ),
    ("#p[ ([ 2, 1 ] sorted collect: { :x | #i[ x ] }) reversed ]", "<p><i>2</i><i>1</i></p>"),
    // Blocks among the children are run when it is written, and each time.
    (
        "n := 0. p := #p[ 'a', { n := n + 1. n }, 'b' ].\n#div[ n, p, p ]",
        "<div>0<p>a1b</p><p>a2b</p></div>",
    ),
    ("#p[ { #b[ { 'deep' } ] } ]", "<p><b>deep</b></p>"),
    // Attributes.
    ("#input{ checked: true, disabled: false, value: nil }", "<input checked>"),
    ("y := true. n := false.\n#input{ checked: y, disabled: n }", "<input checked>"),
    (
        "n := false.\n#p{ aria_hidden: n, 'aria-busy': true }[]",
        "<p aria-hidden=\"false\" aria-busy=\"true\"></p>",
    ),
    ("#p{ data_user_id: 1 }[]", "<p data-user-id=\"1\"></p>"),
    (
        "#p{ data: #{ user_id: 1, open: true, shut: false } }[]",
        "<p data-user-id=\"1\" data-open></p>",
    ),
    (
        "#p{ aria: #{ hidden: false, label: 'x' } }[]",
        "<p aria-hidden=\"false\" aria-label=\"x\"></p>",
    ),
    ("#li{ class: [ 'a', 'b' if: true, 'c' if: false, nil ] }[]", "<li class=\"a b\"></li>"),
    ("#li{ class: [] }[]", "<li></li>"),
    ("#li{ class: #{ a: true, b: false, c: 1 } }[]", "<li class=\"a c\"></li>"),
    (
        "#li{ style: #{ color: 'red', margin_top: 3 } }[]",
        "<li style=\"color: red; margin-top: 3\"></li>",
    ),
    ("n := 7.\n#a{ href: \"/t/{n}?a=1&b\" }[]", "<a href=\"/t/7?a=1&amp;b\"></a>"),
    ("u := 'https://x/'.\n#a{ href: u }[]", "<a href=\"https://x/\"></a>"),
    ("u := 'data:image/png;base64,AA'.\n#img{ src: u }", "<img src=\"data:image/png;base64,AA\">"),
    (
        "#button{ onclick: #Raw[ 'go(\"x\")' ] }[]",
        "<button onclick=\"go(&quot;x&quot;)\"></button>",
    ),
    ("#meta{ http_equiv: 'refresh' }", "<meta http-equiv=\"refresh\">"),
    // Raw markup, comments, scripts, styles.
    ("#p[ #Raw[ '<b>x</b>' ], (Raw text: '<i>') ]", "<p><b>x</b><i></p>"),
    ("#p[ #Comment[ 'a -- > b' ] ]", "<p><!-- a -  b --></p>"),
    (
        "d := #{ a: '</script><!--' }.\n#script[ 'let x = ', d, ';' ]",
        "<script>let x = {\"a\":\"\\u003c/script\\u003e\\u003c!--\"};</script>",
    ),
    ("n := 'Bob'.\n#script[ \"hi({n});\" ]", "<script>hi(\"Bob\");</script>"),
    ("#script[ 'if (a < b && c) {}' ]", "<script>if (a < b && c) {}</script>"),
    ("c := 'red'.\n#style[ 'p > a { color: ', c, ' }' ]", "<style>p > a { color: red }</style>"),
    // XML.
    (
        "#xml[ #feed{ a: 'x' }[ #link{ href: '/x' }, #title[ 'a & b' ], #e[] ] ]",
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><feed a=\"x\">\
         <link href=\"/x\"/><title>a &amp; b</title><e/></feed>",
    ),
    (
        "#xml[ #rss[ (1 to: 2) collect: { :n | #link[ n ] } ] ]",
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><rss><link>1</link><link>2</link></rss>",
    ),
    (
        "p := #xml[ #link[ 'u' ] ].\n#xml[ #item[ p ] ]",
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><item><link>u</link></item>",
    ),
    (
        "Element tag: 'x-y' attributes: #{ a: '<' } children: [ 'b', #i[] ]",
        "<x-y a=\"&lt;\">b<i></i></x-y>",
    ),
    ("Element xml: 'media:t' attributes: nil children: nil", "<media:t></media:t>"),
    // Tags that are words of the language.
    (
        "#select[ #option{ selected: true }[ 'map' ] ]",
        "<select><option selected>map</option></select>",
    ),
    ("#object[ #map[ #time[ 'x' ] ] ]", "<object><map><time>x</time></map></object>"),
    (
        "#svg{ viewBox: '0 0 1 1' }[ #linearGradient[], #path{ d: 'M0' } ]",
        "<svg viewBox=\"0 0 1 1\"><linearGradient></linearGradient><path d=\"M0\"></path></svg>",
    ),
];

#[test]
fn literals_write_markup() {
    let lab = Lab::new();
    for (program, expected) in WRITTEN {
        let (before, last) = program.rsplit_once('\n').unwrap_or(("", program));
        let markup = lab.value(&format!("{before}\n({last}) asHTML"));
        assert_eq!(&markup, expected, "{program}");
    }
}

#[test]
fn what_is_wrong_is_refused() {
    let lab = Lab::new();
    for (program, why) in [
        ("#br[ 'x' ]", "`#br` has no content"),
        ("#a{ href: 'javascript:x' }[]", "an address that runs code"),
        ("u := ' JaVa\\tscript:x'. #a{ href: u }[]", "an address that runs code"),
        ("u := 'data:text/html,x'. #iframe{ src: u }[]", "an address that runs code"),
        ("u := 'javascript'. #a{ href: \"{u}:x\" }[]", "an address that runs code"),
        ("#p{ onclick: 'x()' }[]", "would run a text as code"),
        ("x := 'x()'. #p{ onclick: x }[]", "would run a text as code"),
        ("x := '<b>'. #iframe{ srcdoc: x }[]", "would run a text as code"),
        ("x := #{ 'a b': 1 }. #p{ data: x }[]", "is no name of an attribute"),
        ("#p{ 'a b': 1 }[]", "is no name of an attribute"),
        ("x := 'onclick=y '. #p{ (x): 1 }[]", "is no name of an attribute"),
        ("#p{ id: 1, id: 2 }[]", "given twice"),
        ("#fragment{ id: 1 }[]", "has no attributes"),
        ("#script[ '</script>' ]", "would end this text early"),
        ("#script[ #b[] ]", "an element cannot stand here"),
        ("c := 'red } body { x: y'. #style[ c ]", "a plain word"),
        ("c := 'red; x: y'. #p{ style: #{ color: c } }[]", "a plain word"),
        ("r := #Raw[ '</SCRIPT>' ]. #script[ r ]", "must not contain `</script`"),
        ("Element tag: 'a b' attributes: nil children: nil", "is no name of an element"),
    ] {
        let failure = lab.run(&format!("{program} asHTML")).unwrap_err();
        let text = explained(&failure);
        assert!(text.contains(why), "{program}: {text}");
    }
}

#[test]
fn errors_name_the_line() {
    let lab = Lab::new();
    let failure = lab.run("u := 'javascript:x'.\n(#p[\n  #b[ 'x' ],\n  #a{ href: u }[]\n]) asHTML");
    assert!(explained(&failure.unwrap_err()).contains('4'), "the line of the attribute");
}

#[test]
fn user_types_say_how_they_are_shown() {
    let lab = Lab::new();
    let markup = lab.value(
        "class Card { var title. var children. var foot. \
           -asHtml { #section[ #h2[ this:title ], this:children, #footer[ this:foot ] ] } }\n\
         class Badge { var n. -asHtml { this:n } }\n\
         class Box { var children. -asHtml { #div[ this:children ] } }\n\
         b := #Badge{ n: '<7>' }.\n\
         (#main[ #Card{ title: 'T & U', foot: #i[ 'f' ] }[ #p[ 'x' ], b ], #Box[ 'y', 'z' ] ]) asHTML",
    );
    assert_eq!(
        markup,
        "<main><section><h2>T &amp; U</h2><p>x</p>&lt;7&gt;<footer><i>f</i></footer></section>\
         <div>yz</div></main>"
    );
    assert_eq!(
        lab.value("class D { -asHtml { #time[ 'now' ] } }. D new asHTML"),
        "<time>now</time>"
    );
}

/// Texts that attack pages, after the XSS Filter Evasion Cheat Sheet of OWASP.
const HOSTILE: &[&str] = &[
    "<script>alert(1)</script>",
    "\"><script>alert(1)</script>",
    "'><img src=x onerror=alert(1)>",
    "<IMG SRC=\"javascript:alert('XSS');\">",
    "<a onmouseover=\"alert(1)\">x</a>",
    "</title><script>alert(1)</script>",
    "</textarea><script>alert(1)</script>",
    "--><script>alert(1)</script>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<<SCRIPT>alert(1);//<</SCRIPT>",
    "&lt;script&gt;",
    "` onmouseover=alert(1) ",
    "\u{2028}</script>",
    "{{7*7}}${7*7}",
];

#[test]
fn hostile_texts_stay_text() {
    let lab = Lab::new();
    for text in HOSTILE {
        let literal = text.replace('\\', "\\\\").replace('\'', "''");
        let markup = lab.value(&format!(
            "t := '{literal}'. (#div{{ title: t, class: [ t ], data: #{{ x: t }} }}[ t, \
             #textarea[ t ], #script[ 'x = ', t ], #Comment[ t ], [ t ] collect: {{ :y | y }} ]) asHTML"
        ));
        let tags: Vec<&str> = markup
            .split('<')
            .skip(1)
            .map(|rest| rest.split([' ', '>']).next().unwrap_or(""))
            .collect();
        let expected = ["div", "textarea", "/textarea", "script", "/script", "!--", "/div"];
        assert_eq!(tags, expected, "{text}: {markup}");
        let open = &markup[..markup.find('>').unwrap()];
        assert_eq!(open.matches('"').count(), 6, "{text}: {open}");
    }
}

#[test]
fn deep_and_large_literals_compile_and_run() {
    let lab = Lab::new();
    let deep = format!("{}'x'{}", "#b[ ".repeat(60), " ]".repeat(60));
    assert_eq!(lab.value(&format!("({deep}) asHTML")).len(), 60 * 7 + 1);
    let wide: Vec<String> = (0..2_000).map(|n| format!("#td[ n + {n} ]")).collect();
    let text = lab.value(&format!("n := 1. (#tr[ {} ]) asHTML", wide.join(", ")));
    assert!(text.starts_with("<tr><td>1</td><td>2</td>") && text.ends_with("<td>2000</td></tr>"));
    let blocks: Vec<String> = (0..80)
        .map(|n| format!("(n > {n} ifTrue: {{ #i[ [ n ] collect: {{ :x | x + {n} }} ] }})"))
        .collect();
    let text = lab.value(&format!("n := 40. (#p[ {} ]) asHTML", blocks.join(", ")));
    assert_eq!(text.matches("<i>").count(), 40);
}

#[test]
fn many_renders_at_once_do_not_mix() {
    let lab = Lab::new();
    let source = "((1 to: 200) asArray concurrently collect: { :n | \
         p := #p[ 'a', n, { runLoop runFor: 0.001. #b[ n ] }, 'z' ]. \
         p stringValue = \"<p>a{n}<b>{n}</b>z</p>\" }) select: { :good | good }";
    assert_eq!(lab.value(&format!("({source}) count")), "200");
}

/// A text as the language writes it.
fn quoted(text: &str) -> String {
    let inside: String = text
        .chars()
        .map(|c| match c {
            '\'' => "''".into(),
            c if c.is_ascii_alphanumeric() || "<>&\"/ =(){}[]#;:!-".contains(c) => c.to_string(),
            c => format!("\\u{{{:x}}}", u32::from(c)),
        })
        .collect();
    format!("'{inside}'")
}

/// What is escaped while compiling and what is escaped while running agree, for texts put together
/// from what means something in HTML, scripts and comments.
#[test]
fn any_text_stays_text() {
    const PARTS: [&str; 24] = [
        "<",
        ">",
        "&",
        "\"",
        "'",
        "`",
        "=",
        "/",
        "-",
        "--",
        "!",
        "</script",
        "<!--",
        "-->",
        "]]>",
        "&lt;",
        "\n",
        "\0",
        "\u{2028}",
        "\u{fffe}",
        "\\",
        "{x}",
        "javascript:",
        "a\u{fc}z",
    ];
    let lab = Lab::new();
    let mut seed = 7_u64;
    for _ in 0..400 {
        let mut text = String::new();
        loop {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            let at = (seed >> 40) as usize % (PARTS.len() + 4);
            let Some(part) = PARTS.get(at) else { break };
            text.push_str(part);
        }
        let literal = quoted(&text);
        let markup = lab.value(&format!(
            "t := {literal}.\n(#div{{ title: {literal}, id: t }}[ {literal}, '|', t, '|', \"{{t}}\", '|', \
             [ t ] collect: {{ :one | one }}, #script[ 'x = ', t ], #Comment[ t ] ]) asHTML"
        ));
        let safe = text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;")
            .replace('\'', "&#39;");
        let start = format!(
            "<div title=\"{safe}\" id=\"{safe}\">{safe}|{safe}|{safe}|{safe}<script>x = \""
        );
        let rest = markup.strip_prefix(&start).unwrap_or_else(|| panic!("{markup}\n{start}"));
        let (script, rest) = rest.split_once("</script><!-- ").unwrap();
        assert!(!script.contains('<') && script.ends_with('"'), "{script}");
        let comment = rest.strip_suffix(" --></div>").unwrap();
        assert!(!comment.contains("--") && !comment.contains(['<', '>']), "{comment}");
    }
}
