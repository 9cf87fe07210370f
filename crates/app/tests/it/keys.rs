//! Keys, constraints and migrations from outside, on SQLite and PostgreSQL alike: what clients are told,
//! what binds statements that know no class, and processes that start at once.

use crate::support::http::{Reply, get, send};
use crate::support::{Folder, Process, free_port, runnel};
use runnel_scratch::{Server, Service};
use serde_json::json;

/// A program that serves tables, and statements beside them.
const PROGRAM: &str = "\
#-serve:<ref>database
class Customer { var <uuid> id. var <string 1..20 required> name. }
class Line {
   var <string key> order.
   var <int key> number.
   var <int 1..99> count ← 1.
   var <'open' 'sent'> state ← 'open'.
   var <[string] ..3> tags.
   var <Customer nullify> customer.
   +tableName { 'order_lines' }
}
class Visit { var <int> id. var <Customer cascade required> customer. }
scheme Statements {
   var database.
   /run { post { { this:database computed: (newValue at: 'sql') } onError: { :error | error message } } }
}
#JSONConverter{ } → #Route{ stores: #{
   customers: (database table: Customer),
   lines: (database table: Line),
   visits: (database table: Visit),
   sql: #Statements{ database: database database }
} }.
";

struct Shop {
    process: Process,
    port: u16,
}

impl Shop {
    fn start(folder: &Folder, database: &str) -> Shop {
        let port = free_port();
        let mut command = runnel();
        command.args(["--port", &port.to_string(), "shop.st", database]);
        Shop { process: Process::start(command.current_dir(folder.path(""))), port }
    }

    fn send(&self, method: &str, target: &str, body: &serde_json::Value) -> Reply {
        let headers = [("Content-Type", "application/json")];
        send(self.port, method, target, &headers, body.to_string().as_bytes()).unwrap()
    }

    fn post(&self, target: &str, body: &serde_json::Value) -> serde_json::Value {
        let reply = self.send("POST", target, body);
        assert_eq!(reply.status, 201, "{reply:?}");
        reply.json()
    }

    /// The result of a statement that knows no class, or why it failed.
    fn run(&self, sql: &str) -> String {
        self.send("POST", "/sql/run", &json!({ "sql": sql })).text()
    }
}

/// Does the same on a database of SQLite and on one of PostgreSQL.
fn on_both(check: impl Fn(&Folder, &str)) {
    let folder = Folder::new();
    folder.write("shop.st", PROGRAM);
    check(&folder, "sqlite:shop.db");
    if let Some(server) = Server::for_test(Service::Postgres) {
        check(&folder, &server.url());
    }
}

#[test]
fn keys_name_rows_over_http() {
    on_both(|folder, database| {
        let mut shop = Shop::start(folder, database);
        shop.process.listens(shop.port);
        let ann = shop.post("/customers", &json!({ "name": "Ann" }));
        let id = ann["id"].as_str().unwrap();
        assert_eq!((id.len(), &id[14..15]), (36, "4"), "{id}");
        assert_eq!(get(shop.port, &format!("/customers/{id}")).json(), ann);
        let chosen = shop.send("POST", "/customers", &json!({ "id": id, "name": "Eve" }));
        assert_eq!(chosen.status, 422, "a client does not choose the key: {chosen:?}");

        let line = json!({ "order": "a/b", "number": 7, "tags": ["new"], "customer": id });
        let posted = shop.send("POST", "/lines", &line);
        assert_eq!(posted.status, 201, "{posted:?}");
        assert!(posted.header("location").unwrap().ends_with("/a%2Fb/7"), "{posted:?}");
        assert_eq!(shop.send("POST", "/lines", &line).status, 409);
        let whole = json!({
            "order": "a/b", "number": 7, "count": 1, "state": "open", "tags": ["new"], "customer": id
        });
        assert_eq!(get(shop.port, "/lines/a%2Fb/7").json(), whole);
        for none in ["/lines/a%2Fb", "/lines/a/b/7", "/lines/a%2Fb/07", "/lines/a%2Fb/7/1"] {
            assert_eq!(get(shop.port, none).status, 404, "{none}");
        }
        assert_eq!(shop.send("PATCH", "/lines/a%2Fb/7", &json!({ "count": 5 })).status, 204);
        assert_eq!(shop.send("PATCH", "/lines/a%2Fb/8", &json!({ "count": 5 })).status, 404);
        assert_eq!(shop.send("PATCH", "/lines/a%2Fb/7", &json!({ "number": 8 })).status, 422);
        assert_eq!(shop.send("PUT", "/lines/c/1", &json!({ "count": 9 })).status, 201);
        assert_eq!(shop.send("PUT", "/lines/c/1", &json!({ "count": 8 })).status, 204);
        let some = get(shop.port, "/lines?order=c&fields=number,count,state").json();
        assert_eq!(some, json!([{ "number": 1, "count": 8, "state": "open" }]));

        // What refers to a deleted row is deleted, or refers to nothing.
        shop.post("/visits", &json!({ "customer": id }));
        assert_eq!(shop.send("DELETE", &format!("/customers/{id}"), &json!({})).status, 204);
        assert_eq!(get(shop.port, "/visits").json(), json!([]));
        assert_eq!(get(shop.port, "/lines/a%2Fb/7").json()["customer"], json!(null));
        assert_eq!(shop.send("DELETE", "/lines/a%2Fb/7", &json!({})).status, 204);
        assert_eq!(get(shop.port, "/lines/a%2Fb/7").status, 404);
    });
}

