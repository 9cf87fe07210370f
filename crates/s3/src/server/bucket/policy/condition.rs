//! Conditions of statements: an operator, a key of the request, and values.
//!
//! Source: IAM user guide, "IAM JSON policy elements: Condition operators".

use super::wildcard;
use runnel_text::moment::parse_iso8601;
use serde_json::Value;
use std::net::IpAddr;

/// Keys and values of one statement.
const CONDITIONS: usize = 200;

/// All of them must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PolicyConditions {
    conditions: Vec<PolicyCondition>,
}

#[derive(Clone, Debug, PartialEq)]
struct PolicyCondition {
    set: SetOperator,
    operator: Operator,
    negated: bool,
    if_exists: bool,
    /// In lower case.
    key: String,
    values: Vec<String>,
}

/// What is asked of keys with several values; ours have one or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetOperator {
    None,
    ForAllValues,
    ForAnyValue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    StringEquals,
    StringEqualsIgnoreCase,
    StringLike,
    Numeric(OperandOrder),
    Date(OperandOrder),
    Bool,
    IpAddress,
    Null,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OperandOrder {
    Equals,
    LessThan,
    LessThanEquals,
    GreaterThan,
    GreaterThanEquals,
}

/// The value of a key of the request (in lower case), where it has one.
pub(crate) type Facts<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Keys that any action can ask for.
const GENERAL_KEYS: [&str; 16] = [
    "aws:currenttime",
    "aws:epochtime",
    "aws:multifactorauthage",
    "aws:multifactorauthpresent",
    "aws:principalarn",
    "aws:principaltype",
    "aws:referer",
    "aws:securetransport",
    "aws:sourceip",
    "aws:useragent",
    "aws:userid",
    "aws:username",
    "s3:authtype",
    "s3:signatureversion",
    "s3:x-amz-content-sha256",
    "s3:resourceaccount",
];

/// Keys of some actions only.
const SPECIAL_KEYS: [(&str, &[&str]); 16] = [
    ("s3:prefix", &["s3:ListBucket", "s3:ListBucketVersions"]),
    ("s3:delimiter", &["s3:ListBucket", "s3:ListBucketVersions"]),
    ("s3:max-keys", &["s3:ListBucket", "s3:ListBucketVersions"]),
    ("s3:x-amz-acl", &["s3:PutObject", "s3:PutBucketAcl", "s3:PutObjectAcl"]),
    ("s3:versionid", &["s3:*Version", "s3:*ObjectVersion*"]),
    ("s3:x-amz-copy-source", &["s3:PutObject"]),
    ("s3:x-amz-metadata-directive", &["s3:PutObject"]),
    ("s3:x-amz-storage-class", &["s3:PutObject"]),
    ("s3:x-amz-server-side-encryption", &["s3:PutObject"]),
    ("s3:x-amz-server-side-encryption-aws-kms-key-id", &["s3:PutObject"]),
    ("s3:x-amz-website-redirect-location", &["s3:PutObject"]),
    ("s3:object-lock-mode", &["s3:PutObject", "s3:PutObjectRetention"]),
    ("s3:object-lock-legal-hold", &["s3:PutObject", "s3:PutObjectLegalHold"]),
    ("s3:x-amz-grant-read", &["s3:PutBucketAcl", "s3:PutObjectAcl", "s3:PutObject"]),
    ("s3:x-amz-grant-write", &["s3:PutBucketAcl", "s3:PutObjectAcl", "s3:PutObject"]),
    ("s3:x-amz-grant-full-control", &["s3:PutBucketAcl", "s3:PutObjectAcl", "s3:PutObject"]),
];

impl PolicyConditions {
    /// Reads the element `Condition` of a statement with these actions.
    ///
    /// # Errors
    /// The words of `MalformedPolicy`.
    pub(super) fn of(element: &Value, actions: &[String]) -> Result<PolicyConditions, String> {
        const INVALID: &str = "This policy contains invalid Json";
        let operators = element.as_object().ok_or(INVALID)?;
        let mut conditions = Vec::new();
        for (name, keys) in operators {
            let operator =
                Operator::of(name).ok_or_else(|| format!("Invalid Condition type : {name}"))?;
            for (key, values) in keys.as_object().ok_or(INVALID)? {
                let values = values_of(values).ok_or(INVALID)?;
                conditions.push(PolicyCondition {
                    key: key.to_ascii_lowercase(),
                    values,
                    ..operator.clone()
                });
            }
        }
        let values: usize = conditions.iter().map(|condition| condition.values.len()).sum();
        if values > CONDITIONS {
            return Err("Policy has too many conditions".into());
        }
        conditions.iter().try_for_each(|condition| condition.validate(actions))?;
        Ok(PolicyConditions { conditions })
    }

