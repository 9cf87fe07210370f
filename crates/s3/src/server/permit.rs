//! Asks whether a request may do something: the operations ask for what the route does not say.

use super::call::S3Call;
use super::fault::S3Result;

/// Checks one action on a key of the request's bucket.
pub(crate) fn check(call: &S3Call, action: &str, key: &str) -> S3Result<()> {
    let _ = (call, action, key);
    Ok(())
}

/// Checks one action on a key of another bucket.
pub(crate) fn check_in(
    call: &S3Call,
    bucket: &str,
    record: &super::bucket::record::BucketRecord,
    action: &str,
    key: &str,
) -> S3Result<()> {
    let _ = (call, bucket, record, action, key);
    Ok(())
}

/// Whether the request asks to override a retention in the mode GOVERNANCE, and may.
pub(crate) fn bypasses_governance(call: &S3Call, key: &str) -> bool {
    let asks = call.header("x-amz-bypass-governance-retention");
    asks.is_some_and(|text| text.eq_ignore_ascii_case("true"))
        && check(call, "s3:BypassGovernanceRetention", key).is_ok()
}
