//! `#S3Server{ users: #{ key: 'secret' } }`: any store, served to clients of S3.

use runnel_http::{Handler, Served, ServerOptions};
use runnel_s3::{S3Service, S3ServiceOptions, S3User};
use runnel_store::{
    Error, Kind, Result, Setting, SettingKind, SettingTable, SettingValue, Store, Value, Wanted,
};
use std::rc::Rc;

/// The subject of messages.
const SUBJECT: &str = "an S3Server";
/// The field of the options of S3 among those of a server.
const FIELD: &str = "s3";

/// What it has beside the options of every server.
pub(crate) const OPTIONS: SettingTable<S3ServiceOptions> = SettingTable(&[
    Setting::custom(
        "users",
        "who may sign requests: keys with their secrets",
        SettingKind::Any,
        |options: &mut S3ServiceOptions, value| {
            let users = value.as_record().ok_or("a dictionary of keys and secrets")?;
            options.users = users.iter().map(user).collect::<std::result::Result<_, _>>()?;
            Ok(())
        },
    )
    .secret(),
    Setting::new("region", "the region of signatures", |o: &mut S3ServiceOptions| &mut o.region),
    Setting::custom(
        "host",
        "the name below which buckets are hosts",
        SettingKind::Text,
        |options: &mut S3ServiceOptions, value| {
            let host = value.as_str().filter(|host| !host.is_empty());
            options.host = Some(host.ok_or("a host name such as 's3.example.org'")?.to_string());
            Ok(())
        },
    ),
]);

/// A key with its secret, or with a record of `secret`, `buckets`, `may` and `admin`.
fn user((key, value): &(String, Value)) -> std::result::Result<S3User, Wanted> {
    const WRONG: &str = "a dictionary of keys and secrets, or of keys and dictionaries with \
         secret:, buckets:, may: and admin:";
    let mut user = S3User::new(key.as_str(), value.as_str().unwrap_or_default());
    for (name, value) in value.as_record().unwrap_or_default() {
        match name.as_str() {
            "secret" => user.secret = value.as_str().ok_or(WRONG)?.to_string(),
            "buckets" => user.buckets = Some(texts(value).ok_or(WRONG)?),
            "admin" => user.admin = value.as_bool().ok_or(WRONG)?,
            "may" => {
                let may = texts(value).ok_or(WRONG)?;
                if may.iter().any(|right| right != "read" && right != "write") {
                    return Err(
                        "a dictionary in which may: is [ 'read', 'write' ] or one of them".into()
                    );
                }
                let has = |right: &str| may.iter().any(|one| one == right);
                (user.read, user.write) = (has("read"), has("write"));
            }
            _ => return Err(WRONG.into()),
        }
    }
    if user.key.is_empty() || user.secret.is_empty() {
        return Err(WRONG.into());
    }
    Ok(user)
}

fn texts(value: &Value) -> Option<Vec<String>> {
    let mut texts = Vec::new();
    texts.assign(value, None).ok().map(|()| texts)
}

/// What the requests of a server are.
pub(crate) enum Protocol {
    /// Verbs on a store.
    Verbs,
    /// Those of S3.
    S3(S3ServiceOptions),
}

impl Protocol {
    /// Takes the options of a protocol out of those of a server.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: an option, or what a value must be.
    pub(crate) fn split(options: &Value) -> Result<(Protocol, Value)> {
        let Value::Record(fields) = options else { return Ok((Protocol::Verbs, options.clone())) };
        let (own, rest): (Vec<_>, Vec<_>) =
            fields.iter().cloned().partition(|(name, _)| name == FIELD);
        let protocol = match own.first() {
            Some((_, options)) => Protocol::S3(OPTIONS.read(SUBJECT, options)?),
            None => Protocol::Verbs,
        };
        Ok((protocol, Value::Record(rest)))
    }

    /// Refuses to open a server to the network without authentication.
    ///
    /// # Errors
    /// [`Kind::Invalid`].
    pub(crate) fn admit(&self, options: &ServerOptions) -> Result<()> {
        let Protocol::S3(own) = self else { return Ok(()) };
        let is_local = options.socket.is_some() || options.address.ip().is_loopback();
        if !own.users.is_empty() || is_local {
            return Ok(());
        }
        let message = "an S3Server without users is open to everybody, so it serves this machine \
             alone: give it `users: #{ key: 'secret' }`, or no address";
        Err(Error::new(Kind::Invalid, message))
    }

    /// A store in this protocol.
    ///
    /// # Errors
    /// Those of [`S3Service::new`].
    pub(crate) fn serve(&self, store: Rc<dyn Store>) -> Result<Served> {
        match self {
            Protocol::Verbs => Ok(store.into()),
            Protocol::S3(options) => {
                let service: Rc<dyn Handler> = S3Service::new(store, options.clone())?;
                Ok(service.into())
            }
        }
    }
}
