//! The record of a bucket: its owner, its state and its documents, kept as JSON.
//!
//! Fields that this version does not know are kept, so that an older server does not lose what a newer
//! one has written.

use super::acl::AccessControlList;
use super::cors::CorsConfiguration;
use super::lifecycle::Lifecycle;
use super::notification::Notification;
use super::object_lock::ObjectLockConfiguration;
use super::ownership::ObjectOwnership;
use super::policy::BucketPolicy;
use super::public_access_block::PublicAccessBlock;
use super::tagging::{TagOwner, Tagging};
use super::versioning::Versioning;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use serde_json::{Map, Value};

/// What is known of a bucket.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BucketRecord {
    /// The key of the user who owns the bucket.
    pub(crate) owner: String,
    /// When it was made, in microseconds since 1970.
    pub(crate) created: i64,
    /// Whether former versions are kept.
    pub(crate) versioning: Versioning,
    /// Whether ACLs count; `None` after DeleteBucketOwnershipControls.
    pub(crate) ownership: Option<ObjectOwnership>,
    /// Grants beside that of the owner.
    pub(crate) acl: AccessControlList,
    /// The policy.
    pub(crate) policy: Option<BucketPolicy>,
    /// Switches against public access.
    pub(crate) public_access_block: Option<PublicAccessBlock>,
    /// The rules of other origins.
    pub(crate) cors: Option<CorsConfiguration>,
    /// The tags.
    pub(crate) tagging: Option<Tagging>,
    /// Object lock, where it is on.
    pub(crate) object_lock: Option<ObjectLockConfiguration>,
    /// What expires.
    pub(crate) lifecycle: Option<Lifecycle>,
    /// Where changes are announced.
    pub(crate) notification: Notification,
    /// What a newer version has written.
    unknown: Map<String, Value>,
}

impl BucketRecord {
    /// A new bucket: private, without versions, ACLs off.
    pub(crate) fn new(owner: impl Into<String>, created: i64) -> BucketRecord {
        BucketRecord {
            owner: owner.into(),
            created,
            ownership: Some(ObjectOwnership::default()),
            ..BucketRecord::default()
        }
    }

    /// Whether ACLs count, as they do without ownership controls.
    pub(crate) fn has_acls(&self) -> bool {
        self.ownership != Some(ObjectOwnership::BucketOwnerEnforced)
    }

