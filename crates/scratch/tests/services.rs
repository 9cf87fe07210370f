//! Each service starts, survives a crash, and goes.
#![allow(clippy::unwrap_used)]

use runnel_scratch::{Server, Service};
use std::net::TcpStream;

#[test]
fn each_service_starts_and_goes() {
    for service in Service::ALL {
        let Some(mut server) = Server::for_test(service) else { continue };
        assert!(server.url().contains(&server.port().to_string()));
        server.kill();
        let address = ("127.0.0.1", server.port());
        assert!(TcpStream::connect(address).is_err(), "{} still listens", service.name());
        server.restart().unwrap();
        assert!(TcpStream::connect(address).is_ok(), "{} does not listen", service.name());
        drop(server);
        assert!(TcpStream::connect(address).is_err(), "{} outlives its owner", service.name());
    }
}

#[test]
fn a_server_outlives_the_thread_that_asked_for_it() {
    let asked = std::thread::spawn(|| Server::for_test(Service::Redis));
    let Some(server) = asked.join().unwrap() else { return };
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(TcpStream::connect(("127.0.0.1", server.port())).is_ok());
}

#[test]
fn names() {
    for service in Service::ALL {
        assert_eq!(Service::named(service.name()), Some(service));
    }
    assert_eq!(Service::named("oracle"), None);
}
