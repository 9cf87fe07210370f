//! Secrets: random bytes, identifiers, hashes, authentication codes, passwords, and comparison in
//! constant time.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use hmac::{Hmac, KeyInit, Mac};
use runnel_store::{AT_ONCE, DATA_POOL, Error, Kind, Pool};
use sha2::{Digest, Sha256, Sha512};
use subtle::ConstantTimeEq;

pub(crate) const NATIVES: [(&str, Native); 7] = [
    ("secureRandom", secure_random),
    ("uuid", uuid),
    ("digest", digest),
    ("authenticate", authenticate),
    ("isSecret", is_secret),
    ("passwordHash", password_hash),
    ("matchesPasswordHash", matches_password_hash),
];

/// Random bytes that a program gets at once.
const MOST_RANDOM: f64 = 65_536.0;
/// Password hashes that wait for a thread: each takes 19 MiB while it is computed.
const QUEUE: usize = 256;
/// Bytes of a password.
const LONGEST_PASSWORD: usize = 4096;
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
static PASSWORD_POOL: Pool = Pool::new("password hashes", QUEUE);

/// Computes on a thread of a pool; only the fiber waits. The work's error is a message.
fn on_pool<T: Send + 'static>(
    pool: &'static Pool,
    give: fn(T) -> Given,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Reply {
    let work = move || work().map_err(|message| failed(&message));
    Reply::later(async move { pool.attempt(work).await.map(give) })
}

fn given_bytes(bytes: Vec<u8>) -> Given {
    Given::Bytes(bytes.into())
}

fn failed(message: &str) -> Error {
    Error::new(Kind::Failed, message)
}

/// Random bytes of the operating system.
fn fill(bytes: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(bytes)
        .map_err(|error| failed("the system gives no random bytes").with_detail(error.to_string()))
}

/// A number that seeds an engine's random numbers, which are for games and samples: 53 bits.
pub(crate) fn seed() -> f64 {
    let mut bytes = [0; 8];
    // Without the system's source, a seed that differs between processes is still worth having.
    if fill(&mut bytes).is_err() {
        use std::hash::{BuildHasher, RandomState};
        bytes = RandomState::new().hash_one(0).to_le_bytes();
    }
    (u64::from_le_bytes(bytes) >> 11) as f64
}

/// `(count)`: random bytes.
fn secure_random(_: &Isolate, arguments: Arguments) -> Reply {
    let count = arguments.number(1);
    if !(1.0..=MOST_RANDOM).contains(&count) || count.fract() != 0.0 {
        let message = format!("a number of random bytes is from 1 to {MOST_RANDOM}");
        return Reply::Failed(Error::new(Kind::Invalid, message));
    }
    let mut bytes = vec![0; count as usize];
    attempt!(fill(&mut bytes));
    Reply::Now(Given::Bytes(bytes.into()))
}

/// `(version)`: a UUID of version 4 or 7 (RFC 9562), as text.
fn uuid(_: &Isolate, arguments: Arguments) -> Reply {
    let uuid = match arguments.number(1) {
        7.0 => uuid::Uuid::now_v7(),
        _ => uuid::Uuid::new_v4(),
    };
    Reply::Now(Given::Text(uuid.hyphenated().to_string()))
}

/// A hash function that a program can name.
#[derive(Clone, Copy)]
enum HashFunction {
    Sha256,
    Sha512,
}

impl HashFunction {
    fn named_in(arguments: Arguments) -> HashFunction {
        if arguments.bytes(1) == b"sha512" { HashFunction::Sha512 } else { HashFunction::Sha256 }
    }

    fn digest(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            HashFunction::Sha256 => Sha256::digest(bytes).to_vec(),
            HashFunction::Sha512 => Sha512::digest(bytes).to_vec(),
        }
    }

    fn authenticate(self, key: &[u8], bytes: &[u8]) -> Result<Vec<u8>, String> {
        let wrong = |_| "the key cannot be used".to_string();
        Ok(match self {
            HashFunction::Sha256 => {
                let mac = Hmac::<Sha256>::new_from_slice(key).map_err(wrong)?;
                mac.chain_update(bytes).finalize().into_bytes().to_vec()
            }
            HashFunction::Sha512 => {
                let mac = Hmac::<Sha512>::new_from_slice(key).map_err(wrong)?;
                mac.chain_update(bytes).finalize().into_bytes().to_vec()
            }
        })
    }
}

