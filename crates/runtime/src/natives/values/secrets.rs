//! Secrets: random bytes, identifiers, hashes, authentication codes, passwords, and comparison in
//! constant time.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use hmac::{Hmac, KeyInit, Mac};
use runnel_store::{
    AT_ONCE, ClientNetwork, DATA_POOL, Error, GuessLimit, Kind, LONGEST_PASSWORD, Pool,
    fill_random, hash_password, password_matches,
};
use sha2::{Digest, Sha256, Sha512};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use subtle::ConstantTimeEq;

pub(crate) const NATIVES: [(&str, Native); 11] = [
    ("secureRandom", secure_random),
    ("uuid", uuid),
    ("digest", digest),
    ("authenticate", authenticate),
    ("isSecret", is_secret),
    ("passwordHash", password_hash),
    ("matchesPasswordHash", matches_password_hash),
    ("guessLimit", guess_limit),
    ("countGuess", count_guess),
    ("forgetGuesses", forget_guesses),
    ("accountsRevision", accounts_revision),
];

/// Random bytes that a program gets at once.
const MOST_RANDOM: f64 = 65_536.0;

/// How often sessions ended or began in this process: what a worker remembers of one holds as long as this
/// stays the same.
static ACCOUNTS_REVISION: AtomicU32 = AtomicU32::new(0);

/// `(whether to count another one)`: the revision of the sessions of this process.
fn accounts_revision(_: &Isolate, arguments: Arguments) -> Reply {
    let added = u32::from(arguments.boolean(1));
    let before = ACCOUNTS_REVISION.fetch_add(added, Ordering::SeqCst);
    Reply::Now(Given::Number(f64::from(before.wrapping_add(added))))
}

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

/// A number that seeds an engine's random numbers, which are for games and samples: 53 bits.
pub(crate) fn seed() -> f64 {
    let mut bytes = [0; 8];
    // Without the system's source, a seed that differs between processes is still worth having.
    if fill_random(&mut bytes).is_err() {
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
    attempt!(fill_random(&mut bytes));
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

/// The client of the request that the fiber answers.
fn asking_client(isolate: &Isolate) -> ClientNetwork {
    ClientNetwork::of(isolate.call().exchange.and_then(|exchange| exchange.client()))
}

/// `(name, guesses, seconds)`: a limit of wrong guesses, which workers share.
fn guess_limit(_: &Isolate, arguments: Arguments) -> Reply {
    let window = Duration::try_from_secs_f64(arguments.number(3)).unwrap_or_default();
    let limit = GuessLimit::shared(&arguments.text(1), arguments.number(2) as u32, window);
    Reply::Now(Given::Native(Rc::new(attempt!(limit))))
}

/// Whose guesses count: those of the client, or with `(…, …, true)` those of all.
fn guessing(isolate: &Isolate, arguments: Arguments) -> Option<ClientNetwork> {
    (!arguments.boolean(3)).then(|| asking_client(isolate))
}

/// `(limit, secret, whether of all clients)`: counts a guess; an error above the limit.
fn count_guess(isolate: &Isolate, arguments: Arguments) -> Reply {
    let limit = attempt!(arguments.held::<GuessLimit>("a limit of guesses"));
    attempt!(limit.count(arguments.bytes(2), guessing(isolate, arguments)));
    Reply::Now(Given::Nil)
}

/// `(limit, secret, whether of all clients, whether only the last one)`: forgets guesses.
fn forget_guesses(isolate: &Isolate, arguments: Arguments) -> Reply {
    let limit = attempt!(arguments.held::<GuessLimit>("a limit of guesses"));
    let (secret, client) = (arguments.bytes(2), guessing(isolate, arguments));
    match arguments.boolean(4) {
        true => limit.take_back(secret, client),
        false => limit.forget(secret, client),
    }
    Reply::Now(Given::Nil)
}

/// A password as a client sent it. Of one that is too long, as much as shows that.
fn password(arguments: Arguments) -> Vec<u8> {
    let bytes = arguments.bytes(1);
    bytes[..bytes.len().min(LONGEST_PASSWORD + 1)].to_vec()
}

/// `(password)`: its hash as a PHC string, with a salt of its own.
fn password_hash(isolate: &Isolate, arguments: Arguments) -> Reply {
    let (password, client) = (password(arguments), asking_client(isolate));
    Reply::later(async move { hash_password(password, client).await.map(Given::Text) })
}

/// `(password, hash)`: whether the hash was made of the password. Without a hash (no such user)
/// it takes as long as with one, so that a client cannot measure which users exist.
fn matches_password_hash(isolate: &Isolate, arguments: Arguments) -> Reply {
    let (password, client) = (password(arguments), asking_client(isolate));
    let hash = (!arguments.is_nil(2)).then(|| arguments.text(2));
    Reply::later(async move {
        password_matches(password, hash.as_deref(), client).await.map(Given::Boolean)
    })
}
