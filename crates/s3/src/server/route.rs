//! Which operation a request wants: one table of methods, targets, parameters and headers.

use super::call::{S3Call, invalid_argument};
use super::fault::{FaultCode, S3Fault, S3Result};
use super::operations::buckets::create_bucket::create_bucket;
use super::operations::buckets::delete_bucket::delete_bucket;
use super::operations::buckets::list_buckets::{get_bucket_location, head_bucket, list_buckets};
use super::operations::configuration::acl::{get_bucket_acl, put_bucket_acl};
use super::operations::configuration::cors::{
    delete_bucket_cors, get_bucket_cors, put_bucket_cors,
};
use super::operations::configuration::legal_hold::{get_object_legal_hold, put_object_legal_hold};
use super::operations::configuration::lifecycle::{
    delete_bucket_lifecycle, get_bucket_lifecycle, put_bucket_lifecycle,
};
use super::operations::configuration::notification::{
    get_bucket_notification, put_bucket_notification,
};
use super::operations::configuration::object_lock::{get_object_lock, put_object_lock};
use super::operations::configuration::object_tagging::{
    delete_object_tagging, get_object_tagging, put_object_tagging,
};
use super::operations::configuration::ownership::{
    delete_bucket_ownership, get_bucket_ownership, put_bucket_ownership,
};
use super::operations::configuration::policy::{
    delete_bucket_policy, get_bucket_policy, get_bucket_policy_status, put_bucket_policy,
};
use super::operations::configuration::public_access_block::{
    delete_public_access_block, get_public_access_block, put_public_access_block,
};
use super::operations::configuration::retention::{get_object_retention, put_object_retention};
use super::operations::configuration::tagging::{
    delete_bucket_tagging, get_bucket_tagging, put_bucket_tagging,
};
use super::operations::configuration::unsupported::{get_bucket_website, not_implemented};
use super::operations::configuration::versioning::{get_bucket_versioning, put_bucket_versioning};
use super::operations::listing::list_objects::list_objects;
use super::operations::listing::list_versions::list_versions;
use super::operations::multipart::complete::complete_upload;
use super::operations::multipart::create::{abort_upload, create_upload};
use super::operations::multipart::list_parts::list_parts;
use super::operations::multipart::list_uploads::list_uploads;
use super::operations::multipart::upload_part::{upload_part, upload_part_copy};
use super::operations::objects::attributes::get_object_attributes;
use super::operations::objects::copy_object::copy_object;
use super::operations::objects::delete_object::{delete_object, delete_objects};
use super::operations::objects::get_object::get_object;
use super::operations::objects::post_object::post_object;
use super::operations::objects::put_object::put_object;
use super::reply::S3Reply;
use super::target::S3Target;
use http::{HeaderMap, Method};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

/// An answer that is being made.
pub(crate) type ReplyFuture = Pin<Box<dyn Future<Output = S3Result<S3Reply>>>>;

/// Runs an operation.
type Run = fn(Rc<S3Call>) -> ReplyFuture;

/// What a request is addressed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Service,
    Bucket,
    Object,
}

/// One row of the table. The first that fits counts.
pub(crate) struct S3Route {
    scope: Scope,
    method: &'static str,
    /// Parameters that the request has.
    parameters: &'static [&'static str],
    /// A header that the request has.
    header: Option<&'static str>,
    /// The operation as the API names it.
    pub(crate) operation: &'static str,
    /// The action of policies; that on a version follows it, where there is one.
    action: &'static str,
    version_action: Option<&'static str>,
    pub(crate) run: Run,
}

/// Rows: method, scope, parameters, header, operation, action, action on a version, function.
macro_rules! routes {
    ($($method:ident $scope:ident [$($parameter:literal)*] $($header:literal)? =>
        $operation:ident $action:literal $(| $version:literal)? $run:path;)*) => {
        &[$(S3Route {
            scope: Scope::$scope,
            method: stringify!($method),
            parameters: &[$($parameter),*],
            header: routes!(@option $($header)?),
            operation: stringify!($operation),
            action: $action,
            version_action: routes!(@option $($version)?),
            run: |call| Box::pin($run(call)),
        }),*]
    };
    (@option) => { None };
    (@option $value:literal) => { Some($value) };
}

