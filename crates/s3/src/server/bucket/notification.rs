//! The notifications of a bucket.
//!
//! This server tells them to watchers of the store below, which is what EventBridge stands for here.
//! Queues, topics and functions of Amazon do not exist, so a configuration that names one is refused.

use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::xml::{self, XmlWriter};

/// The elements of destinations of other kinds.
const DESTINATIONS: [&str; 3] =
    ["TopicConfiguration", "QueueConfiguration", "CloudFunctionConfiguration"];

/// The configuration of a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Notification {
    /// Whether the client asked for events.
    pub(crate) event_bridge: bool,
}

impl Notification {
    /// Reads the body of PutBucketNotificationConfiguration; an empty one turns events off.
    pub(crate) fn parse(document: &[u8]) -> S3Result<Notification> {
        let root = xml::read(document)?;
        if &*root.name != "NotificationConfiguration" {
            return Err(FaultCode::MalformedXML.into());
        }
        let other = root.children.iter().find(|child| DESTINATIONS.contains(&&*child.name));
        if let Some(other) = other {
            let destination = other
                .children
                .iter()
                .find(|child| matches!(&*child.name, "Topic" | "Queue" | "CloudFunction"));
            let words = "Unable to validate the following destination configurations";
            return Err(S3Fault::new(FaultCode::InvalidArgument)
                .because(words)
                .with("ArgumentName", destination.map_or(String::new(), |arn| arn.text.clone()))
                .with("ArgumentValue", "The destination does not exist"));
        }
        Ok(Notification { event_bridge: root.child("EventBridgeConfiguration").is_some() })
    }

    /// The answer of GetBucketNotificationConfiguration.
    pub(crate) fn to_xml(self) -> String {
        XmlWriter::document("NotificationConfiguration", |xml| {
            if self.event_bridge {
                xml.element("EventBridgeConfiguration", |_| {});
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_are_read_and_written() {
        for event_bridge in [true, false] {
            let notification = Notification { event_bridge };
            assert_eq!(
                Notification::parse(notification.to_xml().as_bytes()).unwrap(),
                notification
            );
        }
        let queue = "<NotificationConfiguration><QueueConfiguration><Queue>arn</Queue>\
                     </QueueConfiguration></NotificationConfiguration>";
        let fault = Notification::parse(queue.as_bytes()).unwrap_err();
        assert_eq!(fault.code, FaultCode::InvalidArgument);
    }
}
