//! The task that keeps a certificate: orders the first one, renews it, and retries with growing
//! pauses.

use crate::authority::AuthorityClient;
use crate::lock::{LOCK_FILE, OrderLock};
use crate::order::{OrderFailure, order};
use crate::settings::AcmeSettings;
use crate::storage::{OrderState, Storage, StoredCertificate};
use runnel_http::{Transport, TransportOptions, certificates_changed};
use runnel_store::{Conditions, Error, Kind, Reference, Result, Store};
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use tokio::task::JoinHandle;

/// The longest sleep between two looks at the certificate, which another machine may renew.
const CHECK_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// The same after a failed order, so that the removal of its state is noticed.
const FAILED_CHECK_INTERVAL: Duration = Duration::from_secs(30);
/// The pause while another machine orders.
const LOCKED_PAUSE: Duration = Duration::from_secs(2);
/// The longest order. The lock is kept for this long at most.
const ORDER_TIMEOUT: Duration = Duration::from_secs(6 * 60);
/// The pause after the first failed order; it doubles with each further one. Let's Encrypt allows 5
/// failures an hour.
const FIRST_PAUSE: Duration = Duration::from_secs(2 * 60);
/// The longest pause after a failed order.
const LONGEST_PAUSE: Duration = Duration::from_secs(6 * 60 * 60);
/// The pause after the authority or the store was not reached; it doubles as well.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(5);
/// The longest of these pauses.
const LONGEST_UNREACHABLE_PAUSE: Duration = Duration::from_secs(10 * 60);
/// The part of the lifetime by which machines spread their renewals: a renewal is due after two
/// thirds of the lifetime, less up to a thirtieth of it.
const JITTER_PARTS: u64 = 30;

/// The running task. Dropping it ends it; an order in progress is given up.
#[derive(Debug)]
pub struct CertificateTask(JoinHandle<()>);

impl Drop for CertificateTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Keeps the certificate of a server in a store. `authorities` is the text of the settings' PEM
/// file. Must be called within a [`tokio::task::LocalSet`] or a local runtime.
///
/// # Errors
/// [`Kind::NotAllowed`]: the store has no conditional writes, so two machines could order at once.
/// [`Kind::Invalid`]: the file of authorities is unusable.
pub fn keep_certificate(
    store: Rc<dyn Store>,
    settings: AcmeSettings,
    authorities: Option<&[u8]>,
) -> Result<CertificateTask> {
    if store.conditions(&Reference::from_path(LOCK_FILE)) < Conditions::Presence {
        let message = "the store of certificates cannot write under a condition, so two machines \
                       could order at once: use a folder, a database, Redis, NATS or S3";
        return Err(Error::new(Kind::NotAllowed, message));
    }
    let options = TransportOptions::default();
    let transport = match authorities {
        Some(text) => Transport::with_authorities(options, text, "of acmeAuthority")?,
        None => Transport::new(options),
    };
    let storage = Storage::new(store, &settings);
    let keeper = CertificateKeeper {
        subject: format!("{} {}", settings.directory, settings.hosts.join(" ")),
        settings,
        client: AuthorityClient::new(transport),
        lock: OrderLock::new(storage.clone())?,
        storage,
    };
    Ok(CertificateTask(tokio::task::spawn_local(keeper.keep())))
}

struct CertificateKeeper {
    settings: AcmeSettings,
    /// The directory and the hosts.
    subject: String,
    client: AuthorityClient,
    storage: Storage,
    lock: OrderLock,
}

