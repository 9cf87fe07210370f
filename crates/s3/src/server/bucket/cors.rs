//! Cross-origin resource sharing: which pages of other origins may use a bucket.
//!
//! Source: Amazon S3 user guide, "Using cross-origin resource sharing", and the Fetch Standard.

use super::policy::wildcard;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::xml::{self, Element, XmlWriter};
use http::header::{HeaderMap, HeaderName, HeaderValue};

/// Rules of one bucket.
const RULES: usize = 100;

/// The methods that a rule can allow.
const METHODS: [&str; 5] = ["GET", "PUT", "HEAD", "POST", "DELETE"];

/// An answer depends on all of these, so that a cache keeps one for each.
const VARY: &str = "Origin, Access-Control-Request-Headers, Access-Control-Request-Method";

/// The rules of a bucket; the first that fits answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CorsConfiguration {
    rules: Vec<CorsRule>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CorsRule {
    id: Option<String>,
    allowed_headers: Vec<String>,
    allowed_methods: Vec<String>,
    allowed_origins: Vec<String>,
    expose_headers: Vec<String>,
    max_age_seconds: Option<i32>,
}

/// What the document of one rule lists, in the order of the schema.
const LISTS: [&str; 4] = ["AllowedHeader", "AllowedMethod", "AllowedOrigin", "ExposeHeader"];

impl CorsConfiguration {
    /// Reads the body of PutBucketCors.
    pub(crate) fn parse(document: &[u8]) -> S3Result<CorsConfiguration> {
        let root = xml::read(document)?;
        let rules: S3Result<Vec<CorsRule>> = root.all("CORSRule").map(CorsRule::of).collect();
        let rules = rules?;
        if &*root.name != "CORSConfiguration" || rules.is_empty() || rules.len() > RULES {
            return Err(FaultCode::MalformedXML.into());
        }
        Ok(CorsConfiguration { rules })
    }

    /// The answer of GetBucketCors.
    pub(crate) fn to_xml(&self) -> String {
        XmlWriter::document("CORSConfiguration", |xml| {
            for rule in &self.rules {
                xml.element("CORSRule", |xml| {
                    xml.optional("ID", rule.id.as_deref());
                    let lists = [
                        &rule.allowed_headers,
                        &rule.allowed_methods,
                        &rule.allowed_origins,
                        &rule.expose_headers,
                    ];
                    for (name, texts) in LISTS.iter().zip(lists) {
                        texts.iter().for_each(|text| xml.text(name, text));
                    }
                    if let Some(seconds) = rule.max_age_seconds {
                        xml.value("MaxAgeSeconds", seconds);
                    }
                });
            }
        })
    }

    /// The header fields of the first rule that allows a method with header fields to an origin.
    fn allow(&self, origin: &str, method: &str, asked: &[String]) -> Option<HeaderMap> {
        self.rules.iter().find_map(|rule| rule.allow(origin, method, asked))
    }
}

impl CorsRule {
    fn of(element: &Element) -> S3Result<CorsRule> {
        let list = |name: &str| -> Vec<String> {
            element.all(name).map(|item| item.text.trim().to_string()).collect()
        };
        let [allowed_headers, allowed_methods, allowed_origins, expose_headers] = LISTS.map(list);
        let max_age_seconds = element.text_of("MaxAgeSeconds").map(|text| text.trim().parse());
        let rule = CorsRule {
            id: element.text_of("ID").map(str::to_string),
            allowed_headers,
            allowed_methods,
            allowed_origins,
            expose_headers,
            max_age_seconds: max_age_seconds.transpose().map_err(|_| FaultCode::MalformedXML)?,
        };
        rule.validate()?;
        Ok(rule)
    }

    fn validate(&self) -> S3Result<()> {
        let invalid = |words: String| S3Fault::new(FaultCode::InvalidRequest).because(words);
        if self.allowed_origins.is_empty() || self.allowed_methods.is_empty() {
            return Err(FaultCode::MalformedXML.into());
        }
        if let Some(origin) = self.allowed_origins.iter().find(|o| o.matches('*').count() > 1) {
            let words = format!("AllowedOrigin \"{origin}\" can not have more than one wildcard.");
            return Err(invalid(words));
        }
        let mut methods = self.allowed_methods.iter();
        if let Some(method) = methods.find(|method| !METHODS.contains(&method.as_str())) {
            return Err(invalid(format!(
                "Found unsupported HTTP method in CORS config. Unsupported method is {method}"
            )));
        }
        let mut names = self.allowed_headers.iter().chain(&self.expose_headers);
        match names.find(|name| !name.is_empty() && !is_header_name(name)) {
            Some(name) => {
                Err(invalid(format!("AllowedHeader \"{name}\" contains invalid character.")))
            }
            None => Ok(()),
        }
    }

