//! The policy of a form: until when it is valid, and what its fields must be.
//!
//! Source: Amazon S3 API reference, "POST Policy".

use crate::server::fault::{FaultCode, S3Fault, S3Result};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use runnel_text::moment::parse_rfc3339;
use serde_json::Value;
use std::ops::RangeInclusive;
use std::time::{SystemTime, UNIX_EPOCH};

/// A policy that was read.
#[derive(Debug)]
pub(crate) struct PostPolicy {
    /// Microseconds since 1970.
    expiration: i64,
    conditions: Vec<PolicyCondition>,
}

#[derive(Debug)]
struct PolicyCondition {
    /// As it is repeated where it does not hold.
    text: String,
    test: PolicyTest,
}

#[derive(Debug)]
enum PolicyTest {
    Equal { field: String, value: String },
    Prefix { field: String, prefix: String },
    Length(RangeInclusive<u64>),
}

/// What the conditions are about.
pub(crate) struct PolicyFacts<'a> {
    pub(crate) bucket: &'a str,
    pub(crate) key: &'a str,
    /// Names in lower case with their values.
    pub(crate) fields: &'a [(String, String)],
}

impl PolicyFacts<'_> {
    fn value(&self, field: &str) -> Option<&str> {
        match field {
            "bucket" => Some(self.bucket),
            "key" => Some(self.key),
            _ => {
                let field = self.fields.iter().find(|(name, _)| name == field);
                field.map(|(_, value)| value.as_str())
            }
        }
    }
}

impl PostPolicy {
    /// Reads a policy in base 64.
    pub(crate) fn parse(encoded: &str) -> S3Result<PostPolicy> {
        let encoded = encoded.trim();
        if encoded.is_empty() {
            return Err(invalid("Expecting '{' but found End-of-Input"));
        }
        let decoded = BASE64_STANDARD.decode(encoded);
        let decoded = decoded.or_else(|_| BASE64_STANDARD_NO_PAD.decode(encoded));
        let decoded = decoded.map_err(|_| invalid("invalid Base64 encoding."))?;
        let Ok(Value::Object(document)) = serde_json::from_slice(&decoded) else {
            return Err(invalid_json());
        };
        let expiration =
            document.get("expiration").ok_or_else(|| invalid("Policy missing expiration."))?;
        let conditions =
            document.get("conditions").ok_or_else(|| invalid("Policy missing conditions."))?;
        let Value::Array(conditions) = conditions else {
            return Err(invalid("Invalid 'conditions' value: must be a List."));
        };
        let expiration = expiration.as_str().ok_or_else(invalid_json)?;
        let mut names = document.keys();
        if let Some(name) = names.find(|name| !matches!(name.as_str(), "expiration" | "conditions"))
        {
            return Err(invalid(&format!("Unexpected: {name:?}")));
        }
        let expiration = parse_rfc3339(expiration)
            .ok_or_else(|| invalid(&format!("Invalid 'expiration' value: '{expiration}'")))?;
        let conditions: S3Result<_> = conditions.iter().map(PolicyCondition::parse).collect();
        Ok(PostPolicy { expiration, conditions: conditions? })
    }

    /// Refuses an expired policy.
    pub(crate) fn check_time(&self, now: SystemTime) -> S3Result<()> {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        if now <= self.expiration { Ok(()) } else { Err(expired()) }
    }

    /// Checks all but the length of the file.
    pub(crate) fn check(&self, facts: &PolicyFacts) -> S3Result<()> {
        for (name, _) in facts.fields {
            let is_free = matches!(name.as_str(), "file" | "policy" | "x-amz-signature")
                || name.starts_with("x-ignore-");
            if !is_free && !self.covers(name) {
                return Err(denied(&format!("Extra input fields: {name}")));
            }
        }
        for condition in &self.conditions {
            if !condition.holds(facts) {
                return Err(failed(&condition.text));
            }
        }
        // A policy without a bucket would be valid for all of them.
        if self.covers("bucket") { Ok(()) } else { Err(denied("Extra input fields: bucket")) }
    }

    /// The lengths that all conditions allow.
    pub(crate) fn lengths(&self) -> Option<RangeInclusive<u64>> {
        let ranges = self.conditions.iter().filter_map(|condition| match &condition.test {
            PolicyTest::Length(range) => Some(range.clone()),
            PolicyTest::Equal { .. } | PolicyTest::Prefix { .. } => None,
        });
        ranges.reduce(|one, other| *one.start().max(other.start())..=*one.end().min(other.end()))
    }

