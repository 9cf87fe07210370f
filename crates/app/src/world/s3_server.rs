//! `#S3Server{ users: #{ key: 'secret' } }`: any store, served to clients of S3.

use crate::world::bucket_pages::BucketPages;
use runnel_http::{Handler, Served, ServerOptions};
use runnel_observe::AdminPage;
use runnel_s3::{S3Service, S3ServiceOptions, S3User};
use runnel_store::{
    Changes, Error, Kind, Reference, Result, Setting, SettingKind, SettingTable, SettingValue,
    Store, Value, Wanted, Watchers,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError, Weak};

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

    /// Refuses to open a server to the network without authentication. On a loopback address the name
    /// of `host:` is one more of this machine.
    ///
    /// # Errors
    /// [`Kind::Invalid`].
    pub(crate) fn admit(&self, options: &mut ServerOptions) -> Result<()> {
        let Protocol::S3(own) = self else { return Ok(()) };
        let is_local = options.socket.is_some() || options.address.ip().is_loopback();
        let hosts = &mut options.limits.access.allowed_hosts;
        if let (Some(host), true, true) = (&own.host, is_local, hosts.is_empty()) {
            let machine = ["localhost", "*.localhost", "127.0.0.1", "::1"].map(String::from);
            hosts.extend(machine);
            hosts.extend([format!("*.{host}"), host.clone()]);
        }
        if !own.users.is_empty() || is_local {
            return Ok(());
        }
        let without = match options.advertise {
            Some(_) => "neither an address nor `advertise:`",
            None => "no address",
        };
        let message = format!(
            "an S3Server without users is open to everybody, so it serves this machine alone: give \
             it `users: #{{ key: 'secret' }}`, or {without}"
        );
        Err(Error::new(Kind::Invalid, message))
    }

    /// A store in this protocol, and the service where that is S3.
    ///
    /// # Errors
    /// Those of [`S3Service::new`].
    pub(crate) fn serve(&self, store: Rc<dyn Store>) -> Result<(Served, Option<Rc<S3Service>>)> {
        match self {
            Protocol::Verbs => Ok((store.into(), None)),
            Protocol::S3(options) => {
                let service = S3Service::new(store, options.clone())?;
                let handler: Rc<dyn Handler> = service.clone();
                Ok((handler.into(), Some(service)))
            }
        }
    }
}

/// What a running S3 server has beside its requests: the page of the admin port, and who watches
/// its objects.
pub(crate) struct S3Side {
    pages: Rc<BucketPages>,
    /// Those of all workers of the server; absent after its end.
    watchers: RefCell<Option<Arc<Watchers>>>,
}

/// The watchers of the running servers of this process, by where they listen.
static WATCHERS: Mutex<Vec<(String, Weak<Watchers>)>> = Mutex::new(Vec::new());

impl S3Side {
    /// The side of a server that listens at a place.
    pub(crate) fn of(service: &S3Service, place: &str) -> Self {
        let mut all = WATCHERS.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, watchers)| watchers.strong_count() > 0);
        let known = all.iter().find(|(known, _)| known == place);
        let watchers = known.and_then(|(_, watchers)| watchers.upgrade()).unwrap_or_else(|| {
            let made = Arc::new(Watchers::new());
            all.push((place.to_string(), Arc::downgrade(&made)));
            made
        });
        service.publish_to(&watchers);
        let pages = Rc::new(BucketPages::new(service.inspector()));
        S3Side { pages, watchers: RefCell::new(Some(watchers)) }
    }

    /// Takes over another service of the same server.
    pub(crate) fn replace(&self, service: &S3Service) {
        self.pages.show(service.inspector());
        if let Some(watchers) = &*self.watchers.borrow() {
            service.publish_to(watchers);
        }
    }

    /// The page of the admin port.
    pub(crate) fn page(&self, port: u16) -> AdminPage {
        self.pages.page(port)
    }

    /// What clients change from now on.
    pub(crate) fn changes(&self) -> Result<Changes> {
        let watchers = self.watchers.borrow();
        let watchers = watchers.as_ref().ok_or_else(|| {
            Error::new(Kind::Unavailable, "the server has stopped, and tells of no changes")
        })?;
        Ok(watchers.watch(&Reference::from_path("")))
    }

    /// Ends the changes, once no other worker serves.
    pub(crate) fn end(&self) {
        self.watchers.take();
    }
}
