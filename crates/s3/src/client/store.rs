//! Buckets as a store.

use crate::client::body;
use crate::client::body::range::unless_known;
use crate::client::condition::{self, KeyState};
use crate::client::endpoint::presign::presign;
use crate::client::endpoint::{S3Request, S3Server, is_missing};
use crate::client::keys;
use crate::client::list;
use crate::client::object_path::{ObjectPath, check_bucket};
use crate::client::options::S3Options;
use crate::client::upload;
use http::header;
use http::{Method, StatusCode};
use runnel_store::{
    Answer, Attributes, Body, Conditions, Content, Context, Entry, Error, KeyPage, KeyRange, Kind,
    Outcome, Reference, Result, Store, Verb, Verbs, guessed_media_type,
};
use std::cell::OnceCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A bucket of a server that speaks S3.
///
/// | verb | on an object | on the bucket |
/// | --- | --- | --- |
/// | get | its content, or `None` | `None` |
/// | put | replaces or creates it | makes the bucket, where the content is empty |
/// | delete | removes it | removes the bucket, where it is empty |
/// | list | what begins with its key and a slash | the objects and prefixes |
///
/// Metadata is stored as headers of the object: those that S3 knows, and `x-amz-meta-…`. Replacing it
/// is a copy within the server, up to 5 GB. Keys are listed in pages of up to 1,000, each with one
/// request.
///
/// Keys are the parts of the path joined by slashes. The media type is stored; a missing one is
/// guessed from the extension. Objects have the server's entity tag and date. A large object is
/// read as a stream ([`S3Options::collect`]) and written in parts ([`crate::PART`]); an upload that
/// fails or is abandoned is aborted. A request to a server that is unreachable or asks to slow down
/// is tried up to three times.
///
/// Conditions of writes are checked by that look and again by the server, with its own `If-Match`
/// and `If-None-Match`. Of a server that does not know these only the look is left, which is no one
/// step with the write.
///
/// S3 does not say whether a put created or a delete removed something, so a look at the object
/// goes before; where the access key may not look, a put answers `false` and a delete `true`. A
/// bucket has no post, merge, query, watch (poll instead) or transaction.
///
/// Credentials are, in this order: those of the options; none, where `AWS_SKIP_SIGNATURE` is true;
/// `AWS_ACCESS_KEY_ID` with `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`; a web identity
/// (`AWS_WEB_IDENTITY_TOKEN_FILE`, `AWS_ROLE_ARN`); the files `~/.aws/credentials` and
/// `~/.aws/config` with `AWS_PROFILE`; the container's; the instance's (unless
/// `AWS_EC2_METADATA_DISABLED` is true). They are looked up by the first verb.
///
/// Must be used within a [`tokio::runtime::LocalRuntime`] or a [`tokio::task::LocalSet`].
///
/// # Errors
/// [`Kind::Unavailable`] for an unreachable server, [`Kind::Timeout`] for a silent one,
/// [`Kind::Denied`] for missing rights; [`Kind::NotFound`] for writing into a missing bucket.
pub struct S3 {
    options: S3Options,
    /// Made by the first verb, because that looks into files.
    server: OnceCell<Result<Arc<S3Server>>>,
}

impl S3 {
    /// The bucket of the options.
    ///
    /// # Errors
    /// When there is none, or its name cannot be one.
    pub fn new(options: S3Options) -> Result<S3> {
        match &options.bucket {
            Some(bucket) => check_bucket(bucket)?,
            None => {
                let message = "a store of S3 needs the name of its bucket";
                return Err(Error::new(Kind::Invalid, message));
            }
        }
        Ok(S3 { options, server: OnceCell::new() })
    }

    fn server(&self) -> Result<Arc<S3Server>> {
        self.server.get_or_init(|| S3Server::new(&self.options).map(Arc::new)).clone()
    }

    /// Goes to where a reference leads, with the server to the server.
    fn at<T: 'static, F: Future<Output = Result<T>> + 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        act: impl FnOnce(Arc<S3Server>, ObjectPath) -> F,
    ) -> Answer<T> {
        let place = ObjectPath::parse(self.options.bucket.as_deref(), reference);
        match place.and_then(|place| Ok(act(self.server()?, place))) {
            Ok(future) => Answer::later(future).on(verb, reference),
            Err(error) => error.on(verb, reference).into(),
        }
    }
}

/// The scheme `s3:`, as in `s3:bucket/key`. The root lists the buckets; below a bucket it is as
/// [`S3`].
pub fn s3_scheme(options: S3Options) -> Rc<dyn Store> {
    Rc::new(S3 { options: S3Options { bucket: None, ..options }, server: OnceCell::new() })
}

