//! Pages: sent while they are written, at many at once, and converted from HTML and back.

use crate::support;

use crate::support::http::Connection;
use crate::support::{Folder, Server, run_with, runnel};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const SITE: &str = "\
scheme Site {
    /quick/:n { get { #html[ #body[ { #p[ 'n', n ] } ] ] } }
    /slow/:n { get { #html[ #body[ #h1[ n ], { runLoop runFor: 0.3. #p[ 'after ', n ] } ] ] } }
    /eager { get { #html[ #body[ #h1[ 'first' ], [ 1, 2 ] collect: { :i | runLoop runFor: 0.2. #p[ i ] } ] ] } }
    /early { get { #html[ #body[ #h1[ 'x' ], { Error signal: 'no' } ] ] } }
    /late { get { #html[ #body[ #h1[ 'x' ], { runLoop runFor: 0.2. Error signal: 'no' } ] ] } }
    /count { get { #html[ #body[ (1 to: 60000) collect: { :i | #p[ 'line ', i, ' of many' ] } ] ] } }
    /both { get { #div[ (Site store at: 'quick/1') asHTML ] } }
}
";

/// Bytes from a connection until they hold a text.
fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while !String::from_utf8_lossy(&bytes).contains(text) {
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "closed before `{text}`: {}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&piece[..count]);
    }
    String::from_utf8(bytes).unwrap()
}

fn asked(server: &Server, target: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(support::PATIENCE)).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    stream
}

#[test]
fn what_is_there_is_sent_while_the_rest_is_made() {
    let server = Server::of_scheme(SITE, 10.0);
    for (target, first, last) in [
        ("/slow/7", "<h1>7</h1>", "<p>after 7</p><!--]--></body></html>"),
        ("/eager", "<h1>first</h1>", "<p>2</p></body></html>"),
    ] {
        let mut stream = asked(&server, target);
        let begin = read_until(&mut stream, first);
        assert!(begin.contains("transfer-encoding: chunked"), "{begin}");
        assert!(!begin.contains(last), "all at once: {begin}");
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        assert!(rest.contains(last) && rest.ends_with("0\r\n\r\n"), "{rest}");
    }
    // Whole pages are as they are without waiting.
    assert_eq!(
        server.get("/slow/9").text(),
        "<!DOCTYPE html><html><body><h1>9</h1><!--[1--><p>after 9</p><!--]--></body></html>"
    );
}

#[test]
fn a_quick_page_has_a_length_and_a_failing_one_a_status() {
    let server = Server::of_scheme(SITE, 10.0);
    let quick = server.get("/quick/3");
    assert_eq!(quick.text(), "<!DOCTYPE html><html><body><!--[1--><p>n3</p><!--]--></body></html>");
    assert_eq!(quick.header("content-length"), Some("67"));
    assert_eq!(server.get("/early").status, 500);
    // After the first bytes nothing can be said any more: the connection ends without the last chunk.
    let mut stream = asked(&server, "/late");
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    let text = String::from_utf8_lossy(&all);
    assert!(text.contains("<h1>x</h1>") && !text.ends_with("0\r\n\r\n"), "{text}");
    let long = server.get("/count").text();
    assert!(long.ends_with("<p>line 60000 of many</p></body></html>"));
    assert_eq!(long.matches("<p>").count(), 60_000);
}

#[test]
fn many_pages_at_once_do_not_mix() {
    let server = Server::of_scheme(SITE, 20.0);
    let mut connections: Vec<Connection> =
        (0..300).map(|_| Connection::open(server.port).unwrap()).collect();
    for (n, connection) in connections.iter_mut().enumerate() {
        connection.ask("GET", &format!("/slow/{n}"), &[], b"").unwrap();
    }
    for (n, connection) in connections.iter_mut().enumerate() {
        let expected = format!("<h1>{n}</h1><!--[1--><p>after {n}</p><!--]--></body></html>");
        assert!(connection.answer("GET").unwrap().text().ends_with(&expected), "{n}");
    }
    // Clients that go away in the middle leave the others alone.
    for n in 0..50 {
        let mut stream = asked(&server, &format!("/slow/{n}"));
        read_until(&mut stream, "<h1>");
    }
    std::thread::sleep(Duration::from_millis(1));
    assert!(server.get("/slow/1").text().ends_with("<p>after 1</p><!--]--></body></html>"));
}

/// Pages as they are found: old and new, sloppy and strict.
const PAGES: [&str; 8] = [
    "<!doctype html><html lang=en><head><meta charset=utf-8><title>A &amp; B</title>\
     <link rel=stylesheet href=/a.css?x=1&amp;y=2><style>p > a { color: red }</style>\
     <script>if (1 < 2 && 'a') { document.title = \"x\"; }</script></head>\
     <body class='a b' onload=\"go('x')\"><h1>It's \"quoted\"</h1><p>One<br>two <b>three</b>\n four \
     <img src=a.png alt=''><hr><input disabled value='x &lt; y'></body></html>",
    "<html><body><table border=1><tr><td>1<td>2<tr><td colspan=2>3</table>\
     <ul>\n <li>a\n <li>b <i>c</i>\n</ul><form action=/go method=post><select name=s>\
     <option selected>x<option value=y>z</select><textarea>\n\n keep  this\n</textarea></form></body></html>",
    "<html><body><pre>\n\n  two\n    lines &lt;b&gt;\\n 'x' {y}\n</pre><a href='javascript:void(0)'>js</a>\
     <a href='data:text/html,x'>d</a><iframe srcdoc='<p>x</p>'></iframe></body></html>",
    "<html><body><svg viewBox='0 0 10 10' xmlns='http://www.w3.org/2000/svg'><linearGradient id=g>\
     <stop offset=0 stop-color=red></linearGradient><path d='M0 0L1 1'/><use xlink:href='#g'/></svg>\
     <math><mi>x</mi><mo>=</mo><mn>2</mn></math></body></html>",
    "<html><head><noscript><img src=x></noscript></head><body><template><p>in</p></template>\
     <div a_b=1 data-x='{\"a\":1}' @click=x :class=y x-on:click.prevent=z>odd</div><!-- a comment --></body></html>",
    "<html><body><p>Gr\u{fc}\u{df}e \u{1f600} \u{a0}&nbsp;\u{200b}zero</p><script type='application/json'>\
     {\"a\": \"<!-- x -->\"}</script><details open><summary>s</summary>t</details></body></html>",
    "<p>loose <em>text</em> without a body<p>and two paragraphs <b>un<i>nested</b>right</i>",
    "<html><body><video controls muted autoplay><source src=a.mp4 type=video/mp4></video>\
     <button type=button aria-hidden=true aria-label='' class='' hidden>x</button></body></html>",
];

fn converted(html: &str) -> String {
    let literals = run_with(runnel().arg("html"), html.as_bytes());
    assert_eq!(literals.status, 0, "{}", literals.err);
    literals.out
}

/// What a program of these literals writes.
fn written(literals: &str) -> String {
    let folder = Folder::new();
    let program = format!("page := {}.\nstdout print: page asHTML.\n", literals.trim_end());
    let outcome = run_with(runnel().arg(folder.write("page.st", &program)), b"");
    assert_eq!(outcome.status, 0, "{}\n{program}", outcome.err);
    outcome.out
}

#[test]
fn pages_survive_the_way_to_literals_and_back() {
    for html in PAGES {
        let literals = converted(html);
        let page = written(&literals);
        // The same literals again: the page has the same tree.
        assert_eq!(converted(&page), literals, "{html}\n{page}");
        let plain = html.replace("&nbsp;", " ").to_lowercase();
        for word in plain.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3) {
            assert!(page.to_lowercase().contains(word), "`{word}` is lost: {page}");
        }
    }
}
