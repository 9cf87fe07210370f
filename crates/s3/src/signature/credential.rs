//! The credential of a signature: the access key and what the signature is valid for.

use crate::signature::key::{is_service, is_terminator};
use crate::signature::time::is_date;

/// `AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request`, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Credential<'a> {
    pub(crate) access_key: &'a str,
    /// Such as `20130524`.
    pub(crate) date: &'a str,
    pub(crate) region: &'a str,
}

impl<'a> Credential<'a> {
    /// Reads a credential.
    ///
    /// # Errors
    /// What is wrong with it, in the words of S3.
    pub(crate) fn parse(text: &'a str) -> Result<Credential<'a>, String> {
        let mut parts = text.split('/');
        let mut part = || parts.next();
        let (Some(access_key), Some(date), Some(region), Some(service), Some(end), None) =
            (part(), part(), part(), part(), part(), part())
        else {
            return Err("the Credential is mal-formed; expecting \
                        \"<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request\"."
                .to_string());
        };
        if !is_service(service) {
            return Err(format!("incorrect service {service:?}. This endpoint belongs to \"s3\"."));
        }
        if !is_terminator(end) {
            return Err(format!(
                "incorrect terminal {end:?}. This endpoint uses \"aws4_request\"."
            ));
        }
        if !is_date(date) {
            return Err(format!(
                "incorrect date format {date:?}. This date in the credential must be in the \
                 format \"yyyyMMdd\"."
            ));
        }
        Ok(Credential { access_key, date, region })
    }

    /// Whether the credential is for a region.
    ///
    /// # Errors
    /// That it is for another one, in the words of S3.
    pub(crate) fn admit(&self, region: &str) -> Result<(), String> {
        if self.region == region {
            return Ok(());
        }
        Err(format!("the region {:?} is wrong; expecting {region:?}", self.region))
    }
}