static ROUTES: &[S3Route] = routes! {
    GET Service [] => ListBuckets "s3:ListAllMyBuckets" list_buckets;

    GET Bucket ["acl"] => GetBucketAcl "s3:GetBucketAcl" get_bucket_acl;
    PUT Bucket ["acl"] => PutBucketAcl "s3:PutBucketAcl" put_bucket_acl;
    GET Bucket ["cors"] => GetBucketCors "s3:GetBucketCORS" get_bucket_cors;
    PUT Bucket ["cors"] => PutBucketCors "s3:PutBucketCORS" put_bucket_cors;
    DELETE Bucket ["cors"] => DeleteBucketCors "s3:PutBucketCORS" delete_bucket_cors;
    GET Bucket ["lifecycle"] => GetBucketLifecycleConfiguration
        "s3:GetLifecycleConfiguration" get_bucket_lifecycle;
    PUT Bucket ["lifecycle"] => PutBucketLifecycleConfiguration
        "s3:PutLifecycleConfiguration" put_bucket_lifecycle;
    DELETE Bucket ["lifecycle"] =>
        DeleteBucketLifecycle "s3:PutLifecycleConfiguration" delete_bucket_lifecycle;
    GET Bucket ["notification"] => GetBucketNotificationConfiguration
        "s3:GetBucketNotification" get_bucket_notification;
    PUT Bucket ["notification"] => PutBucketNotificationConfiguration
        "s3:PutBucketNotification" put_bucket_notification;
    GET Bucket ["object-lock"] => GetObjectLockConfiguration
        "s3:GetBucketObjectLockConfiguration" get_object_lock;
    PUT Bucket ["object-lock"] => PutObjectLockConfiguration
        "s3:PutBucketObjectLockConfiguration" put_object_lock;
    GET Bucket ["ownershipControls"] => GetBucketOwnershipControls
        "s3:GetBucketOwnershipControls" get_bucket_ownership;
    PUT Bucket ["ownershipControls"] => PutBucketOwnershipControls
        "s3:PutBucketOwnershipControls" put_bucket_ownership;
    DELETE Bucket ["ownershipControls"] => DeleteBucketOwnershipControls
        "s3:PutBucketOwnershipControls" delete_bucket_ownership;
    GET Bucket ["policy"] => GetBucketPolicy "s3:GetBucketPolicy" get_bucket_policy;
    PUT Bucket ["policy"] => PutBucketPolicy "s3:PutBucketPolicy" put_bucket_policy;
    DELETE Bucket ["policy"] => DeleteBucketPolicy "s3:DeleteBucketPolicy" delete_bucket_policy;
    GET Bucket ["policyStatus"] =>
        GetBucketPolicyStatus "s3:GetBucketPolicyStatus" get_bucket_policy_status;
    GET Bucket ["publicAccessBlock"] => GetPublicAccessBlock
        "s3:GetBucketPublicAccessBlock" get_public_access_block;
    PUT Bucket ["publicAccessBlock"] => PutPublicAccessBlock
        "s3:PutBucketPublicAccessBlock" put_public_access_block;
    DELETE Bucket ["publicAccessBlock"] => DeletePublicAccessBlock
        "s3:PutBucketPublicAccessBlock" delete_public_access_block;
    GET Bucket ["tagging"] => GetBucketTagging "s3:GetBucketTagging" get_bucket_tagging;
    PUT Bucket ["tagging"] => PutBucketTagging "s3:PutBucketTagging" put_bucket_tagging;
    DELETE Bucket ["tagging"] => DeleteBucketTagging "s3:PutBucketTagging" delete_bucket_tagging;
    GET Bucket ["versioning"] =>
        GetBucketVersioning "s3:GetBucketVersioning" get_bucket_versioning;
    PUT Bucket ["versioning"] =>
        PutBucketVersioning "s3:PutBucketVersioning" put_bucket_versioning;
    GET Bucket ["website"] => GetBucketWebsite "s3:GetBucketWebsite" get_bucket_website;
    PUT Bucket [] => CreateBucket "s3:CreateBucket" create_bucket;
    HEAD Bucket [] => HeadBucket "s3:ListBucket" head_bucket;
    DELETE Bucket [] => DeleteBucket "s3:DeleteBucket" delete_bucket;
    GET Bucket ["location"] => GetBucketLocation "s3:GetBucketLocation" get_bucket_location;
    GET Bucket ["uploads"] =>
        ListMultipartUploads "s3:ListBucketMultipartUploads" list_uploads;
    GET Bucket ["versions"] => ListObjectVersions "s3:ListBucketVersions" list_versions;
    GET Bucket ["list-type"] => ListObjectsV2 "s3:ListBucket" list_objects;
    GET Bucket [] => ListObjects "s3:ListBucket" list_objects;
    POST Bucket ["delete"] => DeleteObjects "" delete_objects;
    POST Bucket [] => PostObject "" post_object;

    GET Object ["acl"] => GetObjectAcl "s3:GetObjectAcl" not_implemented;
    PUT Object ["acl"] => PutObjectAcl "s3:PutObjectAcl" not_implemented;
    POST Object ["restore"] => RestoreObject "s3:RestoreObject" not_implemented;
    POST Object ["select"] => SelectObjectContent "s3:GetObject" not_implemented;
    GET Object ["legal-hold"] =>
        GetObjectLegalHold "s3:GetObjectLegalHold" get_object_legal_hold;
    PUT Object ["legal-hold"] =>
        PutObjectLegalHold "s3:PutObjectLegalHold" put_object_legal_hold;
    GET Object ["retention"] =>
        GetObjectRetention "s3:GetObjectRetention" get_object_retention;
    PUT Object ["retention"] =>
        PutObjectRetention "s3:PutObjectRetention" put_object_retention;
    GET Object ["tagging"] => GetObjectTagging
        "s3:GetObjectTagging" | "s3:GetObjectVersionTagging" get_object_tagging;
    PUT Object ["tagging"] => PutObjectTagging
        "s3:PutObjectTagging" | "s3:PutObjectVersionTagging" put_object_tagging;
    DELETE Object ["tagging"] => DeleteObjectTagging
        "s3:DeleteObjectTagging" | "s3:DeleteObjectVersionTagging" delete_object_tagging;
    HEAD Object [] => HeadObject "s3:GetObject" | "s3:GetObjectVersion" get_object;
    GET Object ["attributes"] => GetObjectAttributes
        "s3:GetObjectAttributes" | "s3:GetObjectVersionAttributes" get_object_attributes;
    GET Object ["uploadId"] => ListParts "s3:ListMultipartUploadParts" list_parts;
    GET Object [] => GetObject "s3:GetObject" | "s3:GetObjectVersion" get_object;
    DELETE Object ["uploadId"] => AbortMultipartUpload "s3:AbortMultipartUpload" abort_upload;
    DELETE Object [] =>
        DeleteObject "s3:DeleteObject" | "s3:DeleteObjectVersion" delete_object;
    POST Object ["uploads"] => CreateMultipartUpload "s3:PutObject" create_upload;
    POST Object ["uploadId"] => CompleteMultipartUpload "s3:PutObject" complete_upload;
    PUT Object ["partNumber" "uploadId"] "x-amz-copy-source" =>
        UploadPartCopy "s3:PutObject" upload_part_copy;
    PUT Object ["partNumber" "uploadId"] => UploadPart "s3:PutObject" upload_part;
    PUT Object [] "x-amz-copy-source" => CopyObject "s3:PutObject" copy_object;
    PUT Object [] => PutObject "s3:PutObject" put_object;
};

