//! Removes what the lifecycle rules of buckets say is expired, and what killed processes have left, in
//! the background: with the first request, and each hour.
//!
//! A run is bounded: the next run continues where it ended. What object lock protects stays.

use super::objects::fields::{TAGS, protection_of};
use crate::server::bucket::lifecycle::Lifecycle;
use crate::server::bucket::lifecycle::version::{LifecycleVersion, VersionState};
use crate::server::bucket::object_event::ObjectEvent;
use crate::server::bucket::record::BucketRecord;
use crate::server::bucket::tagging::Tagging;
use crate::server::call::ServerState;
use crate::server::catalog::attributes::{MODIFIED, ObjectInfo};
use crate::server::catalog::key_walk::ListedKey;
use crate::server::catalog::object_lookup::Found;
use crate::server::catalog::state::Catalog;
use crate::server::fault::{FaultCode, S3Result};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time between two runs.
const INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Keys that a run looks at in one bucket.
const KEYS: usize = 100_000;

/// Uploads that a run looks at in one bucket.
const UPLOADS: usize = 10_000;

/// Keys of a bucket that may fail before a run ends: so many show that the store is away.
const FAILURES: usize = 100;

/// Keys between two moments in which other tasks of the worker go on.
const PACE: usize = 64;

/// The key after which the next run begins, by bucket.
type Positions = RefCell<HashMap<String, String>>;

/// Starts the task, which ends with the server. It needs a runtime for local tasks.
pub(crate) fn start(state: &Rc<ServerState>) {
    let state = Rc::downgrade(state);
    tokio::task::spawn_local(run_again(state));
}

async fn run_again(state: Weak<ServerState>) {
    let positions = Positions::default();
    while let Some(state) = state.upgrade() {
        run(&state.catalog, &positions, SystemTime::now()).await;
        drop(state);
        tokio::time::sleep(INTERVAL).await;
    }
}

async fn run(catalog: &Catalog, positions: &Positions, now: SystemTime) {
    if let Err(error) = catalog.remove_leftovers(now).await {
        tracing::warn!("content that was received and not put: {error}");
    }
    if let Err(error) = catalog.remove_orphaned_parts().await {
        tracing::warn!("parts of uploads that ended: {error}");
    }
    let Ok(buckets) = catalog.bucket_names().await else { return };
    positions.borrow_mut().retain(|bucket, _| buckets.contains(bucket));
    for name in buckets {
        let Ok(Some(record)) = catalog.bucket(&name).await else { continue };
        let Some(rules) = record.lifecycle.clone() else { continue };
        let run = BucketRun { catalog, bucket: &name, record: &record, rules: &rules, now };
        if let Err(fault) = run.expire(positions).await {
            let cause = fault.cause.as_deref().unwrap_or(&fault.message);
            tracing::warn!(bucket = %name, "lifecycle: {cause}");
        }
    }
}

/// A run in one bucket.
struct BucketRun<'a> {
    catalog: &'a Catalog,
    bucket: &'a str,
    record: &'a BucketRecord,
    rules: &'a Lifecycle,
    now: SystemTime,
}