/// `(hash function, bytes)`
fn digest(_: &Isolate, arguments: Arguments) -> Reply {
    let (hash, bytes) = (HashFunction::named_in(arguments), arguments.bytes(2));
    if bytes.len() <= AT_ONCE {
        return Reply::Now(Given::Bytes(hash.digest(bytes).into()));
    }
    let bytes = bytes.to_vec();
    on_pool(&DATA_POOL, given_bytes, move || Ok(hash.digest(&bytes)))
}

/// `(hash function, bytes, key)`: an HMAC.
fn authenticate(_: &Isolate, arguments: Arguments) -> Reply {
    let (hash, bytes, key) =
        (HashFunction::named_in(arguments), arguments.bytes(2), arguments.bytes(3));
    if key.is_empty() {
        let message = "the key is empty: anyone could make this code";
        return Reply::Failed(failed(message));
    }
    if bytes.len().max(key.len()) <= AT_ONCE {
        let code = attempt!(hash.authenticate(key, bytes).map_err(|message| failed(&message)));
        return Reply::Now(Given::Bytes(code.into()));
    }
    let (bytes, key) = (bytes.to_vec(), key.to_vec());
    on_pool(&DATA_POOL, given_bytes, move || hash.authenticate(&key, &bytes))
}

/// `(bytes, bytes)`: whether they are the same and not empty. How long it takes says nothing about
/// where they differ, only whether their lengths do.
fn is_secret(_: &Isolate, arguments: Arguments) -> Reply {
    let (one, other) = (arguments.bytes(1), arguments.bytes(2));
    Reply::Now(Given::Boolean(!one.is_empty() && bool::from(one.ct_eq(other))))
}

/// A password as a client sent it.
fn password(arguments: Arguments) -> Result<Vec<u8>, Error> {
    match arguments.bytes(1) {
        bytes if bytes.len() <= LONGEST_PASSWORD => Ok(bytes.to_vec()),
        _ => {
            let message = format!("a password has at most {LONGEST_PASSWORD} bytes");
            Err(Error::new(Kind::Invalid, message))
        }
    }
}

/// Argon2id with the parameters that OWASP recommends: 19 MiB, 2 passes, 1 lane.
fn hasher() -> Argon2<'static> {
    Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::DEFAULT)
}

/// `(password)`: its hash as a PHC string, with a salt of its own.
fn password_hash(_: &Isolate, arguments: Arguments) -> Reply {
    let password = attempt!(password(arguments));
    if password.is_empty() {
        return Reply::Failed(Error::new(Kind::Invalid, "the password is empty"));
    }
    let mut salt = [0; SALT];
    attempt!(fill(&mut salt));
    on_pool(&PASSWORD_POOL, Given::Text, move || {
        let hash = hasher().hash_password_with_salt(&password, &salt);
        hash.map(|hash| hash.to_string())
            .map_err(|error| format!("the password cannot be hashed: {error}"))
    })
}

/// `(password, hash)`: whether the hash was made of the password. Without a hash (no such user)
/// it takes as long as with one, so that a client cannot measure which users exist.
fn matches_password_hash(_: &Isolate, arguments: Arguments) -> Reply {
    let password = attempt!(password(arguments));
    if arguments.is_nil(2) || arguments.bytes(2).is_empty() {
        return on_pool(&PASSWORD_POOL, Given::Boolean, move || {
            let _ = hasher().hash_password_with_salt(&password, &[0; SALT]);
            Ok(false)
        });
    }
    if arguments.bytes(2).len() > LONGEST_HASH {
        return Reply::Failed(unknown_hash("it is too long"));
    }
    let hash = attempt!(PasswordHash::new(&arguments.text(2)).map_err(|_| {
        unknown_hash("it is not of the form $argon2id$v=19$m=…,t=…,p=…$salt$hash")
    }));
    attempt!(admit(&hash));
    on_pool(&PASSWORD_POOL, Given::Boolean, move || {
        let matches = hasher().verify_password(&password, &hash).is_ok();
        Ok(matches && !password.is_empty())
    })
}

/// Refuses a hash whose verification would cost more than the limits: a hash that an attacker wrote
/// into the database must not take the server's memory.
fn admit(hash: &PasswordHash) -> Result<(), Error> {
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
    failed(&format!("this password hash cannot be verified: {why}"))
}
