//! Seeing inside: the pattern that answers a request, and what a server is ready for.

use super::servers::server;
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::natives::stores::any_store;
use crate::natives::watch::held;
use runnel_store::{Count, Counters};

pub(crate) const NATIVES: [(&str, Native); 8] = [
    ("countSetAside", count_set_aside),
    ("answeredBy", answered_by),
    ("serverObserved", is_observed),
    ("serverAdminPort", admin_port),
    ("serverCheck", check),
    ("serverHost", host),
    ("serverChanges", changes),
    ("adminPage", admin_page),
];

/// `(pattern)`: it answers the request that this fiber is about.
fn answered_by(isolate: &Isolate, arguments: Arguments) -> Reply {
    if let Some(exchange) = isolate.call().exchange {
        exchange.set_route(&arguments.text(1));
    }
    Reply::Now(Given::Nil)
}

/// `("search" or "follower", name)`: counts a record that could not be taken. Answers whether it is the first one.
fn count_set_aside(_: &Isolate, arguments: Arguments) -> Reply {
    let kind = if arguments.text(1) == "search" { "search" } else { "follower" };
    let is_first = Counters::of(kind, &arguments.text(2)).count_first(Count::SetAside, 1);
    Reply::Now(Given::Boolean(is_first))
}

fn is_observed(_: &Isolate, arguments: Arguments) -> Reply {
    let server = attempt!(server(arguments));
    Reply::Now(Given::Boolean(server.is_observed()))
}

fn admin_port(_: &Isolate, arguments: Arguments) -> Reply {
    let server = attempt!(server(arguments));
    Reply::Now(server.admin_port().map_or(Given::Nil, |port| Given::Number(port.into())))
}

/// `(server)`: its name on the local network, or nil.
fn host(_: &Isolate, arguments: Arguments) -> Reply {
    let server = attempt!(server(arguments));
    Reply::Now(server.announced_host().map_or(Given::Nil, Given::Text))
}

/// `(server)`: a watch of what its clients change, from now on.
fn changes(_: &Isolate, arguments: Arguments) -> Reply {
    let server = attempt!(server(arguments));
    Reply::answer(server.changes(), held)
}

/// `(server, name, store)`
fn check(isolate: &Isolate, arguments: Arguments) -> Reply {
    let server = attempt!(server(arguments));
    let store = attempt!(any_store(isolate, arguments, 3));
    attempt!(server.check(&arguments.text(2), store));
    Reply::Now(Given::Nil)
}

/// `(title, store)`: a page about jobs for the admin ports of this program's servers.
fn admin_page(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 2));
    attempt!(isolate.host().add_jobs_page(&arguments.text(1), store));
    Reply::Now(Given::Nil)
}
