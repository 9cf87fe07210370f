//! What a request is refused with: the codes of S3 with their status and words.
//!
//! Source: Amazon S3 API reference, "Error responses".

use http::{Method, StatusCode};
use runnel_http::log_permit;
use std::borrow::Cow;

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct S3Fault {
    pub(crate) code: FaultCode,
    /// Words for this case, where those of the code do not say enough.
    pub(crate) message: Cow<'static, str>,
    /// Further elements of the answer, in order: `BucketName`, `Key`, `ArgumentValue`, ….
    pub(crate) details: Vec<(&'static str, String)>,
    /// Why the server failed: for the log only.
    pub(crate) cause: Option<String>,
}

/// The answer of an operation.
pub(crate) type S3Result<T> = Result<T, S3Fault>;

impl S3Fault {
    /// The fault of a code in its own words.
    pub(crate) fn new(code: FaultCode) -> Self {
        let message = Cow::Borrowed(code.message());
        S3Fault { code, message, details: Vec::new(), cause: None }
    }

    /// Says it in other words.
    pub(crate) fn because(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.message = message.into();
        self
    }

    /// Adds an element to the answer.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.details.push((name, value.into()));
        self
    }

    /// Logs a failure of the server with its cause. What clients do wrong is theirs to read.
    pub(crate) fn log(&self, method: &Method, path: &str, id: &str) {
        let is_ours = self.cause.is_some() || self.code == FaultCode::InternalError;
        if !is_ours {
            return;
        }
        if let Some(left_out) = log_permit(self.code.status()) {
            let (code, error) = (self.code.name(), self.cause.as_deref().unwrap_or_default());
            tracing::error!(%method, %path, id, code, error, left_out, "a request failed");
        }
    }
}

impl From<FaultCode> for S3Fault {
    fn from(code: FaultCode) -> Self {
        S3Fault::new(code)
    }
}

/// One row a code: its name in answers, its status and its words.
macro_rules! codes {
    ($($code:ident $(as $name:literal)? $status:literal $message:literal)*) => {
        /// The codes of refused requests.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum FaultCode { $($code),* }

        impl FaultCode {
            /// The text in the element `Code`.
            pub(crate) fn name(self) -> &'static str {
                match self { $(FaultCode::$code => codes!(@name $code $($name)?)),* }
            }

            fn message(self) -> &'static str {
                match self { $(FaultCode::$code => $message),* }
            }

            /// The status of the answer.
            pub(crate) fn status(self) -> StatusCode {
                let status: u16 = match self { $(FaultCode::$code => $status),* };
                StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    };
    (@name $code:ident) => { stringify!($code) };
    (@name $code:ident $name:literal) => { $name };
}