    /// Whether all conditions hold for a request. `variables`: `${aws:username}` in values of text is
    /// replaced.
    pub(super) fn hold(&self, facts: &Facts<'_>, variables: bool) -> bool {
        self.conditions.iter().all(|condition| condition.holds(facts, variables))
    }

    /// Whether the conditions restrict a statement for everybody to a known range of addresses.
    pub(super) fn restrict_public(&self) -> bool {
        self.conditions.iter().any(|condition| {
            let everywhere = |value: &String| value.ends_with("/0");
            condition.key == "aws:sourceip"
                && condition.operator == Operator::IpAddress
                && !condition.negated
                && !condition.if_exists
                && !condition.values.iter().any(everywhere)
        })
    }
}

impl PolicyCondition {
    fn validate(&self, actions: &[String]) -> Result<(), String> {
        let special = SPECIAL_KEYS.iter().find(|(key, _)| *key == self.key);
        if special.is_none() && !GENERAL_KEYS.contains(&self.key.as_str()) {
            return Err("Policy has an invalid condition key".into());
        }
        let mut named = actions.iter().filter(|action| !action.contains(['*', '?']));
        let applies = |action: &String| match special {
            Some((_, known)) => known.iter().any(|pattern| wildcard::glob(pattern, action)),
            None => true,
        };
        if !named.all(applies) {
            let words =
                "Conditions do not apply to combination of actions and resources in statement";
            return Err(words.into());
        }
        if self.key == "aws:sourceip" && !self.values.iter().all(|value| network(value).is_some()) {
            return Err("Invalid IP address in Conditions".into());
        }
        Ok(())
    }

    fn holds(&self, facts: &Facts<'_>, variables: bool) -> bool {
        let found = facts(&self.key);
        if self.operator == Operator::Null {
            let wanted = if found.is_none() { "true" } else { "false" };
            return self.values.iter().any(|value| value.eq_ignore_ascii_case(wanted));
        }
        let Some(found) = found else {
            return self.negated || self.if_exists || self.set == SetOperator::ForAllValues;
        };
        let fits =
            self.values.iter().any(|value| match self.operator.takes_variables() && variables {
                true => self.operator.compare(&substitute(value, facts), &found),
                false => self.operator.compare(value, &found),
            });
        fits != self.negated
    }
}

impl Operator {
    /// The operator of a name with its prefix and its suffix, as a condition without key and values.
    fn of(name: &str) -> Option<PolicyCondition> {
        let (set, rest) = match name.split_once(':') {
            Some(("ForAllValues", rest)) => (SetOperator::ForAllValues, rest),
            Some(("ForAnyValue", rest)) => (SetOperator::ForAnyValue, rest),
            Some(_) => return None,
            None => (SetOperator::None, name),
        };
        let bare = rest.strip_suffix("IfExists");
        let if_exists = bare.is_some();
        let (operator, negated) = Operator::of_bare(bare.unwrap_or(rest))?;
        if operator == Operator::Null && if_exists {
            return None;
        }
        Some(PolicyCondition {
            set,
            operator,
            negated,
            if_exists,
            key: String::new(),
            values: Vec::new(),
        })
    }

    fn of_bare(name: &str) -> Option<(Operator, bool)> {
        Some(match name {
            "StringEquals" | "BinaryEquals" => (Operator::StringEquals, false),
            "StringNotEquals" => (Operator::StringEquals, true),
            "StringEqualsIgnoreCase" => (Operator::StringEqualsIgnoreCase, false),
            "StringNotEqualsIgnoreCase" => (Operator::StringEqualsIgnoreCase, true),
            "StringLike" | "ArnEquals" | "ArnLike" => (Operator::StringLike, false),
            "StringNotLike" | "ArnNotEquals" | "ArnNotLike" => (Operator::StringLike, true),
            "Bool" => (Operator::Bool, false),
            "IpAddress" => (Operator::IpAddress, false),
            "NotIpAddress" => (Operator::IpAddress, true),
            "Null" => (Operator::Null, false),
            _ => {
                let (family, rest): (fn(OperandOrder) -> Operator, _) = match name {
                    _ if name.starts_with("Numeric") => (Operator::Numeric, &name[7..]),
                    _ if name.starts_with("Date") => (Operator::Date, &name[4..]),
                    _ => return None,
                };
                match rest {
                    "Equals" => (family(OperandOrder::Equals), false),
                    "NotEquals" => (family(OperandOrder::Equals), true),
                    "LessThan" => (family(OperandOrder::LessThan), false),
                    "LessThanEquals" => (family(OperandOrder::LessThanEquals), false),
                    "GreaterThan" => (family(OperandOrder::GreaterThan), false),
                    "GreaterThanEquals" => (family(OperandOrder::GreaterThanEquals), false),
                    _ => return None,
                }
            }
        })
    }

