//! Documentation pages in a browser: accessible, without JavaScript too, under their own policy.

use crate::support::{descriptions, leave_out, parse, succeed};
use runnel_openapi::{Api, DocumentationPage, page};
use std::path::PathBuf;
use std::process::Command;

/// A program of the search path.
fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// A page whose requests go to the server of the test.
fn served(name: &str) -> DocumentationPage {
    let described = descriptions().into_iter().find(|(known, _)| *known == name);
    let mut described = described.unwrap().1;
    described.set("servers", parse(r#"["/api"]"#));
    page(&Api::read(&described))
}

fn in_a_browser(name: &str) {
    let axe = std::env::var_os("HOME").map(|home| {
        PathBuf::from(home).join(".cache/runnel/node/node_modules/axe-core/axe.min.js")
    });
    let Some(axe) = axe.filter(|axe| axe.is_file()) else {
        return leave_out("axe-core is not installed; .ci/run installs it");
    };
    let (Some(browser), Some(driver)) = (found("chromium"), found("chromedriver")) else {
        return leave_out("no chromium or chromedriver is installed");
    };
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let page = served(name);
    write("docs.html", &page.html);
    write("docs.css", page.style);
    write("docs.js", page.script);
    write("policy", &page.policy);
    write("browser.mjs", include_str!("page/browser.mjs"));
    let mut node = Command::new("node");
    node.arg(folder.path().join("browser.mjs")).arg(folder.path()).args([&browser, &driver, &axe]);
    let said = succeed(node.arg(name), "the page in a browser");
    assert!(said.ends_with("all checks\n"), "{said}");
}

#[test]
fn a_page_is_accessible_and_sends_requests() {
    in_a_browser("blog");
}

#[test]
fn a_large_page_is_accessible() {
    in_a_browser("large");
}

#[test]
fn texts_of_the_program_are_no_markup() {
    let described = parse(
        r#"{ "title": "<script>alert(1)</script>", "about": "`<b>` \"x\"\n\n<i>", "contact": "javascript:alert(1)",
            "servers": ["https://a.example/x", "https://b.example:8443", "javascript:1", "https://c;script-src *"],
            "classes": [{ "name": "A<b>", "about": "<u>", "fields": [
                { "name": "\"><img>", "type": { "kind": "string" }, "default": "</textarea>" } ] }],
            "operations": [{ "method": "POST", "path": [{ "text": "<em>" }, { "name": "a\"b" }], "tag": "<tag>",
                "about": "</article>", "body": { "type": { "kind": "object", "class": 0 } },
                "answers": [{ "status": 200, "about": "<q>", "headers": ["<h>"] }] }] }"#,
    );
    let page = page(&Api::read(&described));
    let markup = [
        "<script>alert",
        "<b>\"",
        "<i>",
        "<img",
        "<u>",
        "<tag>",
        "<q>",
        "<h>",
        "<em>",
        "</textarea>\"",
        "href=\"javascript",
    ];
    for markup in markup {
        assert!(!page.html.contains(markup), "{markup} is in {}", page.html);
    }
    assert_eq!(page.html.matches("</article>").count(), 2, "an operation and a schema");
    assert_eq!(
        page.policy,
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self' https://a.example \
         https://b.example:8443; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
}

#[test]
fn limits_stand_in_words() {
    let page = served("blog");
    for words in [
        "text of 1 to 120 characters",
        "one of &#39;draft&#39;, &#39;published&#39;",
        "a decimal number from 0.01 to 999.99 or null",
        "an array of at most 10 elements, each text of 1 to 30 characters",
        "<a href=\"#schema-CardInput\">CardInput</a> or <a href=\"#schema-TransferInput\">TransferInput</a>",
        "Default <code>&quot;published&quot;</code>.",
        "<span class=\"badge warn\">needs a token</span>",
    ] {
        assert!(page.html.contains(words), "{words} is not in {}", page.html);
    }
}
