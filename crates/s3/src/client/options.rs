//! Where the server is, who asks, and how long that may take.

use std::rc::Rc;
use std::time::Duration;

/// How long it may take to reach the server.
pub const CONNECT_TIME: Duration = Duration::from_secs(10);

/// How long a request may take to be answered where its caller sets no deadline. What is sent with
/// it has time of its own: a second for each 64 KiB.
pub const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Looks a variable of the environment up.
pub type Variable = Rc<dyn Fn(&str) -> Option<String>>;

/// What is known of a server. Everything can be left out: then it is what the environment or the
/// profile says, as for Amazon's own tools.
#[derive(Clone)]
pub struct S3Options {
    /// The bucket, for [`crate::S3`]; the scheme takes it from the reference.
    pub bucket: Option<String>,
    /// The address of a server that is not Amazon's, such as `http://127.0.0.1:9000`; else
    /// `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL` or the profile's `endpoint_url`.
    pub endpoint: Option<String>,
    /// The region; else `AWS_REGION`, `AWS_DEFAULT_REGION`, the profile's, `us-east-1`.
    pub region: Option<String>,
    /// The access key; else `AWS_ACCESS_KEY_ID`, and then the other places (see [`crate::S3`]).
    pub key: Option<String>,
    /// The secret key, together with the access key.
    pub secret: Option<String>,
    /// The token of a session, for keys that are valid for a while.
    pub token: Option<String>,
    /// Whether the bucket stands in the path, not in the name of the host; else
    /// `AWS_S3_FORCE_PATH_STYLE`, and then whether there is an endpoint.
    pub path_style: Option<bool>,
    /// Looks a variable of the environment up; by default the process's.
    pub variable: Variable,
    /// How long it may take to reach the server: [`CONNECT_TIME`].
    pub connect_time: Duration,
    /// How long an answer may take, and each pause within it: [`ANSWER_TIME`].
    pub answer_time: Duration,
    /// Objects up to this size are read at once, in bytes; larger ones are streams. 1 MiB.
    pub collect: usize,
}

impl Default for S3Options {
    fn default() -> Self {
        S3Options {
            bucket: None,
            endpoint: None,
            region: None,
            key: None,
            secret: None,
            token: None,
            path_style: None,
            variable: Rc::new(|name| std::env::var(name).ok()),
            connect_time: CONNECT_TIME,
            answer_time: ANSWER_TIME,
            collect: 1024 * 1024,
        }
    }
}

impl S3Options {
    /// A variable that is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    /// Whether a variable says yes.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        let value = self.variable(name)?;
        Some(matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on"))
    }
}
