//! Decides whether a request may go on: by the user's own rights, the policy of the bucket, its ACL and
//! its owner.
//!
//! The order, for a bucket that exists:
//! 1. A server without users, and a user who is admin: everything is allowed.
//! 2. A statement of the policy that denies: refused. Only the owner still manages the policy, because
//!    no other user could mend it.
//! 3. The owner; a user whose own rights cover the action; a statement that allows; a grant of the ACL.

use crate::server::bucket::acl::Permission;
use crate::server::bucket::policy::PolicyDecision;
use crate::server::bucket::record::BucketRecord;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::options::S3User;
use http::HeaderMap;
use runnel_text::moment::rfc3339;
use std::net::IpAddr;
use std::time::{SystemTime, UNIX_EPOCH};

/// What is asked, with the facts that conditions of policies can name.
#[derive(Clone, Copy)]
pub(crate) struct AccessQuestion<'a> {
    /// Whether the server has no users, so that everybody may do everything.
    pub(crate) is_open: bool,
    /// Who signed the request; `None` without a signature.
    pub(crate) user: Option<&'a S3User>,
    /// The operation as the API names it: `CopyObject`.
    pub(crate) operation: &'a str,
    /// The action of policies: `s3:PutObject`.
    pub(crate) action: &'a str,
    /// The bucket.
    pub(crate) bucket: &'a str,
    /// The key, where the action is one on an object.
    pub(crate) key: Option<&'a str>,
    /// The client.
    pub(crate) source: IpAddr,
    /// Whether the connection is encrypted.
    pub(crate) is_secure: bool,
    /// The header fields.
    pub(crate) headers: &'a HeaderMap,
    /// The decoded pairs of the query.
    pub(crate) query: &'a [(String, String)],
    /// Now.
    pub(crate) now: SystemTime,
}

/// Allows an action on a bucket, or on a key in it, or refuses it with `AccessDenied`.
pub(crate) fn authorize(question: &AccessQuestion<'_>, bucket: &BucketRecord) -> S3Result<()> {
    if question.is_root() {
        return Ok(());
    }
    if question.user.is_none() {
        check_anonymous(question.operation)?;
    }
    let is_owner = question.is_owner(bucket);
    let decision = question.policy_decision(bucket);
    if decision == PolicyDecision::Deny && !(is_owner && question.manages_policy()) {
        return Err(question.denied());
    }
    if is_owner || question.user.is_some_and(|user| question.has_own_right(user)) {
        return Ok(());
    }
    if decision == PolicyDecision::Allow && !is_restricted(bucket) {
        // Everybody may not manage a policy, whatever the policy says.
        return match question.user.is_none() && question.manages_policy() {
            true => Err(question.policy_not_allowed()),
            false => Ok(()),
        };
    }
    match question.acl_allows(bucket) {
        true => Ok(()),
        false => Err(FaultCode::AccessDenied.into()),
    }
}

/// Allows an action that concerns no bucket that exists: `s3:ListAllMyBuckets`, `s3:CreateBucket`.
pub(crate) fn authorize_service(question: &AccessQuestion<'_>) -> S3Result<()> {
    if question.is_root() {
        return Ok(());
    }
    let Some(user) = question.user else {
        check_anonymous(question.operation)?;
        return Err(FaultCode::AccessDenied.into());
    };
    let may = match question.action {
        "s3:CreateBucket" => user.write && may_use(user, question.bucket),
        _ => true,
    };
    if may { Ok(()) } else { Err(FaultCode::AccessDenied.into()) }
}

/// Refuses an operation that always needs a signature, where its actions are asked for later.
pub(crate) fn check_operation(question: &AccessQuestion<'_>) -> S3Result<()> {
    match question.is_root() || question.user.is_some() {
        true => Ok(()),
        false => check_anonymous(question.operation),
    }
}

/// Whether a requester who asks for it may override a retention in mode GOVERNANCE: an admin, the owner,
/// and everybody else with the permission.
pub(crate) fn may_bypass_governance(question: &AccessQuestion<'_>, bucket: &BucketRecord) -> bool {
    let question = AccessQuestion { action: "s3:BypassGovernanceRetention", ..*question };
    match question.policy_decision(bucket) {
        PolicyDecision::Deny => question.is_root(),
        PolicyDecision::Allow => !is_restricted(bucket) || question.is_root(),
        PolicyDecision::None => question.is_root() || question.is_owner(bucket),
    }
}

