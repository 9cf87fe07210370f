//! The security headers of pages, with a content security policy.

use super::header_text::{OptionalHeader, is_value};
use crate::combine::definition::Combinator;
use crate::combine::layer::{Below, Layer};
use crate::{
    Answer, Context, Exchange, Reference, Result, Setting, SettingKind, SettingTable, Store, Value,
    Verb, Wanted, fill_random, setting_choices,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// Random bytes of a nonce: 128 bits, as Content Security Policy Level 3 section 7.1 asks for.
const NONCE: usize = 16;
/// Nonces that are drawn from the system at once.
const DRAWN: usize = 32;
/// The most directives of a policy.
const MOST_DIRECTIVES: usize = 40;

/// The directives of the policy, in their order. The server's own pages work with it; parts of live
/// pages have `style` attributes.
const DIRECTIVES: [(&str, &str); 9] = [
    ("default-src", "'self'"),
    ("script-src", "'self'"),
    ("style-src", "'self'"),
    ("style-src-attr", "'unsafe-inline'"),
    ("img-src", "'self' data:"),
    ("object-src", "'none'"),
    ("base-uri", "'self'"),
    ("form-action", "'self'"),
    ("frame-ancestors", ""),
];

/// Directives whose inline code gets a nonce.
const WITH_NONCE: [&str; 4] = ["script-src", "style-src", "script-src-elem", "style-src-elem"];

/// Who may show a page in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameOptions {
    /// Pages of the same origin.
    SameOrigin,
    /// Nobody.
    Deny,
    /// Everybody.
    Anybody,
}

setting_choices!(FrameOptions {
    "SAMEORIGIN" => FrameOptions::SameOrigin,
    "DENY" => FrameOptions::Deny,
    "any" => FrameOptions::Anybody,
});

/// The headers of a [`SecurityHeaders`].
#[derive(Clone, Debug)]
pub struct SecurityOptions {
    /// Directives that replace those of the policy, or are added to them; without a value one is
    /// left out. `None` leaves out the policy.
    pub directives: Option<Vec<(String, Option<String>)>>,
    /// `Referrer-Policy`.
    pub referrer_policy: OptionalHeader,
    /// `Cross-Origin-Opener-Policy`.
    pub opener_policy: OptionalHeader,
    /// `Permissions-Policy`.
    pub permissions_policy: OptionalHeader,
    /// `X-Frame-Options`, and `frame-ancestors` of the policy.
    pub frame_options: FrameOptions,
    /// The age of `Strict-Transport-Security`, which is sent over TLS alone; zero leaves it out.
    pub transport_security: Duration,
}

impl Default for SecurityOptions {
    /// All of them.
    fn default() -> Self {
        let permissions = "camera=(), geolocation=(), microphone=(), payment=(), usb=()";
        SecurityOptions {
            directives: Some(Vec::new()),
            referrer_policy: OptionalHeader::new("strict-origin-when-cross-origin"),
            opener_policy: OptionalHeader::new("same-origin"),
            permissions_policy: OptionalHeader::new(permissions),
            frame_options: FrameOptions::SameOrigin,
            transport_security: Duration::from_secs(365 * 86_400),
        }
    }
}

const SETTINGS: SettingTable<SecurityOptions> = SettingTable(&[
    Setting::custom(
        "contentSecurityPolicy",
        "directives of the policy by name, or false",
        SettingKind::Record,
        |options: &mut SecurityOptions, value| {
            options.directives = match value {
                Value::Bool(false) => None,
                value => Some(directives_in(value)?),
            };
            Ok(())
        },
    ),
    Setting::new(
        "referrerPolicy",
        "`Referrer-Policy`, or false",
        |options: &mut SecurityOptions| &mut options.referrer_policy,
    ),
    Setting::new(
        "crossOriginOpenerPolicy",
        "`Cross-Origin-Opener-Policy`, or false",
        |options: &mut SecurityOptions| &mut options.opener_policy,
    ),
    Setting::custom(
        "permissionsPolicy",
        "`Permissions-Policy`, or false",
        SettingKind::Any,
        |options: &mut SecurityOptions, value| {
            crate::SettingValue::assign(&mut options.permissions_policy, value, None)
        },
    ),
    Setting::new(
        "frameOptions",
        "`X-Frame-Options`: who may show a page in a frame",
        |options: &mut SecurityOptions| &mut options.frame_options,
    ),
    Setting::new(
        "strictTransportSecurity",
        "the age of `Strict-Transport-Security` over TLS; 0 for none",
        |options: &mut SecurityOptions| &mut options.transport_security,
    ),
]);

