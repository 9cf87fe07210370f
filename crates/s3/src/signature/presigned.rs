//! The signature in a query: presigned addresses.

use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::signature::ALGORITHM;
use crate::signature::credential::Credential;
use crate::signature::time::{SigningTime, rfc3339_of};
use runnel_text::form::{decode, pairs};
use std::borrow::Cow;
use std::time::SystemTime;

/// The parameter of the signature, which the signature does not cover.
pub(crate) const SIGNATURE: &str = "X-Amz-Signature";
/// The longest time that an address is valid, in seconds: a week.
pub(crate) const LONGEST_VALIDITY: i64 = 604_800;

/// The parameters of a presigned query as they were sent, without their escapes.
#[derive(Debug, Default)]
pub(crate) struct PresignedQuery<'a> {
    algorithm: Cow<'a, str>,
    credential: Cow<'a, str>,
    date: Cow<'a, str>,
    expires: Cow<'a, str>,
    signed: Cow<'a, str>,
    signature: Cow<'a, str>,
    /// The payload, where it was signed as a parameter.
    pub(crate) payload: Option<Cow<'a, str>>,
    has_token: bool,
}

/// A presigned query of which nothing is missing.
#[derive(Debug)]
pub(crate) struct PresignedSignature<'a> {
    pub(crate) credential: Credential<'a>,
    pub(crate) time: SigningTime,
    pub(crate) signed: &'a str,
    pub(crate) signature: &'a str,
}

impl<'a> PresignedQuery<'a> {
    /// The parameters of a query; `None` where it has no signature.
    pub(crate) fn find(query: &'a str) -> S3Result<Option<PresignedQuery<'a>>> {
        // Nearly no query has one: this is on the path of each request.
        if !query.contains("X-Amz-") && !query.contains("AWSAccessKeyId") {
            return Ok(None);
        }
        let (mut found, mut is_signed, mut is_old) = (PresignedQuery::default(), false, false);
        for (name, value) in pairs(query) {
            let (Ok(name), Ok(value)) = (decode(name), decode(value)) else { continue };
            let is_empty = value.is_empty();
            let field = match &*name {
                "X-Amz-Algorithm" => &mut found.algorithm,
                "X-Amz-Credential" => &mut found.credential,
                "X-Amz-Date" => &mut found.date,
                "X-Amz-Expires" => &mut found.expires,
                "X-Amz-SignedHeaders" => &mut found.signed,
                SIGNATURE => &mut found.signature,
                "X-Amz-Security-Token" => {
                    found.has_token = true;
                    continue;
                }
                "X-Amz-Content-Sha256" => {
                    found.payload = Some(value);
                    continue;
                }
                "AWSAccessKeyId" | "Signature" => {
                    is_old |= !is_empty;
                    continue;
                }
                _ => continue,
            };
            *field = value;
            is_signed |= !is_empty;
        }
        if is_old {
            return Err(crate::signature::authorization::unsupported_mechanism());
        }
        Ok(is_signed.then_some(found))
    }

    /// Checks everything but the signature itself.
    pub(crate) fn check(
        &self,
        region: &str,
        now: SystemTime,
        most_ahead: i64,
    ) -> S3Result<PresignedSignature<'_>> {
        match &*self.algorithm {
            ALGORITHM => {}
            "" => return Err(missing()),
            "AWS4-ECDSA-P256-SHA256" => {
                return Err(wrong(format!("X-Amz-Algorithm only supports \"{ALGORITHM}\"")));
            }
            _ => {
                return Err(wrong(format!(
                    "X-Amz-Algorithm only supports \"{ALGORITHM} and AWS4-ECDSA-P256-SHA256\""
                )));
            }
        }
        if self.credential.is_empty() {
            return Err(missing());
        }
        let about_credential =
            |words| wrong(format!("Error parsing the X-Amz-Credential parameter; {words}"));
        let credential = Credential::parse(&self.credential).map_err(about_credential)?;
        if self.has_token {
            return Err(FaultCode::InvalidToken.into());
        }
        credential.admit(region).map_err(about_credential)?;
        if self.date.is_empty() {
            return Err(missing());
        }
        let time = SigningTime::parse(&self.date).ok_or_else(|| {
            let words = "X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"";
            wrong(words.to_string())
        })?;
        if time.date() != credential.date {
            return Err(wrong(format!(
                "Invalid credential date {:?}. This date is not the same as X-Amz-Date: {:?}.",
                credential.date,
                time.date()
            )));
        }
        if self.signature.is_empty() || self.signed.is_empty() {
            return Err(missing());
        }
        let validity = self.validity()?;
        if time.age(now) < -most_ahead {
            let fault = S3Fault::new(FaultCode::AccessDenied);
            return Err(fault.because("Request is not valid yet."));
        }
        if time.age(now) > validity {
            let fault = S3Fault::new(FaultCode::AccessDenied).because("Request has expired.");
            let fault = fault.with("X-Amz-Expires", validity.to_string());
            let fault = fault.with("Expires", time.later(validity));
            return Err(fault.with("ServerTime", rfc3339_of(now)));
        }
        let (signed, signature) = (&*self.signed, &*self.signature);
        Ok(PresignedSignature { credential, time, signed, signature })
    }

    /// The seconds that the address is valid.
    fn validity(&self) -> S3Result<i64> {
        if self.expires.is_empty() {
            return Err(missing());
        }
        let seconds: i64 = self
            .expires
            .parse()
            .map_err(|_| wrong("X-Amz-Expires should be a number".to_string()))?;
        if seconds < 0 {
            return Err(wrong("X-Amz-Expires must be non-negative".to_string()));
        }
        if seconds > LONGEST_VALIDITY {
            return Err(wrong(
                "X-Amz-Expires must be less than a week (in seconds); that is, the given \
                 X-Amz-Expires must be less than 604800 seconds"
                    .to_string(),
            ));
        }
        Ok(seconds)
    }
}

fn wrong(words: String) -> S3Fault {
    S3Fault::new(FaultCode::AuthorizationQueryParametersError).because(words)
}

fn missing() -> S3Fault {
    wrong(
        "Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, \
         X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters."
            .to_string(),
    )
}