/// Refuses what always needs a signature, in S3's words.
fn check_anonymous(operation: &str) -> S3Result<()> {
    let words = match operation {
        "CreateBucket" | "PutBucketAcl" | "PutObjectAcl" | "SelectObjectContent" => {
            "Anonymous users cannot invoke this API. Please authenticate."
        }
        "CopyObject" => "Anonymous users cannot copy objects. Please authenticate.",
        "CreateMultipartUpload" => {
            "Anonymous users cannot initiate multipart uploads. Please authenticate."
        }
        "GetBucketOwnershipControls" => {
            "s3:GetBucketOwnershipControls does not support Anonymous requests!"
        }
        "PutBucketOwnershipControls" | "DeleteBucketOwnershipControls" => {
            "s3:PutBucketOwnershipControls does not support Anonymous requests!"
        }
        "ListBuckets" | "UploadPartCopy" | "DeleteObjects" => {
            return Err(FaultCode::AccessDenied.into());
        }
        _ => return Ok(()),
    };
    Err(S3Fault::new(FaultCode::AccessDenied).because(words))
}

impl AccessQuestion<'_> {
    fn is_root(&self) -> bool {
        self.is_open || self.user.is_some_and(|user| user.admin)
    }

    fn is_owner(&self, bucket: &BucketRecord) -> bool {
        self.user.is_some_and(|user| user.key == bucket.owner)
    }

    fn policy_decision(&self, bucket: &BucketRecord) -> PolicyDecision {
        let Some(policy) = &bucket.policy else { return PolicyDecision::None };
        let user = self.user.map(|user| user.key.as_str());
        policy.decide(user, self.action, &self.resource(), &|key| self.fact(key))
    }

    fn resource(&self) -> String {
        match self.key {
            Some(key) => format!("{}/{key}", self.bucket),
            None => self.bucket.to_string(),
        }
    }

    /// The value of a key of a condition, in lower case.
    fn fact(&self, key: &str) -> Option<String> {
        let query = |name| {
            let pair = self.query.iter().find(|(known, _)| known == name);
            pair.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
        };
        let header = |name: &str| Some(self.headers.get(name)?.to_str().ok()?.to_string());
        let since = self.now.duration_since(UNIX_EPOCH).unwrap_or_default();
        match key {
            "aws:sourceip" => Some(self.source.to_canonical().to_string()),
            "aws:securetransport" => Some(self.is_secure.to_string()),
            "aws:currenttime" => Some(rfc3339(i64::try_from(since.as_secs()).ok()? * 1_000_000)),
            "aws:epochtime" => Some(since.as_secs().to_string()),
            "aws:useragent" => header("user-agent"),
            "aws:referer" => header("referer"),
            "aws:username" | "aws:userid" => self.user.map(|user| user.key.clone()),
            "aws:principalarn" => self.user.map(|user| format!("arn:aws:iam:::user/{}", user.key)),
            "aws:principaltype" => {
                Some(if self.user.is_some() { "User" } else { "Anonymous" }.to_string())
            }
            "s3:prefix" => query("prefix"),
            "s3:delimiter" => query("delimiter"),
            "s3:max-keys" => query("max-keys"),
            "s3:versionid" => query("versionId"),
            "s3:signatureversion" => self.user.map(|_| "AWS4-HMAC-SHA256".to_string()),
            "s3:authtype" => self.user.map(|_| {
                let is_presigned = query("X-Amz-Signature").is_some();
                if is_presigned { "REST-QUERY-STRING" } else { "REST-HEADER" }.to_string()
            }),
            "s3:object-lock-mode" => header("x-amz-object-lock-mode"),
            "s3:object-lock-legal-hold" => header("x-amz-object-lock-legal-hold"),
            _ => header(key.strip_prefix("s3:").filter(|name| name.starts_with("x-amz-"))?),
        }
    }

    fn manages_policy(&self) -> bool {
        matches!(self.action, "s3:GetBucketPolicy" | "s3:PutBucketPolicy" | "s3:DeleteBucketPolicy")
    }

    /// Whether the rights that the server's options give a user cover the action: objects and lists of
    /// the user's buckets, but not how a bucket is configured.
    fn has_own_right(&self, user: &S3User) -> bool {
        may_use(user, self.bucket)
            && match permission_of(self.action) {
                Some((Permission::Read, _)) => user.read,
                Some((Permission::Write, _)) => user.write,
                _ => false,
            }
    }

    fn acl_allows(&self, bucket: &BucketRecord) -> bool {
        let Some((permission, for_everybody)) = permission_of(self.action) else { return false };
        let user = self.user.map(|user| user.key.as_str());
        bucket.has_acls()
            && (user.is_some() || for_everybody)
            && bucket.acl.allows(user, permission, bucket.public_access_block.as_ref())
    }

    fn denied(&self) -> S3Fault {
        let Some(user) = self.user else { return FaultCode::AccessDenied.into() };
        S3Fault::new(FaultCode::AccessDenied).because(format!(
            "User: {} is not authorized to perform: {} on resource: \"arn:aws:s3:::{}\" with an \
             explicit deny in a resource-based policy",
            user.key,
            self.action,
            self.resource()
        ))
    }

    fn policy_not_allowed(&self) -> S3Fault {
        let method = match self.action {
            "s3:PutBucketPolicy" => "PUT",
            "s3:DeleteBucketPolicy" => "DELETE",
            _ => "GET",
        };
        S3Fault::new(FaultCode::MethodNotAllowed)
            .with("Method", method)
            .with("ResourceType", "BUCKETPOLICY")
    }
}

