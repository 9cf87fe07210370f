//! Responses to the authority on port 80 (HTTP-01, RFC 8555 section 8.3).

use crate::storage;
use http::{Method, StatusCode};
use runnel_http::{Handler, HandlerAnswer, HandlerRequest, HandlerResponse};
use runnel_store::{Body, Store, Text};
use std::cell::Cell;
use std::rc::Rc;

/// The path of the responses.
const PATH: &str = "/.well-known/acme-challenge/";
/// Most lookups in the store at the same time: anybody may ask for any token.
const MAX_LOOKUPS: usize = 32;

/// Answers challenges from the store, whichever machine has ordered, and passes all other requests
/// on.
pub struct Challenges {
    store: Rc<dyn Store>,
    otherwise: Rc<dyn Handler>,
    lookups: Rc<Cell<usize>>,
}

impl Challenges {
    /// Responses from a store, and the handler of all other requests.
    pub fn new(store: Rc<dyn Store>, otherwise: Rc<dyn Handler>) -> Challenges {
        Challenges { store, otherwise, lookups: Rc::default() }
    }
}

/// One lookup in progress.
struct Lookup(Rc<Cell<usize>>);

impl Drop for Lookup {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

impl Handler for Challenges {
    fn handle(self: Rc<Self>, request: HandlerRequest) -> HandlerAnswer {
        let token = request.uri.path().strip_prefix(PATH).map(str::to_string);
        let (Some(token), &Method::GET) = (token, &request.method) else {
            return self.otherwise.clone().handle(request);
        };
        if self.lookups.get() >= MAX_LOOKUPS {
            return Box::pin(async { respond(StatusCode::SERVICE_UNAVAILABLE, String::new()) });
        }
        self.lookups.set(self.lookups.get() + 1);
        let lookup = Lookup(self.lookups.clone());
        Box::pin(async move {
            let _lookup = lookup;
            match storage::challenge(&self.store, &token).await {
                Ok(Some(response)) => respond(StatusCode::OK, response),
                Ok(None) => respond(StatusCode::NOT_FOUND, String::new()),
                Err(error) => {
                    tracing::warn!(%error, "the response to a challenge cannot be read");
                    respond(StatusCode::SERVICE_UNAVAILABLE, String::new())
                }
            }
        })
    }

    fn describe(&self) -> String {
        format!("ACME challenges, {}", self.otherwise.describe())
    }
}

fn respond(status: StatusCode, text: String) -> HandlerResponse {
    let mut response = HandlerResponse { status, ..HandlerResponse::default() };
    let plain = http::HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers.insert(http::header::CONTENT_TYPE, plain);
    response.body = Body::Text(Text::from(text));
    response
}
