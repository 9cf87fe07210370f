//! The bank of the manual, served by several workers: no money is made and none is lost, on both databases.

use crate::support::http::{self, Connection};
use crate::support::{Folder, Process, free_port, runnel};
use runnel_scratch::{Server, Service};

const PROGRAM: &str = "\
#-serve:<ref>database
class Account { var <int> id. var <int> balance. }
scheme Bank {
   var accounts. var database.
   /open { post { this:accounts insertAll: [ #{ balance: 500 }, #{ balance: 500 } ] } }
   /move/:<int>amount { post {
      this:database transaction: {
         from ← (this:accounts at: 1) balance.
         this:accounts at: 1 merge: #{ balance: from - amount }.
         from < amount ifTrue: { (Error kind: 'unprocessable' message: 'not enough') signal }.
         this:accounts at: 2 merge: #{ balance: (this:accounts at: 2) balance + amount }.
         amount
      }
   } }
   /balances { get { ((this:accounts sorted: 'id') collect: 'balance') asJSON } }
}
#Bank{ accounts: (database table: Account), database: database }.
";

/// Clients at the same time, and the requests of each.
const CLIENTS: usize = 16;
const EACH: usize = 5;

fn check(folder: &Folder, database: &str) {
    let port = free_port();
    let mut command = runnel();
    command.args(["--workers", "2", "--port", &port.to_string(), "bank.st", database]);
    let mut process = Process::start(command.current_dir(folder.path("")));
    process.listens(port);
    assert_eq!(http::send(port, "POST", "/open", &[], b"").unwrap().status, 200);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                scope.spawn(move || {
                    let mut connection = Connection::open(port).unwrap();
                    (0..EACH)
                        .map(|_| connection.send("POST", "/move/10", b"").unwrap().status)
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    // There is enough for 50 of them; the others are told so.
    let moved = statuses.iter().filter(|status| **status == 200).count();
    let refused = statuses.iter().filter(|status| **status == 422).count();
    assert_eq!((moved, refused), (50, CLIENTS * EACH - 50), "{statuses:?}\n{}", process.err());
    assert_eq!(http::get(port, "/balances").text(), "[0,1000]", "{database}");
}

#[test]
fn money_is_neither_made_nor_lost_by_workers_at_once() {
    let folder = Folder::new();
    folder.write("bank.st", PROGRAM);
    check(&folder, "sqlite:bank.db");
    if let Some(server) = Server::for_test(Service::Postgres) {
        check(&folder, &server.url());
    }
}
