//! GetBucketNotificationConfiguration and PutBucketNotificationConfiguration.

use super::change;
use crate::server::bucket::notification::Notification;
use crate::server::call::S3Call;
use crate::server::fault::S3Result;
use crate::server::reply::S3Reply;
use http::StatusCode;
use std::rc::Rc;

/// Answers the configuration, empty where there is none.
pub(crate) async fn get_bucket_notification(call: Rc<S3Call>) -> S3Result<S3Reply> {
    Ok(S3Reply::xml(call.record()?.notification.to_xml()))
}

/// Replaces the configuration.
pub(crate) async fn put_bucket_notification(call: Rc<S3Call>) -> S3Result<S3Reply> {
    call.record()?;
    let notification = Notification::parse(&call.document().await?)?;
    change(&call, StatusCode::OK, |record| record.notification = notification).await
}
