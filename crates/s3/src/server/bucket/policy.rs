//! Policies of buckets, in JSON: statements that allow or deny.
//!
//! Source: Amazon S3 user guide, "Bucket policies", and the grammar of IAM's policies.

mod actions;
mod condition;
mod statement;
pub(crate) mod wildcard;

use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::xml::XmlWriter;
use serde_json::Value;
use statement::Statement;

pub(crate) use condition::Facts;

/// The longest policy, in bytes.
pub(crate) const POLICY_SIZE: usize = 20 << 10;

/// The version with which `${aws:username}` in conditions is replaced.
const WITH_VARIABLES: &str = "2012-10-17";

/// A policy that was read and validated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BucketPolicy {
    /// As the client sent it, which is what it gets back.
    text: String,
    has_variables: bool,
    statements: Vec<Statement>,
}

/// What the statements of a policy say about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PolicyDecision {
    /// Nothing.
    None,
    /// One allows it, and none denies it.
    Allow,
    /// One denies it, which nothing overrides.
    Deny,
}

impl BucketPolicy {
    /// Reads the body of PutBucketPolicy. `is_user` tells whether a key is one of a user.
    pub(crate) fn parse(
        document: &[u8],
        bucket: &str,
        is_user: &dyn Fn(&str) -> bool,
    ) -> S3Result<BucketPolicy> {
        let policy = BucketPolicy::read(document).map_err(malformed)?;
        let valid =
            policy.statements.iter().try_for_each(|statement| statement.validate(bucket, is_user));
        valid.map_err(malformed)?;
        Ok(policy)
    }

    /// Reads a policy that was validated when it was stored; users may be gone since.
    pub(crate) fn stored(text: &str) -> S3Result<BucketPolicy> {
        BucketPolicy::read(text.as_bytes()).map_err(malformed)
    }

    fn read(document: &[u8]) -> Result<BucketPolicy, String> {
        const INVALID: &str = "This policy contains invalid Json";
        if document.first() != Some(&b'{') {
            return Err("Policies must be valid JSON and the first byte must be '{'".into());
        }
        if document.len() > POLICY_SIZE {
            return Err("Policy exceeds the maximum allowed document size.".into());
        }
        let text = std::str::from_utf8(document).map_err(|_| INVALID)?;
        let value: Value = serde_json::from_str(text).map_err(|_| INVALID)?;
        let statements = value.get("Statement").ok_or("Missing required field Statement")?;
        let statements = match statements {
            Value::Array(statements) => statements.iter().map(Statement::of).collect(),
            statement @ Value::Object(_) => {
                Statement::of(statement).map(|statement| vec![statement])
            }
            _ => Err(INVALID.into()),
        };
        let statements: Vec<Statement> = statements?;
        if statements.is_empty() {
            return Err("Could not parse the policy: Statement is empty!".into());
        }
        let version = value.get("Version").map(Value::as_str);
        match version {
            None | Some(Some("2008-10-17" | WITH_VARIABLES)) => {}
            Some(_) => return Err("The policy must contain a valid version string".into()),
        }
        let has_variables = version == Some(Some(WITH_VARIABLES));
        Ok(BucketPolicy { text: text.to_string(), has_variables, statements })
    }

    /// The text that the client sent.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What the policy says about an action of a user, or of a client without a signature (`None`), on
    /// a bucket (`photos`) or a key in it (`photos/cat.jpg`).
    pub(crate) fn decide(
        &self,
        user: Option<&str>,
        action: &str,
        resource: &str,
        facts: &Facts<'_>,
    ) -> PolicyDecision {
        let mut decision = PolicyDecision::None;
        for statement in &self.statements {
            if statement.covers(user, action, resource, facts, self.has_variables) {
                if !statement.is_allow {
                    return PolicyDecision::Deny;
                }
                decision = PolicyDecision::Allow;
            }
        }
        decision
    }

    /// Whether the policy allows something to everybody.
    pub(crate) fn is_public(&self) -> bool {
        self.statements.iter().any(Statement::is_public)
    }

    /// The answer of GetBucketPolicyStatus.
    pub(crate) fn status_to_xml(&self) -> String {
        XmlWriter::document("PolicyStatus", |xml| xml.value("IsPublic", self.is_public()))
    }
}