/// The directives of a dictionary: texts, and `false` for those that are left out.
fn directives_in(value: &Value) -> std::result::Result<Vec<(String, Option<String>)>, Wanted> {
    let wanted = "a dictionary of directives and their texts, or false";
    let fields = value.as_record().filter(|fields| fields.len() <= MOST_DIRECTIVES);
    let mut directives = Vec::new();
    for (name, value) in fields.ok_or(wanted)? {
        let is_name = !name.is_empty()
            && name.len() <= 64
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let value = match value {
            Value::Bool(false) => None,
            Value::Text(text) if is_value(text) && !text.contains([';', ',']) => {
                Some(text.trim().to_string())
            }
            _ => return Err(wanted.into()),
        };
        match is_name {
            true => directives.push((name.clone(), value)),
            false => return Err(wanted.into()),
        }
    }
    Ok(directives)
}

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "SecurityHeaders",
    aliases: &[],
    help: "the security headers of pages, with a content security policy",
    settings: &SETTINGS,
    make: |parts| {
        let options = parts.read("a SecurityHeaders", &SETTINGS)?;
        Ok(SecurityHeaders::new(parts.source()?, options).into())
    },
};

/// Sets the security headers of every answer of a source, before the source is asked: what the
/// source sets itself counts more. Each request has a nonce, which the program's own `script` and
/// `style` elements carry and nothing that got into a page by accident does.
pub struct SecurityHeaders {
    source: Rc<dyn Store>,
    headers: Rc<SetOfHeaders>,
}

