//! Redaction of secrets in logs, by the name of a parameter.

use runnel_text::form;
use std::borrow::Cow;

/// The replacement of a secret.
pub(crate) const REDACTED: &str = "[hidden]";

/// Parts of secret names; case and separators do not count.
const PARTS: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "token",
    "secret",
    "credential",
    "session",
    "signature",
    "cookie",
    "oauth",
    "jwt",
];

/// The suffix of secret names.
const END: &str = "key";

/// Whole names that are too short, or too common as parts of other words.
/// `_live` carried the token of a view in the URL once: clients that still send it get an ordinary page.
const WHOLE: [&str; 11] =
    ["auth", "authorization", "pass", "pw", "pin", "otp", "sig", "sid", "code", "state", "live"];

/// A target with secret parameters redacted.
pub(crate) fn target(target: &str) -> Cow<'_, str> {
    match target.split_once('?') {
        Some((path, query)) if has_secret(query) => {
            Cow::Owned(format!("{path}?{}", redact_query(query)))
        }
        _ => Cow::Borrowed(target),
    }
}

/// A referrer without user names, redacted like [`target`].
pub(crate) fn address(address: &str) -> Cow<'_, str> {
    let without_fragment = address.split('#').next().unwrap_or_default();
    let Some((scheme, rest)) = without_fragment.split_once("://") else {
        return target(without_fragment);
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => Cow::Owned(target(&format!("{scheme}://{}", &rest[at + 1..])).into_owned()),
        None => target(without_fragment),
    }
}

/// A query with secret parameters redacted.
fn redact_query(query: &str) -> String {
    let mut hidden = String::with_capacity(query.len());
    for (number, pair) in query.split('&').enumerate() {
        if number > 0 {
            hidden.push('&');
        }
        match pair.split_once('=') {
            Some((name, _)) if is_secret(name) => {
                hidden.push_str(name);
                hidden.push('=');
                hidden.push_str(REDACTED);
            }
            _ => hidden.push_str(pair),
        }
    }
    hidden
}

fn has_secret(query: &str) -> bool {
    query.split('&').any(|pair| pair.split_once('=').is_some_and(|(name, _)| is_secret(name)))
}

/// Whether the name of a parameter marks a secret. Escapes are decoded, so that `tok%65n` hides
/// nothing.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = normalized(name);
    WHOLE.contains(&&*name) || name.ends_with(END) || PARTS.iter().any(|part| name.contains(part))
}

/// A name in lower case, percent-decoded, without separators.
fn normalized(name: &str) -> String {
    // A form field without a value. Invalid UTF-8 hides nothing either.
    let decoded = form::fields(name.as_bytes()).next().map(|(name, _)| name).unwrap_or_default();
    let letters = decoded.chars().filter(|letter| !"-_+. []".contains(*letter));
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_by_name() {
        for name in [
            "password",
            "Password",
            "user_password",
            "token",
            "access_token",
            "tok%65n",
            "secret",
            "client-secret",
            "key",
            "api_key",
            "apiKey",
            "X-Amz-Signature",
            "auth",
            "session_id",
            "sig",
            "code",
            "jwt",
            "user%5Bpassword%5D",
            "pin",
            "tok%65n%ff",
        ] {
            let line = format!("/x?a=1&{name}=hunter2&b=2");
            let shown = target(&line);
            assert!(!shown.contains("hunter2"), "{name}: {shown}");
            assert!(shown.starts_with("/x?a=1&") && shown.ends_with("&b=2"), "{shown}");
        }
    }

    #[test]
    fn what_is_not_secret_stays() {
        for line in
            ["/", "/password", "/x?", "/x?design=1&keyboard=2&shipping=3&author=4&a", "/x?token"]
        {
            assert_eq!(target(line), line);
        }
    }

    #[test]
    fn an_address_loses_its_user() {
        assert_eq!(address("http://a:b@h/x?y=1#frag"), "http://h/x?y=1");
        assert_eq!(address("https://h/x?token=1"), "https://h/x?token=[hidden]");
        assert_eq!(address("https://h/x@y"), "https://h/x@y");
        assert_eq!(address("nonsense"), "nonsense");
    }
}
