//! What clients can write: content that obeys a class, and no field that is not theirs.

use crate::support::{Server, http};
use serde_json::json;

/// Notes without a converter, and every way from a request to a row. `author` is the program's.
const NOTES: &str = "\
class Note { var <int> id. var <string required> text. var <string readonly> author. }
class Other { var <int> id. var <string> text. var <string> author. }
scheme Site {
    var notes.
    var database.
    -init {
        this:database ← ref:sqlite::memory: asScheme.
        this:notes ← this:database table: Note.
        self
    }
    /read/:<int>id { get { this:notes at: id } put { this:notes at: id put: newValue parseJSON } }
    /parsed { post { this:notes insert: newValue parseJSON } }
    /trimmed { post { this:notes insert: newValue trimmed parseJSON } }
    /inner { post { this:notes insert: (newValue parseJSON at: 'note') } }
    /copy { post { this:notes insert: newValue parseJSON copy } }
    /deep { post { this:notes insert: newValue parseJSON deepCopy } }
    /joined { post { this:notes insert: (#{ text: 'a' } , newValue parseJSON) } }
    /under { post { this:notes insert: (newValue parseJSON , #{ text: 'a' }) } }
    /chosen { post { this:notes insert: (newValue parseJSON select: { :value | value = value }) } }
    /mapped { post { this:notes insert: (newValue parseJSON collectValues: { :value | value }) } }
    /typed { post { this:notes insert: (Note fromDictionary: newValue parseJSON) } }
    /other { post { this:notes insert: (Other fromJSON: newValue) } }
    /body { post { this:notes insert: body:text parseJSON } }
    /many { post { this:notes insertAll: newValue parseJSON } }
    /made { post { this:notes insertAll: newValue parseJSON collect: { :each | each } } }
    /mixed { post { this:notes insertAll: [ #{ text: 'a', author: 'b' } ] , newValue parseJSON } }
    /columns { post { this:notes insertColumns: newValue parseJSON } }
    /changed/:<int>id { post { this:notes at: id merge: newValue parseJSON } }
    /own { post {
        own ← #{ }. newValue parseJSON keysAndValuesDo: { :key :value | own at: key put: value }.
        this:notes insert: own } }
    /with { post { this:notes insert: newValue parseJSON with: #{ author: 'ann' } } }
}";

/// Posts a text as JSON.
fn json_sent(server: &Server, target: &str, body: &str) -> http::Reply {
    let fields = [("Content-Type", "application/json")];
    http::send(server.port, "POST", target, &fields, body.as_bytes()).unwrap()
}

#[test]
fn no_way_leads_a_client_to_fields_of_the_program() {
    let server = Server::of_scheme(NOTES, 5.0);
    let taken = json_sent(&server, "/parsed", r#"{"text":"a"}"#);
    assert_eq!(taken.json(), json!({ "id": 1, "text": "a", "author": null }));
    let forged = r#"{"text":"a","author":"eve"}"#;
    let numbered = r#"{"text":"a","id":77}"#;
    let ways = [
        "parsed",
        "trimmed",
        "copy",
        "deep",
        "joined",
        "under",
        "chosen",
        "mapped",
        "typed",
        "other",
        "body",
        "changed/1",
    ];
    for way in ways {
        for body in [forged, numbered] {
            let reply = json_sent(&server, &format!("/{way}"), body);
            assert_eq!(reply.status, 422, "{way} {body}: {}", reply.text());
        }
    }
    for way in ["many", "made", "mixed"] {
        for body in [forged, numbered] {
            let reply = json_sent(&server, &format!("/{way}"), &format!("[{body}]"));
            assert!(matches!(reply.status, 400 | 422), "{way} {body}: {}", reply.text());
        }
    }
    let columns = r#"{"text":["a"],"author":["eve"]}"#;
    assert_eq!(json_sent(&server, "/columns", columns).status, 422);
    let inner = format!("{{\"note\":{forged}}}");
    assert_eq!(json_sent(&server, "/inner", &inner).status, 422);
    assert_eq!(server.get("/read/2").status, 404);
    assert_eq!(server.get("/read/77").status, 404);

    let own = json_sent(&server, "/own", forged);
    assert_eq!(own.json(), json!({ "id": 2, "text": "a", "author": "eve" }));
    let with = json_sent(&server, "/with", forged);
    assert_eq!(with.json(), json!({ "id": 3, "text": "a", "author": "ann" }));
    assert_eq!(server.send("PUT", "/read/3", r#"{"text":"b"}"#).status, 200);
    let kept = server.get("/read/3").json();
    assert_eq!(kept, json!({ "id": 3, "text": "b", "author": "ann" }));
    assert_eq!(server.send("PUT", "/read/3", r#"{"text":"b","id":4}"#).status, 422);
}

/// The program sets what a client leaves out, and what it may not say.
#[test]
fn values_made_for_each_row_are_not_the_clients() {
    let site = "\
        class Note { var <int> id. var <string> text. var <[string] readonly> tags ← [ 'new' ]. }\n\
        scheme Site {\n\
            var notes.\n\
            -init { this:notes ← ref:sqlite::memory: table: Note. self }\n\
            /notes { get { this:notes } post { this:notes insertAll: newValue parseJSON } }\n\
        }";
    let server = Server::of_scheme(site, 5.0);
    let sent = |body: &str| json_sent(&server, "/notes", body);
    assert_eq!(sent(r#"[{"text":"a"},{"text":"b"}]"#).text(), "2");
    for (body, said) in [
        (r#"[{"text":"c","tags":["x"]}]"#, "tags cannot be set by a client"),
        (r#"[{"text":"c"},{"text":"d","tags":["x"]}]"#, "record 2 has the field tags"),
    ] {
        let reply = sent(body);
        assert_eq!(reply.status, 422, "{body}: {}", reply.text());
        assert!(reply.text().contains(said), "{body}: {}", reply.text());
    }
    let rows = server.get("/notes").json();
    let row = |id: u32, text: &str| json!({ "id": id, "text": text, "tags": ["new"] });
    assert_eq!(rows, json!([row(1, "a"), row(2, "b")]));
}

/// A large body is read as a stream.
#[test]
fn large_content_is_a_clients_too() {
    let server = Server::of_scheme(NOTES, 20.0);
    let text = "x".repeat(3 << 20);
    let body = format!("{{\"text\":\"{text}\",\"author\":\"eve\"}}");
    assert_eq!(json_sent(&server, "/parsed", &body).status, 422);
}

#[test]
fn every_problem_has_a_pointer() {
    let scheme = "\
        class Address { var <string required> street. }\n\
        class Person { var <string required> name. var <int> age. var <Address> place. }\n\
        scheme People { /people { post { newValue } } }\n\
";
    let program = format!(
        "#-<void>serve:<int>port\n{scheme}\n\
         server ← #HTTPServer{{ port: port, scheme: #JSONConverter{{ class: Person, source: #People{{}} }} }}.\n\
         server start.\n"
    );
    let server = Server::start(&program, &[]);
    let reply = json_sent(&server, "/people", r#"{"age":"three","place":{},"nope":1}"#);
    assert_eq!(reply.status, 422);
    for pointer in ["/age", "/place/street", "/nope", "/name"] {
        assert!(reply.text().contains(pointer), "{pointer}: {}", reply.text());
    }
    assert_eq!(json_sent(&server, "/people", r#"{"name":"#).status, 400);
}
