//! Built-in schemes, databases and servers: what the host gives a program.

use crate::host::RunningServer;
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::natives::stores::any_store;
use runnel_store::{Error, Kind};
use std::rc::Rc;

pub(crate) const NATIVES: [(&str, Native); 6] = [
    ("scheme", scheme),
    ("database", database),
    ("serve", serve),
    ("serverPort", port),
    ("serverRoot", set_root),
    ("serverStop", stop),
];

/// A server in the hands of the program.
struct NativeServer(Rc<dyn RunningServer>);

fn scheme(isolate: &Isolate, arguments: Arguments) -> Reply {
    let found = isolate.host().scheme(&arguments.text(1));
    Reply::Now(found.map_or(Given::Nil, Given::Store))
}

/// `(scheme, path, options or nil)`: a database, or nil when the scheme is none of one.
fn database(isolate: &Isolate, arguments: Arguments) -> Reply {
    let options = attempt!(arguments.value(isolate, 3));
    match isolate.host().database(&arguments.text(1), &arguments.text(2), &options) {
        None => Reply::Now(Given::Nil),
        Some(answer) => Reply::answer(answer, Given::Store),
    }
}

/// `(store, record of options, store of certificates or nil)`
fn serve(isolate: &Isolate, arguments: Arguments) -> Reply {
    if !isolate.is_interruptible() {
        return Reply::Failed(Error::new(
            Kind::Failed,
            "this build cannot interrupt a loop, so it must not serve: build it with \
             CFLAGS=-DLUAJIT_ENABLE_CHECKHOOK",
        ));
    }
    let store = attempt!(any_store(isolate, arguments, 1));
    let options = attempt!(arguments.value(isolate, 2));
    let certificates = match arguments.is_nil(3) {
        true => None,
        false => Some(attempt!(any_store(isolate, arguments, 3))),
    };
    let give: fn(Rc<dyn RunningServer>) -> Given =
        |server| Given::Native(Rc::new(NativeServer(server)));
    Reply::answer(isolate.host().serve(store, &options, certificates), give)
}

pub(super) fn server(arguments: Arguments) -> Result<Rc<dyn RunningServer>, Error> {
    arguments.held::<NativeServer>("a running server").map(|server| server.0.clone())
}

fn port(_: &Isolate, arguments: Arguments) -> Reply {
    let server = attempt!(server(arguments));
    Reply::Now(Given::Number(server.port().into()))
}

fn set_root(isolate: &Isolate, arguments: Arguments) -> Reply {
    let server = attempt!(server(arguments));
    server.set_root(attempt!(any_store(isolate, arguments, 2)));
    Reply::Now(Given::Nil)
}

fn stop(_: &Isolate, arguments: Arguments) -> Reply {
    let server = attempt!(server(arguments));
    Reply::done(server.stop())
}