#[deny(clippy::missing_trait_methods)]
impl Store for S3 {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        // The short answer has no metadata.
        let known = context.known.clone().filter(|_| !context.attributes);
        let deadline = context.deadline;
        let from = reference.clone();
        self.at(Verb::Get, reference, move |server, place| async move {
            let ObjectPath::Object(bucket, key) = place else { return Ok(None) };
            let mut ask = S3Request::new(Method::GET, &bucket, &key);
            if let Some(tag) = known.as_ref().and_then(unless_known) {
                ask.headers.insert(header::IF_NONE_MATCH, tag);
            }
            let response = server.send(&ask, deadline).await?;
            match response.status() {
                StatusCode::NOT_MODIFIED if known.is_some() => {
                    Ok(Some(Content { entity_tag: known, ..Content::default() }))
                }
                status if is_missing(status) => Ok(None),
                status if status.is_success() => {
                    let object = (bucket.as_str(), key.as_str());
                    body::content(&server, response, object, &from, deadline).await.map(Some)
                }
                _ => Err(server.refused(response, Some(&bucket), deadline).await),
            }
        })
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        if let Err(error) = Error::refuse_expiry(reference) {
            return error.on(Verb::Put, reference).into();
        }
        let content = content.of_client(context, guessed_media_type(reference.path()));
        let (deadline, only_if) = (context.deadline, context.only_if.clone());
        let admitted = self.conditions(reference).admit(only_if.as_ref(), Verb::Put, reference);
        self.at(Verb::Put, reference, move |server, place| async move {
            admitted?;
            match place {
                ObjectPath::Root => {
                    Err(Error::new(Kind::NotAllowed, "the list of buckets is read"))
                }
                ObjectPath::Bucket(bucket) => {
                    make_bucket(&server, &bucket, content, deadline).await.map(Outcome::put)
                }
                ObjectPath::Object(bucket, key) => {
                    let there = head(&server, &bucket, &key, deadline).await?;
                    let headers = condition::headers(only_if.as_ref(), &there)?;
                    upload::put(&server, &bucket, &key, content, headers, deadline).await?;
                    Ok(Outcome::put(matches!(there, KeyState::Nothing)))
                }
            }
        })
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        let (deadline, only_if) = (context.deadline, context.only_if.clone());
        let admitted = self.conditions(reference).admit(only_if.as_ref(), Verb::Delete, reference);
        self.at(Verb::Delete, reference, move |server, place| async move {
            admitted?;
            let (bucket, key) = match place {
                ObjectPath::Root => {
                    return Err(Error::new(Kind::NotAllowed, "the list of buckets is read"));
                }
                ObjectPath::Bucket(bucket) => (bucket, String::new()),
                ObjectPath::Object(bucket, key) => (bucket, key),
            };
            let there = match key.is_empty() {
                true => KeyState::Unknown,
                false => head(&server, &bucket, &key, deadline).await?,
            };
            let headers = condition::headers(only_if.as_ref(), &there)?;
            if matches!(there, KeyState::Nothing) {
                return Ok(Outcome::deleted(false));
            }
            let once = only_if.is_some();
            let ask = S3Request { headers, once, ..S3Request::new(Method::DELETE, &bucket, &key) };
            let response = server.send(&ask, deadline).await?;
            match response.status() {
                status if is_missing(status) => Ok(Outcome::deleted(false)),
                status if status.is_success() => Ok(Outcome::deleted(true)),
                _ => Err(server.unsuccessful(&ask, response, deadline).await),
            }
        })
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let deadline = context.deadline;
        self.at(Verb::List, reference, move |server, place| async move {
            match place {
                ObjectPath::Root => list::buckets(&server, deadline).await.map(Some),
                ObjectPath::Bucket(bucket) => list::objects(&server, &bucket, "", deadline).await,
                ObjectPath::Object(bucket, key) => {
                    list::objects(&server, &bucket, &format!("{key}/"), deadline).await
                }
            }
        })
    }

    fn keys(
        &self,
        reference: &Reference,
        range: &KeyRange,
        context: &Context,
    ) -> Answer<Option<KeyPage>> {
        let (deadline, range) = (context.deadline, range.clone());
        self.at(Verb::List, reference, move |server, place| async move {
            let (bucket, base) = match place {
                ObjectPath::Root => return Ok(None),
                ObjectPath::Bucket(bucket) => (bucket, String::new()),
                ObjectPath::Object(bucket, key) => (bucket, format!("{key}/")),
            };
            keys::page(&server, &bucket, &base, &range, deadline).await.map(Some)
        })
    }

    fn keeps_metadata(&self, reference: &Reference) -> bool {
        let place = ObjectPath::parse(self.options.bucket.as_deref(), reference);
        matches!(place, Ok(ObjectPath::Object(..)))
    }

    fn annotate(
        &self,
        reference: &Reference,
        attributes: Attributes,
        context: &Context,
    ) -> Answer<Outcome> {
        let (deadline, only_if) = (context.deadline, context.only_if.clone());
        self.at(Verb::Put, reference, move |server, place| async move {
            let ObjectPath::Object(bucket, key) = place else {
                return Err(Error::new(Kind::NotAllowed, "only objects have attributes"));
            };
            let there = head(&server, &bucket, &key, deadline).await?;
            condition::headers(only_if.as_ref(), &there)?;
            let own = match there {
                KeyState::Nothing => {
                    let message = "there is no object to give attributes to";
                    return Err(Error::new(Kind::NotFound, message));
                }
                KeyState::Object(own) => own.filter(|_| only_if.is_some()),
                KeyState::Unknown => None,
            };
            upload::annotate(&server, (&bucket, &key), &attributes, own, deadline).await?;
            Ok(Outcome::changed())
        })
    }

    fn presign(
        &self,
        reference: &Reference,
        verb: Verb,
        validity: Duration,
        _: &Context,
    ) -> Answer<String> {
        self.at(verb, reference, move |server, place| async move {
            let ObjectPath::Object(bucket, key) = place else {
                return Err(Error::new(Kind::NotAllowed, "only objects have presigned addresses"));
            };
            presign(&server.settings, verb, (&bucket, &key), validity).await
        })
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        let all = Verbs::NONE.with(Verb::Put).with(Verb::Delete).with(Verb::List);
        match ObjectPath::parse(self.options.bucket.as_deref(), reference) {
            Ok(ObjectPath::Root) => Verbs::NONE.with(Verb::List),
            Ok(ObjectPath::Bucket(_)) => all,
            Ok(ObjectPath::Object(..)) => all.with(Verb::Get),
            Err(_) => Verbs::NONE,
        }
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        match ObjectPath::parse(self.options.bucket.as_deref(), reference) {
            Ok(ObjectPath::Object(..)) => Conditions::Tags,
            _ => Conditions::None,
        }
    }

    runnel_store::without!(
        post, merge, fetch, relocate, query, watch, tables, links, as_any, sources
    );

    fn describe(&self) -> String {
        let place = match &self.options.bucket {
            Some(bucket) => format!("s3 {bucket}"),
            None => "s3".to_string(),
        };
        match self.server.get() {
            Some(Ok(server)) => format!("{place} at {}", server.settings.host()),
            _ => place,
        }
    }
}

