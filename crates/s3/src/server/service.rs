//! One request: who asks for what, whether that is allowed, the operation, and the answer.

use super::access::authorize::{authorize_service, check_operation};
use super::access::users::{Requester, Users};
use super::bucket::cors;
use super::bucket::record::BucketRecord;
use super::call::{ANONYMOUS, CallBody, S3Call, ServerState, no_such_bucket};
use super::catalog::layout;
use super::catalog::state::Catalog;
use super::catalog::version_id::random;
use super::fault::{FaultCode, S3Fault, S3Result};
use super::operations::expiry;
use super::operations::inspection::S3Inspector;
use super::options::S3ServiceOptions;
use super::payload::plan::PayloadPlan;
use super::permit;
use super::reply::S3Reply;
use super::reply::late_reply::{self, ReplyContext};
use super::route::{self, ReplyFuture, S3Route};
use super::target::S3Target;
use crate::signature::verify::{Authenticated, SignedHead, verify};
use http::header::ACCESS_CONTROL_ALLOW_ORIGIN;
use http::{HeaderMap, Method, StatusCode};
use runnel_http::{Handler, HandlerAnswer, HandlerRequest, HandlerResponse, is_cross_origin_write};
use runnel_store::{Error, Kind, Result, Store, Verb, Watchers};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

/// Serves a store to clients of S3. Each worker has a service of its own; several may share what the
/// store below is kept in.
pub struct S3Service {
    state: Rc<ServerState>,
    /// Whether the task that expires objects was started.
    expires: Cell<bool>,
}

impl S3Service {
    /// A server of the buckets in a store: its first level are the buckets, below them the keys.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for users without a key or a secret, or two of the same key, and for the
    /// root of another server, which has buckets at its first level.
    pub fn new(store: Rc<dyn Store>, options: S3ServiceOptions) -> Result<Rc<Self>> {
        let mut keys: Vec<&str> = options.users.iter().map(|user| user.key.as_str()).collect();
        keys.sort_unstable();
        let is_double = keys.windows(2).any(|pair| pair[0] == pair[1]);
        let is_empty = |text: &str| text.is_empty() || text.contains(['/', ',', ' ']);
        if is_double
            || options.users.iter().any(|user| is_empty(&user.key) || user.secret.is_empty())
        {
            let message = "users: each needs a key of its own without slash, comma or space, and a \
                           secret";
            return Err(Error::new(Kind::Invalid, message));
        }
        check_store(&*store)?;
        let users = Users::new(&options.users, &options.region);
        let admin = users.iter().find(|user| user.admin).map(|user| user.key.clone());
        let owner = admin.unwrap_or_else(|| ANONYMOUS.to_string());
        let catalog = Catalog::new(store, owner);
        let (region, host) = (options.region, options.host);
        let state = Rc::new(ServerState { catalog, users, region, host });
        Ok(Rc::new(S3Service { state, expires: Cell::new(false) }))
    }

    /// Tells these watchers of what happens to objects, by paths such as `bucket/key`, for as long
    /// as others keep them. Services of several workers can share them.
    pub fn publish_to(&self, watchers: &Arc<Watchers>) {
        self.state.catalog.events.publish_to(watchers);
    }

    /// What the server keeps, for its operator.
    pub fn inspector(&self) -> S3Inspector {
        S3Inspector::of(&self.state)
    }

    async fn answer(self: Rc<Self>, request: HandlerRequest) -> HandlerResponse {
        let request_id = format!("{:016X}", random() as u64);
        let (method, resource) = (request.method.clone(), request.uri.path().to_string());
        let context = ReplyContext { method, resource, request_id };
        let mut cors = HeaderMap::new();
        let mut response = match self.begin(request, &context.request_id, &mut cors).await {
            Ok((running, true)) => late_reply::answer(running, context, late_reply::SILENCE).await,
            Ok((running, false)) => context.response(running.await),
            Err(fault) => context.response(Err(fault)),
        };
        response.headers.extend(cors);
        response
    }

