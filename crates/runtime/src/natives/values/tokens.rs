//! Tokens: signatures of JSON Web Tokens, sealed and signed texts, one-time codes, names that may be
//! used once.

use super::used_once;
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use bytes::Bytes;
use runnel_jose::{
    CodeHash, KeyError, KeySet, LONGEST_TOKEN, OneTimeCode, SealKeys, SealMode, SignatureAlgorithm,
    SignatureKey, SignedToken, Verification, base32, base32_decoded,
};
use runnel_store::{DATA_POOL, Error, Kind};
use std::os::raw::c_int;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) const NATIVES: [(&str, Native); 11] = [
    ("tokenKeys", token_keys),
    ("signToken", sign_token),
    ("verifyToken", verify_token),
    ("publicKeys", public_keys),
    ("sealKeys", seal_keys),
    ("closeSeal", close_seal),
    ("openSeal", open_seal),
    ("useOnce", use_once),
    ("codeAt", code_at),
    ("findCode", find_code),
    ("base32", to_base32),
];

/// Keys that the program holds without looking inside; threads of a pool use them, too.
struct TokenKeys(Arc<KeySet>);

fn invalid(message: impl Into<String>) -> Error {
    Error::new(Kind::Invalid, message.into())
}

fn unusable(error: KeyError) -> Error {
    invalid(error.0)
}

/// The texts of a plain list.
fn texts(arguments: Arguments, at: c_int) -> Vec<Bytes> {
    let stack = arguments.0;
    let read = |position| {
        stack.get_element(at, position);
        let text = stack.copied_bytes(-1);
        stack.pop(1);
        text
    };
    (1..=stack.length(at)).map(read).collect()
}

/// Names of algorithms, with spaces between them.
fn algorithms(arguments: Arguments, at: c_int) -> Result<Vec<SignatureAlgorithm>, Error> {
    let named = |name: &str| {
        SignatureAlgorithm::named(name).ok_or_else(|| {
            let name: String = name.chars().take(20).collect();
            invalid(format!("there is no algorithm `{}`", name.escape_debug()))
        })
    };
    arguments.text(at).split_whitespace().map(named).collect()
}

/// `(list, algorithms)`: the keys of a list in which the kind of a key stands before its text: `secret`,
/// `pem`, `jwk`, `jwks`.
fn token_keys(_: &Isolate, arguments: Arguments) -> Reply {
    let allowed = attempt!(algorithms(arguments, 2));
    let list = texts(arguments, 1);
    let first = || match allowed[..] {
        [first, ..] => Ok(first),
        [] => Err(KeyError("the `algorithm` of the key is missing".into())),
    };
    let mut keys = Vec::new();
    for pair in list.chunks_exact(2) {
        let text = String::from_utf8_lossy(&pair[1]);
        let key = match &pair[0][..] {
            b"jwks" => return given_keys(KeySet::jwks(&text, &allowed)),
            b"jwk" => SignatureKey::jwk(&text, (!allowed.is_empty()).then_some(&allowed[..])),
            b"pem" => first().and_then(|algorithm| SignatureKey::pem(&text, algorithm)),
            _ => first().and_then(|algorithm| SignatureKey::secret(&pair[1], algorithm)),
        };
        keys.push(attempt!(key.map_err(unusable)));
    }
    given_keys(KeySet::new(keys))
}

fn given_keys(keys: Result<KeySet, KeyError>) -> Reply {
    let keys = attempt!(keys.map_err(unusable));
    Reply::Now(Given::Native(Rc::new(TokenKeys(Arc::new(keys)))))
}

/// `(keys, payload, type or nil)`: a signed token. Signatures of key pairs are made by a pool: with RSA
/// they take a millisecond.
fn sign_token(_: &Isolate, arguments: Arguments) -> Reply {
    let keys = attempt!(arguments.held::<TokenKeys>("keys")).0.clone();
    let payload = arguments.bytes(2).to_vec();
    let media_type = (!arguments.is_nil(3)).then(|| arguments.text(3));
    let is_symmetric = keys.algorithms().iter().all(|algorithm| algorithm.is_symmetric());
    let work = move || {
        let token = keys.sign(&payload, media_type.as_deref()).map_err(unusable)?;
        match token.len() <= LONGEST_TOKEN {
            true => Ok(token),
            false => Err(invalid(format!(
                "the token is too long: {} bytes, and at most {LONGEST_TOKEN}",
                token.len()
            ))),
        }
    };
    if is_symmetric {
        return work().map(Given::Text).into();
    }
    Reply::later(async move { DATA_POOL.attempt(work).await.map(Given::Text) })
}

