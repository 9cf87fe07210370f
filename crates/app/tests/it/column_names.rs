//! Columns that have another name in the database than the variables of their class, on SQLite and PostgreSQL alike.

use crate::support::http::{get, send};
use crate::support::{Folder, Process, free_port, runnel};
use runnel_scratch::{Server, Service};
use serde_json::json;

/// Does the same on a database of SQLite and on one of PostgreSQL.
fn on_both(check: impl Fn(&Folder, &str)) {
    let folder = Folder::new();
    check(&folder, "sqlite:shop.db");
    if let Some(server) = Server::for_test(Service::Postgres) {
        check(&folder, &server.url());
    }
}

fn run_program(folder: &Folder, database: &str, program: &str) -> String {
    folder.write("program.st", format!("#-main:<ref>database\n{program}"));
    let mut command = runnel();
    let process =
        Process::start(command.args(["program.st", database]).current_dir(folder.path("")));
    let outcome = process.outcome();
    assert_eq!(outcome.status, 0, "{outcome:?}");
    outcome.out
}

const CLASSES: &str = "\
class Owner {
   var <int> id.
   var <string unique> mail.
   +columnNames { #{ id: 'owner_id', mail: 'mail_address' } }
}
class Task {
   var <int> id.
   var <string required> title.
   var <bool> done ← false.
   var <int 1..9> weight ← 1.
   var <Owner> owner.
   +columnNames { #{ title: 'task_title', done: 'is_done', weight: 'title', owner: 'owner_ref' } }
   +indexes { 'done' }
   +unique { [ [ 'title', 'owner' ] ] }
}
class Part {
   var <string key> box.
   var <int key> number.
   var <string> label.
   +columnNames { #{ box: 'part_box', number: 'part_number' } }
}
owners ← database table: Owner. tasks ← database table: Task. parts ← database table: Part.
";

/// What programs do with a table; a column of one variable has the name of another variable.
const MESSAGES: &str = "\
ann ← owners insert: #{ mail: 'ann@example' }.
stdout println: (tasks insert: #Task{ title: 'sow', owner: ann }) asJSON.
tasks insertAll: [
   #{ title: 'reap', done: true, weight: 5, owner: nil },
   #{ title: 'plow', done: false, weight: 3, owner: 1 } ].
tasks at: 2 merge: #{ title: 'mow' }.
stdout println: (tasks at: 2) title.
stdout println: tasks[{ id < 3 }] asJSON.
stdout println: (tasks[{ title = 'mow' or: weight = 3 }] collect: 'title').
stdout println: ((tasks sorted: '-title') collect: 'title').
stdout println: (tasks[{ id < 3 }] columns: [ 'title', 'owner.mail' ]) asJSON.
stdout println: (tasks collect: { :task | #{ name: task title, twice: task weight * 2 } }) asJSON.
stdout println: ((tasks groupBy: 'done') collect: {
   :group | #{ done: group key, n: group count, all: (group sum: 'weight') } }) asJSON.
stdout println: tasks[{ owner mail = 'ann@example' }] count.
stdout println: ((tasks sorted: 'title') first) owner.
stdout println: (tasks at: 3) owner mail.
stdout println: (tasks[{ title = 'sow' }] updateAll: { :task | #{ title: 'sown', weight: task weight + 1 } }).
stdout println: ((tasks at: 1) title).
stdout println: (tasks upsert: #{ title: 'plow', owner: 1, weight: 4 } by: [ 'title', 'owner' ]).
stdout println: (owners upsert: #{ mail: 'tom@example' } by: 'mail').
stdout println: (owners at: 2) mail.
parts insertAll: [ #{ box: 'a', number: 1, label: 'x' }, #{ box: 'b', number: 2, label: 'y' } ].
parts at: [ 'b', 2 ] merge: #{ label: 'z' }.
parts at: [ 'c', 3 ] put: #{ label: 'new' }.
parts at: [ 'c', 3 ] put: #{ label: 'newer' }.
parts updateAll: [ #{ box: 'a', number: 1, label: 'w' } ].
stdout println: parts select asJSON.
stdout println: (parts removeAt: [ 'a', 1 ]).
tasks at: 3 put: #{ title: 'dig' }.
stdout println: (tasks at: 3) asJSON.
stdout println: (tasks[{ title = 'dig' }] removeAll).
{ tasks insert: #{ title: 'x', weight: 10 } } onError: { :error | stdout println: error message }.
{ owners insert: #{ mail: 'ann@example' } } onError: { :error | stdout println: error message }.
{ owners removeAt: 1 } onError: { :error | stdout println: error message }.
{ tasks insert: #{ title: 'x', task_title: 'x' } } onError: { :error | stdout println: error message }.
{
   database run: \"insert into tasks (task_title, title) values ('x', 10)\" } onError: { :error |
   stdout println: (error message contains: ': tasks_title_check does not hold') }.
stdout println: (database run: 'select task_title, is_done, title, owner_ref from tasks where id = 1') asJSON.
stdout println: (database run: 'select owner_id, mail_address from owners order by owner_id') asJSON.
stdout println: (database run: 'select part_box, part_number from parts order by part_number') asJSON.
stdout println: (database differences: Task) size.
stdout println: (database transaction: {
   tasks at: 1 merge: #{ done: true }.
   (tasks[{ done }] collect: { :task | task owner }) size }).
stdout println: (tasks atAll: [ 1, 7 ]) asJSON.
tasks insertAll: ((1 to: 300) collect: { :n | #{ title: 'bulk', weight: 2, owner: nil } }).
stdout println: tasks[{ title = 'bulk' }] count.
stdout println: (tasks[{ title = 'bulk' }] updateAll: #{ done: true } returning: 'done') size.
stdout println: (tasks insertColumns: #{ title: [ 'cut', 'dry' ], weight: 5 }).
tasks insertCSV: ref:file:tasks.csv.
stdout println: (tasks[{ weight = 7 }] collect: 'title').
stdout println: (database run: 'select count(*) as n from tasks where is_done and title = 2') asJSON.
";

const MESSAGES_SAY: &str = r#"{"id":1,"title":"sow","done":false,"weight":1,"owner":1}
mow
[{"id":1,"title":"sow","done":false,"weight":1,"owner":1},{"id":2,"title":"mow","done":true,"weight":5,"owner":null}]
[mow,plow]
[sow,plow,mow]
[{"title":"sow","owner":{"mail":"ann@example"}},{"title":"mow","owner":{"mail":null}}]
[{"name":"sow","twice":2},{"name":"mow","twice":10},{"name":"plow","twice":6}]
[{"done":false,"n":2,"all":4},{"done":true,"n":1,"all":5}]
2
nil
ann@example
1
sown
false
true
tom@example
[{"box":"a","number":1,"label":"w"},{"box":"b","number":2,"label":"z"},{"box":"c","number":3,"label":"newer"}]
true
{"id":3,"title":"dig","done":false,"weight":1,"owner":null}
1
post: weight of Task is an integer from 1 to 9
post: another row has the same mail
delete 1: tasks still refers to this row of owners
post: tasks has no column 'task_title'; its columns are id, title, done, weight, owner
true
[{"task_title":"sown","is_done":false,"title":2,"owner_ref":1}]
[{"owner_id":1,"mail_address":"ann@example"},{"owner_id":2,"mail_address":"tom@example"}]
[{"part_box":"b","part_number":2},{"part_box":"c","part_number":3}]
0
2
[{"id":1,"title":"sown","done":true,"weight":2,"owner":1},null]
300
300
2
[csv]
[{"n":301}]
"#;

#[test]
fn variables_keep_their_names() {
    on_both(|folder, database| {
        folder.write("tasks.csv", "title,weight\ncsv,7\n");
        let out = run_program(folder, database, &format!("{CLASSES}{MESSAGES}"));
        assert_eq!(out, MESSAGES_SAY, "{database}");
    });
}

/// A table made by hand, beside one whose class names no columns and refers to it.
const BY_HAND: &str = "\
database run: 'create table people (person_id integer primary key, full_name varchar(40) not null, birth_year integer)'.
database run: \"insert into people values (1, 'Ann', 1990), (2, 'Tom', 1985)\".
class Person {
   var <int> id.
   var <string required> name.
   var <int> year.
   var <[Letter]> letters.
   +tableName { 'people' }
   +columnNames { #{ id: 'person_id', name: 'full_name', year: 'birth_year' } }
}
class Letter { var <int> id. var <Person> from. }
people ← database table: Person. letters ← database table: Letter.
letters insertAll: [ #{ from: 2 }, #{ from: 1 } ].
stdout println: (people sorted: 'year') asJSON.
stdout println: (people at: 2) name.
stdout println: letters[{ from name = 'Tom' }] count.
stdout println: people[{ :one | one letters anySatisfy: { :letter | letter id > 1 } }] asJSON.
stdout println: (((letters sorted: '-id') first) from name).
stdout println: (letters include: 'from') asJSON.
stdout println: (letters collect: { :letter | letter from year }).
stdout println: ((people[{ id = 1 }] include: 'letters') asJSON).
people at: 2 merge: #{ year: 1986 }.
stdout println: (people[{ year > 1986 }] updateAll: #{ name: 'Anna' } returning: [ 'id', 'name' ]).
stdout println: (database run: 'select * from people order by person_id') asJSON.
stdout println: (database differences: Person) size.
{ people insert: #{ id: 3 } } onError: { :error | stdout println: error message }.
letters[{ id > 0 }] removeAll.
stdout println: (people[{ name = 'Tom' }] takeAll collect: { :person | person name }).
class Human {
   var <int> id.
   var <string> name.
   var <string> note.
   +tableName { 'people' }
   +columnNames { #{ id: 'person_id', name: 'full_name', note: 'short_note' } }
}
humans ← database table: Human.
humans at: 1 merge: #{ note: 'new' }.
stdout println: humans select asJSON.
stdout println: (database run: 'select short_note from people') asJSON.
stdout println: (database differences: Human) size.
";

const BY_HAND_SAYS: &str = r#"[{"id":2,"name":"Tom","year":1985},{"id":1,"name":"Ann","year":1990}]
Tom
1
[{"id":1,"name":"Ann","year":1990}]
Ann
[{"id":1,"from":{"id":2,"name":"Tom","year":1985}},{"id":2,"from":{"id":1,"name":"Ann","year":1990}}]
[1985,1990]
[{"id":1,"name":"Ann","year":1990,"letters":[{"id":2,"from":1}]}]
[{id:1,name:Anna}]
[{"person_id":1,"full_name":"Anna","birth_year":1990},{"person_id":2,"full_name":"Tom","birth_year":1986}]
0
post: name of Person is required
[Tom]
[{"id":1,"name":"Anna","note":"new"}]
[{"short_note":"new"}]
1
"#;

#[test]
fn tables_made_by_hand() {
    on_both(|folder, database| {
        let out = run_program(folder, database, BY_HAND);
        assert_eq!(out, BY_HAND_SAYS, "{database}");
    });
}

#[test]
fn clients_see_variables() {
    on_both(|folder, database| {
        folder.write(
            "serve.st",
            "#-serve:<ref>database
class Task {
   var <int> id.
   var <string 2..20 required unique> title.
   var <bool> done ← false.
   +columnNames { #{ title: 'task_title', done: 'is_done' } }
}
#JSONConverter{ } → #Route{ stores: #{ tasks: (database table: Task) } }.
",
        );
        let port = free_port();
        let mut command = runnel();
        command.args(["--port", &port.to_string(), "serve.st", database]);
        let mut process = Process::start(command.current_dir(folder.path("")));
        process.listens(port);
        let post = |body: serde_json::Value| {
            let headers = [("Content-Type", "application/json")];
            send(port, "POST", "/tasks", &headers, body.to_string().as_bytes()).unwrap()
        };
        assert_eq!(post(json!({ "title": "sow", "done": true })).status, 201);
        let posted = post(json!({ "title": "reap" })).json();
        assert_eq!(posted, json!({ "id": 2, "title": "reap", "done": false }));
        assert_eq!(get(port, "/tasks/2").json(), posted);
        let done = get(port, "/tasks?done=true&fields=id,title&sort=-title").json();
        assert_eq!(done, json!([{ "id": 1, "title": "sow" }]));
        assert_eq!(get(port, "/tasks?is_done=true").status, 400);
        let twice = post(json!({ "title": "sow" }));
        assert_eq!(twice.status, 409);
        assert!(!twice.text().contains("task_title"), "{twice:?}");
        assert!(twice.text().contains("/title"), "{twice:?}");
    });
}

#[test]
fn words_are_those_of_named_columns() {
    on_both(|folder, database| {
        let program = "\
class Note {
   var <int> id.
   var <string> title.
   var <string> text.
   +columnNames { #{ id: 'note_id', title: 'text', text: 'note_text' } }
   +fullText { [ 'title', 'text' ] }
}
notes ← database table: Note.
notes insertAll: [ #{ title: 'Weather', text: 'Rain and cats' }, #{ title: 'Rain', text: 'Snow' } ].
notes at: 2 merge: #{ text: 'Hail' }.
stdout println: (notes search: 'rain weather') asJSON.
stdout println: ((notes search: 'rain') sorted: 'id' | collect: 'id') asArray asJSON.
stdout println: (notes search: 'snow') count.
";
        assert_eq!(
            run_program(folder, database, program),
            "[{\"id\":1,\"title\":\"Weather\",\"text\":\"Rain and cats\"}]\n[1,2]\n0\n"
        );
    });
}