/// Parameters that select something of a bucket or an object. Those without a row are not implemented.
const SUBRESOURCES: [&str; 32] = [
    "accelerate",
    "acl",
    "analytics",
    "attributes",
    "cors",
    "delete",
    "encryption",
    "intelligent-tiering",
    "inventory",
    "legal-hold",
    "lifecycle",
    "location",
    "logging",
    "metadataConfiguration",
    "metadataTable",
    "metrics",
    "notification",
    "object-lock",
    "ownershipControls",
    "policy",
    "policyStatus",
    "publicAccessBlock",
    "replication",
    "requestPayment",
    "restore",
    "retention",
    "select",
    "tagging",
    "torrent",
    "uploads",
    "versioning",
    "website",
];

/// Finds the operation of a request.
///
/// # Errors
/// What is wrong with the combination.
pub(crate) fn find(
    method: &Method,
    target: &S3Target,
    headers: &HeaderMap,
) -> S3Result<&'static S3Route> {
    let scope = match (target.bucket.is_empty(), target.key.is_empty()) {
        (true, _) => Scope::Service,
        (false, true) => Scope::Bucket,
        (false, false) => Scope::Object,
    };
    let has = |name: &str| target.query.iter().any(|(known, _)| known == name);
    refuse_combinations(method, scope, &has, headers)?;
    let subresource = SUBRESOURCES.into_iter().find(|name| has(name));
    let fits = |route: &&S3Route| {
        route.scope == scope
            && route.method == method.as_str()
            && route.parameters.iter().all(|name| has(name))
            && route.header.is_none_or(|name| headers.contains_key(name))
            // What is asked of a sub-resource is not done to the whole.
            && subresource.is_none_or(|name| scope == Scope::Service || route.parameters.contains(&name))
    };
    if let Some(route) = ROUTES.iter().find(fits) {
        return Ok(route);
    }
    match subresource {
        Some(_) => Err(FaultCode::NotImplemented.into()),
        None => Err(method_not_allowed(method, "SERVICE")),
    }
}

/// The fault of a method that a resource does not have.
fn method_not_allowed(method: &Method, resource: &str) -> S3Fault {
    S3Fault::new(FaultCode::MethodNotAllowed)
        .with("Method", method.as_str())
        .with("ResourceType", resource)
}

