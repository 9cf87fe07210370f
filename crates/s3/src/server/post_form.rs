//! Uploads by browsers: a form (`multipart/form-data`) whose fields are signed by a policy and whose
//! last field is the file.
//!
//! Source: Amazon S3 API reference, "Browser-Based Uploads Using POST".

pub(crate) mod head;
pub(crate) mod policy;

use crate::server::access::users::{Requester, Users};
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::payload::body::{BodyOptions, PayloadBody, file_body};
use crate::server::payload::chunked::incomplete;
use crate::server::payload::form_file::FormFile;
use crate::server::post_form::head::{FormHead, parameter};
use crate::server::post_form::policy::{PolicyFacts, PostPolicy, expired};
use crate::signature::ALGORITHM;
use crate::signature::credential::Credential;
use crate::signature::digest::is_same;
use crate::signature::time::SigningTime;
use crate::signature::verify::mismatch;
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue};
use runnel_store::ByteStream;
use std::time::SystemTime;
use url::Url;

/// The most bytes before the file.
const LARGEST_HEAD: usize = 20 * 1024;
/// How long after its date a form is valid at most, in seconds.
const LONGEST_VALIDITY: i64 = 60 * 60;
/// The fields of a signature. A form with one of them has all.
const SIGNED_FIELDS: [&str; 5] =
    ["policy", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature"];
/// The fields that are headers of the object.
const HEADER_FIELDS: [&str; 7] = [
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "expires",
    "content-md5",
];

/// A form up to its file, and who signed it.
pub(crate) struct PostForm {
    pub(crate) requester: Requester,
    /// The key of the object, with the name of the file where it is asked for.
    pub(crate) key: String,
    fields: Vec<(String, String)>,
    boundary: String,
    file: ByteStream,
    /// The length of the file where nothing follows it.
    announced: Option<u64>,
}

/// What a form is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PostAnswer {
    /// A status: 200 and 204 without a body, 201 with a description of the object.
    Status(u16),
    /// 303 with this location.
    Redirect(String),
}

impl PostForm {
    /// Reads a form up to its file, and checks its signature.
    ///
    /// # Errors
    /// The request is no form, or its signature is wrong.
    pub(crate) async fn read(
        headers: &HeaderMap,
        mut raw: ByteStream,
        length: Option<u64>,
        users: &Users,
        now: SystemTime,
    ) -> S3Result<PostForm> {
        let boundary = boundary(headers)?;
        let mut sent = BytesMut::new();
        let mut head = loop {
            let is_too_large = sent.len() > LARGEST_HEAD;
            if let Some(head) = FormHead::parse(&sent, &boundary)? {
                break head;
            }
            if is_too_large {
                return Err(FaultCode::MaxPostPreDataLengthExceededError.into());
            }
            match raw.next().await {
                Some(Ok(piece)) => sent.extend_from_slice(&piece),
                Some(Err(_)) => return Err(incomplete()),
                None => return Err(FaultCode::MalformedPOSTRequest.into()),
            }
        };
        let around = head.length + "\r\n--".len() + boundary.len() + "--\r\n".len();
        let announced = length.and_then(|length| length.checked_sub(around as u64));
        let first: Bytes = sent.freeze().split_off(head.length);
        let file: ByteStream = Box::pin(stream::iter([Ok(first)]).chain(raw));
        let fields = std::mem::take(&mut head.fields);
        let mut form = PostForm {
            requester: Requester::Anonymous,
            key: String::new(),
            fields,
            boundary,
            file,
            announced,
        };
        let key = form.field("key").filter(|key| !key.is_empty());
        form.key = key.ok_or_else(|| missing("key"))?.replace("${filename}", &head.file_name);
        form.requester = form.authenticate(users, now)?;
        Ok(form)
    }