struct SetOfHeaders {
    /// The parts of the policy between its nonces.
    policy: Option<Vec<String>>,
    /// The others.
    fixed: Vec<(&'static str, String)>,
    transport_security: Option<String>,
}

impl SecurityHeaders {
    /// The headers of the answers of `source`.
    pub fn new(source: Rc<dyn Store>, options: SecurityOptions) -> Self {
        let policy = options.directives.as_ref().map(|own| policy(own, options.frame_options));
        let frame = match options.frame_options {
            FrameOptions::SameOrigin => Some("SAMEORIGIN".to_string()),
            FrameOptions::Deny => Some("DENY".to_string()),
            FrameOptions::Anybody => None,
        };
        let fixed = [
            ("x-frame-options", frame),
            ("referrer-policy", options.referrer_policy.0),
            ("cross-origin-opener-policy", options.opener_policy.0),
            ("permissions-policy", options.permissions_policy.0),
        ];
        let fixed = fixed.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let age = options.transport_security.as_secs();
        let transport_security = (age > 0).then(|| format!("max-age={age}"));
        let headers = SetOfHeaders { policy, fixed, transport_security };
        SecurityHeaders { source, headers: Rc::new(headers) }
    }
}

/// The policy, in the parts between its nonces.
fn policy(own: &[(String, Option<String>)], frames: FrameOptions) -> Vec<String> {
    let ancestors = match frames {
        FrameOptions::SameOrigin => Some("'self'"),
        FrameOptions::Deny => Some("'none'"),
        FrameOptions::Anybody => None,
    };
    let usual = DIRECTIVES.iter().filter_map(|(name, value)| {
        let value = if *name == "frame-ancestors" { ancestors? } else { *value };
        Some((*name, Some(value)))
    });
    let mut directives: Vec<(&str, Option<&str>)> = usual.collect();
    for (name, value) in own {
        match directives.iter_mut().find(|(known, _)| known == name) {
            Some(known) => known.1 = value.as_deref(),
            None => directives.push((name, value.as_deref())),
        }
    }
    let mut parts = vec![String::new()];
    for (name, value) in directives {
        let (Some(value), Some(part)) = (value, parts.last_mut()) else { continue };
        if !part.is_empty() && !part.ends_with("; ") {
            part.push_str("; ");
        }
        part.push_str(name);
        if !value.is_empty() {
            part.push(' ');
            part.push_str(value);
        }
        // A nonce switches these words off, or contradicts them.
        let plain = !value.contains("'unsafe-inline'") && !value.contains("'none'");
        if WITH_NONCE.contains(&name) && plain {
            part.push_str(" 'nonce-");
            parts.push("'; ".to_string());
        }
    }
    if let Some(last) = parts.last_mut() {
        last.truncate(last.trim_end_matches("; ").len());
    }
    parts
}

thread_local! {
    /// Random bytes for the next nonces, and how many are used up.
    static RANDOM: RefCell<([u8; NONCE * DRAWN], usize)> =
        const { RefCell::new(([0; NONCE * DRAWN], NONCE * DRAWN)) };
}

/// A nonce that cannot be predicted.
fn new_nonce() -> Result<String> {
    RANDOM.with_borrow_mut(|(bytes, used)| {
        if *used >= bytes.len() {
            fill_random(bytes)?;
            *used = 0;
        }
        let own = &mut bytes[*used..*used + NONCE];
        let nonce = STANDARD_NO_PAD.encode(&*own);
        // What was used is not kept.
        own.fill(0);
        *used += NONCE;
        Ok(nonce)
    })
}

impl SetOfHeaders {
    fn set(&self, exchange: &dyn Exchange) -> Result<()> {
        for (name, value) in &self.fixed {
            exchange.set_header(name, value)?;
        }
        if let Some(value) = self.transport_security.as_ref().filter(|_| exchange.is_secure()) {
            exchange.set_header("strict-transport-security", value)?;
        }
        match self.policy.as_deref() {
            None => Ok(()),
            Some([policy]) => exchange.set_header("content-security-policy", policy),
            Some(parts) => {
                let nonce = match exchange.nonce() {
                    Some(nonce) => nonce,
                    None => {
                        let nonce = new_nonce()?;
                        exchange.set_nonce(&nonce);
                        nonce
                    }
                };
                exchange.set_header("content-security-policy", &parts.join(&nonce))
            }
        }
    }
}

impl Layer for SecurityHeaders {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(SecurityHeaders { source: inner, headers: self.headers.clone() }))
    }

    fn relays(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        "security headers".to_string()
    }

    fn around<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        // The session of a live page has no page of its own.
        if let Some(exchange) = context.exchange.as_ref().filter(|one| one.live().is_none())
            && let Err(error) = self.headers.set(&**exchange)
        {
            return error.on(verb, reference).into();
        }
        act(&*self.source, reference, context)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn joined(own: &[(&str, Option<&str>)], frames: FrameOptions) -> String {
        let own = own.iter().map(|(name, value)| (name.to_string(), value.map(str::to_string)));
        policy(&own.collect::<Vec<_>>(), frames).join("N")
    }

    #[test]
    fn the_policy_has_a_nonce_for_scripts_and_styles() {
        assert_eq!(
            joined(&[], FrameOptions::SameOrigin),
            "default-src 'self'; script-src 'self' 'nonce-N'; style-src 'self' 'nonce-N'; \
             style-src-attr 'unsafe-inline'; img-src 'self' data:; object-src 'none'; \
             base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
        );
    }

    #[test]
    fn directives_are_replaced_added_and_left_out() {
        let own = [
            ("style-src", Some("'self' 'unsafe-inline'")),
            ("img-src", Some("*")),
            ("form-action", None),
            ("upgrade-insecure-requests", Some("")),
            ("script-src-elem", Some("https://cdn.example")),
        ];
        assert_eq!(
            joined(&own, FrameOptions::Anybody),
            "default-src 'self'; script-src 'self' 'nonce-N'; style-src 'self' 'unsafe-inline'; \
             style-src-attr 'unsafe-inline'; img-src *; object-src 'none'; base-uri 'self'; \
             upgrade-insecure-requests; script-src-elem https://cdn.example 'nonce-N'"
        );
        assert!(joined(&[], FrameOptions::Deny).ends_with("frame-ancestors 'none'"));
    }

    #[test]
    fn directives_that_could_end_the_header_are_refused() {
        for value in ["'self'; script-src *", "a, b", "a\r\nb", "ü"] {
            let fields = Value::record([("img-src", Value::from(value))]);
            assert!(directives_in(&fields).is_err(), "{value}");
        }
        let fields = Value::record([("Img Src", Value::from("a"))]);
        assert!(directives_in(&fields).is_err());
    }

    #[test]
    fn nonces_differ() {
        let nonces: std::collections::HashSet<String> =
            (0..1000).map(|_| new_nonce().unwrap()).collect();
        assert_eq!(nonces.len(), 1000);
        assert!(nonces.iter().all(|nonce| nonce.len() == 22));
    }
}
