//! The actions that a policy can name.
//!
//! Source: Service authorization reference, "Actions, resources, and condition keys for Amazon S3".

use super::wildcard;

/// Every action of S3.
const ALL: &str = "s3:*";

/// Actions on objects, whose resource is a key.
const OBJECT_ACTIONS: [&str; 23] = [
    "s3:AbortMultipartUpload",
    "s3:BypassGovernanceRetention",
    "s3:DeleteObject",
    "s3:DeleteObjectTagging",
    "s3:DeleteObjectVersion",
    "s3:DeleteObjectVersionTagging",
    "s3:GetObject",
    "s3:GetObjectAcl",
    "s3:GetObjectAttributes",
    "s3:GetObjectLegalHold",
    "s3:GetObjectRetention",
    "s3:GetObjectTagging",
    "s3:GetObjectVersion",
    "s3:GetObjectVersionAttributes",
    "s3:GetObjectVersionTagging",
    "s3:ListMultipartUploadParts",
    "s3:PutObject",
    "s3:PutObjectAcl",
    "s3:PutObjectLegalHold",
    "s3:PutObjectRetention",
    "s3:PutObjectTagging",
    "s3:PutObjectVersionTagging",
    "s3:RestoreObject",
];

/// Actions on buckets.
const BUCKET_ACTIONS: [&str; 48] = [
    "s3:CreateBucket",
    "s3:DeleteBucket",
    "s3:DeleteBucketPolicy",
    "s3:DeleteBucketWebsite",
    "s3:GetAccelerateConfiguration",
    "s3:GetAnalyticsConfiguration",
    "s3:GetBucketAcl",
    "s3:GetBucketCORS",
    "s3:GetBucketLocation",
    "s3:GetBucketLogging",
    "s3:GetBucketNotification",
    "s3:GetBucketObjectLockConfiguration",
    "s3:GetBucketOwnershipControls",
    "s3:GetBucketPolicy",
    "s3:GetBucketPolicyStatus",
    "s3:GetBucketPublicAccessBlock",
    "s3:GetBucketRequestPayment",
    "s3:GetBucketTagging",
    "s3:GetBucketVersioning",
    "s3:GetBucketWebsite",
    "s3:GetEncryptionConfiguration",
    "s3:GetIntelligentTieringConfiguration",
    "s3:GetInventoryConfiguration",
    "s3:GetLifecycleConfiguration",
    "s3:GetMetricsConfiguration",
    "s3:GetReplicationConfiguration",
    "s3:ListBucket",
    "s3:ListBucketMultipartUploads",
    "s3:ListBucketVersions",
    "s3:PutAccelerateConfiguration",
    "s3:PutAnalyticsConfiguration",
    "s3:PutBucketAcl",
    "s3:PutBucketCORS",
    "s3:PutBucketLogging",
    "s3:PutBucketNotification",
    "s3:PutBucketObjectLockConfiguration",
    "s3:PutBucketOwnershipControls",
    "s3:PutBucketPolicy",
    "s3:PutBucketPublicAccessBlock",
    "s3:PutBucketRequestPayment",
    "s3:PutBucketTagging",
    "s3:PutBucketVersioning",
    "s3:PutBucketWebsite",
    "s3:PutEncryptionConfiguration",
    "s3:PutIntelligentTieringConfiguration",
    "s3:PutInventoryConfiguration",
    "s3:PutLifecycleConfiguration",
    "s3:PutMetricsConfiguration",
];

/// Whether a pattern stands for at least one action: `s3:Get*`.
pub(super) fn is_known(pattern: &str) -> bool {
    pattern == "*" || pattern.starts_with("s3:") && (is_object(pattern) || is_bucket(pattern))
}

/// What a pattern that is not for everything asks of the resources of its statement.
pub(super) enum ActionKind {
    /// Any resource will do.
    Any,
    /// A key, because the pattern stands for some action on objects.
    Object,
    /// A bucket.
    Bucket,
}

/// The resources that a pattern needs.
pub(super) fn kind(pattern: &str) -> ActionKind {
    match pattern {
        ALL | "*" => ActionKind::Any,
        _ if is_object(pattern) => ActionKind::Object,
        _ => ActionKind::Bucket,
    }
}

fn is_object(pattern: &str) -> bool {
    OBJECT_ACTIONS.iter().any(|action| wildcard::glob(pattern, action))
}

fn is_bucket(pattern: &str) -> bool {
    BUCKET_ACTIONS.iter().any(|action| wildcard::glob(pattern, action))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_actions() {
        for known in ["s3:*", "*", "s3:GetObject", "s3:Get*", "s3:Put*Tagging", "s3:GetObjec?"] {
            assert!(is_known(known), "{known}");
        }
        for unknown in [
            "",
            "s3",
            "s3:",
            "s4:GetObject",
            "ss3:ListBucket",
            "s3x:PutBucketAcl",
            ":GetObject",
            "s3::GetObject",
            "s3:GetObject:",
            "s3:*Obj??ect*",
            "s3:????",
            "s3:*:",
            "*GetObject",
            "???PutObject",
            "s3:Abort?",
            "s3:??Abort*",
        ] {
            assert!(!is_known(unknown), "{unknown}");
        }
    }
}
