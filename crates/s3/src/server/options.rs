//! What a server of S3 is started with.

use std::fmt;

/// The region that clients ask for where they have no other.
pub const DEFAULT_REGION: &str = "us-east-1";

/// Options of an S3 server.
#[derive(Clone, Debug)]
pub struct S3ServiceOptions {
    /// Who may sign requests. Without users everybody may do everything, as `anonymous`.
    pub users: Vec<S3User>,
    /// The region of signatures and of buckets.
    pub region: String,
    /// The host name below which each bucket is a host (virtual-host style): `s3.example.org`
    /// also serves `photos.s3.example.org/cat.jpg`. Without it the first segment of the path is
    /// the bucket.
    pub host: Option<String>,
}

/// One key with its secret, and what its holder may do. Policies and ACLs of buckets can allow
/// more.
#[derive(Clone)]
pub struct S3User {
    /// The access key, which is also the owner of the buckets that the user makes.
    pub key: String,
    /// The secret that signs requests.
    pub secret: String,
    /// The buckets that the user may use; all when `None`.
    pub buckets: Option<Vec<String>>,
    /// Whether the user may read and list.
    pub read: bool,
    /// Whether the user may write and delete.
    pub write: bool,
    /// Whether the user owns every bucket. The first user is one unless another user is.
    pub admin: bool,
}

/// Without the secret.
impl fmt::Debug for S3User {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("S3User").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Default for S3ServiceOptions {
    fn default() -> Self {
        S3ServiceOptions { users: Vec::new(), region: DEFAULT_REGION.to_string(), host: None }
    }
}

impl S3User {
    /// A user of all buckets, who reads and writes.
    pub fn new(key: impl Into<String>, secret: impl Into<String>) -> Self {
        S3User {
            key: key.into(),
            secret: secret.into(),
            buckets: None,
            read: true,
            write: true,
            admin: false,
        }
    }
}
