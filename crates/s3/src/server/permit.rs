//! Asks whether a request may do something: what the route says, and what operations find out later.

use super::access::authorize::{AccessQuestion, authorize, may_bypass_governance};
use super::access::users::Requester;
use super::bucket::record::BucketRecord;
use super::call::S3Call;
use super::fault::S3Result;
use std::time::SystemTime;

/// Checks one action on a key of the request's bucket, or on the bucket where the key is empty.
pub(crate) fn check(call: &S3Call, action: &str, key: &str) -> S3Result<()> {
    check_in(call, &call.bucket, call.record()?, action, key)
}

/// Checks one action on a key of any bucket.
pub(crate) fn check_in(
    call: &S3Call,
    bucket: &str,
    record: &BucketRecord,
    action: &str,
    key: &str,
) -> S3Result<()> {
    let key = Some(key).filter(|key| !key.is_empty());
    authorize(&AccessQuestion { bucket, ..question(call, action, key) }, record)
}

/// Whether the request asks to override a retention in the mode GOVERNANCE, and may.
pub(crate) fn bypasses_governance(call: &S3Call, key: &str) -> bool {
    let asked = call.header("x-amz-bypass-governance-retention");
    let question = question(call, "s3:BypassGovernanceRetention", Some(key));
    asked.is_some_and(|text| text.eq_ignore_ascii_case("true"))
        && call.record().is_ok_and(|record| may_bypass_governance(&question, record))
}

/// The question of an action with the facts of a request.
pub(crate) fn question<'a>(
    call: &'a S3Call,
    action: &'a str,
    key: Option<&'a str>,
) -> AccessQuestion<'a> {
    AccessQuestion {
        is_open: call.state.users.is_open(),
        user: match &call.requester {
            Requester::User(user) => Some(user),
            Requester::Anonymous => None,
        },
        operation: call.operation,
        action,
        bucket: &call.bucket,
        key,
        source: call.peer.ip(),
        is_secure: call.is_secure,
        headers: &call.headers,
        query: &call.query,
        now: SystemTime::now(),
    }
}