#[test]
fn constraints_bind_statements_that_know_no_class() {
    on_both(|folder, database| {
        let mut shop = Shop::start(folder, database);
        shop.process.listens(shop.port);
        let made = shop.run("insert into order_lines (\"order\", number) values ('a', 1)");
        assert_eq!(made, "1");
        let line = get(shop.port, "/lines/a/1").json();
        assert_eq!((&line["count"], &line["state"]), (&json!(1), &json!("open")), "{line}");
        let made = shop.run("insert into customers (name) values ('Ann')");
        assert_eq!(made, "1", "the database makes the UUID");
        for (sql, rule) in [
            (
                "insert into order_lines (\"order\", number, count) values ('a', 2, 0)",
                "order_lines_count_check",
            ),
            (
                "insert into order_lines (\"order\", number, state) values ('a', 2, 'x')",
                "order_lines_state_check",
            ),
            (
                "insert into order_lines (\"order\", number, tags) values ('a', 2, '[1,2,3,4]')",
                "order_lines_tags_check",
            ),
            ("insert into order_lines (number) values (2)", "order must have a value"),
            (
                "insert into order_lines (\"order\", number) values ('a', 1)",
                "another row has the same order and number",
            ),
            ("insert into customers (name) values (null)", "name must have a value"),
            ("insert into customers (name) values ('')", "customers_name_check"),
            (
                "update order_lines set customer = '00000000-0000-4000-8000-000000000000'",
                "refers to",
            ),
        ] {
            let said = shop.run(sql);
            assert!(said.contains(rule), "{sql}: {said}");
        }
        let count = get(shop.port, "/lines").json().as_array().unwrap().len();
        assert_eq!(count, 1, "nothing was kept of what was refused");
    });
}

#[test]
fn processes_that_start_at_once_make_the_same_tables() {
    on_both(|folder, database| {
        let mut shops: Vec<Shop> = (0..4).map(|_| Shop::start(folder, database)).collect();
        for (number, shop) in shops.iter_mut().enumerate() {
            shop.process.listens(shop.port);
            shop.post("/lines", &json!({ "order": "a", "number": number }));
        }
        let lines = get(shops[0].port, "/lines?fields=number").json();
        assert_eq!(
            lines,
            json!([{ "number": 0 }, { "number": 1 }, { "number": 2 }, { "number": 3 }])
        );
    });
}

#[test]
fn commands_that_migrate_at_once_apply_each_step_once() {
    on_both(|folder, database| {
        std::fs::create_dir_all(folder.path("migrations")).unwrap();
        folder.write("migrations/1.sql", "create table notes (n int);\n-- down\ndrop table notes;");
        folder.write(
            "migrations/2.sql",
            "insert into notes values (1);\n-- down\ndelete from notes;",
        );
        let start = |act: &str| {
            let mut command = runnel();
            Process::start(command.args(["migrate", act, database]).current_dir(folder.path("")))
        };
        let several: Vec<Process> = (0..4).map(|_| start("run")).collect();
        let mut lines: Vec<String> = Vec::new();
        for process in several {
            let outcome = process.outcome();
            assert_eq!(outcome.status, 0, "{outcome:?}");
            lines.extend(outcome.out.lines().map(String::from));
        }
        lines.retain(|line| line != "nothing to apply");
        lines.sort();
        assert_eq!(lines, ["apply 1.sql", "apply 2.sql"]);
        for (act, said) in [
            ("list", "applied  1.sql\napplied  2.sql\n"),
            ("down", "undo 2.sql\n"),
            ("list", "applied  1.sql\npending  2.sql\n"),
            ("down", "undo 1.sql\n"),
            ("down", "nothing to undo\n"),
        ] {
            assert_eq!(start(act).outcome().out, said, "{act}");
        }
    });
}