    fn takes_variables(self) -> bool {
        use Operator::{StringEquals, StringEqualsIgnoreCase, StringLike};
        matches!(self, StringEquals | StringEqualsIgnoreCase | StringLike)
    }

    /// Compares the value of a policy with that of the request. What cannot be read does not fit.
    fn compare(self, wanted: &str, found: &str) -> bool {
        match self {
            Operator::StringEquals => wanted == found,
            Operator::StringEqualsIgnoreCase => wanted.to_lowercase() == found.to_lowercase(),
            Operator::StringLike => wildcard::glob(wanted, found),
            Operator::Bool => wanted.eq_ignore_ascii_case(found),
            Operator::Numeric(comparison) => {
                let numbers = (found.parse::<f64>(), wanted.parse::<f64>());
                matches!(numbers, (Ok(found), Ok(wanted)) if comparison.holds(found, wanted))
            }
            Operator::Date(comparison) => {
                let moments = (moment(found), moment(wanted));
                matches!(moments, (Some(found), Some(wanted)) if comparison.holds(found, wanted))
            }
            Operator::IpAddress => match (network(wanted), found.parse::<IpAddr>()) {
                (Some((network, bits)), Ok(address)) => {
                    contains(network, bits, address.to_canonical())
                }
                _ => false,
            },
            Operator::Null => false,
        }
    }
}

impl OperandOrder {
    fn holds(self, found: f64, wanted: f64) -> bool {
        match self {
            OperandOrder::Equals => found == wanted,
            OperandOrder::LessThan => found < wanted,
            OperandOrder::LessThanEquals => found <= wanted,
            OperandOrder::GreaterThan => found > wanted,
            OperandOrder::GreaterThanEquals => found >= wanted,
        }
    }
}

fn values_of(values: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    match values {
        Value::Array(values) => values.iter().map(text).collect(),
        value => text(value).map(|value| vec![value]),
    }
}

/// Seconds since 1970, of a date in ISO 8601 or of a number.
fn moment(text: &str) -> Option<f64> {
    let date = text.contains('-').then(|| parse_iso8601(text)).flatten();
    date.map_or_else(|| text.parse().ok(), |micros| Some(micros as f64 / 1e6))
}

/// An address with the number of bits that count: `10.0.0.0/8`, or one address.
fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse::<u8>().ok()?)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.unwrap_or(most);
    (bits <= most).then_some((address, bits))
}

fn contains(network: IpAddr, bits: u8, address: IpAddr) -> bool {
    let differs = match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            let differing = network.to_bits() ^ address.to_bits();
            differing.checked_shr(32 - u32::from(bits)).unwrap_or(0) != 0
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => {
            let differing = network.to_bits() ^ address.to_bits();
            differing.checked_shr(128 - u32::from(bits)).unwrap_or(0) != 0
        }
        _ => true,
    };
    !differs
}

