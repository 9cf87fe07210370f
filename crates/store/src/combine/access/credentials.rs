//! Credentials of requests: Basic (RFC 7617) against password hashes, and Bearer tokens (RFC 6750).

use super::guesses::GuessLimit;
use crate::{
    Answer, ClientNetwork, Error, Kind, Result, check_password_hash, fill_random, password_matches,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::{FutureExt, LocalBoxFuture, Shared, WeakShared};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};
use subtle::ConstantTimeEq;

/// The shortest token: 16 characters of base 64 are 96 random bits.
pub(super) const SHORTEST_TOKEN: usize = 16;
/// The longest name of a user, realm or token, in bytes.
const LONGEST: usize = 1024;
/// Right passwords that are remembered by one guard and worker.
const REMEMBERED: usize = 256;

/// The digest of a name and a password, with a random key of the guard.
type PasswordDigest = [u8; 32];
/// A verification under way, which several requests wait for.
type Verification = Shared<LocalBoxFuture<'static, Result<bool>>>;

/// What a request offers.
pub(super) enum OfferedCredentials {
    Nothing,
    Basic { user: String, password: Vec<u8> },
    Bearer(String),
}

impl OfferedCredentials {
    /// Reads `Authorization`. What is malformed offers nothing.
    pub(super) fn read(field: Option<&str>) -> OfferedCredentials {
        let Some((scheme, rest)) = field.and_then(|field| field.trim().split_once(' ')) else {
            return OfferedCredentials::Nothing;
        };
        let rest = rest.trim();
        if scheme.eq_ignore_ascii_case("bearer") {
            return OfferedCredentials::Bearer(rest.to_string());
        }
        if !scheme.eq_ignore_ascii_case("basic") {
            return OfferedCredentials::Nothing;
        }
        let decoded = STANDARD.decode(rest).ok();
        let parts = decoded.as_ref().and_then(|pair| {
            let colon = pair.iter().position(|byte| *byte == b':')?;
            Some((std::str::from_utf8(&pair[..colon]).ok()?, &pair[colon + 1..]))
        });
        match parts {
            Some((user, password)) => {
                OfferedCredentials::Basic { user: user.to_string(), password: password.to_vec() }
            }
            None => OfferedCredentials::Nothing,
        }
    }
}

/// The users and tokens that a guard lets in.
pub(super) struct KnownCredentials {
    users: Vec<(String, String)>,
    tokens: Vec<String>,
    realm: String,
    remember: Duration,
    key: [u8; 32],
    /// When right passwords have to be verified again.
    remembered: RefCell<HashMap<PasswordDigest, Instant>>,
    verifications: RefCell<HashMap<PasswordDigest, WeakVerification>>,
    guesses: Rc<GuessLimit>,
}

type WeakVerification = WeakShared<LocalBoxFuture<'static, Result<bool>>>;

impl KnownCredentials {
    /// The credentials of users with their password hashes, and of tokens.
    ///
    /// # Errors
    /// [`Kind::Failed`] without random bytes of the system.
    pub(super) fn new(
        users: Vec<(String, String)>,
        tokens: Vec<String>,
        realm: String,
        remember: Duration,
    ) -> Result<KnownCredentials> {
        let mut key = [0; 32];
        fill_random(&mut key)?;
        Ok(KnownCredentials {
            users,
            tokens,
            realm,
            remember,
            key,
            remembered: RefCell::default(),
            verifications: RefCell::default(),
            guesses: Rc::new(GuessLimit::usual("passwords of guards")),
        })
    }

    pub(super) fn are_none(&self) -> bool {
        self.users.is_empty() && self.tokens.is_empty()
    }

    /// The values of `WWW-Authenticate`, one for each scheme.
    pub(super) fn challenges(&self, offered_token: bool) -> Vec<(String, String)> {
        let realm = &self.realm;
        let mut challenges = Vec::new();
        if !self.users.is_empty() {
            challenges.push(format!("Basic realm=\"{realm}\", charset=\"UTF-8\""));
        }
        if !self.tokens.is_empty() {
            let error = if offered_token { ", error=\"invalid_token\"" } else { "" };
            challenges.push(format!("Bearer realm=\"{realm}\"{error}"));
        }
        let named = |challenge| ("www-authenticate".to_string(), challenge);
        challenges.into_iter().map(named).collect()
    }