/// What is at a key.
async fn head(
    server: &S3Server,
    bucket: &str,
    key: &str,
    deadline: Option<Instant>,
) -> Result<KeyState> {
    let response = server.send(&S3Request::new(Method::HEAD, bucket, key), deadline).await?;
    match response.status() {
        status if is_missing(status) => Ok(KeyState::Nothing),
        status if status.is_success() => {
            Ok(KeyState::Object(response.headers().get(header::ETAG).cloned()))
        }
        // Who may write need not be one who may read; whether the keys are good at all will show.
        StatusCode::FORBIDDEN => Ok(KeyState::Unknown),
        _ => Err(server.refused(response, Some(bucket), deadline).await),
    }
}

/// Makes a bucket. Answers whether it was not there.
async fn make_bucket(
    server: &S3Server,
    bucket: &str,
    content: Content,
    deadline: Option<Instant>,
) -> Result<bool> {
    if matches!(&content.body, Body::Stream(..)) || content.read(0).await.is_err() {
        return Err(holds_no_content());
    }
    if matches!(head(server, bucket, "", deadline).await?, KeyState::Object(_)) {
        return Ok(false);
    }
    let mut ask = S3Request::new(Method::PUT, bucket, "");
    let region = &server.settings.region;
    // The first region must not be named.
    if region != "us-east-1" {
        ask.body = format!(
            "<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
             <LocationConstraint>{region}</LocationConstraint></CreateBucketConfiguration>"
        )
        .into();
    }
    server.succeed(&ask, deadline).await?;
    Ok(true)
}

fn holds_no_content() -> Error {
    let message = "a bucket holds objects and no content of its own; put to a key in it, or \
                   nothing to make the bucket";
    Error::new(Kind::Conflict, message)
}