impl CertificateKeeper {
    async fn keep(self) {
        let mut unreached = 0;
        loop {
            let pause = match self.step().await {
                Ok(pause) => {
                    unreached = 0;
                    pause
                }
                Err(failure) => {
                    let pause =
                        doubled(UNREACHABLE_PAUSE, unreached).min(LONGEST_UNREACHABLE_PAUSE);
                    unreached += 1;
                    let error = match failure {
                        OrderFailure::Unreachable(said) | OrderFailure::Refused(said) => said,
                        OrderFailure::Store(error) => error.to_string(),
                    };
                    let next_try_in = shown(pause);
                    tracing::error!(%error, %next_try_in, "the certificate cannot be ordered yet");
                    pause
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Orders the certificate if that is due. Answers the pause until the next look.
    ///
    /// # Errors
    /// The authority or the store cannot be reached.
    async fn step(&self) -> std::result::Result<Duration, OrderFailure> {
        if let Some(pause) = self.due().await? {
            return Ok(pause);
        }
        if !self.lock.acquire().await? {
            return Ok(LOCKED_PAUSE);
        }
        // Another machine may have ordered meanwhile.
        let due = self.due().await;
        let result = match due {
            Ok(None) => self.order().await,
            Ok(Some(pause)) => Ok(pause),
            Err(error) => Err(error.into()),
        };
        self.lock.release().await;
        result
    }

    /// The pause until an order is due; `None` when it is.
    async fn due(&self) -> Result<Option<Duration>> {
        let state = self.state().await?;
        let certificate = self.storage.certificate().await?;
        let now = SystemTime::now();
        let renewal = match &certificate {
            Some(certificate) if self.is_wanted(certificate, &state) => renewal_time(certificate),
            _ => now,
        };
        let due = state.next.map_or(renewal, |next| next.max(renewal));
        let pause = due.duration_since(now).ok().filter(|pause| !pause.is_zero());
        let longest = if state.next.is_some() { FAILED_CHECK_INTERVAL } else { CHECK_INTERVAL };
        Ok(pause.map(|pause| pause.min(longest)))
    }

    /// Whether a certificate is of the authority and covers all hosts. It may cover more: a machine
    /// with fewer hosts does not order what another one with more has ordered.
    fn is_wanted(&self, certificate: &StoredCertificate, state: &OrderState) -> bool {
        let names = &certificate.about.names;
        state.issuer == self.settings.directory
            && self.settings.hosts.iter().all(|host| names.contains(host))
    }

    /// The state. Failed orders of another directory or other hosts do not count.
    async fn state(&self) -> Result<OrderState> {
        let state = self.storage.state().await?;
        if state.subject == self.subject {
            return Ok(state);
        }
        let (issuer, subject) = (state.issuer, self.subject.clone());
        Ok(OrderState { issuer, subject, failures: 0, next: None })
    }

    /// Orders, with the lock in hand.
    async fn order(&self) -> std::result::Result<Duration, OrderFailure> {
        let hosts = self.settings.hosts.join(", ");
        let state = self.state().await?;
        tracing::info!(%hosts, "ordering the certificate");
        let ordering = order(&self.settings, &self.client, &self.storage);
        let ordered = tokio::select! {
            ordered = tokio::time::timeout(ORDER_TIMEOUT, ordering) => ordered.unwrap_or_else(|_| {
                Err(OrderFailure::Refused("the order took too long".to_string()))
            }),
            () = self.lock.keep() => {
                Err(OrderFailure::Unreachable("the lock of the order was lost".to_string()))
            }
        };
        match ordered {
            Ok(()) => {
                let issuer = self.settings.directory.clone();
                let done = OrderState { issuer, failures: 0, next: None, ..state };
                self.storage.put_state(&done).await?;
                certificates_changed();
                tracing::info!(%hosts, "the certificate was ordered");
                Ok(Duration::ZERO)
            }
            Err(OrderFailure::Refused(error)) => {
                let failures = state.failures.saturating_add(1);
                let pause = doubled(FIRST_PAUSE, failures - 1).min(LONGEST_PAUSE);
                let pause = pause.max(self.client.take_pause().unwrap_or_default());
                let next = Some(SystemTime::now() + pause);
                self.storage.put_state(&OrderState { failures, next, ..state }).await?;
                let (next_try_in, file) = (shown(pause), self.storage.state_file());
                tracing::error!(
                    %error,
                    %next_try_in,
                    "the order of the certificate for {hosts} failed; remove {file} from the \
                     certificates to try at once"
                );
                Ok(Duration::ZERO)
            }
            Err(failure) => Err(failure),
        }
    }
}

/// When a certificate is renewed: at two thirds of its lifetime, a little earlier on some machines.
fn renewal_time(certificate: &StoredCertificate) -> SystemTime {
    let about = &certificate.about;
    let lifetime = about.not_after.duration_since(about.not_before).unwrap_or_default();
    let part = Duration::from_millis(certificate.hash % 1_000);
    let jitter = (lifetime / JITTER_PARTS as u32).mul_f64(part.as_secs_f64());
    about.not_before + lifetime.mul_f64(2.0 / 3.0).saturating_sub(jitter)
}

/// A pause, doubled a number of times.
fn doubled(pause: Duration, times: u32) -> Duration {
    pause.saturating_mul(1u32 << times.min(16))
}

/// A duration for people, in whole units.
fn shown(pause: Duration) -> String {
    match pause.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_http::CertificateInfo;

    #[test]
    fn pauses_grow_from_minutes_to_hours() {
        let pause = |failures| doubled(FIRST_PAUSE, failures).min(LONGEST_PAUSE);
        assert_eq!(shown(pause(0)), "2 min");
        assert_eq!(shown(pause(5)), "64 min");
        assert_eq!(shown(pause(8)), "6 h");
        assert_eq!(pause(u32::MAX), LONGEST_PAUSE);
        let unreached = |times| doubled(UNREACHABLE_PAUSE, times).min(LONGEST_UNREACHABLE_PAUSE);
        assert_eq!((shown(unreached(0)), shown(unreached(20))), ("5 s".into(), "10 min".into()));
    }

    #[test]
    fn a_certificate_is_renewed_at_two_thirds_of_its_lifetime() {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let about = |days: u64| CertificateInfo {
            names: Vec::new(),
            not_before: start,
            not_after: start + Duration::from_secs(days * 86_400),
        };
        for hash in [0, 999, 12_345_678] {
            let due = renewal_time(&StoredCertificate { about: about(90), hash });
            let days = due.duration_since(start).map(|due| due.as_secs_f64() / 86_400.0);
            assert!(days.is_ok_and(|days| (57.0..=60.0).contains(&days)), "{hash}");
        }
    }
}