    /// Whether the credentials of a request are right.
    pub(super) fn know(
        self: &Rc<Self>,
        offered: OfferedCredentials,
        client: ClientNetwork,
    ) -> Answer<bool> {
        match offered {
            OfferedCredentials::Nothing => Answer::ok(false),
            OfferedCredentials::Bearer(token) => Answer::ok(self.know_token(&token)),
            OfferedCredentials::Basic { .. } if self.users.is_empty() => Answer::ok(false),
            OfferedCredentials::Basic { user, password } => {
                self.know_password(&user, password, client)
            }
        }
    }

    /// Compares with every token, in constant time.
    fn know_token(&self, token: &str) -> bool {
        let same = |known: &String| bool::from(known.as_bytes().ct_eq(token.as_bytes()));
        self.tokens.iter().fold(false, |found, known| same(known) | found)
    }

    fn digest(&self, user: &str, password: &[u8]) -> PasswordDigest {
        let mut digest = Sha256::new();
        digest.update(self.key);
        // Its length tells the name from the password.
        digest.update(user.len().to_le_bytes());
        digest.update(user);
        digest.update(password);
        digest.finalize().into()
    }

    fn know_password(
        self: &Rc<Self>,
        user: &str,
        password: Vec<u8>,
        client: ClientNetwork,
    ) -> Answer<bool> {
        let digest = self.digest(user, &password);
        let until = self.remembered.borrow().get(&digest).copied();
        if until.is_some_and(|until| until > Instant::now()) {
            return Answer::ok(true);
        }
        let (known, verification) =
            (self.clone(), self.verification(digest, user, password, client));
        Answer::later(async move {
            let is_right = verification.await?;
            if is_right {
                known.remember(digest);
            }
            Ok(is_right)
        })
    }

    /// The verification of a password: one, however many requests of a page wait for it.
    fn verification(
        &self,
        digest: PasswordDigest,
        user: &str,
        password: Vec<u8>,
        client: ClientNetwork,
    ) -> Verification {
        let mut verifications = self.verifications.borrow_mut();
        verifications.retain(|_, one| one.upgrade().is_some());
        if let Some(running) = verifications.get(&digest).and_then(WeakShared::upgrade) {
            return running;
        }
        let known = self.users.iter().find(|(name, _)| name == user);
        // An unknown user takes as long as a known one: another user's hash is verified.
        let hash = known.or(self.users.first()).map(|(_, hash)| hash.clone());
        let is_known = known.is_some();
        let (guesses, secret) = (self.guesses.clone(), (self.realm.clone(), user.to_string()));
        let verified = async move {
            guesses.count(&secret, Some(client))?;
            let is_right = password_matches(password, hash.as_deref(), client).await? && is_known;
            if is_right {
                guesses.forget(&secret, Some(client));
            }
            Ok(is_right)
        };
        let verification = verified.boxed_local().shared();
        if let Some(weak) = verification.downgrade() {
            verifications.insert(digest, weak);
        }
        verification
    }

    fn remember(&self, digest: PasswordDigest) {
        let now = Instant::now();
        let Some(until) = now.checked_add(self.remember) else { return };
        let mut remembered = self.remembered.borrow_mut();
        if remembered.len() >= REMEMBERED {
            remembered.retain(|_, until| *until > now);
        }
        if remembered.len() >= REMEMBERED {
            // All are verified again, which only costs time.
            remembered.clear();
        }
        if !self.remember.is_zero() {
            remembered.insert(digest, until);
        }
    }
}

/// Checks the name of a user: a colon would end it (RFC 7617 section 2).
pub(super) fn check_user(name: &str) -> std::result::Result<(), &'static str> {
    let good = !name.is_empty() && name.len() <= LONGEST;
    match good && !name.chars().any(|letter| letter == ':' || letter.is_control()) {
        true => Ok(()),
        false => Err("a name without `:`"),
    }
}

/// Checks the hash of a password.
pub(super) fn check_hash(hash: &str) -> Result<()> {
    match hash.is_empty() {
        true => Err(Error::new(Kind::Invalid, "the password hash is empty")),
        false => check_password_hash(hash),
    }
}

/// Whether a text can be a token (RFC 6750 section 2.1) that cannot be guessed.
pub(super) fn is_token(token: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    (SHORTEST_TOKEN..=LONGEST).contains(&token.len()) && token.bytes().all(allowed)
}