    /// The value of a field, whose name is in lower case.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(known, _)| known == name);
        field.map(|(_, value)| value.as_str())
    }

    /// The fields as headers of a PutObject.
    pub(crate) fn headers(&self) -> HeaderMap {
        let fields = self.fields.iter().filter(|(_, value)| !value.is_empty());
        let fields = fields.filter_map(|(name, value)| {
            let name = match name.as_str() {
                "acl" => "x-amz-acl",
                name if SIGNED_FIELDS.contains(&name) => return None,
                name if name.starts_with("x-amz-") || HEADER_FIELDS.contains(&name) => name,
                _ => return None,
            };
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            Some((name, HeaderValue::from_bytes(value.as_bytes()).ok()?))
        });
        fields.collect()
    }

    /// What the form is answered with, once its object is stored.
    pub(crate) fn answer(&self, bucket: &str, entity_tag: &str) -> PostAnswer {
        let address = self.field("success_action_redirect").or_else(|| self.field("redirect"));
        if let Some(mut address) = address.and_then(|address| Url::parse(address).ok()) {
            let mut query = address.query_pairs_mut();
            query.append_pair("bucket", bucket);
            query.append_pair("key", &self.key);
            query.append_pair("etag", entity_tag);
            drop(query);
            return PostAnswer::Redirect(address.into());
        }
        PostAnswer::Status(match self.field("success_action_status") {
            Some("200") => 200,
            Some("201") => 201,
            _ => 204,
        })
    }

    /// The file as a body, if the policy allows the form. It can be taken once.
    ///
    /// # Errors
    /// The policy is malformed, or refuses a field; a field about the file is wrong.
    pub(crate) fn body(
        &mut self,
        bucket: &str,
        now: SystemTime,
        options: BodyOptions,
    ) -> S3Result<PayloadBody> {
        let headers = self.headers();
        let mut file = FormFile::new(&self.boundary);
        if let Requester::User(_) = self.requester
            && let Some(policy) = self.field("policy")
        {
            let policy = PostPolicy::parse(policy)?;
            policy.check_time(now)?;
            policy.check(&PolicyFacts { bucket, key: &self.key, fields: &self.fields })?;
            if let Some(lengths) = policy.lengths() {
                file.limit(lengths, self.announced);
            }
        }
        let taken = std::mem::replace(&mut self.file, Box::pin(stream::empty()));
        file_body(file, taken, &headers, options)
    }

    /// Checks the signature of the policy.
    fn authenticate(&self, users: &Users, now: SystemTime) -> S3Result<Requester> {
        let is_signed = SIGNED_FIELDS.iter().any(|name| self.field(name).is_some());
        if users.is_open() || !is_signed {
            return Ok(Requester::Anonymous);
        }
        let fields = SIGNED_FIELDS.map(|name| self.field(name).ok_or_else(|| missing(name)));
        let [policy, algorithm, credential, date, signature] = fields;
        let (policy, algorithm, credential, date, signature) =
            (policy?, algorithm?, credential?, date?, signature?);
        if algorithm != ALGORITHM {
            let message = "Only AWS4-HMAC-SHA256 is supported";
            return Err(invalid("X-Amz-Algorithm", algorithm, message));
        }
        let time = SigningTime::parse(date).ok_or_else(|| {
            invalid("X-Amz-Date", date, "X-Amz-Date must be formated via ISO8601 Long format")
        })?;
        if time.age(now) > LONGEST_VALIDITY {
            return Err(expired());
        }
        let about = |words: String| invalid("x-amz-credential", credential, &words);
        let parsed = Credential::parse(credential).map_err(about)?;
        parsed.admit(users.region()).map_err(about)?;
        let known = users.find(parsed.access_key).ok_or_else(|| {
            let fault = S3Fault::new(FaultCode::InvalidAccessKeyId);
            fault.with("AWSAccessKeyId", parsed.access_key)
        })?;
        if self.field("x-amz-security-token").is_some() {
            return Err(FaultCode::InvalidToken.into());
        }
        let key = known.signing_key(parsed.date, users.region());
        if !is_same(&key.sign(policy.as_bytes()), signature) {
            return Err(mismatch(parsed.access_key, signature, policy, &[]));
        }
        Ok(Requester::User(known.user.clone()))
    }
}

/// The boundary of a form.
fn boundary(headers: &HeaderMap) -> S3Result<String> {
    let kind = headers.get(http::header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let (kind, parameters) =
        kind.map_or(("", ""), |kind| kind.split_once(';').unwrap_or((kind, "")));
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        let condition = "Bucket POST must be of the enclosure-type multipart/form-data";
        return Err(S3Fault::new(FaultCode::PreconditionFailed).with("Condition", condition));
    }
    let boundary = parameter(parameters, "boundary").filter(|boundary| !boundary.is_empty());
    boundary.ok_or_else(|| FaultCode::MalformedPOSTRequest.into())
}

fn missing(field: &str) -> S3Fault {
    let message = format!(
        "Bucket POST must contain a field named '{field}'.  If it is specified, please check the \
         order of the fields."
    );
    S3Fault::new(FaultCode::InvalidArgument).because(message).with("ArgumentName", field)
}

fn invalid(name: &str, value: &str, message: &str) -> S3Fault {
    let fault = S3Fault::new(FaultCode::InvalidArgument).because(message.to_string());
    fault.with("ArgumentName", name).with("ArgumentValue", value)
}

#[cfg(test)]
mod tests;