    fn allow(&self, origin: &str, method: &str, asked: &[String]) -> Option<HeaderMap> {
        let allowed = self.allowed_origins.iter().find(|known| wildcard::star(known, origin))?;
        let headers_fit = asked.iter().all(|name| {
            let fits = |known: &String| wildcard::star(&known.to_ascii_lowercase(), name);
            self.allowed_headers.iter().any(fits)
        });
        if !headers_fit || !self.allowed_methods.iter().any(|known| known == method) {
            return None;
        }
        let everybody = allowed == "*";
        let mut exposed: Vec<&str> = self.expose_headers.iter().map(String::as_str).collect();
        if !exposed.iter().any(|name| name.eq_ignore_ascii_case("etag")) {
            exposed.push("ETag");
        }
        let age = self.max_age_seconds.map(|seconds| seconds.to_string());
        let mut fields = HeaderMap::new();
        for (name, value) in [
            ("access-control-allow-origin", if everybody { "*" } else { origin }),
            ("access-control-allow-methods", &self.allowed_methods.join(", ")),
            ("access-control-allow-headers", &asked.join(", ")),
            ("access-control-expose-headers", &exposed.join(", ")),
            ("access-control-allow-credentials", if everybody { "false" } else { "true" }),
            ("access-control-max-age", age.as_deref().unwrap_or("")),
            ("vary", VARY),
        ] {
            // An origin with bytes that no field can hold comes from no browser.
            let value = HeaderValue::from_str(value).ok().filter(|value| !value.is_empty());
            if let Some(value) = value {
                fields.insert(HeaderName::from_static(name), value);
            }
        }
        Some(fields)
    }
}

/// Answers `OPTIONS` for a bucket with or without rules; `resource` is the kind of the target, for the
/// fault: `BUCKET` or `OBJECT`.
pub(crate) fn preflight(
    rules: Option<&CorsConfiguration>,
    headers: &HeaderMap,
    resource: &'static str,
) -> S3Result<HeaderMap> {
    let origin = field(headers, "origin").filter(|origin| !origin.is_empty()).ok_or_else(|| {
        let words = "Insufficient information. Origin request header needed.";
        S3Fault::new(FaultCode::BadRequest).because(words)
    })?;
    let method = field(headers, "access-control-request-method").unwrap_or_default();
    let asked = asked_method_and_headers(headers, &method)?;
    let forbidden = |kind| {
        S3Fault::new(FaultCode::AccessForbidden)
            .with("Method", "OPTIONS")
            .with("ResourceType", kind)
    };
    let rules = rules.ok_or_else(|| {
        forbidden("BUCKET").because("CORSResponse: CORS is not enabled for this bucket.")
    })?;
    rules.allow(&origin, &method, &asked).ok_or_else(|| forbidden(resource))
}

/// The fields that an answer to another request carries: none where the request has no `Origin`, or no
/// rule allows it. A browser then withholds the answer from the page.
///
/// # Errors
/// Fields of a preflight that are malformed.
pub(crate) fn headers(
    rules: Option<&CorsConfiguration>,
    request: &HeaderMap,
    method: &str,
) -> S3Result<HeaderMap> {
    let (Some(rules), Some(origin)) = (rules, field(request, "origin")) else {
        return Ok(HeaderMap::new());
    };
    let asked_method = field(request, "access-control-request-method").unwrap_or_default();
    let method = if asked_method.is_empty() { method.into() } else { asked_method };
    let asked = asked_method_and_headers(request, &method)?;
    Ok(rules.allow(&origin, &method, &asked).unwrap_or_default())
}

fn asked_method_and_headers(headers: &HeaderMap, method: &str) -> S3Result<Vec<String>> {
    let invalid = |words| Err(S3Fault::new(FaultCode::BadRequest).because(words));
    if !METHODS.contains(&method) {
        return invalid(format!("Invalid Access-Control-Request-Method: {method}"));
    }
    let asked = field(headers, "access-control-request-headers").unwrap_or_default();
    let mut names = Vec::new();
    for name in asked.split(',').filter(|_| !asked.is_empty()) {
        if !is_header_name(name.trim()) {
            return invalid(format!(
                "Access-Control-Request-Headers \"{name}\" contains invalid character."
            ));
        }
        names.push(name.trim().to_ascii_lowercase());
    }
    Ok(names)
}