codes! {
    AccessControlListNotSupported 400 "The bucket does not allow ACLs."
    AccessDenied 403 "Access Denied."
    AccessForbidden 403 "CORSResponse: This CORS request is not allowed. This is usually because the evalution of \
        Origin, request method / Access-Control-Request-Method or Access-Control-Request-Headers are not \
        whitelisted by the resource's CORS spec."
    AuthorizationHeaderMalformed 400 "The authorization header that you provided is not valid."
    AuthorizationQueryParametersError 400 "Error parsing the X-Amz-Credential parameter."
    BadDigest 400 "The Content-MD5 you specified did not match what we received."
    BadRequest 400 "An error occurred when parsing the HTTP request."
    BucketAlreadyExists 409 "The requested bucket name is not available. The bucket name can not be an existing \
        collection, and the bucket namespace is shared by all users of the system. Please select a different name \
        and try again."
    BucketAlreadyOwnedByYou 409 "Your previous request to create the named bucket succeeded and you already own it."
    BucketNotEmpty 409 "The bucket you tried to delete is not empty."
    EntityTooLarge 400 "Your proposed upload exceeds the maximum allowed object size."
    EntityTooSmall 400 "Your proposed upload is smaller than the minimum allowed size"
    IllegalVersioningConfigurationException 400 "The versioning configuration specified in the request is invalid."
    IncompleteBody 400 "You did not provide the number of bytes specified by the Content-Length HTTP header"
    InsufficientStorage 507 "No space left on device."
    InternalError 500 "We encountered an internal error, please try again."
    InvalidAccessKeyId 403 "The AWS Access Key Id you provided does not exist in our records."
    InvalidArgument 400 "Invalid Argument"
    InvalidBucketAclWithObjectOwnership 400 "Bucket cannot have ACLs set with ObjectOwnership's \
        BucketOwnerEnforced setting"
    InvalidBucketName 400 "The specified bucket is not valid."
    InvalidBucketState 409 "The request is not valid with the current state of the bucket."
    InvalidChunkSizeError 400 "Only the last chunk is allowed to have a size less than 8192 bytes"
    InvalidDigest 400 "The Content-Md5 you specified is not valid."
    InvalidLocationConstraint 400 "The specified location-constraint is not valid"
    InvalidPart 400 "One or more of the specified parts could not be found.  The part may not have been uploaded, \
        or the specified entity tag may not match the part's entity tag."
    InvalidPartNumber 416 "The requested partnumber is not satisfiable."
    InvalidPartOrder 400 "The list of parts was not in ascending order. Parts must be ordered by part number."
    InvalidPolicyDocument 400 "The content of the form does not meet the conditions specified in the policy \
        document."
    InvalidRange 416 "The requested range is not satisfiable"
    InvalidRedirectLocation 400 "The website redirect location must have a prefix of 'http://' or 'https://' or \
        '/'."
    InvalidRequest 400 "Invalid Request."
    InvalidStorageClass 400 "The storage class you specified is not valid"
    InvalidTag 400 "The TagKey you have provided is invalid"
    InvalidToken 400 "The provided token is malformed or otherwise invalid."
    InvalidURI 400 "The specified URI couldn't be parsed."
    KeyTooLongError 400 "Your key is too long."
    MalformedACLError 400 "The XML you provided was not well-formed or did not validate against our published \
        schema."
    MalformedPOSTRequest 400 "The body of your POST request is not well-formed multipart/form-data."
    MalformedPolicy 400 "Policies must be valid JSON and the first byte must be '{'"
    MalformedTrailerError 400 "The request contained trailing data that was not well-formed or did not conform to \
        our published schema."
    MalformedXML 400 "The XML you provided was not well-formed or did not validate against our published schema."
    MaxMessageLengthExceeded 400 "Your request was too big."
    MaxPostPreDataLengthExceededError 400 "Your POST request fields preceding the upload file were too large."
    MetadataTooLarge 400 "Your metadata headers exceed the maximum allowed metadata size"
    MethodNotAllowed 405 "The specified method is not allowed against this resource."
    MissingContentLength 411 "You must provide the Content-Length HTTP header."
    MissingRequestBodyError 400 "Request Body is empty"
    MissingSecurityHeader 400 "Your request was missing a required header."
    NoSuchBucket 404 "The specified bucket does not exist."
    NoSuchBucketPolicy 404 "The bucket policy does not exist."
    NoSuchCORSConfiguration 404 "The CORS configuration does not exist"
    NoSuchKey 404 "The specified key does not exist."
    NoSuchLifecycleConfiguration 404 "The lifecycle configuration does not exist"
    NoSuchObjectLockConfiguration 404 "The specified object does not have a ObjectLock configuration."
    NoSuchPublicAccessBlockConfiguration 404 "The public access block configuration was not found"
    NoSuchTagSet 404 "The TagSet does not exist."
    NoSuchUpload 404 "The specified multipart upload does not exist. The upload ID may be invalid, or the upload \
        may have been aborted or completed."
    NoSuchVersion 404 "The specified version does not exist."
    NoSuchWebsiteConfiguration 404 "The specified bucket does not have a website configuration"
    NotImplemented 501 "A header you provided implies functionality that is not implemented."
    NotModified 304 "Not Modified"
    ObjectLockConfigurationNotFoundError 404 "Object Lock configuration does not exist for this bucket."
    OperationAborted 409 "A conflicting conditional operation is currently in progress against this resource. \
        Please try again."
    OwnershipControlsNotFoundError 404 "The bucket ownership controls were not found."
    PathOutside as "400" 400 "Bad Request"
    PreconditionFailed 412 "At least one of the pre-conditions you specified did not hold."
    RequestHeaderSectionTooLarge 400 "Your request header section exceeds the maximum allowed size."
    RequestTimeTooSkewed 403 "The difference between the request time and the current time is too large."
    RequestTimeout 400 "Your socket connection to the server was not read from or written to within the timeout \
        period."
    ServiceUnavailable 503 "Service is unable to handle request."
    SignatureDoesNotMatch 403 "The request signature we calculated does not match the signature you provided. \
        Check your key and signing method."
    SlowDown 503 "Please reduce your request rate."
    UnexpectedContent 400 "This request does not support content."
    XAmzContentSHA256Mismatch 400 "The provided 'x-amz-content-sha256' header does not match what was computed."
}