/// `(keys, token, algorithms or '', type or nil)`: the payload; nil for an invalid token, false for one
/// that names another key.
fn verify_token(_: &Isolate, arguments: Arguments) -> Reply {
    let keys = attempt!(arguments.held::<TokenKeys>("keys")).0.clone();
    let mut allowed = attempt!(algorithms(arguments, 3));
    if allowed.is_empty() {
        allowed = keys.algorithms();
    }
    let media_type = (!arguments.is_nil(4)).then(|| arguments.text(4));
    let bytes = arguments.bytes(2);
    let Some(token) = SignedToken::parse(bytes) else { return Reply::Now(Given::Nil) };
    if !allowed.contains(&token.algorithm()) {
        return Reply::Now(Given::Nil);
    }
    if !keys.is_costly(&token) {
        return Reply::Now(verified(keys.verify(token, &allowed, media_type.as_deref())));
    }
    let bytes = bytes.to_vec();
    let work = move || {
        Ok(SignedToken::parse(&bytes).map_or(Verification::Invalid, |token| {
            keys.verify(token, &allowed, media_type.as_deref())
        }))
    };
    Reply::later(async move { DATA_POOL.attempt(work).await.map(verified) })
}

fn verified(verification: Verification) -> Given {
    match verification {
        Verification::Valid(payload) => Given::Bytes(payload.into()),
        Verification::Invalid => Given::Nil,
        Verification::UnknownKey => Given::Boolean(false),
    }
}

/// `(keys)`: the public ones as the JSON text of a set.
fn public_keys(_: &Isolate, arguments: Arguments) -> Reply {
    let keys = attempt!(arguments.held::<TokenKeys>("keys"));
    Reply::Now(Given::Text(keys.0.public_jwks()))
}

/// `(list of secrets, purpose)`
fn seal_keys(_: &Isolate, arguments: Arguments) -> Reply {
    let secrets = texts(arguments, 1);
    let secrets: Vec<&[u8]> = secrets.iter().map(|secret| &secret[..]).collect();
    let keys = attempt!(SealKeys::new(&secrets, &arguments.text(2)).map_err(unusable));
    Reply::Now(Given::Native(Rc::new(keys)))
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Whether the second argument asks for a readable text.
fn mode(arguments: Arguments) -> SealMode {
    if arguments.boolean(2) { SealMode::Signed } else { SealMode::Sealed }
}

/// `(keys, whether it is readable, JSON, seconds)`
fn close_seal(_: &Isolate, arguments: Arguments) -> Reply {
    let keys = attempt!(arguments.held::<SealKeys>("a seal"));
    let expiry = seconds_now().saturating_add(arguments.number(4).ceil() as u64);
    let text = keys.close(mode(arguments), &arguments.text(3), expiry);
    text.map(Given::Text).map_err(unusable).into()
}

/// `(keys, whether it is readable, text)`: the JSON, or nil.
fn open_seal(_: &Isolate, arguments: Arguments) -> Reply {
    let keys = attempt!(arguments.held::<SealKeys>("a seal"));
    let json = keys.open(mode(arguments), arguments.bytes(3), seconds_now());
    Reply::Now(json.map_or(Given::Nil, Given::Text))
}

/// `(name, seconds)`: whether it is the first use within that time, in all workers.
fn use_once(_: &Isolate, arguments: Arguments) -> Reply {
    let kept = Duration::try_from_secs_f64(arguments.number(2)).unwrap_or_default();
    Reply::Now(Given::Boolean(used_once::claim(arguments.bytes(1), kept)))
}

/// A function on the codes of a secret in base 32, with a hash and a number of digits.
fn codes<T>(arguments: Arguments, work: impl FnOnce(OneTimeCode) -> T) -> Result<T, Error> {
    let secret = base32_decoded(&arguments.text(1)).filter(|secret| !secret.is_empty());
    let secret = secret.ok_or_else(|| invalid("the secret is no base 32"))?;
    let hash = match arguments.bytes(2) {
        b"SHA256" => CodeHash::Sha256,
        b"SHA512" => CodeHash::Sha512,
        _ => CodeHash::Sha1,
    };
    Ok(work(OneTimeCode { secret: &secret, hash, digits: arguments.number(3) as u32 }))
}

/// `(secret, hash, digits, counter)`
fn code_at(_: &Isolate, arguments: Arguments) -> Reply {
    let counter = arguments.number(4) as u64;
    codes(arguments, |code| Given::Text(code.at(counter))).into()
}

/// `(secret, hash, digits, code, first counter, last counter)`: the counter of the code, or nil.
fn find_code(_: &Isolate, arguments: Arguments) -> Reply {
    let counters = arguments.number(5) as u64..=arguments.number(6) as u64;
    let found = codes(arguments, |code| code.find(&arguments.text(4), counters));
    found.map(|found| found.map_or(Given::Nil, |counter| Given::Number(counter as f64))).into()
}

/// `(bytes)`
fn to_base32(_: &Isolate, arguments: Arguments) -> Reply {
    Reply::Now(Given::Text(base32(arguments.bytes(1))))
}