fn malformed(words: String) -> S3Fault {
    S3Fault::new(FaultCode::MalformedPolicy).because(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> S3Result<BucketPolicy> {
        BucketPolicy::parse(text.as_bytes(), "b", &|key| key == "ann" || key == "bob")
    }

    fn statement(effect: &str, principal: &str, action: &str, resource: &str) -> String {
        format!(
            r#"{{"Effect":"{effect}","Principal":{principal},"Action":{action},"Resource":{resource}}}"#
        )
    }

    fn policy(statements: &[String]) -> String {
        format!(r#"{{"Version":"2012-10-17","Statement":[{}]}}"#, statements.join(","))
    }

    fn decide(policy: &BucketPolicy, user: Option<&str>, action: &str, on: &str) -> PolicyDecision {
        policy.decide(user, action, on, &|_| None)
    }

    #[test]
    fn deny_overrides_allow() {
        let keys = r#"["arn:aws:s3:::b","arn:aws:s3:::b/*"]"#;
        let ann = r#"{"AWS":["ann","arn:aws:iam::1:user/bob"]}"#;
        let text = policy(&[
            statement("Allow", ann, r#""s3:*""#, keys),
            statement("Deny", r#""ann""#, r#"["s3:PutObject"]"#, r#""arn:aws:s3:::b/old/*""#),
        ]);
        let policy = parse(&text).unwrap();
        assert_eq!(policy.text(), text);
        assert!(!policy.is_public());
        for (user, action, on, expected) in [
            (Some("ann"), "s3:PutObject", "b/x", PolicyDecision::Allow),
            (Some("ann"), "s3:PutObject", "b/old/x", PolicyDecision::Deny),
            (Some("bob"), "s3:PutObject", "b/old/x", PolicyDecision::Allow),
            (Some("eve"), "s3:PutObject", "b/x", PolicyDecision::None),
            (None, "s3:PutObject", "b/x", PolicyDecision::None),
            (Some("ann"), "s3:ListBucket", "b", PolicyDecision::Allow),
        ] {
            assert_eq!(decide(&policy, user, action, on), expected, "{user:?} {action} {on}");
        }
        assert_eq!(BucketPolicy::stored(&text).unwrap(), policy);
    }

    #[test]
    fn everybody_is_public() {
        let text = policy(&[statement("Allow", r#""*""#, r#""s3:Get*""#, r#""arn:aws:s3:::b/*""#)]);
        let policy = parse(&text).unwrap();
        assert!(policy.is_public());
        assert_eq!(decide(&policy, None, "s3:GetObject", "b/x"), PolicyDecision::Allow);
        let text = text.replace(
            r#""Effect""#,
            r#""Condition":{"IpAddress":{"aws:SourceIp":"10.0.0.0/8"}},"Effect""#,
        );
        let policy = parse(&text).unwrap();
        assert!(!policy.is_public());
        assert_eq!(decide(&policy, None, "s3:GetObject", "b/x"), PolicyDecision::None);
    }

    #[test]
    fn negated_elements_are_understood() {
        let text = r#"{"Statement":{"Effect":"Deny","NotPrincipal":{"AWS":"ann"},
            "NotAction":"s3:GetObject","NotResource":"arn:aws:s3:::b/open/*"}}"#;
        let policy = parse(text).unwrap();
        assert_eq!(decide(&policy, Some("bob"), "s3:PutObject", "b/x"), PolicyDecision::Deny);
        assert_eq!(decide(&policy, Some("bob"), "s3:GetObject", "b/x"), PolicyDecision::None);
        assert_eq!(decide(&policy, Some("bob"), "s3:PutObject", "b/open/x"), PolicyDecision::None);
        assert_eq!(decide(&policy, Some("ann"), "s3:PutObject", "b/x"), PolicyDecision::None);
    }

    #[test]
    fn malformed_policies_are_refused() {
        let one = |effect: &str, principal: &str, action: &str, resource: &str| {
            policy(&[statement(effect, principal, action, resource)])
        };
        let (all, get, keys) = (r#""*""#, r#""s3:GetObject""#, r#""arn:aws:s3:::b/*""#);
        for (text, words) in [
            ("false".to_string(), "Policies must be valid JSON and the first byte must be '{'"),
            ("{true}".to_string(), "This policy contains invalid Json"),
            ("{}".to_string(), "Missing required field Statement"),
            (r#"{"Statement":[]}"#.into(), "Could not parse the policy: Statement is empty!"),
            (one("Maybe", all, get, keys), "Invalid effect: Maybe"),
            (one("Allow", r#""""#, get, keys), "Invalid principal in policy"),
            (one("Allow", "[]", get, keys), "Invalid principal in policy"),
            (one("Allow", r#"{"AWS":""}"#, get, keys), "Invalid principal in policy"),
            (one("Allow", r#"["*","ann"]"#, get, keys), "Invalid principal in policy"),
            (one("Allow", r#"["eve"]"#, get, keys), "Invalid principal in policy"),
            (one("Allow", all, r#""s3:Fly""#, keys), "Policy has invalid action"),
            (one("Allow", all, get, r#""arn:aws:iam:::b""#), "Policy has invalid resource"),
            (one("Allow", all, get, r#""arn:aws:s3:::/b""#), "Policy has invalid resource"),
            (one("Allow", all, get, r#""arn:aws:s3:::bb/*""#), "Policy has invalid resource"),
            (one("Allow", all, get, r#""""#), "Policy has invalid resource"),
            (
                one("Allow", all, get, r#""arn:aws:s3:::b""#),
                "Action does not apply to any resource(s) in statement",
            ),
            (
                one("Allow", all, r#""s3:ListBucket""#, keys),
                "Action does not apply to any resource(s) in statement",
            ),
            (
                one("Allow", all, get, keys).replace("2012-10-17", "2012-10-16"),
                "The policy must contain a valid version string",
            ),
        ] {
            let fault = parse(&text).unwrap_err();
            assert_eq!(
                (fault.code, &*fault.message),
                (FaultCode::MalformedPolicy, words),
                "{text}"
            );
        }
    }
}