    /// Begins the operation that a request asks for and may ask for. Answers whether it can take
    /// longer than clients wait.
    async fn begin(
        &self,
        request: HandlerRequest,
        request_id: &str,
        cors: &mut HeaderMap,
    ) -> S3Result<(ReplyFuture, bool)> {
        let state = &self.state;
        let target = S3Target::read(&request.uri, &request.headers, state.host.as_deref())?;
        if request.method == Method::OPTIONS {
            let reply = self.preflight(&target, &request.headers).await?;
            return Ok((Box::pin(std::future::ready(Ok(reply))), false));
        }
        check_header_size(&request.headers)?;
        let route = route::find(&request.method, &target, &request.headers)?;
        request.set_route(route.operation);
        target.check()?;
        let record = match route.is_without_bucket() {
            true => None,
            false => state.catalog.bucket(&target.bucket).await?,
        };
        if let Some(record) = &record {
            let method = request.method.as_str();
            *cors = cors::headers(record.cors.as_ref(), &request.headers, method)?;
        }
        // Signatures keep out pages that know no secret; without users only this does.
        if state.users.is_open()
            && !cors.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN)
            && is_cross_origin_write(&request.method, &request.headers)
        {
            let words =
                "A page of another origin may write only where the bucket's CORS allows it.";
            return Err(S3Fault::new(FaultCode::AccessDenied).because(words));
        }
        let head =
            SignedHead { method: &request.method, uri: &request.uri, headers: &request.headers };
        let authenticated = match route.has_form() {
            true => {
                Authenticated { requester: Requester::Anonymous, payload: PayloadPlan::Unsigned }
            }
            false => verify(&head, &state.users, SystemTime::now())?,
        };
        if !route.takes_chunks() {
            authenticated.payload.refuse_chunks()?;
        }
        let raw = request.body;
        let body = CallBody { raw, length: request.length, plan: authenticated.payload };
        let is_host_style = !request.uri.path().starts_with(&format!("/{}", target.bucket));
        let call = S3Call {
            state: state.clone(),
            method: request.method,
            bucket: target.bucket,
            key: target.key,
            query: target.query,
            headers: request.headers,
            requester: authenticated.requester,
            record,
            body: RefCell::new(Some(body)),
            request_id: request_id.to_string(),
            is_secure: request.is_secure,
            is_host_style,
            peer: request.peer,
            operation: route.operation,
            deadline: request.deadline,
            allowance: Rc::new(request.allowance),
        };
        admit(&call, route)?;
        Ok(((route.run)(Rc::new(call)), route.can_take_long()))
    }

    /// Answers what a browser asks before a request from another origin.
    async fn preflight(&self, target: &S3Target, headers: &HeaderMap) -> S3Result<S3Reply> {
        if target.bucket.is_empty() {
            return Ok(S3Reply::empty(StatusCode::NO_CONTENT));
        }
        target.check()?;
        let record = self.state.catalog.bucket(&target.bucket).await?;
        let record = record.ok_or_else(|| no_such_bucket(&target.bucket))?;
        let resource = if target.key.is_empty() { "BUCKET" } else { "OBJECT" };
        let mut reply = S3Reply::empty(StatusCode::OK);
        reply.headers = cors::preflight(record.cors.as_ref(), headers, resource)?;
        Ok(reply)
    }
}

/// Refuses a store that takes objects in buckets and nothing where this server keeps the rest.
fn check_store(store: &dyn Store) -> Result<()> {
    let takes_objects = store.verbs(&layout::plain("bucket", "key")).has(Verb::Put);
    if !takes_objects || !store.verbs(&layout::bucket("bucket")).is_empty() {
        return Ok(());
    }
    let message = "the first level of this store are the buckets of another server, and none can be \
         `.runnel-s3`, where an S3Server keeps what is no object: serve one bucket, as \
         `ref:s3:BUCKET asScheme`";
    Err(Error::new(Kind::Invalid, message))
}

/// The largest header section, in bytes.
const HEADERS_LIMIT: usize = 8 << 10;

fn check_header_size(headers: &HeaderMap) -> S3Result<()> {
    let size: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if size <= HEADERS_LIMIT {
        return Ok(());
    }
    let fault = S3Fault::new(FaultCode::RequestHeaderSectionTooLarge);
    Err(fault.with("MaxSizeAllowed", HEADERS_LIMIT.to_string()))
}

/// Checks whether a request may go on to its operation.
fn admit(call: &S3Call, route: &S3Route) -> S3Result<()> {
    if route.has_form() {
        // The operation checks the form first, and asks by its signature.
        return Ok(());
    }
    let action = route.action(call.value("versionId").is_some());
    if route.is_without_bucket() {
        return authorize_service(&permit::question(call, action, None));
    }
    let record: &Rc<BucketRecord> = call.record()?;
    let expected = call.header("x-amz-expected-bucket-owner");
    if expected.is_some_and(|owner| owner != record.owner) {
        return Err(S3Fault::new(FaultCode::AccessDenied));
    }
    // An operation on many objects asks for each.
    match action {
        "" => check_operation(&permit::question(call, action, None)),
        action => permit::check(call, action, &call.key),
    }
}

impl Handler for S3Service {
    fn handle(self: Rc<Self>, request: HandlerRequest) -> HandlerAnswer {
        // The first request comes from a runtime for local tasks.
        if !self.expires.replace(true) {
            expiry::start(&self.state);
        }
        Box::pin(self.answer(request))
    }

    fn max_body(&self) -> Option<u64> {
        Some(u64::MAX)
    }

    fn describe(&self) -> String {
        "S3".to_string()
    }
}
