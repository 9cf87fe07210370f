//! Values of requests in references: what a client sends stays one segment, one argument, one host.

use crate::support::{Server, free_port, program};

const SITE: &str = "\
scheme:notes ← DictStore store.
scheme Site {
    /open { get { file:root/{query:n} } }
    /deep { get { file:root/{*query:n} } }
    /echo { get { sh:printf/<%s>/{query:name} } }
    /words { get { sh:printf/--/<%s>/{query:name} } }
    /asked { get { sh:printf/<%s>?{query:name} } }
    /host { get { http://{query:h}/api } }
    /port { get { http://127.0.0.1:{query:h}/api } }
    /up { get { http://127.0.0.1:{query:port}/{query:name}/end?q={query:q} } }
    /below { get { http://127.0.0.1:{query:port}/below/{*query:path} } }
    /kept/:key { get { notes:/{key} } put { notes:/{key} ← newValue stringValue. } }
    /key/:key { get { key } }
    /rest/*:rest { get { file:root/{*rest} } }
}
";

fn site() -> Server {
    let server = Server::of_scheme(SITE, 10.0);
    server.folder.write("secret", "the secret");
    std::fs::create_dir_all(server.folder.path("root/in")).unwrap();
    server.folder.write("root/here", "it is here");
    server.folder.write("root/in/deep", "it is deep");
    server.folder.write("root/50%", "a percent sign");
    server.folder.write("root/a%2Fb", "no slash");
    server.folder.write("root/what?", "a question");
    server
}

#[test]
fn a_value_of_a_request_stays_in_its_folder() {
    let server = site();
    for (target, expected) in [
        ("/open?n=here", "it is here"),
        ("/open?n=50%25", "a percent sign"),
        ("/open?n=a%252Fb", "no slash"),
        ("/open?n=what%3F", "a question"),
        ("/deep?n=in/deep", "it is deep"),
        ("/rest/in/deep", "it is deep"),
        ("/rest/what%3F", "a question"),
        ("/rest/a%252Fb", "no slash"),
    ] {
        let reply = server.get(target);
        assert_eq!((reply.status, reply.text().as_str()), (200, expected), "{target}");
    }
    let secret = server.folder.path("secret");
    let absolute = secret.to_str().unwrap();
    for value in [
        "../secret",
        "%2e%2e/secret",
        "..%2Fsecret",
        "%2e%2e%2fsecret",
        "in/../../secret",
        "./../secret",
        "..",
        ".",
        "",
        "here%00",
        "%00",
        absolute,
        "/../secret",
        "//",
    ] {
        for path in ["/open", "/deep"] {
            let reply = server.get(&format!("{path}?n={value}"));
            let refused = reply.status == 400 || path == "/deep" && reply.status == 404;
            assert!(refused, "{path} {value}: {} {}", reply.status, reply.text());
            assert!(!reply.text().contains("the secret"), "{path} {value}");
        }
    }
    // Missing altogether: no listing of the folder.
    for path in ["/open", "/deep"] {
        assert_eq!(server.get(path).status, 400, "{path}");
    }
    assert_eq!(server.get("/rest/..%2Fsecret").status, 400);
}

#[test]
fn a_value_is_one_argument_and_no_option() {
    let server = site();
    for (target, expected) in [
        ("/echo?name=a/b/-n", "<a/b/-n>"),
        ("/echo?name=a%3Fb%26c%25", "<a?b&c%>"),
        ("/echo?name=%252D", "<%2D>"),
        ("/words?name=-n", "<-n>"),
        ("/asked?name=a%26b%20c/-d", "<a&b c/-d>"),
    ] {
        let reply = server.get(target);
        assert_eq!((reply.status, reply.text().as_str()), (200, expected), "{target}");
    }
    for target in ["/echo?name=-n", "/echo?name=--", "/asked?name=-n", "/asked?name=", "/echo"] {
        assert_eq!(server.get(target).status, 400, "{target}");
    }
}

#[test]
fn a_value_is_one_host() {
    let server = site();
    for value in [
        "evil.example%40127.0.0.1",
        "127.0.0.1/x%3F",
        "127.0.0.1%23",
        "a:b",
        "a:80:80",
        "",
        "%20",
        "a%5C",
    ] {
        assert_eq!(server.get(&format!("/host?h={value}")).status, 400, "{value}");
    }
    for value in ["80%40evil.example", "80/x", "80%3Fx", "x", "", "-1"] {
        assert_eq!(server.get(&format!("/port?h={value}")).status, 400, "{value}");
    }
}

#[test]
fn a_value_is_one_segment_and_one_parameter_of_another_server() {
    let upstream = Server::of_scheme(
        "scheme Site { /:name/end { get { \"{name} {query:q} {query:x}\" } } }",
        10.0,
    );
    let server = site();
    for (name, query, expected) in [
        ("a/b", "c", "a/b c nil"),
        ("a%3Fb%23c%20d", "1%26x%3D2", "a?b#c d 1&x=2 nil"),
        ("%2520%252F%25", "%2B%25", "%20%2F% +% nil"),
        ("%2e%2e%2fx", "", "../x  nil"),
    ] {
        let target = format!("/up?port={}&name={name}&q={query}", upstream.port);
        assert_eq!(server.get(&target).text(), expected, "{target}");
    }
    for path in ["../x/end", "%252e%252e/x/end", "%252E./x/end", "x/%2500", "x//end", "."] {
        let target = format!("/below?port={}&path={path}", upstream.port);
        assert_eq!(server.get(&target).status, 400, "{path}");
    }
}

#[test]
fn a_parameter_of_a_path_is_the_text_that_was_meant() {
    let server = site();
    for (key, text) in [
        ("a%2Fb", "a/b"),
        ("a%252Fb", "a%2Fb"),
        ("50%25", "50%"),
        ("q%3Fx", "q?x"),
        ("%2541", "%41"),
    ] {
        assert_eq!(server.get(&format!("/key/{key}")).text(), text, "{key}");
        let put = server.send("PUT", &format!("/kept/{key}"), text);
        assert!(put.status < 300, "{key}: {}", put.status);
    }
    for (key, text) in [("a%2Fb", "a/b"), ("a%252Fb", "a%2Fb"), ("%2541", "%41")] {
        assert_eq!(server.get(&format!("/kept/{key}")).text(), text, "{key}");
    }
}

#[test]
fn a_value_of_a_request_never_begins_a_reference() {
    for reference in [
        "file:{query:n}",
        "file:{*query:n}",
        "ref:file:{name} value",
        "file:{name , '.txt'}",
        "file:{\"{header:Host}/x\"}",
        "notes:{newValue}",
        "notes:{name}",
        "sh:{body:text}",
        "sh:/{cookie:c}",
        "http:{form:to}",
    ] {
        let text = format!(
            "scheme:notes ← DictStore store.\nscheme Site {{ /:name {{ put {{ {reference} }} }} }}"
        );
        let outcome = program(&text);
        let error = "a value of a request cannot begin a reference";
        assert!(outcome.err.contains(error), "{reference}: {}", outcome.err);
        assert!(outcome.err.contains("= help: "), "{reference}: {}", outcome.err);
    }
    // A store of the program's own takes several segments.
    let fine = "scheme:notes ← DictStore store.\n\
                scheme Site { /*:rest { get { notes:{*rest} } } }\n\
                notes:a/b ← 7.\nscheme:site ← Site store.\nstdout println: site:a/b.";
    assert_eq!(program(fine).out, "7\n");
}

#[test]
fn values_read_back_in_every_store() {
    let port = free_port();
    let outcome = program(&format!(
        "scheme:d ← #{{ x: #{{ }} }}.\n\
         [ 'a/b', 'a?b', '%41', '%', '%2F', 'a%2Fb', 'é ü', '-x', '#', 'a&b=c', '..a', '%25', '/', '?' ]\n\
         do: {{ :text |\n\
         \x20   memory:t{port}/{{text}} ← text.\n\
         \x20   stdout println: memory:t{port}/{{text}} = text.\n\
         \x20   d:x/{{text}} ← text.\n\
         \x20   stdout println: d:x/{{text}} = text.\n\
         }}.\n\
         stdout println: (ref:memory:t{port} childNames) count.\n\
         stdout println: ((ref:memory:t{port} children) collect: {{ :each | each value }}) sorted \
            = (ref:memory:t{port} childNames) sorted.\n"
    ));
    let lines: Vec<&str> = outcome.out.lines().collect();
    assert_eq!(lines.len(), 30, "{}", outcome.err);
    assert!(lines.iter().all(|line| *line == "true" || *line == "14"), "{lines:?}");
}
