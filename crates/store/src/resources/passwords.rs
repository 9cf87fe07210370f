//! Password hashes (Argon2, RFC 9106) on a bounded pool of threads, which clients share fairly.

use crate::resources::client_network::ClientNetwork;
use crate::resources::fair_pool::FairPool;
use crate::resources::random::fill_random;
use crate::{Error, Kind, Result};
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};

/// Password hashes that wait for a thread: each takes 19 MiB while it is computed.
const QUEUE: usize = 256;
/// Bytes of a password.
pub const LONGEST_PASSWORD: usize = 4096;
/// Bytes of salt: the recommendation of RFC 9106 section 3.1.
const SALT: usize = 16;
/// Parameters that a hash to be verified may ask for: memory in KiB, passes, lanes. The first
/// recommendation for memory-constrained systems of RFC 9106 (64 MiB, 3 passes, 4 lanes) fits.
const MOST_MEMORY: u32 = 65_536;
const MOST_PASSES: u32 = 10;
const MOST_LANES: u32 = 16;
/// Bytes of the text of a password hash.
const LONGEST_HASH: usize = 512;

/// The threads of password hashes, apart from those of large contents: neither waits for the other.
static PASSWORD_POOL: FairPool = FairPool::new("password hashes", QUEUE);

/// Argon2id with the parameters that OWASP recommends: 19 MiB, 2 passes, 1 lane.
fn hasher() -> Argon2<'static> {
    Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::DEFAULT)
}

fn check_length(password: &[u8]) -> Result<()> {
    match password.len() <= LONGEST_PASSWORD {
        true => Ok(()),
        false => {
            let message = format!("a password has at most {LONGEST_PASSWORD} bytes");
            Err(Error::new(Kind::Invalid, message))
        }
    }
}

/// The hash of a password as a PHC string, with a salt of its own.
///
/// # Errors
/// [`Kind::Invalid`] for an empty password or one above [`LONGEST_PASSWORD`];
/// [`Kind::Unavailable`] when too many hashes of the client wait.
pub async fn hash_password(password: Vec<u8>, client: ClientNetwork) -> Result<String> {
    check_length(&password)?;
    if password.is_empty() {
        return Err(Error::new(Kind::Invalid, "the password is empty"));
    }
    let mut salt = [0; SALT];
    fill_random(&mut salt)?;
    let work = move || {
        let hash = hasher().hash_password_with_salt(&password, &salt);
        hash.map(|hash| hash.to_string())
            .map_err(|error| format!("the password cannot be hashed: {error}"))
    };
    PASSWORD_POOL.attempt(client, work).await
}

/// Whether the hash was made of the password; never for an empty one. Without a hash (no such user)
/// it takes as long as with one, so that a client cannot measure which users exist.
///
/// # Errors
/// As [`check_password_hash`]; [`Kind::Invalid`] for a password above [`LONGEST_PASSWORD`];
/// [`Kind::Unavailable`] when too many hashes of the client wait.
pub async fn password_matches(
    password: Vec<u8>,
    hash: Option<&str>,
    client: ClientNetwork,
) -> Result<bool> {
    check_length(&password)?;
    let hash = match hash.filter(|hash| !hash.is_empty()) {
        Some(hash) => Some(parse(hash)?),
        None => None,
    };
    let work = move || {
        let Some(hash) = hash else {
            let _ = hasher().hash_password_with_salt(&password, &[0; SALT]);
            return Ok(false);
        };
        let matches = hasher().verify_password(&password, &hash).is_ok();
        Ok(matches && !password.is_empty())
    };
    PASSWORD_POOL.attempt(client, work).await
}

/// Checks that a hash can be verified: Argon2, within the limits.
///
/// # Errors
/// [`Kind::Failed`] with the reason; the message does not show the hash.
pub fn check_password_hash(hash: &str) -> Result<()> {
    parse(hash).map(drop)
}

fn parse(hash: &str) -> Result<PasswordHash> {
    if hash.len() > LONGEST_HASH {
        return Err(unknown_hash("it is too long"));
    }
    let parsed = PasswordHash::new(hash);
    let parsed = parsed
        .map_err(|_| unknown_hash("it is not of the form $argon2id$v=19$m=…,t=…,p=…$salt$hash"))?;
    admit(&parsed)?;
    Ok(parsed)
}

/// Refuses a hash whose verification would cost more than the limits: a hash that an attacker wrote
/// into the database must not take the server's memory.
fn admit(hash: &PasswordHash) -> Result<()> {
    if !hash.algorithm.as_str().starts_with("argon2") {
        return Err(unknown_hash("only argon2id, argon2i and argon2d are known"));
    }
    let params = Params::try_from(hash).map_err(|_| unknown_hash("its parameters are wrong"))?;
    let costs = params.m_cost() <= MOST_MEMORY
        && params.t_cost() <= MOST_PASSES
        && params.p_cost() <= MOST_LANES;
    if costs && hash.salt.is_some() && hash.hash.is_some() {
        return Ok(());
    }
    Err(unknown_hash(&format!(
        "it must have a salt and a hash, and at most m={MOST_MEMORY}, t={MOST_PASSES}, \
         p={MOST_LANES}"
    )))
}

fn unknown_hash(why: &str) -> Error {
    Error::new(Kind::Failed, format!("this password hash cannot be verified: {why}"))
}
