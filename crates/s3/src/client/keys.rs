//! The keys below a prefix, page by page (ListObjectsV2 without a delimiter).

use crate::client::body::entity_tag;
use crate::client::endpoint::{S3Request, S3Server};
use crate::client::fault;
use crate::client::list::{PAGE_SIZE, unescape};
use crate::client::xml;
use http::Method;
use runnel_store::{Key, KeyPage, KeyRange, Kind, Result};
use runnel_text::moment;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A page of the keys that begin with `base`, which is empty or ends in a slash. A bucket that is
/// missing has none.
pub(crate) async fn page(
    server: &S3Server,
    bucket: &str,
    base: &str,
    range: &KeyRange,
    deadline: Option<Instant>,
) -> Result<KeyPage> {
    let prefix = format!("{base}{}", range.prefix);
    let mut after = range.after.as_ref().map(|after| format!("{base}{after}"));
    let mut page = KeyPage::default();
    loop {
        let wanted = range.page() - page.keys.len();
        // Of no keys, whether there are more.
        let most = wanted.max(1).to_string();
        let mut query = vec![
            ("encoding-type", "url"),
            ("list-type", "2"),
            ("max-keys", most.as_str()),
            ("prefix", prefix.as_str()),
        ];
        query.extend(after.as_deref().map(|after| ("start-after", after)));
        let ask = S3Request { query: &query, ..S3Request::new(Method::GET, bucket, "") };
        let response = server.send(&ask, deadline).await?;
        if !response.status().is_success() {
            let error = server.refused(response, Some(bucket), deadline).await;
            return if error.kind == Kind::NotFound { Ok(page) } else { Err(error) };
        }
        let text = server.text(response, PAGE_SIZE, deadline).await?;
        let ListedKeys { keys, last, is_truncated } = read(&text, base)?;
        if wanted == 0 {
            page.more = !keys.is_empty() || is_truncated;
            return Ok(page);
        }
        page.keys.extend(keys.into_iter().take(wanted));
        page.more = is_truncated;
        if !is_truncated || page.keys.len() >= range.page() || last.is_none() {
            return Ok(page);
        }
        // Keys without a name here have used up some of the page.
        after = last;
        tokio::task::yield_now().await;
    }
}

struct ListedKeys {
    keys: Vec<Key>,
    /// The last key as the server names it.
    last: Option<String>,
    is_truncated: bool,
}

fn read(page: &str, base: &str) -> Result<ListedKeys> {
    let Some(listed) = xml::elements(page, "ListBucketResult").next() else {
        return Err(fault::garbage("a list of objects", page));
    };
    let is_escaped = xml::text(listed, "EncodingType").as_deref() == Some("url");
    let mut found = ListedKeys { keys: Vec::new(), last: None, is_truncated: false };
    for object in xml::elements(listed, "Contents") {
        let name = xml::text(object, "Key");
        let name = if is_escaped { name.and_then(|name| unescape(&name)) } else { name };
        let Some(name) = name else { continue };
        if let Some(below) = name.strip_prefix(base)
            && is_path(below)
        {
            found.keys.push(key(below, object));
        }
        found.last = Some(name);
    }
    found.is_truncated = xml::text(listed, "IsTruncated").as_deref() == Some("true");
    Ok(found)
}

/// Whether a reference can name a key: it has no empty parts and no dots alone.
fn is_path(key: &str) -> bool {
    key.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

fn key(name: &str, object: &str) -> Key {
    let modified = xml::text(object, "LastModified");
    Key {
        length: xml::text(object, "Size").and_then(|size| size.parse().ok()),
        entity_tag: xml::text(object, "ETag").and_then(|tag| entity_tag(&tag)),
        modified: modified.and_then(|date| time(&date)),
        ..Key::named(name)
    }
}

/// A time of ISO 8601.
fn time(date: &str) -> Option<SystemTime> {
    let micros = moment::parse_rfc3339(date).or_else(|| moment::parse_iso8601(date))?;
    UNIX_EPOCH.checked_add(Duration::from_micros(u64::try_from(micros).ok()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_what_the_server_says() {
        let page = "<ListBucketResult><EncodingType>url</EncodingType>\
             <IsTruncated>true</IsTruncated>\
             <Contents><Key>p/a+b</Key><Size>12</Size><ETag>&quot;x-1&quot;</ETag>\
             <LastModified>2026-01-02T03:04:05.678Z</LastModified></Contents>\
             <Contents><Key>p/c//d</Key></Contents><Contents><Key>p/e/</Key></Contents>\
             </ListBucketResult>";
        let found = read(page, "p/").unwrap();
        let key = &found.keys[0];
        assert_eq!((key.name.as_str(), key.length, found.keys.len()), ("a b", Some(12), 1));
        assert_eq!(key.entity_tag.as_ref().unwrap().text.as_str(), "x-1");
        let since = key.modified.unwrap().duration_since(UNIX_EPOCH).unwrap();
        assert_eq!(since.as_millis(), 1_767_323_045_678);
        assert_eq!((found.last.as_deref(), found.is_truncated), (Some("p/e/"), true));
        assert_eq!(read("<html>", "").map(|_| ()).unwrap_err().kind, Kind::Failed);
    }
}