/// Does with UUIDs what programs do with keys and texts.
const UUIDS: &str = "\
#-main:<ref>database
class Guest { var <uuid> id. var <string> name. var <uuid unique> badge. var <Guest> host. }
class Visit { var <int> id. var <Guest> guest. }
guests ← database table: Guest. visits ← database table: Visit.
ann ← guests insert: #{ name: 'Ann', badge: 'f81d4fae-7dec-41d0-a765-00a0c91e6bf6' }.
guests insert: #{ name: 'Ben', badge: 'a0000000-0000-4000-8000-000000000000', host: ann }.
visits insertAll: [ #{ guest: ann }, #{ guest: ann }, #{ guest: nil } ].
stdout println: visits[{ guest name = 'Ann' }] count.
stdout println: guests[{ id = 'nothing' }] count.
stdout println: (guests[{ badge > 'b' }] collect: 'name').
stdout println: (guests at: 'nothing') isNil.
stdout println: (guests at: ann id) name.
stdout println: ((guests sorted: 'badge') collect: 'name').
stdout println: guests[{ badge hasPrefix: 'f81d' }] count.
stdout println: ((visits groupBy: 'guest') collect: { :group | #{ n: group count } }) asJSON.
guests[{ name = 'Ben' }] updateAll: { :guest | #{ badge: guest host } }.
stdout println: guests[{ :guest | guest badge = guest host }] count.
stdout println: (guests upsert: #{ name: 'Cyd', badge: 'f81d4fae-7dec-41d0-a765-00a0c91e6bf6' } by: 'badge').
stdout println: (guests at: ann id) name.
stdout println: (guests removeAt: 'nothing').
stdout println: ((guests at: ann id) id = ann id).
";

fn run_program(folder: &Folder, database: &str, file: &str) -> String {
    let mut command = runnel();
    let process = Process::start(command.args([file, database]).current_dir(folder.path("")));
    let outcome = process.outcome();
    assert_eq!(outcome.status, 0, "{outcome:?}");
    outcome.out
}

#[test]
fn uuids_are_a_type_of_postgres() {
    on_both(|folder, database| {
        folder.write("uuids.st", UUIDS);
        let wanted = "2\n0\n[Ann]\ntrue\nAnn\n[Ben,Ann]\n1\n[{\"n\":2},{\"n\":1}]\n1\nfalse\nCyd\nfalse\ntrue\n";
        assert_eq!(run_program(folder, database, "uuids.st"), wanted, "{database}");
        if database.starts_with("postgres") {
            let sql = "select string_agg(column_name::text, ',' order by column_name) as columns \
                       from information_schema.columns where data_type = 'uuid' and table_schema = 'public'";
            folder.write(
                "types.st",
                format!(
                    "#-main:<ref>database\nstdout println: (database run: \"{sql}\") asJSON.\n"
                ),
            );
            let columns = run_program(folder, database, "types.st");
            assert_eq!(columns, "[{\"columns\":\"badge,guest,host,id\"}]\n");
        }
    });
}

#[test]
fn columns_of_text_keep_uuids() {
    on_both(|folder, database| {
        folder.write(
            "text.st",
            "#-main:<ref>database
database run: 'create table hosts (id text primary key, name text)'.
database run: \"insert into hosts values ('F81D4FAE-7DEC-41D0-A765-00A0C91E6BF6', 'Ann')\".
class Host { var <uuid> id. var <string> name. }
class Stay { var <int> id. var <Host> host. }
hosts ← database table: Host. stays ← database table: Stay.
stays insert: #{ host: 'F81D4FAE-7DEC-41D0-A765-00A0C91E6BF6' }.
stdout println: (stays at: 1) host name.
stdout println: stays[{ host name = 'Ann' }] count.
stdout println: hosts[{ id hasPrefix: 'F81D' }] count.
",
        );
        assert_eq!(run_program(folder, database, "text.st"), "Ann\n1\n1\n", "{database}");
    });
}