/// Requests that mean nothing, with the words that S3 has for them.
fn refuse_combinations(
    method: &Method,
    scope: Scope,
    has: &dyn Fn(&str) -> bool,
    headers: &HeaderMap,
) -> S3Result<()> {
    let invalid = |words: &'static str| S3Fault::new(FaultCode::InvalidRequest).because(words);
    if let Some(source) = headers.get("x-amz-copy-source")
        && (*method != Method::PUT && *method != Method::OPTIONS)
        && (*method != Method::POST || has("uploadId"))
    {
        let words = "You can only specify a copy source header for copy requests.";
        let source = String::from_utf8_lossy(source.as_bytes());
        return Err(invalid_argument(words, "x-amz-copy-source", &source));
    }
    if scope != Scope::Object {
        return Ok(());
    }
    if *method == Method::GET && has("uploads") {
        return Err(invalid("Key is not expected for the GET method ?uploads subresource"));
    }
    if *method == Method::GET && has("versions") {
        let words = "There is no such thing as the ?versions sub-resource for a key";
        return Err(invalid(words));
    }
    if *method == Method::PUT && has("partNumber") && !has("uploadId") {
        let words = "This operation does not accept partNumber without uploadId";
        return Err(invalid_argument(words, "partNumber", "partNumber"));
    }
    if *method == Method::PUT && has("uploadId") && !has("partNumber") {
        return Err(method_not_allowed(method, "UPLOAD"));
    }
    Ok(())
}

impl S3Route {
    /// The action of policies for a request, which can be one on a version. Empty where the operation
    /// asks by itself.
    pub(crate) fn action(&self, has_version: bool) -> &'static str {
        let version = self.version_action.filter(|_| has_version);
        version.unwrap_or(self.action)
    }

    /// Whether the body may come in chunks with signatures.
    pub(crate) fn takes_chunks(&self) -> bool {
        matches!(self.operation, "PutObject" | "UploadPart")
    }

    /// Whether the operation copies content, and answers a document: that can come late.
    pub(crate) fn can_take_long(&self) -> bool {
        matches!(self.operation, "CompleteMultipartUpload" | "CopyObject" | "UploadPartCopy")
    }

    /// Whether the signature is in the body.
    pub(crate) fn has_form(&self) -> bool {
        self.operation == "PostObject"
    }

    /// Whether the operation needs no bucket that exists.
    pub(crate) fn is_without_bucket(&self) -> bool {
        self.scope == Scope::Service || self.operation == "CreateBucket"
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn operation(method: &str, uri: &str, header: Option<&'static str>) -> S3Result<&'static str> {
        let mut headers = HeaderMap::new();
        if let Some(name) = header {
            headers.insert(name, http::HeaderValue::from_static("x"));
        }
        let target = S3Target::read(&uri.parse().unwrap(), &headers, None).unwrap();
        find(&method.parse().unwrap(), &target, &headers).map(|route| route.operation)
    }

    #[test]
    fn requests_find_their_operation() {
        let check = |method: &str, uri: &str, expected: &str| {
            assert_eq!(operation(method, uri, None).unwrap(), expected, "{method} {uri}");
        };
        check("GET", "/", "ListBuckets");
        check("GET", "/bucket", "ListObjects");
        check("GET", "/bucket/?list-type=2&prefix=a", "ListObjectsV2");
        check("GET", "/bucket/key", "GetObject");
        check("GET", "/bucket/key?versionId=null", "GetObject");
        check("PUT", "/bucket/key?partNumber=1&uploadId=x", "UploadPart");
        check("PUT", "/bucket/key", "PutObject");
        check("POST", "/bucket?delete", "DeleteObjects");
        check("POST", "/bucket/key?uploads", "CreateMultipartUpload");
        let copy = operation("PUT", "/bucket/key", Some("x-amz-copy-source"));
        assert_eq!(copy.unwrap(), "CopyObject");
    }

    #[test]
    fn other_requests_are_refused() {
        let check = |method: &str, uri: &str, expected: FaultCode| {
            let fault = operation(method, uri, None).unwrap_err();
            assert_eq!(fault.code, expected, "{method} {uri}");
        };
        check("PUT", "/bucket?analytics&id=x", FaultCode::NotImplemented);
        check("GET", "/bucket?inventory", FaultCode::NotImplemented);
        check("GET", "/bucket/key?torrent", FaultCode::NotImplemented);
        check("POST", "/", FaultCode::MethodNotAllowed);
        check("POST", "/bucket/key", FaultCode::MethodNotAllowed);
        check("PATCH", "/bucket/key", FaultCode::MethodNotAllowed);
        check("PUT", "/bucket/key?uploadId=x", FaultCode::MethodNotAllowed);
        check("PUT", "/bucket/key?partNumber=1", FaultCode::InvalidArgument);
        check("GET", "/bucket/key?uploads", FaultCode::InvalidRequest);
        let copy = operation("GET", "/bucket/key", Some("x-amz-copy-source"));
        assert_eq!(copy.unwrap_err().code, FaultCode::InvalidArgument);
    }
}