    /// The record as JSON.
    pub(crate) fn to_json(&self) -> String {
        let mut fields = self.unknown.clone();
        let mut put = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                fields.insert(name.to_string(), Value::String(value));
            }
        };
        put("owner", Some(self.owner.clone()));
        put("versioning", self.versioning.status().map(str::to_string));
        put("ownership", self.ownership.map(|rule| rule.name().to_string()));
        put("policy", self.policy.as_ref().map(|policy| policy.text().to_string()));
        put("publicAccessBlock", self.public_access_block.map(PublicAccessBlock::to_xml));
        put("cors", self.cors.as_ref().map(CorsConfiguration::to_xml));
        put("tagging", self.tagging.as_ref().map(Tagging::to_xml));
        put("objectLock", self.object_lock.map(ObjectLockConfiguration::to_xml));
        put("lifecycle", self.lifecycle.as_ref().map(Lifecycle::to_xml));
        let has_events = self.notification != Notification::default();
        put("notification", has_events.then(|| self.notification.to_xml()));
        fields.insert("created".to_string(), self.created.into());
        let grants = self.acl.words().map(|(grantee, permission, is_group)| {
            Value::from(vec![Value::from(grantee), permission.into(), is_group.into()])
        });
        let grants: Vec<Value> = grants.collect();
        if !grants.is_empty() {
            fields.insert("grants".to_string(), grants.into());
        }
        Value::Object(fields).to_string()
    }

    /// The record of a JSON text.
    ///
    /// # Errors
    /// The text is damaged. A document that cannot be read fails the whole record, because a policy
    /// that is passed over would allow what it denies.
    pub(crate) fn from_json(text: &[u8]) -> S3Result<BucketRecord> {
        let damaged =
            |_| S3Fault::new(FaultCode::InternalError).because("The bucket's record is damaged");
        let no_fields = || S3Fault::new(FaultCode::InternalError);
        let value: Value = serde_json::from_slice(text).map_err(|_| damaged(no_fields()))?;
        let Value::Object(mut fields) = value else { return Err(damaged(no_fields())) };
        let created = fields.remove("created").and_then(|value| value.as_i64()).unwrap_or(0);
        let grants = fields.remove("grants");
        let mut take = |name: &str| match fields.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let owner = take("owner").ok_or_else(|| damaged(no_fields()))?;
        let versioning = match take("versioning").as_deref() {
            Some("Enabled") => Versioning::Enabled,
            Some("Suspended") => Versioning::Suspended,
            _ => Versioning::Off,
        };
        let ownership = take("ownership").and_then(|name| ObjectOwnership::from_name(&name));
        let policy = read(take("policy"), BucketPolicy::stored).map_err(damaged)?;
        let block =
            read(take("publicAccessBlock"), |text| PublicAccessBlock::parse(text.as_bytes()));
        let cors = read(take("cors"), |text| CorsConfiguration::parse(text.as_bytes()));
        let tagging =
            read(take("tagging"), |text| Tagging::parse(text.as_bytes(), TagOwner::Bucket));
        let lock = read(take("objectLock"), |text| ObjectLockConfiguration::parse(text.as_bytes()));
        let lifecycle = read(take("lifecycle"), |text| Lifecycle::parse(text.as_bytes()));
        let notification = read(take("notification"), |text| Notification::parse(text.as_bytes()));
        Ok(BucketRecord {
            owner,
            created,
            versioning,
            ownership,
            acl: grants_of(grants.as_ref()),
            policy,
            public_access_block: block.map_err(damaged)?,
            cors: cors.map_err(damaged)?,
            tagging: tagging.map_err(damaged)?,
            object_lock: lock.map_err(damaged)?,
            lifecycle: lifecycle.map_err(damaged)?,
            notification: notification.map_err(damaged)?.unwrap_or_default(),
            unknown: fields,
        })
    }
}

fn read<T>(text: Option<String>, parse: impl Fn(&str) -> S3Result<T>) -> S3Result<Option<T>> {
    text.map(|text| parse(&text)).transpose()
}

fn grants_of(grants: Option<&Value>) -> AccessControlList {
    let grants = grants.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    AccessControlList::from_words(grants.iter().filter_map(|grant| {
        let [grantee, permission, is_group] = grant.as_array()?.as_slice() else { return None };
        Some((grantee.as_str()?, permission.as_str()?, is_group.as_bool()?))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_and_written() {
        let mut record = BucketRecord::new("me", 1_700_000_000_000_000);
        assert!(!record.has_acls());
        assert_eq!(BucketRecord::from_json(record.to_json().as_bytes()).unwrap(), record);
        record.versioning = Versioning::Suspended;
        record.ownership = Some(ObjectOwnership::ObjectWriter);
        record.acl = AccessControlList::canned("public-read").unwrap();
        record.policy = Some(
            BucketPolicy::stored(
                r#"{"Statement":{"Effect":"Allow","Principal":"*","Action":"s3:GetObject",
                "Resource":"arn:aws:s3:::b/*"}}"#,
            )
            .unwrap(),
        );
        record.tagging = Some(Tagging { tags: vec![("a".into(), "b".into())] });
        record.object_lock = Some(ObjectLockConfiguration::default());
        record.notification = Notification { event_bridge: true };
        record.public_access_block = Some(PublicAccessBlock::default());
        assert!(record.has_acls());
        assert_eq!(BucketRecord::from_json(record.to_json().as_bytes()).unwrap(), record);
    }

    #[test]
    fn unknown_fields_are_kept() {
        let text = r#"{"owner":"me","created":5,"color":["red"]}"#;
        let record = BucketRecord::from_json(text.as_bytes()).unwrap();
        assert_eq!(record.created, 5);
        assert!(record.to_json().contains(r#""color":["red"]"#));
    }

    #[test]
    fn damaged_records_are_refused() {
        for text in
            ["", "[]", "{}", r#"{"owner":"me","policy":"{"}"#, r#"{"owner":"me","cors":"<"}"#]
        {
            let fault = BucketRecord::from_json(text.as_bytes()).unwrap_err();
            assert_eq!(fault.code, FaultCode::InternalError, "{text}");
        }
    }
}
