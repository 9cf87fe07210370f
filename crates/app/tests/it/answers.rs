//! What clients get: files through handlers, forms with files, and errors without the inside.

use crate::support::http::{self, Reply};
use crate::support::{Folder, Server, skip};
use std::process::Command;

const SITE: &str = "\
scheme Site {
    /form { post { \"{form:name} {form:photo/name} {form:photo/mediaType} {form:photo/data}\" } }
    /tags { post { form: at: 'tag' } }
    /unread { post { body: isNil } }
    /length { post { newValue length } }
    /file/:name { get { file:FOLDER/{name} } }
    /kept { post { file:FOLDER/kept.bin ← form:photo/data. 'kept' } }
    /sql { get { ref:sqlite::memory: database run: 'select * from secret_table' } }
}";

fn server(folder: &Folder) -> Server {
    Server::of_scheme(&SITE.replace("FOLDER", &folder.path(".").display().to_string()), 20.0)
}

fn post(server: &Server, target: &str, kind: &str, body: &[u8]) -> Reply {
    http::send(server.port, "POST", target, &[("Content-Type", kind)], body).unwrap()
}

const FORM: &str = "multipart/form-data; boundary=x";

#[test]
fn a_form_has_fields_and_files() {
    let folder = Folder::new();
    folder.write("a.png", "\u{0}png");
    let server = server(&folder);
    let address = |path: &str| format!("http://127.0.0.1:{}{path}", server.port);
    let file = format!("photo=@{}", folder.path("a.png").display());
    let curl = Command::new("curl")
        .args(["-sS", "-F", "name=Ada", "-F", &file, &address("/form")])
        .output();
    match curl {
        Ok(output) => assert_eq!(output.stdout, b"Ada a.png image/png \0png"),
        Err(error) => skip(&format!("curl cannot be run: {error}")),
    }
    let part = |name: &str, rest: &str, data: &str| {
        format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"{rest}\r\n\r\n{data}\r\n")
    };
    let tags = format!("{}{}--x--\r\n", part("tag", "", "a"), part("tag", "", "b"));
    assert_eq!(post(&server, "/tags", FORM, tags.as_bytes()).text(), "[\"a\",\"b\"]");
    let kept = format!("{}--x--", part("photo", "; filename=\"../../x\"", "\u{7}bytes"));
    assert_eq!(post(&server, "/kept", FORM, kept.as_bytes()).text(), "kept");
    assert_eq!(std::fs::read(folder.path("kept.bin")).unwrap(), b"\x07bytes");
}

#[test]
fn limits_of_forms_hold_where_a_form_is_asked_for() {
    let folder = Folder::new();
    let server = server(&folder);
    assert_eq!(post(&server, "/form", FORM, b"nonsense").status, 400);
    assert_eq!(post(&server, "/form", "multipart/form-data", b"--x--").status, 400);
    let usual = "application/x-www-form-urlencoded";
    let long = vec![b'a'; 2 * 1024 * 1024];
    assert_eq!(post(&server, "/form", usual, &long).status, 413);
    assert_eq!(post(&server, "/length", usual, &long).text(), long.len().to_string());
    let large = vec![b'a'; 9 * 1024 * 1024];
    assert_eq!(post(&server, "/form", FORM, &large).status, 413);
    assert_eq!(post(&server, "/length", FORM, &large).text(), large.len().to_string());
    let field = [b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\n", &long[..], b"\r\n--x--"];
    assert_eq!(post(&server, "/form", FORM, &field.concat()).status, 413);
}

#[test]
fn text_that_is_not_utf8_is_refused() {
    let folder = Folder::new();
    let server = server(&folder);
    for kind in ["text/plain", "application/json", "application/xml; charset=utf-8"] {
        assert_eq!(post(&server, "/length", kind, b"a\xff").status, 400, "{kind}");
    }
    assert_eq!(post(&server, "/length", "image/png", b"a\xff").text(), "2");
    let long = vec![0xff; 100_000];
    assert_eq!(post(&server, "/length", "text/plain", &long).status, 400);
}

#[test]
fn a_file_through_a_handler_stays_a_file() {
    let folder = Folder::new();
    folder.write("a.css", "p { margin: 0 }");
    folder.write("large.bin", "0123456789".repeat(200_000));
    let server = server(&folder);
    let ask = |method, target, fields: &[(&str, &str)]| {
        http::send(server.port, method, target, fields, b"").unwrap()
    };
    let css = ask("GET", "/file/a.css", &[]);
    assert!(css.header("content-type").unwrap().starts_with("text/css"));
    assert!(css.header("last-modified").is_some());
    let tag = css.header("etag").unwrap();
    assert_eq!(ask("GET", "/file/a.css", &[("If-None-Match", tag)]).status, 304);
    let part = ask("GET", "/file/large.bin", &[("Range", "bytes=1999998-")]);
    assert_eq!((part.status, part.text().as_str()), (206, "89"));
    let head = ask("HEAD", "/file/large.bin", &[]);
    assert_eq!((head.header("content-length"), head.body.len()), (Some("2000000"), 0));
    assert_eq!(ask("GET", "/file/large.bin", &[]).body.len(), 2_000_000);
    assert_eq!(ask("GET", "/file/none.css", &[]).status, 404);
}

#[test]
fn faults_of_a_database_stay_inside() {
    let folder = Folder::new();
    let server = server(&folder);
    let reply = server.get("/sql");
    assert_eq!((reply.status, reply.text().as_str()), (500, "500 Internal Server Error"));
    server.process.err_shows("secret_table");
}

/// A table without a class behind a converter.
const NOTES: &str = "\
#-<void>serve:<int>port
scheme Notes {
    var table.
    /notes { post { this:table insert: newValue. 'kept' } }
    /own { post { this:table insert: #{ title: 'a', hidden: 1 }. 'kept' } }
    /find { get { this:table[{ hidden = 1 }] count } }
}
db ← ref:sqlite::memory: database.
db run: 'create table notes (id integer primary key, title text not null, amount int)'.
(#HTTPServer{ port: port } → #JSONConverter{ } → #Notes{ table: (db records: 'notes') }) start.
";

#[test]
fn a_client_learns_what_is_wrong_with_what_it_sent() {
    let server = Server::start(NOTES, &[]);
    let json = |target: &str, body: &str| {
        let fields = [("Content-Type", "application/json"), ("Accept", "application/json")];
        http::send(server.port, "POST", target, &fields, body.as_bytes()).unwrap()
    };
    assert!(json("/notes", "{\"title\":\"a\"}").status < 300);
    for (body, pointer) in [
        ("{\"title\":\"a\",\"hidden\":1}", "/hidden"),
        ("{\"title\":\"a\",\"amount\":\"three\"}", "/amount"),
        ("{\"amount\":3}", ""),
    ] {
        let reply = json("/notes", body);
        assert_eq!(reply.status, 422, "{body}: {}", reply.text());
        assert_eq!(reply.header("content-type"), Some("application/problem+json"));
        assert_eq!(reply.json()["errors"][0]["pointer"], pointer, "{}", reply.text());
        assert!(!reply.text().contains("columns"), "{}", reply.text());
    }
    let own = json("/own", "{\"title\":\"a\"}");
    assert_eq!(own.status, 500);
    let text = own.text();
    assert!(!text.contains("hidden") && !text.contains("notes"), "{text}");
    let find = server.get("/find");
    assert_eq!((find.status, find.text().as_str()), (500, "500 Internal Server Error"));
    server.process.err_shows("hidden");
}