/// Replaces `${key}` by the value of the request; a key without one stays as it is, which fits nothing.
fn substitute(value: &str, facts: &Facts<'_>) -> String {
    let mut text = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        text.push_str(before);
        let found = after
            .split_once('}')
            .and_then(|(key, after)| Some((facts(&key.to_ascii_lowercase())?, after)));
        match found {
            Some((found, after)) => {
                text.push_str(&found);
                rest = after;
            }
            None => {
                text.push_str("${");
                rest = after;
            }
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(condition: &str) -> bool {
        let facts = |key: &str| {
            Some(match key {
                "aws:sourceip" => "10.1.2.3".to_string(),
                "aws:username" => "ann".to_string(),
                "aws:securetransport" => "false".to_string(),
                "aws:currenttime" => "2026-11-23T05:00:00Z".to_string(),
                "s3:max-keys" => "10".to_string(),
                "s3:prefix" => "home/ann/x".to_string(),
                _ => return None,
            })
        };
        let element = serde_json::from_str(condition).unwrap();
        let conditions = PolicyConditions::of(&element, &["s3:ListBucket".to_string()]);
        conditions.unwrap_or_else(|words| panic!("{words}")).hold(&facts, true)
    }

    #[test]
    fn operators_compare() {
        for (condition, expected) in [
            (r#"{"StringEquals":{"AWS:UserName":["bob","ann"]}}"#, true),
            (r#"{"StringNotEquals":{"aws:username":["bob","ann"]}}"#, false),
            (r#"{"StringEqualsIgnoreCase":{"aws:username":"ANN"}}"#, true),
            (r#"{"StringLike":{"s3:prefix":"home/${aws:username}/*"}}"#, true),
            (r#"{"StringLike":{"s3:prefix":"home/${aws:nothing}/*"}}"#, false),
            (r#"{"StringEquals":{"aws:referer":"x"}}"#, false),
            (r#"{"StringEqualsIfExists":{"aws:referer":"x"}}"#, true),
            (r#"{"StringNotEquals":{"aws:referer":"x"}}"#, true),
            (r#"{"ForAllValues:StringEquals":{"aws:referer":"x"}}"#, true),
            (r#"{"Null":{"aws:referer":"true"}}"#, true),
            (r#"{"Null":{"aws:username":true}}"#, false),
            (r#"{"Bool":{"aws:SecureTransport":"false"}}"#, true),
            (r#"{"Bool":{"aws:SecureTransport":true}}"#, false),
            (r#"{"NumericLessThanEquals":{"s3:max-keys":"10"}}"#, true),
            (r#"{"NumericGreaterThan":{"s3:max-keys":10}}"#, false),
            (r#"{"NumericNotEquals":{"s3:max-keys":"x"}}"#, true),
            (r#"{"DateLessThan":{"aws:CurrentTime":"2027-01-01T00:00:00Z"}}"#, true),
            (r#"{"DateGreaterThan":{"aws:CurrentTime":"4000000000"}}"#, false),
            (r#"{"IpAddress":{"aws:SourceIp":"10.0.0.0/8"}}"#, true),
            (r#"{"IpAddress":{"aws:SourceIp":"0.0.0.0/0"}}"#, true),
            (r#"{"IpAddress":{"aws:SourceIp":["11.0.0.0/8","::1"]}}"#, false),
            (r#"{"NotIpAddress":{"aws:SourceIp":"10.1.2.3"}}"#, false),
            (r#"{"Bool":{"aws:SecureTransport":"false"},"Null":{"aws:username":"true"}}"#, false),
        ] {
            assert_eq!(holds(condition), expected, "{condition}");
        }
    }

    #[test]
    fn malformed_conditions_are_refused() {
        for (condition, action, words) in [
            (
                r#"{"stringequals":{"aws:UserAgent":"x"}}"#,
                "s3:GetObject",
                "Invalid Condition type : stringequals",
            ),
            (
                r#"{"NullIfExists":{"aws:UserAgent":"x"}}"#,
                "s3:GetObject",
                "Invalid Condition type : NullIfExists",
            ),
            (
                r#"{"ForSome:StringEquals":{"a":"x"}}"#,
                "s3:GetObject",
                "Invalid Condition type : ForSome:StringEquals",
            ),
            (
                r#"{"StringEquals":{"s3:Fake":"x"}}"#,
                "s3:GetObject",
                "Policy has an invalid condition key",
            ),
            (
                r#"{"IpAddress":{"aws:SourceIp":"300.1.1.1/40"}}"#,
                "s3:GetObject",
                "Invalid IP address in Conditions",
            ),
            (
                r#"{"Null":{"aws:SourceIp":"true"}}"#,
                "s3:GetObject",
                "Invalid IP address in Conditions",
            ),
            (
                r#"{"StringEquals":{"s3:VersionId":"x"}}"#,
                "s3:GetObject",
                "Conditions do not apply to combination of actions and resources in statement",
            ),
            (
                r#"{"StringEquals":{"aws:UserAgent":{}}}"#,
                "s3:GetObject",
                "This policy contains invalid Json",
            ),
            (r#"[]"#, "s3:GetObject", "This policy contains invalid Json"),
        ] {
            let element = serde_json::from_str(condition).unwrap();
            assert_eq!(PolicyConditions::of(&element, &[action.to_string()]).unwrap_err(), words);
        }
    }
}
