//! The header `Authorization`.

use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::signature::ALGORITHM;
use crate::signature::credential::Credential;

/// `AWS4-HMAC-SHA256 Credential=…,SignedHeaders=host;x-amz-date,Signature=…`, taken apart.
#[derive(Debug)]
pub(crate) struct Authorization<'a> {
    pub(crate) credential: Credential<'a>,
    pub(crate) signed: &'a str,
    pub(crate) signature: &'a str,
}

impl<'a> Authorization<'a> {
    /// Reads the value of the header.
    pub(crate) fn parse(text: &'a str) -> S3Result<Authorization<'a>> {
        let about_argument = |message, value: &str| {
            let fault = S3Fault::new(FaultCode::InvalidArgument).because(message);
            fault.with("ArgumentName", "Authorization").with("ArgumentValue", value)
        };
        let Some((algorithm, components)) = text.split_once(' ') else {
            let message =
                "Authorization header is invalid -- one and only one ' ' (space) required.";
            return Err(about_argument(message, text));
        };
        if algorithm == "AWS" {
            return Err(unsupported_mechanism());
        }
        if algorithm != ALGORITHM {
            return Err(about_argument("Unsupported Authorization Type", algorithm));
        }
        let components: Vec<&str> = components.split(',').map(str::trim).collect();
        let [first, second, third] = components.as_slice() else {
            return Err(malformed(
                "the authorization header requires three components: Credential, SignedHeaders, \
                 and Signature.",
            ));
        };
        let credential = value(first, "Credential")?;
        let credential = Credential::parse(credential).map_err(|words| malformed(&words))?;
        let signed = value(second, "SignedHeaders")?;
        let signature = value(third, "Signature")?;
        Ok(Authorization { credential, signed, signature })
    }
}

/// The value of a component `name=value`.
fn value<'a>(component: &'a str, name: &str) -> S3Result<&'a str> {
    let parts = component.split_once('=').filter(|(_, value)| !value.contains('='));
    let Some((found, value)) = parts else {
        return Err(malformed(&format!("the authorization component {component:?} is malformed.")));
    };
    if found == name { Ok(value) } else { Err(malformed(&format!("missing {name}."))) }
}

/// A header that cannot be read.
pub(crate) fn malformed(words: &str) -> S3Fault {
    S3Fault::new(FaultCode::AuthorizationHeaderMalformed)
        .because(format!("The authorization header is malformed; {words}"))
}

/// Signature Version 2, which is obsolete.
pub(crate) fn unsupported_mechanism() -> S3Fault {
    S3Fault::new(FaultCode::InvalidRequest).because(
        "The authorization mechanism you have provided is not supported. Please use \
         AWS4-HMAC-SHA256.",
    )
}
