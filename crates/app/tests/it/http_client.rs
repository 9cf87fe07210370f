//! The web as a store: programs that read and write what another program serves.

use crate::support::{Folder, Outcome, Server, free_port, run, runnel};

/// What the programs of these tests talk to.
const NEIGHBOUR: &str = "\
#-<void>serve:<int>port
scheme Neighbour {
    var kept.
    /x { get { 'the x' } }
    /data { get { #{ a: 1, b: [ 1, 2 ] } } }
    /note { get { this:kept at: 'note' } put { this:kept at: 'note' put: newValue }
            delete { this:kept removeObjectForKey: 'note'. true } }
    /notes { post { this:kept at: 'note' put: newValue. newValue } }
    /user/:name { get { \"user {name}\" } }
    /search { get { \"found {query:q}\" } }
    /slow { get { runLoop runFor: 60. } }
    /fail { get { Error signal: 'a secret of the neighbour' } }
}
server ← #HTTPServer{ port: port, scheme: #Neighbour{ kept: #MutableDictionary{} } }.
server start.
";

fn neighbour() -> Server {
    Server::start(NEIGHBOUR, &[])
}

/// Runs a program in which `PORT` stands for the neighbour's port.
fn program(server: &Server, text: &str) -> Outcome {
    let folder = Folder::new();
    let file = folder.write("client.st", text.replace("PORT", &server.port.to_string()));
    run(runnel().arg(file))
}

fn prints(server: &Server, text: &str, lines: &[&str]) {
    let outcome = program(server, text);
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    assert_eq!(outcome.out.lines().collect::<Vec<_>>(), lines);
}

#[test]
fn a_reference_of_the_web_is_a_variable() {
    prints(
        &neighbour(),
        "stdout println: http://127.0.0.1:PORT/x.\n\
         stdout println: http://localhost:PORT/x.\n\
         stdout println: http://127.0.0.1:PORT/missing isNil.\n\
         stdout println: http://127.0.0.1:PORT/note isNil.\n\
         http://127.0.0.1:PORT/note ← 'written'.\n\
         stdout println: http://127.0.0.1:PORT/note.\n\
         http://127.0.0.1:PORT/notes += 'posted'.\n\
         stdout println: http://127.0.0.1:PORT/note.\n\
         ref:http://127.0.0.1:PORT/note delete.\n\
         stdout println: http://127.0.0.1:PORT/note isNil.\n\
         name ← 'ada'.\n\
         stdout println: http://127.0.0.1:PORT/user/{name}.\n\
         stdout println: http://127.0.0.1:PORT/search?q=a+b.\n\
         later ← ref:http://127.0.0.1:PORT/x.\n\
         stdout println: later value.\n",
        &[
            "the x",
            "the x",
            "true",
            "true",
            "written",
            "posted",
            "true",
            "user ada",
            "found a b",
            "the x",
        ],
    );
}

#[test]
fn a_place_of_the_web_is_a_scheme() {
    prints(
        &neighbour(),
        "scheme:up ← ref:http://127.0.0.1:PORT asScheme.\n\
         stdout println: up:x.\n\
         up:note ← 'again'.\n\
         stdout println: up:note.\n\
         up:note ← #{ a: 1 }.\n\
         stdout println: up:note.\n\
         scheme:json ← #JSONConverter{ up: false } → scheme:up.\n\
         stdout println: (json:data at: 'b').\n\
         json:note ← #{ a: [ true, nil ] }.\n\
         stdout println: up:note.\n\
         scheme:cached ← CachingStore storeWithSource: scheme:up.\n\
         stdout println: cached:note.\n\
         up:note ← 'changed behind it'.\n\
         stdout println: cached:note.\n",
        &[
            "the x",
            "again",
            "{\"a\":1}",
            "[1,2]",
            "{\"a\":[true,null]}",
            "{\"a\":[true,null]}",
            "{\"a\":[true,null]}",
        ],
    );
}

#[test]
fn what_goes_wrong_names_the_host_and_the_cause() {
    let server = neighbour();
    let closed = free_port();
    let messages = format!(
        "say ← {{ :block | stdout println: (block onError: {{ :error | error message }}) }}.\n\
         say value: {{ http://127.0.0.1:{closed}/x }}.\n\
         say value: {{ http://nowhere.invalid/x }}.\n\
         say value: {{ http://127.0.0.1:PORT/fail }}.\n\
         say value: {{ ref:http://127.0.0.1:PORT/x delete }}.\n\
         say value: {{ http://127.0.0.1:PORT/x ← 'x' }}.\n"
    );
    let outcome = program(&server, &messages);
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    let lines: Vec<&str> = outcome.out.lines().collect();
    let expected: [&[&str]; 5] = [
        &[&format!("127.0.0.1:{closed}"), "refused the connection"],
        &["nowhere.invalid", "cannot be found"],
        &["127.0.0.1", "/fail", "500"],
        &["127.0.0.1", "/x", "405"],
        &["127.0.0.1", "/x", "405"],
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:?}");
    for (line, parts) in lines.iter().zip(expected) {
        for part in parts {
            assert!(line.contains(part), "`{part}` is not in `{line}`");
        }
        assert!(!line.contains("secret"), "{line}");
    }

    let outcome =
        program(&server, &format!("x := 1.\nstdout println: http://127.0.0.1:{closed}/x.\n"));
    assert_eq!((outcome.status, outcome.out.as_str()), (70, ""), "{outcome:?}");
    assert!(outcome.err.contains("client.st:2"), "{}", outcome.err);
    assert!(outcome.err.contains("refused the connection"), "{}", outcome.err);
}

#[test]
fn a_slow_neighbour_costs_what_the_program_allows() {
    prints(
        &neighbour(),
        "stdout println: ({ http://127.0.0.1:PORT/slow } timeout: 0.2 seconds onError: 'late').\n\
         both ← [ { http://127.0.0.1:PORT/x }, { http://127.0.0.1:PORT/user/b } ] concurrently.\n\
         stdout println: (both join: ', ').\n",
        &["late", "the x, user b"],
    );
}

#[test]
fn a_server_may_stand_before_another() {
    let behind = neighbour();
    let front = "#-<void>serve:<int>port behind:<int>behind\n\
        scheme:up ← ref:http://127.0.0.1:{behind} asScheme.\n\
        server ← #HTTPServer{ port: port, scheme: scheme:up }.\n\
        server start.\n";
    let front = Server::start(front, &[&behind.port.to_string()]);
    assert_eq!(front.get("/x").text(), "the x");
    assert_eq!(front.get("/missing").status, 404);
    assert_eq!(front.send("PUT", "/note", "through").status, 200);
    assert_eq!(behind.get("/note").text(), "through");
    assert_eq!(front.get("/note").text(), "through");
    let failed = front.get("/fail");
    assert!(failed.status >= 500, "{failed:?}");
    assert!(!failed.text().contains("secret"), "{failed:?}");
}