fn field(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// RFC 9110 section 5.6.2, `token`.
fn is_header_name(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_token)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "<CORSConfiguration>\
        <CORSRule><ID>one</ID><AllowedHeader>X-Amz-*</AllowedHeader><AllowedMethod>GET</AllowedMethod>\
        <AllowedMethod>HEAD</AllowedMethod><AllowedOrigin>http://*.a.org</AllowedOrigin>\
        <ExposeHeader>X-B</ExposeHeader><MaxAgeSeconds>100</MaxAgeSeconds></CORSRule>\
        <CORSRule><AllowedMethod>PUT</AllowedMethod><AllowedOrigin>*</AllowedOrigin></CORSRule>\
        </CORSConfiguration>";

    fn request(origin: &str, method: &str, asked: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("origin", origin),
            ("access-control-request-method", method),
            ("access-control-request-headers", asked),
        ] {
            headers.insert(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
    }

    fn answer(origin: &str, method: &str, asked: &str) -> S3Result<HeaderMap> {
        let rules = CorsConfiguration::parse(DOCUMENT.as_bytes()).unwrap();
        preflight(Some(&rules), &request(origin, method, asked), "OBJECT")
    }

    #[test]
    fn rules_are_read_and_written() {
        let rules = CorsConfiguration::parse(DOCUMENT.as_bytes()).unwrap();
        assert_eq!(CorsConfiguration::parse(rules.to_xml().as_bytes()).unwrap(), rules);
        assert!(rules.to_xml().contains("<ID>one</ID><AllowedHeader>X-Amz-*</AllowedHeader>"));
    }

    #[test]
    fn preflights_are_answered() {
        let fields = answer("http://x.a.org", "GET", "X-Amz-Date, x-amz-b").unwrap();
        for (name, value) in [
            ("access-control-allow-origin", "http://x.a.org"),
            ("access-control-allow-methods", "GET, HEAD"),
            ("access-control-allow-headers", "x-amz-date, x-amz-b"),
            ("access-control-expose-headers", "X-B, ETag"),
            ("access-control-allow-credentials", "true"),
            ("access-control-max-age", "100"),
            ("vary", VARY),
        ] {
            assert_eq!(fields.get(name).unwrap(), value);
        }
        let fields = answer("http://b.org", "PUT", "").unwrap();
        assert_eq!(fields["access-control-allow-origin"], "*");
        assert_eq!(fields["access-control-allow-credentials"], "false");
        assert!(!fields.contains_key("access-control-allow-headers"));
    }

    #[test]
    fn preflights_are_refused() {
        for (origin, method, asked, code) in [
            ("", "GET", "", FaultCode::BadRequest),
            ("http://x.a.org", "get", "", FaultCode::BadRequest),
            ("http://x.a.org", "OPTIONS", "", FaultCode::BadRequest),
            ("http://x.a.org", "GET", "a b", FaultCode::BadRequest),
            ("http://x.a.org", "GET", "ä", FaultCode::BadRequest),
            ("http://x.a.org", "DELETE", "", FaultCode::AccessForbidden),
            ("http://x.a.org", "GET", "date", FaultCode::AccessForbidden),
            ("http://a.org", "GET", "", FaultCode::AccessForbidden),
        ] {
            assert_eq!(answer(origin, method, asked).unwrap_err().code, code, "{origin} {method}");
        }
        let fault = preflight(None, &request("http://a", "GET", ""), "OBJECT").unwrap_err();
        assert_eq!(&*fault.message, "CORSResponse: CORS is not enabled for this bucket.");
    }

    #[test]
    fn actual_requests_carry_fields() {
        let rules = CorsConfiguration::parse(DOCUMENT.as_bytes()).unwrap();
        let mut request = HeaderMap::new();
        assert!(headers(Some(&rules), &request, "GET").unwrap().is_empty());
        request.insert("origin", "http://x.a.org".parse().unwrap());
        assert_eq!(headers(Some(&rules), &request, "GET").unwrap().len(), 6);
        assert!(headers(Some(&rules), &request, "DELETE").unwrap().is_empty());
        assert!(headers(None, &request, "GET").unwrap().is_empty());
    }

    #[test]
    fn invalid_rules_are_refused() {
        for (from, to, words) in [
            ("<AllowedOrigin>*</AllowedOrigin>", "", "The XML you provided"),
            (">*<", ">*a*<", "AllowedOrigin \"*a*\" can not have more than one wildcard."),
            (
                ">PUT<",
                ">PATCH<",
                "Found unsupported HTTP method in CORS config. Unsupported method is PATCH",
            ),
            (">X-B<", ">X B<", "AllowedHeader \"X B\" contains invalid character."),
            (">100<", ">x<", "The XML you provided"),
        ] {
            let text = DOCUMENT.replace(from, to);
            let fault = CorsConfiguration::parse(text.as_bytes()).unwrap_err();
            assert!(fault.message.starts_with(words), "{}", fault.message);
        }
        assert!(CorsConfiguration::parse(b"<CORSConfiguration/>").is_err());
    }
}
