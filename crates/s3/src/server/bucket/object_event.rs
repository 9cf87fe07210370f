//! Events of objects: what the server has done to which key, for those who watch it.
//!
//! Source: Amazon S3 user guide, "Event notification types and destinations".

use runnel_store::{ChangeKind, Reference, Watchers};
use std::cell::RefCell;
use std::sync::{Arc, Weak};

/// What was done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectEvent {
    Put,
    Post,
    Copy,
    CompleteUpload,
    /// The object is gone.
    Delete,
    /// One version is gone. Another one may be current now.
    DeleteVersion,
    DeleteMarker,
    Expire,
    ExpireVersion,
    ExpireMarker,
}

impl ObjectEvent {
    /// The event of content that an operation wrote.
    pub(crate) fn of_write(operation: &str) -> ObjectEvent {
        match operation {
            "CopyObject" => ObjectEvent::Copy,
            "PostObject" => ObjectEvent::Post,
            _ => ObjectEvent::Put,
        }
    }

    /// The name that S3 has for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ObjectEvent::Put => "s3:ObjectCreated:Put",
            ObjectEvent::Post => "s3:ObjectCreated:Post",
            ObjectEvent::Copy => "s3:ObjectCreated:Copy",
            ObjectEvent::CompleteUpload => "s3:ObjectCreated:CompleteMultipartUpload",
            ObjectEvent::Delete | ObjectEvent::DeleteVersion => "s3:ObjectRemoved:Delete",
            ObjectEvent::DeleteMarker => "s3:ObjectRemoved:DeleteMarkerCreated",
            ObjectEvent::Expire | ObjectEvent::ExpireVersion => "s3:LifecycleExpiration:Delete",
            ObjectEvent::ExpireMarker => "s3:LifecycleExpiration:DeleteMarkerCreated",
        }
    }

    /// What it is to who reads the key afterwards.
    fn kind(self) -> ChangeKind {
        match self {
            ObjectEvent::Delete | ObjectEvent::DeleteMarker => ChangeKind::Deleted,
            ObjectEvent::Expire | ObjectEvent::ExpireMarker => ChangeKind::Deleted,
            _ => ChangeKind::Changed,
        }
    }
}

/// Publishes events to watchers. Without watchers an event costs a look at a counter.
#[derive(Default)]
pub(crate) struct EventFeed(RefCell<Weak<Watchers>>);

impl EventFeed {
    /// Publishes to these watchers from now on, for as long as others keep them.
    pub(crate) fn publish_to(&self, watchers: &Arc<Watchers>) {
        self.0.replace(Arc::downgrade(watchers));
    }

    /// Publishes an event by the path `bucket/key`.
    pub(crate) fn publish(&self, bucket: &str, key: &str, event: ObjectEvent) {
        let Some(watchers) = self.0.borrow().upgrade() else { return };
        if watchers.is_watched() {
            let reference = Reference::from_path(format!("{bucket}/{key}"));
            watchers.publish_event(event.kind(), &reference, event.name());
        }
    }
}