    fn covers(&self, name: &str) -> bool {
        self.conditions.iter().any(|condition| match &condition.test {
            PolicyTest::Equal { field, .. } | PolicyTest::Prefix { field, .. } => field == name,
            PolicyTest::Length(_) => false,
        })
    }
}

impl PolicyCondition {
    fn parse(condition: &Value) -> S3Result<PolicyCondition> {
        match condition {
            Value::Object(fields) => {
                let mut fields = fields.iter();
                let (Some((field, value)), None) = (fields.next(), fields.next()) else {
                    return Err(invalid(
                        "Invalid Simple-Condition: Simple-Conditions must have exactly one \
                         property specified.",
                    ));
                };
                let Value::String(value) = value else {
                    return Err(invalid("Invalid Simple-Condition: value must be a string."));
                };
                let (field, value) = (field.to_lowercase(), value.clone());
                let text = format!("[\"eq\", \"${field}\", \"{value}\"]");
                Ok(PolicyCondition { text, test: PolicyTest::Equal { field, value } })
            }
            Value::Array(parts) => PolicyCondition::parse_list(parts, condition.to_string()),
            _ => Err(invalid("Invalid condition test: must be a List or Object.")),
        }
    }

    fn parse_list(parts: &[Value], text: String) -> S3Result<PolicyCondition> {
        let Some(operation) = parts.first() else {
            return Err(invalid("Invalid Condition: missing operation identifier."));
        };
        let operation = operation.as_str().ok_or_else(invalid_json)?;
        if !matches!(operation, "eq" | "starts-with" | "content-length-range") {
            return Err(invalid(&format!("Invalid Condition: unknown operation '{operation}'.")));
        }
        let [_, first, second] = parts else {
            let message = format!("Invalid {operation}: wrong number of arguments.");
            return Err(invalid(&message));
        };
        if operation == "content-length-range" {
            let number = |value: &Value| match value {
                Value::Number(number) => number.as_u64().ok_or_else(invalid_json),
                Value::String(digits) => digits.parse().map_err(|_| invalid_json()),
                _ => Err(invalid_json()),
            };
            let test = PolicyTest::Length(number(first)?..=number(second)?);
            return Ok(PolicyCondition { text, test });
        }
        let field = first.as_str().ok_or_else(invalid_json)?;
        let value = match second {
            Value::String(value) => value.clone(),
            Value::Number(number) => number.to_string(),
            _ => return Err(invalid_json()),
        };
        let field = field.strip_prefix('$').filter(|field| !field.trim().is_empty());
        let field = field.ok_or_else(|| failed(&text))?.to_lowercase();
        let test = match operation {
            "eq" => PolicyTest::Equal { field, value },
            _ => PolicyTest::Prefix { field, prefix: value },
        };
        Ok(PolicyCondition { text, test })
    }

    fn holds(&self, facts: &PolicyFacts) -> bool {
        match &self.test {
            PolicyTest::Equal { field, value } => facts.value(field) == Some(value),
            PolicyTest::Prefix { field, prefix } => facts.value(field).is_some_and(|value| {
                // A list of media types: each must begin so.
                let is_list = field == "content-type" && value.contains(',');
                let mut parts = value.split(',').map(str::trim);
                if is_list {
                    parts.all(|part| part.starts_with(prefix))
                } else {
                    value.starts_with(prefix)
                }
            }),
            PolicyTest::Length(_) => true,
        }
    }
}

/// A policy whose time is over.
pub(crate) fn expired() -> S3Fault {
    denied("Policy expired.")
}

fn failed(condition: &str) -> S3Fault {
    denied(&format!("Policy Condition failed: {condition}"))
}

fn denied(words: &str) -> S3Fault {
    let message = format!("Invalid according to Policy: {words}");
    S3Fault::new(FaultCode::AccessDenied).because(message)
}

fn invalid_json() -> S3Fault {
    invalid("Invalid JSON.")
}

fn invalid(words: &str) -> S3Fault {
    let message = format!("Invalid Policy: {words}");
    S3Fault::new(FaultCode::InvalidPolicyDocument).because(message)
}
