//! The users of a server, by their access keys.

use crate::server::options::S3User;
use crate::signature::key::SigningKey;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// Signing keys that are kept for each user: a presigned address may be a week old.
const KEPT_KEYS: usize = 8;

/// Who sent a request.
#[derive(Clone, Debug)]
pub(crate) enum Requester {
    /// A request without a signature, or any request to an open server.
    Anonymous,
    /// The holder of a key.
    User(Rc<S3User>),
}

impl Requester {
    /// The access key.
    pub(crate) fn key(&self) -> Option<&str> {
        match self {
            Requester::Anonymous => None,
            Requester::User(user) => Some(&user.key),
        }
    }
}

/// The users of a server in its region.
pub(crate) struct Users {
    by_key: HashMap<String, KnownUser>,
    region: String,
}

/// A user with the signing keys that were derived from the secret, the newest first.
pub(crate) struct KnownUser {
    pub(crate) user: Rc<S3User>,
    keys: RefCell<VecDeque<(String, SigningKey)>>,
}

impl Users {
    /// The users of a server. The first one is an administrator where no other is.
    pub(crate) fn new(users: &[S3User], region: &str) -> Users {
        let has_admin = users.iter().any(|user| user.admin);
        let known = users.iter().enumerate().map(|(index, user)| {
            let mut user = user.clone();
            user.admin |= index == 0 && !has_admin;
            let key = user.key.clone();
            (key, KnownUser { user: Rc::new(user), keys: RefCell::default() })
        });
        Users { by_key: known.collect(), region: region.to_string() }
    }

    /// Whether there are no users, so that everybody may do everything.
    pub(crate) fn is_open(&self) -> bool {
        self.by_key.is_empty()
    }

    /// The region of signatures.
    pub(crate) fn region(&self) -> &str {
        &self.region
    }

    /// The user of an access key.
    pub(crate) fn find(&self, key: &str) -> Option<&KnownUser> {
        self.by_key.get(key)
    }

    /// Every user.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Rc<S3User>> {
        self.by_key.values().map(|known| &known.user)
    }
}

impl KnownUser {
    /// The signing key of a date in the region of the server.
    pub(crate) fn signing_key(&self, date: &str, region: &str) -> SigningKey {
        let mut keys = self.keys.borrow_mut();
        if let Some((_, key)) = keys.iter().find(|(kept, _)| kept == date) {
            return key.clone();
        }
        let key = SigningKey::derive(&self.user.secret, date, region);
        keys.truncate(KEPT_KEYS - 1);
        keys.push_front((date.to_string(), key.clone()));
        key
    }
}
