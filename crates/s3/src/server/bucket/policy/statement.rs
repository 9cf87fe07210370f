//! One statement of a policy: who is allowed or denied what on which resources, and when.

use super::actions::{self, ActionKind};
use super::condition::{Facts, PolicyConditions};
use super::wildcard;
use serde_json::{Map, Value};

/// The beginning of the name of every resource.
const ARN: &str = "arn:aws:s3:::";

/// The longest pattern of a resource: a bucket and a key.
const RESOURCE_LENGTH: usize = 2048;

const INVALID_JSON: &str = "This policy contains invalid Json";
const INVALID_PRINCIPAL: &str = "Invalid principal in policy";
const INVALID_ACTION: &str = "Policy has invalid action";
const INVALID_RESOURCE: &str = "Policy has invalid resource";

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Statement {
    pub(super) is_allow: bool,
    principals: Negatable,
    actions: Negatable,
    /// Patterns without the prefix of the name: `bucket/key*`.
    resources: Negatable,
    pub(super) conditions: PolicyConditions,
}

/// A list that stands for what it names, or for everything else (`NotAction`).
#[derive(Clone, Debug, PartialEq)]
struct Negatable {
    names: Vec<String>,
    is_negated: bool,
}

impl Negatable {
    fn any(&self, fits: impl Fn(&str) -> bool) -> bool {
        self.names.iter().any(|name| fits(name)) != self.is_negated
    }
}

impl Statement {
    /// Reads a statement without judging what its names mean.
    pub(super) fn of(element: &Value) -> Result<Statement, String> {
        let element = element.as_object().ok_or(INVALID_JSON)?;
        let effect = element.get("Effect").and_then(Value::as_str).unwrap_or_default();
        let principals = list(element, "Principal", "NotPrincipal", INVALID_PRINCIPAL)?;
        let actions = list(element, "Action", "NotAction", INVALID_ACTION)?;
        let resources = list(element, "Resource", "NotResource", INVALID_RESOURCE)?;
        if !actions.names.iter().all(|action| actions::is_known(action)) {
            return Err(INVALID_ACTION.into());
        }
        let strip = |name: &String| {
            let rest = name.strip_prefix(ARN)?;
            let is_named =
                !rest.is_empty() && !rest.starts_with('/') && rest.len() <= RESOURCE_LENGTH;
            is_named.then(|| rest.to_string())
        };
        let names = resources.names.iter().map(strip).collect::<Option<_>>();
        let resources = Negatable { names: names.ok_or(INVALID_RESOURCE)?, ..resources };
        let none = Value::Object(Map::new());
        let condition = element.get("Condition").filter(|value| !value.is_null()).unwrap_or(&none);
        if effect != "Allow" && effect != "Deny" {
            return Err(format!("Invalid effect: {effect}"));
        }
        Ok(Statement {
            is_allow: effect == "Allow",
            principals,
            conditions: PolicyConditions::of(condition, &actions.names)?,
            actions,
            resources,
        })
    }

    /// Checks names: users exist, resources are in the bucket, and each action has a resource.
    pub(super) fn validate(
        &self,
        bucket: &str,
        is_user: &dyn Fn(&str) -> bool,
    ) -> Result<(), String> {
        let everybody = self.principals.names.iter().any(|name| name == "*");
        let exists = |name: &String| is_user(user_of(name));
        if everybody && self.principals.names.len() > 1
            || !everybody && !self.principals.names.iter().all(exists)
        {
            return Err(INVALID_PRINCIPAL.into());
        }
        let is_inside = |resource: &String| {
            let rest = resource.strip_prefix(bucket);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '*', '?']))
        };
        if !self.resources.names.iter().all(is_inside) {
            return Err(INVALID_RESOURCE.into());
        }
        if self.actions.is_negated || self.resources.is_negated {
            return Ok(());
        }
        let has_key = self.resources.names.iter().any(|name| name.contains('/'));
        let has_bucket = self.resources.names.iter().any(|name| !name.contains('/'));
        let fits = |action: &String| match actions::kind(action) {
            ActionKind::Any => true,
            ActionKind::Object => has_key,
            ActionKind::Bucket => has_bucket,
        };
        if !self.actions.names.iter().all(fits) {
            return Err("Action does not apply to any resource(s) in statement".into());
        }
        Ok(())
    }

    /// Whether the statement speaks of a request. `user`: the key, or `None` without a signature.
    pub(super) fn covers(
        &self,
        user: Option<&str>,
        action: &str,
        resource: &str,
        facts: &Facts<'_>,
        variables: bool,
    ) -> bool {
        let is_named = |name: &str| name == "*" || user == Some(user_of(name));
        self.principals.any(is_named)
            && self.actions.any(|pattern| wildcard::glob(pattern, action))
            && self.resources.any(|pattern| wildcard::glob(pattern, resource))
            && self.conditions.hold(facts, variables)
    }

    /// Whether the statement allows something to everybody, wherever they are.
    pub(super) fn is_public(&self) -> bool {
        let everybody = self.principals.any(|name| name == "*");
        self.is_allow && everybody && !self.conditions.restrict_public()
    }
}

/// The key of a user in `KEY` and `arn:aws:iam::ACCOUNT:user/KEY`.
fn user_of(principal: &str) -> &str {
    match principal.strip_prefix("arn:aws:iam::").and_then(|rest| rest.split_once(":user/")) {
        Some((_, name)) => name,
        None => principal,
    }
}

/// The names of one of two elements: a text, or a list of texts, or such a value in `{"AWS": …}`.
fn list(
    element: &Map<String, Value>,
    name: &str,
    negated: &str,
    words: &'static str,
) -> Result<Negatable, String> {
    let (value, is_negated) = match (element.get(name), element.get(negated)) {
        (Some(value), None) => (value, false),
        (None, Some(value)) => (value, true),
        _ => return Err(words.into()),
    };
    let value = match value {
        Value::Object(fields) if name == "Principal" && fields.len() == 1 => {
            let kinds = ["AWS", "CanonicalUser"];
            kinds.iter().find_map(|kind| fields.get(*kind)).ok_or(words)?
        }
        value => value,
    };
    let names: Option<Vec<String>> = match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(texts) => texts.iter().map(|text| text.as_str().map(str::to_string)).collect(),
        _ => None,
    };
    let names = names.ok_or(INVALID_JSON)?;
    if names.is_empty() || names.iter().any(String::is_empty) {
        return Err(words.into());
    }
    Ok(Negatable { names, is_negated })
}
