//! Change feeds: no change is missed, by no reader, browser or follower; nothing is done twice; cursors end in time.

use crate::support::http;
use crate::support::{Folder, Process, eventually, free_port, run, runnel};
use runnel_scratch::{Server, Service};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A feed of the table `orders`, with the names `database`, `orders` and `feed`.
fn feed(database: &str, options: &str) -> String {
    format!(
        "class Order {{ var <int> id. var <string> title. }}
         database ← ref:{database}.
         orders ← database table: Order.
         feed ← #ChangeFeed{{ database: database, tables: [ orders ]{options} }}.
         "
    )
}

/// What a program prints.
fn out(folder: &Folder, text: &str) -> String {
    folder.write("program.st", text);
    let done = run(runnel().arg("program.st").current_dir(folder.path("")));
    assert_eq!(done.status, 0, "{}", done.err);
    assert_eq!(done.err, "");
    done.out
}

/// Writers whose transactions overlap and end in another order than they began in, and a reader that begins anew after
/// each few changes. SQLite may give the last row the number of a row that was removed, so being heard is not enough.
fn overlap(database: &str) {
    let folder = Folder::new();
    let program = feed(database, "")
        + "cursor ← feed cursor.
           heard ← #{ }. gone ← #{ }.
           reader ← {
              { heard isNil } whileFalse: {
                 changes ← feed changesAfter: cursor.
                 1 to: 5 do: { :i |
                    change ← changes next.
                    cursor ← change cursor.
                    change kind = 'deleted'
                       ifTrue: { gone at: change path put: 1 }
                       ifFalse: { heard at: change path put: 1. gone removeKey: change path }
                 }
              }
           } fork.
           ((1 to: 6) asArray concurrently: 6) do: { :writer |
              1 to: 25 do: { :round |
                 database transaction: {
                    one ← orders insert: #Order{ title: 'a' }.
                    runLoop runFor: 0.001 * ((writer * 7 + (round * 13)) % 23).
                    two ← orders insert: #Order{ title: 'b' }.
                    round odd ifTrue: { orders removeAt: two id }.
                 } isolation: 'read committed'
              }
           }.
           orders insert: #Order{ title: 'last' }.
           last ← \"orders/{(orders sorted: '-id' | first: 1) collect: 'id' | first}\".
           tries ← 0.
           { ((heard at: last) isNil or: { (gone at: last) notNil }) and: { tries < 600 } } whileTrue: {
              runLoop runFor: 0.05. tries ← tries + 1 }.
           ids ← (orders select collect: { :order | \"orders/{order id}\" }) asArray.
           missed ← ids select: { :path | (heard at: path) isNil or: { (gone at: path) notNil } }.
           kept ← heard keys asArray select: { :path | ((gone at: path) isNil) and: { (ids includes: path) not } }.
           stdout println: \"{ids count} {heard count} {missed count} {kept count}\".
           shell exit";
    let printed = out(&folder, &program);
    assert!(printed.starts_with("223 ") && printed.ends_with(" 0 0\n"), "{printed}");
}

#[test]
fn no_change_is_missed_while_transactions_overlap() {
    overlap("sqlite:overlap.db");
    let Some(server) = Server::for_test(Service::Postgres) else { return };
    overlap(&server.url());
}

/// Kills two processes with the same follower in turn, while a third one writes.
fn kill(database: &str) {
    let folder = Folder::new();
    let both = feed(database, "")
        + "class Seen { var <int> id. var <string> cursor. }
           seen ← database table: Seen.
           ";
    let follower = both.clone()
        + "feed follow: 'seen' do: { :change |
              seen insert: #Seen{ cursor: change cursor }. stdout println: 'seen'. stdout flush }.";
    folder.write("follower.st", follower);
    let begin = || Process::start(runnel().arg("follower.st").current_dir(folder.path("")));
    let mut processes = [begin(), begin()];
    let registered = "database ← ref:DATABASE. \
        stdout println: (database run: 'select name from runnel_change_followers') count";
    let registered = registered.replace("DATABASE", database);
    folder.write("registered.st", registered);
    eventually("the follower is known", || {
        run(runnel().arg("registered.st").current_dir(folder.path(""))).out == "1\n"
    });
    let writer = both.clone()
        + "1 to: 120 do: { :i | orders insert: #Order{ title: 'x' }. runLoop runFor: 0.01 }";
    folder.write("writer.st", writer);
    let mut writer = Process::start(runnel().arg("writer.st").current_dir(folder.path("")));
    for round in 0..6_u64 {
        std::thread::sleep(Duration::from_millis(150 + round * 37 % 110));
        let process = &mut processes[(round % 2) as usize];
        process.signal("KILL");
        assert_eq!(process.end(), -9, "{}", process.err());
        *process = begin();
    }
    assert_eq!(writer.end(), 0, "{}", writer.err());
    let counting = both
        + "{ seen count >= 120 } whileFalse: { runLoop runFor: 0.05 }.
           runLoop runFor: 0.5.
           distinct ← database run: 'select count(distinct cursor) as n from seens'.
           stdout println: \"{orders count} {seen count} {(distinct at: 0) at: 'n'}\"";
    assert_eq!(out(&folder, &counting), "120 120 120\n");
}

#[test]
fn a_follower_that_is_killed_does_nothing_twice() {
    kill("sqlite:kills.db");
    let Some(server) = Server::for_test(Service::Postgres) else { return };
    kill(&server.url());
}

#[test]
fn a_block_that_fails_runs_again_and_skips_nothing() {
    let folder = Folder::new();
    let program = feed("sqlite:fails.db", "")
        + "done ← []. failed ← 0.
           feed follow: 'some' do: { :change |
              (change path = 'orders/3' and: { failed = 0 }) ifTrue: { failed ← 1. Error signal: 'three' }.
              database run: 'create table if not exists marks (path text)'.
              database run: 'insert into marks values (?)' with: [ change path ] }.
           orders insertAll: ((1 to: 5) asArray collect: { :i | #Order{ title: 'x' } }).
           marks ← { { database run: 'select path from marks' } onError: { :e | [] } }.
           { marks value count < 5 } whileTrue: { runLoop runFor: 0.05 }.
           stdout println: (marks value collect: { :row | row at: 'path' }).
           shell exit";
    folder.write("fails.st", program);
    let done = run(runnel().arg("fails.st").current_dir(folder.path("")));
    assert_eq!(done.out, "[orders/1,orders/2,orders/3,orders/4,orders/5]\n", "{}", done.err);
    assert!(done.err.contains("the follower some failed and runs again in 1 s"), "{}", done.err);
}

/// A change that fails at each attempt, between two good ones.
fn set_aside(database: &str) {
    let folder = Folder::new();
    let program = feed(database, "")
        + "database run: 'create table marks (path text)'.
           feed follow: 'some' do: { :change |
              change path = 'orders/2' ifTrue: { Error signal: 'two' }.
              database run: 'insert into marks values (?)' with: [ change path ] } with: #{ attempts: 2 }.
           orders insertAll: ((1 to: 3) asArray collect: { :i | #Order{ title: 'x' } }).
           marks ← { database run: 'select path from marks order by path' }.
           { marks value count < 2 } whileTrue: { runLoop runFor: 0.05 }.
           stdout println: (marks value collect: { :row | row at: 'path' }).
           kept ← database run: 'select key, attempts, error from runnel_change_failures'.
           stdout println: kept.
           shell exit";
    folder.write("aside.st", program);
    let done = run(runnel().arg("aside.st").current_dir(folder.path("")));
    assert!(done.out.starts_with("[orders/1,orders/3]\n"), "{}{}", done.out, done.err);
    assert!(done.out.contains("attempts:2,error:error: two"), "{}", done.out);
    let said = "the follower some failed and sets aside changed orders/2: two";
    assert_eq!(done.err.matches(said).count(), 1, "{}", done.err);
}

#[test]
fn a_change_that_always_fails_is_set_aside() {
    set_aside("sqlite:aside.db");
    let Some(server) = Server::for_test(Service::Postgres) else { return };
    set_aside(&server.url());
}

#[test]
fn attempts_are_counted_across_processes() {
    let folder = Folder::new();
    let program = feed("sqlite:counted.db", "")
        + "rows ← { database run: 'select attempts from runnel_change_failures order by position limit 1' }.
           failures ← { rows onError: { [ ] } }.
           count ← { failures value isEmpty ifTrue: 0 ifFalse: { failures value first at: 'attempts' } }.
           first ← count value.
           feed follow: 'some' do: { :change | Error signal: 'no' } with: #{ attempts: 1000 }.
           orders insert: #Order{ title: 'x' }.
           { count value = first } whileTrue: { runLoop runFor: 0.02 }.
           stdout println: \"{first} {count value}\".
           shell exit";
    folder.write("counted.st", program);
    let mut before = 0;
    for _ in 0..3 {
        let out = run(runnel().arg("counted.st").current_dir(folder.path(""))).out;
        let counts: Vec<u32> = out.split_whitespace().map(|count| count.parse().unwrap()).collect();
        assert!(counts[0] >= before && counts[1] > counts[0], "{before}, then {out}");
        before = counts[1];
    }
}

fn truncate(database: &str, emptying: &str, expected: &str) {
    let folder = Folder::new();
    let program = feed(database, "")
        + &format!(
            "changes ← feed changes.
             orders insert: #Order{{ title: 'x' }}.
             database run: 'update orders set id = 9 where id = 1'.
             database run: '{emptying}'.
             1 to: 4 do: {{ :i | stdout println: changes next }}"
        );
    assert_eq!(
        out(&folder, &program),
        format!("changed orders/1\ndeleted orders/1\nchanged orders/9\n{expected}\n")
    );
}

#[test]
fn a_truncate_and_a_changed_key_are_told() {
    truncate("sqlite:truncate.db", "delete from orders", "deleted orders/9");
    let Some(server) = Server::for_test(Service::Postgres) else { return };
    truncate(&server.url(), "truncate orders", "lost orders");
}

fn expire(database: &str) {
    let folder = Folder::new();
    let program = feed(database, ", keep: 1 seconds")
        + "cursor ← feed cursor.
           follower ← feed follow: 'late' do: { :change | 1 }.
           follower stop.
           orders insert: #Order{ title: 'old' }.
           stdout println: (feed changesAfter: cursor) next.
           kindOf ← { { feed changesAfter: cursor. 'kept' } onError: { :e | e kind } }.
           tries ← 0.
           { kindOf value = 'kept' and: { tries < 100 } } whileTrue: { runLoop runFor: 0.1. tries ← tries + 1 }.
           stdout println: kindOf value.
           told ← [].
           feed follow: 'late' do: { :change | told add: change stringValue }.
           { told isEmpty } whileTrue: { runLoop runFor: 0.05 }.
           orders insert: #Order{ title: 'new' }.
           { told count < 2 } whileTrue: { runLoop runFor: 0.05 }.
           stdout println: told.
           shell exit";
    assert_eq!(out(&folder, &program), "changed orders/1\ngone\n[lost orders,changed orders/2]\n");
}

#[test]
fn a_cursor_that_is_too_old_is_gone_and_a_follower_is_told() {
    expire("sqlite:expire.db");
    let Some(server) = Server::for_test(Service::Postgres) else { return };
    expire(&server.url());
}

/// A client of events, at the first of them.
fn listen(port: u16, header: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{header}\r\n").unwrap();
    let mut reader = BufReader::new(stream);
    line(&mut reader, "id: ");
    reader
}

/// The rest of the next line that begins so.
fn line(reader: &mut BufReader<TcpStream>, begin: &str) -> String {
    loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the stream ended");
        if let Some(rest) = line.strip_prefix(begin) {
            return rest.trim().to_string();
        }
    }
}

#[test]
fn many_clients_hear_each_change_once() {
    let folder = Folder::new();
    let port = free_port();
    let program = feed("sqlite:clients.db", "")
        + &format!(
            "scheme Shop {{ var orders. var feed.
                /events {{ get {{ this:feed asEvents }} }}
                /orders {{ post {{ this:orders insert: #Order{{ title: 'x' }}. 'done' }} }} }}
             #HTTPServer{{ port: {port} }} → #Shop{{ orders: orders, feed: feed }}"
        );
    folder.write("shop.st", program);
    let mut command = runnel();
    let mut process =
        Process::start(command.args(["--workers", "2", "shop.st"]).current_dir(folder.path("")));
    process.listens(port);
    let post = || assert_eq!(http::send(port, "POST", "/orders", &[], b"").unwrap().status, 200);
    let mut clients: Vec<_> = (0..40).map(|_| listen(port, "")).collect();
    for _ in 0..20 {
        post();
    }
    let mut last = String::new();
    for client in &mut clients {
        for order in 1..=20 {
            let id = line(client, "id: ");
            assert!(line(client, "data: ").contains(&format!("\"orders/{order}\"")));
            last = if order == 10 { id } else { last };
        }
    }
    // A client that comes back gets what it missed.
    drop(clients);
    post();
    let mut client = listen(port, &format!("Last-Event-ID: {last}\r\n"));
    for order in 11..=21 {
        assert!(line(&mut client, "data: ").contains(&format!("\"orders/{order}\"")));
    }
    let old = http::send(port, "GET", "/events", &[("Last-Event-ID", "another-1")], b"").unwrap();
    assert_eq!(old.status, 410);
}
