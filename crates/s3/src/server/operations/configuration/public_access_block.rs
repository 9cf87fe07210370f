//! GetPublicAccessBlock, PutPublicAccessBlock and DeletePublicAccessBlock.

use super::change;
use crate::server::bucket::public_access_block::PublicAccessBlock;
use crate::server::call::S3Call;
use crate::server::fault::{FaultCode, S3Result};
use crate::server::reply::S3Reply;
use http::StatusCode;
use std::rc::Rc;

/// Answers the switches.
pub(crate) async fn get_public_access_block(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let block = call.record()?.public_access_block;
    let block = block.ok_or(FaultCode::NoSuchPublicAccessBlockConfiguration)?;
    Ok(S3Reply::xml(block.to_xml()))
}

/// Replaces the switches.
pub(crate) async fn put_public_access_block(call: Rc<S3Call>) -> S3Result<S3Reply> {
    call.record()?;
    let block = PublicAccessBlock::parse(&call.document().await?)?;
    change(&call, StatusCode::OK, |record| record.public_access_block = Some(block)).await
}

/// Turns all switches off.
pub(crate) async fn delete_public_access_block(call: Rc<S3Call>) -> S3Result<S3Reply> {
    change(&call, StatusCode::NO_CONTENT, |record| record.public_access_block = None).await
}
