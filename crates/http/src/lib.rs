//! HTTP: any store served, and a client that is a store.
//!
//! - [`serve`] answers requests from a store; a [`HttpServer`] can be given another store while it
//!   runs, and stops gracefully.
//! - [`ServerOptions`] and [`Limits`] set the listening address and the limits of a client.
//! - [`client`] is the web as a store: the schemes `http:` and `https:`.
//! - [`Handler`] answers requests that are no verbs of a store, on the same server.
//! - [`proxy`] is a reverse proxy: requests of a server go to other servers as they are.
//! - [`Transport`] sends requests unchanged, for stores whose protocol runs over HTTP.
//!
//! Reading order: `server::service` (request to verb), `server::response::request_cycle` and
//! `write` (verb to response), `server::connection` (protocols and timeouts), `server::http1`,
//! `server::serve`; then `client`.

mod client;
mod handler;
mod https_redirect;
mod network;
mod protocol;
mod proxy;
mod server;
mod websocket;

pub use client::connection::forward_proxy::ForwardProxy;
pub use client::options::ClientOptions;
pub use client::store::client;
pub use client::transport::{
    Received, Transport, TransportError, TransportFault, TransportOptions,
};
pub use handler::{Handler, HandlerAnswer, HandlerRequest, HandlerResponse, Served};
pub use https_redirect::HttpsRedirect;
pub use network::certificates::by_name::CertificatesByName;
pub use network::certificates::client::ClientAuthority;
pub use network::certificates::local::private_folder;
pub use network::certificates::pem::CertificateInfo;
pub use network::certificates::stored::CertificateStore;
pub use network::client_tls::{CertificateAuthority, ClientTls};
pub use network::multicast_dns::announce::{AnnouncedName, announce, check_announced};
pub use network::server_tls::{Certificate, certificates_changed};
pub use network::unix_socket::{SocketFile, UNIX_PEER, UnixAddress, accept_unix, bind_unix};
pub use protocol::encoding::ContentEncoding;
pub use protocol::trace_context::TraceContext;
pub use proxy::options::{Balance, HostField, PROXY_OPTIONS, ProxyOptions, StickySessions};
pub use proxy::store::proxy;
pub use server::listener::descriptors::{Reserve, is_out_of_descriptors};
pub use server::listener::incoming::Share;
pub use server::listener::listen::{AcceptQueue, Handed, bind, close_queue};
pub use server::observer::{CLIENT_GONE, ObservedRequest, Observer, OutboundCall, RefusedHead};
pub use server::options::{AccessPolicy, DEFAULT_PORT, Limits, ServerOptions};
pub use server::request::forwarded::TrustedProxy;
pub use server::request::origin::is_cross_origin_write;
pub use server::response::own_files::set_own_files;
pub use server::response::page_template::{
    Fields, PageTemplate, ServerPages, TemplateValue, set_server_pages,
};
pub use server::response::problem::log_permit;
pub use server::serve::{HttpServer, serve, serve_handed, serve_on, serve_on_unix};
