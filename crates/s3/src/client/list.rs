//! What is in a server and in a bucket (ListBuckets and ListObjectsV2).

use crate::client::endpoint::{S3Request, S3Server};
use crate::client::fault;
use crate::client::xml;
use http::Method;
use percent_encoding::percent_decode_str;
use runnel_store::{Entry, Error, Kind, Result};
use std::collections::BTreeMap;
use std::time::Instant;

/// The most children that a listing answers; more are an error.
pub const LISTED: usize = 100_000;

/// The most that is read of one page, in bytes: a thousand keys of the greatest length, escaped,
/// with what is said about them.
pub(crate) const PAGE_SIZE: usize = 8 * 1024 * 1024;

/// The buckets, ordered by name.
pub(crate) async fn buckets(server: &S3Server, deadline: Option<Instant>) -> Result<Vec<Entry>> {
    let ask = S3Request { bucket: None, ..S3Request::new(Method::GET, "", "") };
    let response = server.succeed(&ask, deadline).await?;
    let page = server.text(response, PAGE_SIZE, deadline).await?;
    let Some(listed) = xml::elements(&page, "ListAllMyBucketsResult").next() else {
        return Err(fault::garbage("a list of buckets", &page));
    };
    let names = xml::elements(listed, "Bucket").filter_map(|bucket| xml::text(bucket, "Name"));
    let mut entries: Vec<Entry> = names.map(|name| Entry { name, collection: true }).collect();
    entries.sort_unstable();
    Ok(entries)
}

/// The children below a prefix, which is empty or ends in a slash. `None` where nothing begins so;
/// a bucket that is empty has no children.
pub(crate) async fn objects(
    server: &S3Server,
    bucket: &str,
    prefix: &str,
    deadline: Option<Instant>,
) -> Result<Option<Vec<Entry>>> {
    let mut found = ListedPage { children: BTreeMap::new(), is_there: prefix.is_empty() };
    let mut next: Option<String> = None;
    loop {
        let mut query = vec![
            ("delimiter", "/"),
            ("encoding-type", "url"),
            ("list-type", "2"),
            ("max-keys", "1000"),
            ("prefix", prefix),
        ];
        if let Some(next) = &next {
            query.insert(0, ("continuation-token", next));
        }
        let ask = S3Request { query: &query, ..S3Request::new(Method::GET, bucket, "") };
        let response = server.send(&ask, deadline).await?;
        if !response.status().is_success() {
            let error = server.refused(response, Some(bucket), deadline).await;
            return if error.kind == Kind::NotFound { Ok(None) } else { Err(error) };
        }
        let page = server.text(response, PAGE_SIZE, deadline).await?;
        next = found.take(&page, prefix)?;
        if next.is_none() {
            break;
        }
        tokio::task::yield_now().await;
    }
    let entries = found.children.into_iter().map(|(name, collection)| Entry { name, collection });
    Ok(found.is_there.then(|| entries.collect()))
}

struct ListedPage {
    /// Each name, and whether it has children.
    children: BTreeMap<String, bool>,
    is_there: bool,
}

impl ListedPage {
    /// Takes a page; answers what asks for the next one.
    fn take(&mut self, page: &str, prefix: &str) -> Result<Option<String>> {
        let Some(listed) = xml::elements(page, "ListBucketResult").next() else {
            return Err(fault::garbage("a list of objects", page));
        };
        let is_escaped = xml::text(listed, "EncodingType").as_deref() == Some("url");
        let plain = |name: String| if is_escaped { unescape(&name) } else { Some(name) };
        let keys = xml::elements(listed, "Contents").filter_map(|key| xml::text(key, "Key"));
        let prefixes = xml::elements(listed, "CommonPrefixes")
            .filter_map(|common| xml::text(common, "Prefix"));
        for name in keys.chain(prefixes).filter_map(plain) {
            let Some(rest) = name.strip_prefix(prefix) else { continue };
            self.is_there = true;
            let (child, collection) = match rest.strip_suffix('/') {
                Some(child) => (child, true),
                None => (rest, false),
            };
            // The object that stands for a folder, and keys with two slashes, have no name here.
            if child.is_empty() {
                continue;
            }
            *self.children.entry(child.to_string()).or_default() |= collection;
        }
        if self.children.len() > LISTED {
            let message = format!("there are more than {LISTED} children; list a longer prefix");
            return Err(Error::new(Kind::TooLarge, message));
        }
        let is_more = xml::text(listed, "IsTruncated").as_deref() == Some("true");
        Ok(xml::text(listed, "NextContinuationToken").filter(|token| is_more && !token.is_empty()))
    }
}

/// URL encoding as in forms, where a plus is a space; what is no UTF-8 is left out.
pub(crate) fn unescape(name: &str) -> Option<String> {
    let name = name.replace('+', " ");
    percent_decode_str(&name).decode_utf8().ok().map(|name| name.into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parse_page(page: &str, prefix: &str) -> (Vec<(String, bool)>, bool, Option<String>) {
        let mut found = ListedPage { children: BTreeMap::new(), is_there: prefix.is_empty() };
        let next = found.take(page, prefix).unwrap();
        (found.children.into_iter().collect(), found.is_there, next)
    }

    #[test]
    fn pages_are_read() {
        let page = "<ListBucketResult><Name>b</Name><Prefix>a%2F</Prefix>\
             <EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>\
             <Contents><Key>a/</Key></Contents>\
             <Contents><Key>a/x+%2B%25.txt</Key><Size>1</Size></Contents>\
             <Contents><Key>a/y</Key></Contents>\
             <CommonPrefixes><Prefix>a/y/</Prefix></CommonPrefixes>\
             <CommonPrefixes><Prefix>a//</Prefix></CommonPrefixes>\
             <NextContinuationToken>t=</NextContinuationToken></ListBucketResult>";
        let children = vec![("x +%.txt".to_string(), false), ("y".to_string(), true)];
        assert_eq!(parse_page(page, "a/"), (children, true, Some("t=".into())));
        let empty = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
        assert_eq!(parse_page(empty, "a/"), (vec![], false, None));
        assert_eq!(parse_page(empty, ""), (vec![], true, None));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        let mut found = ListedPage { children: BTreeMap::new(), is_there: false };
        for page in ["", "<html>", "<ListBucketResult>"] {
            assert_eq!(found.take(page, "").unwrap_err().kind, Kind::Failed, "{page}");
        }
    }
}