/// Whether a public policy allows nothing, because the bucket restricts public access.
fn is_restricted(bucket: &BucketRecord) -> bool {
    let restricts = bucket.public_access_block.is_some_and(|block| block.restrict_public_buckets);
    restricts && bucket.policy.as_ref().is_some_and(|policy| policy.is_public())
}

fn may_use(user: &S3User, bucket: &str) -> bool {
    user.buckets.as_ref().is_none_or(|buckets| buckets.iter().any(|name| name == bucket))
}

/// The permission of ACLs that covers an action, and whether everybody can be granted it.
fn permission_of(action: &str) -> Option<(Permission, bool)> {
    Some(match action {
        "s3:ListBucket"
        | "s3:ListBucketVersions"
        | "s3:ListBucketMultipartUploads"
        | "s3:GetObject"
        | "s3:GetObjectAttributes" => (Permission::Read, true),
        "s3:GetObjectVersion"
        | "s3:GetObjectVersionAttributes"
        | "s3:GetObjectTagging"
        | "s3:GetObjectVersionTagging"
        | "s3:GetObjectRetention"
        | "s3:GetObjectLegalHold"
        | "s3:ListMultipartUploadParts"
        | "s3:GetBucketLocation"
        | "s3:GetBucketVersioning"
        | "s3:GetBucketTagging"
        | "s3:GetBucketObjectLockConfiguration" => (Permission::Read, false),
        "s3:PutObject" | "s3:DeleteObject" => (Permission::Write, true),
        "s3:DeleteObjectVersion"
        | "s3:AbortMultipartUpload"
        | "s3:PutObjectTagging"
        | "s3:PutObjectVersionTagging"
        | "s3:DeleteObjectTagging"
        | "s3:DeleteObjectVersionTagging"
        | "s3:PutObjectRetention"
        | "s3:PutObjectLegalHold"
        | "s3:RestoreObject" => (Permission::Write, false),
        "s3:GetBucketAcl" => (Permission::ReadAcp, false),
        "s3:GetObjectAcl" => (Permission::ReadAcp, true),
        "s3:PutBucketAcl" | "s3:PutObjectAcl" => (Permission::WriteAcp, false),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::bucket::acl::AccessControlList;
    use crate::server::bucket::ownership::ObjectOwnership;
    use crate::server::bucket::policy::BucketPolicy;
    use crate::server::bucket::public_access_block::PublicAccessBlock;
    use std::net::Ipv4Addr;

    fn user(key: &str) -> S3User {
        S3User { read: false, write: false, ..S3User::new(key, "secret") }
    }

    fn ask(user: Option<&S3User>, action: &str, record: &BucketRecord) -> S3Result<()> {
        let headers = HeaderMap::new();
        let key = action.contains("Object").then_some("x");
        let operation = action.trim_start_matches("s3:");
        authorize(&question(user, operation, action, key, &headers), record)
    }

    fn question<'a>(
        user: Option<&'a S3User>,
        operation: &'a str,
        action: &'a str,
        key: Option<&'a str>,
        headers: &'a HeaderMap,
    ) -> AccessQuestion<'a> {
        AccessQuestion {
            is_open: false,
            user,
            operation,
            action,
            bucket: "b",
            key,
            source: Ipv4Addr::LOCALHOST.into(),
            is_secure: false,
            headers,
            query: &[],
            now: UNIX_EPOCH,
        }
    }

    fn with_policy(effect: &str, principal: &str, action: &str) -> BucketRecord {
        let text = format!(
            r#"{{"Statement":{{"Effect":"{effect}","Principal":"{principal}","Action":"{action}",
            "Resource":["arn:aws:s3:::b","arn:aws:s3:::b/*"]}}}}"#
        );
        let mut record = BucketRecord::new("owner", 0);
        record.policy = Some(BucketPolicy::stored(&text).unwrap());
        record
    }

    #[test]
    fn owners_and_admins_may() {
        let record = BucketRecord::new("owner", 0);
        let admin = S3User { admin: true, ..user("root") };
        for action in ["s3:GetObject", "s3:PutBucketPolicy", "s3:DeleteBucket"] {
            assert!(ask(Some(&user("owner")), action, &record).is_ok());
            assert!(ask(Some(&admin), action, &record).is_ok());
            assert!(ask(Some(&user("other")), action, &record).is_err());
            assert!(ask(None, action, &record).is_err());
        }
    }

    #[test]
    fn own_rights_cover_objects() {
        let record = BucketRecord::new("owner", 0);
        let reader = S3User { read: true, ..user("reader") };
        assert!(ask(Some(&reader), "s3:GetObject", &record).is_ok());
        assert!(ask(Some(&reader), "s3:PutObject", &record).is_err());
        assert!(ask(Some(&reader), "s3:PutBucketPolicy", &record).is_err());
        let elsewhere = S3User { buckets: Some(vec!["c".into()]), ..reader };
        assert!(ask(Some(&elsewhere), "s3:GetObject", &record).is_err());
    }

    #[test]
    fn policies_allow_and_deny() {
        let record = with_policy("Allow", "other", "s3:GetObject");
        assert!(ask(Some(&user("other")), "s3:GetObject", &record).is_ok());
        assert!(ask(Some(&user("other")), "s3:PutObject", &record).is_err());
        assert!(ask(None, "s3:GetObject", &record).is_err());
        let record = with_policy("Deny", "*", "s3:*");
        let fault = ask(Some(&user("owner")), "s3:GetObject", &record).unwrap_err();
        let words = "User: owner is not authorized to perform: s3:GetObject on resource: \
            \"arn:aws:s3:::b/x\" with an explicit deny in a resource-based policy";
        assert_eq!(&*fault.message, words);
        assert!(ask(Some(&user("owner")), "s3:DeleteBucketPolicy", &record).is_ok());
        let admin = S3User { admin: true, ..user("root") };
        assert!(ask(Some(&admin), "s3:GetObject", &record).is_ok());
    }

    #[test]
    fn everybody_may_by_policy_or_acl() {
        let mut record = with_policy("Allow", "*", "s3:*");
        assert!(ask(None, "s3:GetObject", &record).is_ok());
        let fault = ask(None, "s3:GetBucketPolicy", &record).unwrap_err();
        assert_eq!(fault.code, FaultCode::MethodNotAllowed);
        let fault = ask(None, "s3:PutBucketOwnershipControls", &record).unwrap_err();
        assert!(fault.message.contains("does not support Anonymous"));
        record.public_access_block = Some(PublicAccessBlock {
            restrict_public_buckets: true,
            ..PublicAccessBlock::default()
        });
        assert!(ask(None, "s3:GetObject", &record).is_err());
        let mut record = BucketRecord::new("owner", 0);
        record.acl = AccessControlList::canned("public-read").unwrap();
        assert!(ask(None, "s3:GetObject", &record).is_err());
        record.ownership = Some(ObjectOwnership::ObjectWriter);
        assert!(ask(None, "s3:GetObject", &record).is_ok());
        assert!(ask(None, "s3:GetObjectTagging", &record).is_err());
        assert!(ask(None, "s3:PutObject", &record).is_err());
    }

    #[test]
    fn governance_is_bypassed_with_the_permission() {
        let headers = HeaderMap::new();
        let admin = S3User { admin: true, ..user("root") };
        let may = |user: &S3User, record: &BucketRecord| {
            let action = "s3:DeleteObject";
            let question = question(Some(user), "DeleteObject", action, Some("x"), &headers);
            may_bypass_governance(&question, record)
        };
        let plain = BucketRecord::new("owner", 0);
        assert!(may(&admin, &plain));
        assert!(may(&user("owner"), &plain));
        assert!(!may(&user("other"), &plain));
        let allowed = with_policy("Allow", "*", "s3:BypassGovernanceRetention");
        assert!(may(&user("other"), &allowed));
        let denied = with_policy("Deny", "*", "s3:BypassGovernanceRetention");
        assert!(!may(&user("owner"), &denied));
    }

    #[test]
    fn users_make_their_buckets() {
        let headers = HeaderMap::new();
        let may = |user: Option<&S3User>, operation: &str, action: &str| {
            authorize_service(&question(user, operation, action, None, &headers))
        };
        let writer = S3User { write: true, ..user("w") };
        assert!(may(Some(&writer), "CreateBucket", "s3:CreateBucket").is_ok());
        assert!(may(Some(&user("r")), "CreateBucket", "s3:CreateBucket").is_err());
        assert!(may(Some(&user("r")), "ListBuckets", "s3:ListAllMyBuckets").is_ok());
        let fault = may(None, "CreateBucket", "s3:CreateBucket").unwrap_err();
        assert!(fault.message.starts_with("Anonymous users cannot invoke"));
        assert_eq!(&*may(None, "ListBuckets", "").unwrap_err().message, "Access Denied.");
    }
}