impl BucketRun<'_> {
    async fn expire(&self, positions: &Positions) -> S3Result<()> {
        let after = positions.borrow_mut().remove(self.bucket);
        let has_versions = self.record.versioning != Default::default();
        let prefix = self.rules.common_prefix();
        let mut walk = self.catalog.walk(self.bucket, prefix, after.as_deref(), has_versions, KEYS);
        let (mut failures, mut first_fault) = (0, Ok(()));
        for count in 0..KEYS {
            let Some(listed) = walk.next().await? else { break };
            if let Err(fault) = self.expire_key(&listed).await {
                // A key that cannot be removed holds up no other one, now and in each run.
                first_fault = first_fault.and(Err(fault));
                failures += 1;
                if failures >= FAILURES {
                    positions.borrow_mut().insert(self.bucket.to_string(), listed.key);
                    return first_fault;
                }
            }
            if count % PACE == 0 {
                tokio::task::yield_now().await;
            }
            if count + 1 == KEYS {
                positions.borrow_mut().insert(self.bucket.to_string(), listed.key);
            }
        }
        self.abort_uploads().await?;
        first_fault
    }

    async fn expire_key(&self, listed: &ListedKey) -> S3Result<()> {
        // Each version with its time and what it is; the place of the key holds the newest.
        let mut newer_since = None;
        let mut noncurrent = 0;
        if let Some(present) = &listed.present
            && let Some(info) = self.catalog.listed_info(present).await?
        {
            newer_since = Some(info.modified);
            self.expire_object(&listed.key, &info, VersionState::Current).await?;
        }
        for (name, object) in &listed.versions {
            let state = match newer_since {
                Some(since) => VersionState::Noncurrent { since, newer: noncurrent },
                None if name.is_marker => {
                    VersionState::DeleteMarker { alone: listed.versions.len() == 1 }
                }
                None => VersionState::Current,
            };
            noncurrent += usize::from(newer_since.is_some());
            newer_since = Some(name.id.time());
            match self.catalog.listed_info(object).await? {
                _ if name.is_marker => {
                    let tags = Tagging::default();
                    let modified = name.id.time();
                    let version = LifecycleVersion {
                        key: &listed.key,
                        size: 0,
                        tags: &tags,
                        modified,
                        state,
                    };
                    if self.rules.expires(&version, self.now) {
                        self.remove(&listed.key, &name.version()).await?;
                    }
                }
                Some(info) => self.expire_object(&listed.key, &info, state).await?,
                None => {}
            }
        }
        Ok(())
    }

    async fn expire_object(
        &self,
        key: &str,
        info: &ObjectInfo,
        state: VersionState,
    ) -> S3Result<()> {
        let tags = info.attributes.get(TAGS).map(String::as_str).unwrap_or_default();
        let tags = Tagging::from_header(tags).unwrap_or_default();
        let (size, modified) = (info.length, info.modified);
        let version = LifecycleVersion { key, size, tags: &tags, modified, state };
        if !self.rules.expires(&version, self.now) {
            return Ok(());
        }
        if matches!(state, VersionState::Noncurrent { .. }) {
            return self.remove(key, info.version()).await;
        }
        let modified = info.modified;
        // An object that was replaced meanwhile is young.
        let check = |present: Option<&Found>| match present {
            Some(found) if found.info.modified == modified => Ok(()),
            _ => Err(FaultCode::PreconditionFailed.into()),
        };
        let (versioning, owner) = (self.record.versioning, &self.record.owner);
        let removed =
            self.catalog.remove_current(self.bucket, key, versioning, owner, &check).await;
        match removed {
            Ok(removal) => {
                let event = match removal.is_marker {
                    true => ObjectEvent::ExpireMarker,
                    false => ObjectEvent::Expire,
                };
                self.catalog.events.publish(self.bucket, key, event);
                Ok(())
            }
            Err(fault) if fault.code == FaultCode::PreconditionFailed => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    async fn remove(&self, key: &str, version: &str) -> S3Result<()> {
        let check = |present: Option<&Found>| match present {
            Some(found) => protection_of(&found.info.attributes).check_removal(false, self.now),
            None => Ok(()),
        };
        let removed = self.catalog.remove_version(self.bucket, key, version, &check).await;
        match removed {
            Ok(Some(_)) => {
                self.catalog.events.publish(self.bucket, key, ObjectEvent::ExpireVersion);
                Ok(())
            }
            Err(fault) if fault.code != FaultCode::AccessDenied => Err(fault),
            _ => Ok(()),
        }
    }

    async fn abort_uploads(&self) -> S3Result<()> {
        let prefix = self.rules.common_prefix();
        let uploads = self.catalog.uploads(self.bucket, prefix, None, UPLOADS).await?;
        for upload in uploads {
            let began = upload.attributes.get(MODIFIED).and_then(|text| text.parse().ok());
            let Some(began) = began else { continue };
            let began = UNIX_EPOCH + Duration::from_millis(began);
            if self.rules.aborts(&upload.key, began, self.now) {
                self.catalog.remove_upload(self.bucket, &upload.key, &upload.id).await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::server::bucket::versioning::Versioning;
    use crate::server::catalog::attributes::milliseconds;
    use crate::server::catalog::object_commit::{Draft, DraftContent};
    use crate::server::catalog::object_lookup::Lookup;
    use bytes::Bytes;
    use futures_util::{FutureExt, StreamExt};
    use runnel_store::{
        Answer, Below, ChangeKind, Context, Error, Kind, Layer, Memory, Metadata, Outcome,
        Reference, Result, Store, Verb, Watchers,
    };
    use std::sync::Arc;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    /// A catalog with one bucket whose objects expire after a day, and noncurrent ones after two.
    async fn catalog(versioning: Versioning) -> Catalog {
        catalog_in(Rc::new(Memory::dictionary()), versioning).await
    }

    async fn catalog_in(store: Rc<dyn Store>, versioning: Versioning) -> Catalog {
        let catalog = Catalog::new(store, "me".to_string());
        let mut record = BucketRecord::new("me", 0);
        let rules = "<LifecycleConfiguration><Rule><Status>Enabled</Status><Filter><Prefix>logs/\
            </Prefix></Filter><Expiration><Days>1</Days></Expiration><NoncurrentVersionExpiration>\
            <NoncurrentDays>2</NoncurrentDays></NoncurrentVersionExpiration></Rule>\
            </LifecycleConfiguration>";
        record.lifecycle = Some(Lifecycle::parse(rules.as_bytes()).unwrap());
        record.versioning = versioning;
        assert!(catalog.create_bucket("b", &record).await.unwrap());
        catalog
    }

    async fn put(catalog: &Catalog, key: &str, versioning: Versioning, more: &[(&str, &str)]) {
        let now = milliseconds(SystemTime::now()).to_string();
        let mut attributes = Metadata::from([(MODIFIED.to_string(), now)]);
        attributes.extend(more.iter().map(|(name, text)| (name.to_string(), text.to_string())));
        let content = DraftContent::Bytes(Bytes::from_static(b"content"));
        let draft = Draft { content, media_type: "text/plain".to_string(), attributes };
        catalog.commit("b", key, versioning, draft, None).await.unwrap();
    }

    async fn is_object(catalog: &Catalog, key: &str) -> bool {
        matches!(catalog.lookup("b", key, None, true).await.unwrap(), Lookup::Object(_))
    }

    #[tokio::test]
    async fn objects_expire_by_their_rules() {
        let catalog = catalog(Versioning::Off).await;
        put(&catalog, "logs/old", Versioning::Off, &[]).await;
        put(&catalog, "kept", Versioning::Off, &[]).await;
        let positions = Positions::default();
        run(&catalog, &positions, SystemTime::now()).await;
        assert!(is_object(&catalog, "logs/old").await);
        run(&catalog, &positions, SystemTime::now() + DAY * 3).await;
        assert!(!is_object(&catalog, "logs/old").await);
        assert!(is_object(&catalog, "kept").await);
    }

    /// Deletes nothing at a path with `poison`.
    struct Poisoned(Rc<dyn Store>);

    impl Layer for Poisoned {
        fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
            Ok(Below::same(&self.0, reference))
        }

        fn over(&self, source: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
            Some(Rc::new(Poisoned(source)))
        }

        fn name(&self) -> String {
            "poisoned".to_string()
        }

        fn layer_delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
            match reference.path().contains("poison") {
                true => Error::new(Kind::Failed, "it cannot be deleted").into(),
                false => self.0.delete(reference, context),
            }
        }
    }

    #[tokio::test]
    async fn a_key_that_cannot_be_removed_holds_up_no_other() {
        let store = Rc::new(Poisoned(Rc::new(Memory::dictionary())));
        let catalog = catalog_in(store, Versioning::Off).await;
        for key in ["logs/first", "logs/poison", "logs/second"] {
            put(&catalog, key, Versioning::Off, &[]).await;
        }
        run(&catalog, &Positions::default(), SystemTime::now() + DAY * 3).await;
        let mut left = Vec::new();
        for key in ["logs/first", "logs/poison", "logs/second"] {
            left.push(is_object(&catalog, key).await);
        }
        assert_eq!(left, [false, true, false]);
    }

    #[tokio::test]
    async fn what_expires_is_told() {
        let catalog = catalog(Versioning::Off).await;
        let watchers = Arc::new(Watchers::new());
        catalog.events.publish_to(&watchers);
        put(&catalog, "logs/old", Versioning::Off, &[]).await;
        let mut changes = watchers.watch(&Reference::from_path("b"));
        run(&catalog, &Positions::default(), SystemTime::now() + DAY * 3).await;
        let change = changes.next().now_or_never().unwrap().unwrap().unwrap();
        assert_eq!(change.event, Some("s3:LifecycleExpiration:Delete"));
        assert_eq!((change.kind, change.reference.path()), (ChangeKind::Deleted, "b/logs/old"));
        assert!(changes.next().now_or_never().is_none());
    }

    #[tokio::test]
    async fn versions_expire_where_they_are_not_protected() {
        let catalog = catalog(Versioning::Enabled).await;
        let count = async || {
            let mut walk = catalog.walk("b", "", None, true, 10);
            let mut count = 0;
            while let Some(listed) = walk.next().await.unwrap() {
                count += listed.versions.len() + usize::from(listed.present.is_some());
            }
            count
        };
        put(&catalog, "logs/a", Versioning::Enabled, &[]).await;
        put(&catalog, "logs/a", Versioning::Enabled, &[]).await;
        put(&catalog, "logs/held", Versioning::Enabled, &[("x-amz-object-lock-legal-hold", "ON")])
            .await;
        let positions = Positions::default();
        run(&catalog, &positions, SystemTime::now() + DAY * 2).await;
        // Each key has a delete marker now, before its versions.
        assert!(!is_object(&catalog, "logs/a").await);
        assert_eq!(count().await, 5);
        run(&catalog, &positions, SystemTime::now() + DAY * 5).await;
        assert_eq!(count().await, 3);
        // The marker that is alone goes, the held version stays with its marker.
        run(&catalog, &positions, SystemTime::now() + DAY * 5).await;
        assert_eq!(count().await, 2);
    }
}