/// Whether a text can stand in quotes in a header.
pub(super) fn is_realm(realm: &str) -> bool {
    let allowed = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
    !realm.is_empty() && realm.len() <= LONGEST && realm.bytes().all(allowed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::hash_password;

    fn basic(user: &str, password: &str) -> OfferedCredentials {
        let field = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        OfferedCredentials::read(Some(&field))
    }

    fn known(users: &[(&str, &str)], tokens: &[&str], remember: u64) -> Rc<KnownCredentials> {
        let hash = |password: &str| {
            hash_password(password.as_bytes().to_vec(), ClientNetwork::UNKNOWN)
                .now_or_never()
                .unwrap()
                .unwrap()
        };
        let users = users.iter().map(|(user, password)| (user.to_string(), hash(password)));
        let tokens = tokens.iter().map(|token| token.to_string()).collect();
        let remember = Duration::from_secs(remember);
        let known = KnownCredentials::new(users.collect(), tokens, "r".into(), remember);
        Rc::new(known.unwrap())
    }

    /// Without an event loop a password is verified at once.
    fn lets_in(known: &Rc<KnownCredentials>, offered: OfferedCredentials) -> bool {
        known.know(offered, ClientNetwork::UNKNOWN).now_or_never().unwrap().unwrap()
    }

    #[test]
    fn passwords_and_tokens_are_known() {
        let known = known(&[("ann", "a:b"), ("bob", "secret")], &["0123456789abcdef"], 60);
        assert!(lets_in(&known, basic("ann", "a:b")));
        assert!(lets_in(&known, basic("bob", "secret")));
        for (user, password) in
            [("ann", "secret"), ("bob", ""), ("", "secret"), ("eve", "secret"), ("eve", "a:b")]
        {
            assert!(!lets_in(&known, basic(user, password)), "{user} {password}");
        }
        let read = |field| OfferedCredentials::read(Some(field));
        assert!(lets_in(&known, read("bearer 0123456789abcdef")));
        for field in
            ["Bearer 0123456789abcdeF", "Bearer ", "Bearer", "Basic !", "Basic YW5u", "Digest x"]
        {
            assert!(!lets_in(&known, read(field)), "{field}");
        }
        assert!(!lets_in(&known, OfferedCredentials::read(None)));
    }

    fn ask(known: &Rc<KnownCredentials>, user: &str, password: &str) -> Answer<bool> {
        known.know(basic(user, password), ClientNetwork::UNKNOWN)
    }

    #[test]
    fn wrong_passwords_of_a_client_are_limited() {
        let known = known(&[("dan", "secret")], &[], 0);
        let client = |number: u8| ClientNetwork::of(Some([127, 0, 0, number].into()));
        let asked = |number, password: &str| {
            known.know(basic("dan", password), client(number)).now_or_never().unwrap()
        };
        for _ in 0..super::super::guesses::GUESSES {
            assert!(!asked(1, "wrong").unwrap());
        }
        assert_eq!(asked(1, "secret").unwrap_err().kind, Kind::TooMany);
        assert!(asked(2, "secret").unwrap());
    }

    #[test]
    fn a_right_password_is_remembered_and_a_wrong_one_is_not() {
        let one = known(&[("ann", "secret")], &[], 60);
        assert!(lets_in(&one, basic("ann", "secret")));
        assert!(!lets_in(&one, basic("ann", "wrong")));
        assert!(!lets_in(&one, basic("eve", "secret")));
        assert_eq!(one.remembered.borrow().len(), 1);
        assert!(matches!(ask(&one, "ann", "secret"), Answer::Ready(Ok(true))));
        assert!(matches!(ask(&one, "ann", "wrong"), Answer::Later(_)));
        let forgetful = known(&[("ann", "secret")], &[], 0);
        assert!(lets_in(&forgetful, basic("ann", "secret")));
        assert!(matches!(ask(&forgetful, "ann", "secret"), Answer::Later(_)));
    }

    #[test]
    fn requests_with_the_same_password_wait_for_one_verification() {
        let known = known(&[("ann", "secret")], &[], 60);
        let (one, two) = (ask(&known, "ann", "secret"), ask(&known, "ann", "secret"));
        let other = ask(&known, "ann", "wrong");
        assert_eq!(known.verifications.borrow().len(), 2);
        drop(other);
        assert!(one.now_or_never().unwrap().unwrap() && two.now_or_never().unwrap().unwrap());
        drop(ask(&known, "ann", "another"));
        // What nobody waits for is gone.
        assert!(known.verifications.borrow().len() <= 1);
    }
}
