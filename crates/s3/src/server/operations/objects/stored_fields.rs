//! Changes of what is kept with an object, while its content stays.

use super::get_object::find_object;
use crate::server::call::S3Call;
use crate::server::catalog::key_locks;
use crate::server::catalog::object_lookup::Found;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::reply::S3Reply;
use http::StatusCode;
use runnel_store::{Attributes, Metadata};
use std::rc::Rc;
use tokio::sync::MutexGuard;

/// What is kept with an object, which nothing else changes meanwhile.
pub(crate) struct StoredFields {
    /// The attributes, to be changed.
    pub(crate) attributes: Metadata,
    found: Box<Found>,
    _alone: MutexGuard<'static, ()>,
}

impl StoredFields {
    /// Reads the attributes of the object of a request, or gives the answer where there is none.
    pub(crate) async fn lock(call: &S3Call) -> S3Result<Result<StoredFields, S3Reply>> {
        let alone = key_locks::lock(&call.bucket, &call.key).await;
        Ok(find_for(call).await?.map(|found| StoredFields {
            attributes: Metadata::clone(&found.info.attributes),
            found,
            _alone: alone,
        }))
    }

    /// Keeps the attributes, and answers with the version.
    pub(crate) async fn store(self, call: &S3Call, status: StatusCode) -> S3Result<S3Reply> {
        let version = self.found.info.version().to_string();
        let attributes = Attributes {
            media_type: Some(self.found.info.media_type.clone()),
            metadata: Some(Rc::new(self.attributes)),
        };
        let at = self.found.at;
        call.state.catalog.contents.annotate(&at, attributes, None).await?;
        let mut reply = S3Reply::empty(status);
        if call.has_versions() {
            reply.set("x-amz-version-id", &version);
        }
        Ok(reply)
    }
}

/// The object of a request, or the answer where there is none.
pub(crate) async fn find_for(call: &S3Call) -> S3Result<Result<Box<Found>, S3Reply>> {
    let version = call.version()?;
    find_object(call, version).await
}

/// Refuses protection in a bucket without object lock.
pub(crate) fn check_lock(call: &S3Call) -> S3Result<()> {
    match call.record()?.object_lock {
        Some(_) => Ok(()),
        None => Err(S3Fault::new(FaultCode::InvalidRequest)
            .because("Bucket is missing Object Lock Configuration")),
    }
}
