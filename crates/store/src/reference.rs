//! References: `scheme:path?query`.

pub(crate) mod segment;

use crate::Text;
use std::borrow::Cow;
use std::fmt;

/// The name of a resource in a store. The path is the unescaped text after the scheme: `/tmp/x`,
/// `//host/x`, `bucket/key`, or empty. Stores without a hierarchy at the root treat `/a` and `a` as
/// the same: see [`Reference::relative_path`].
///
/// [`crate::encode_segment`] turns text into one path segment. A store that uses segments as names
/// of files or keys of rows restores the text by [`crate::decode_segment`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reference {
    scheme: Option<Text>,
    path: Text,
    query: Option<Text>,
}

impl Reference {
    /// A reference without scheme, as a store sees it: a path and perhaps a query after `?`.
    pub fn parse(text: &str) -> Self {
        match text.split_once('?') {
            Some((path, query)) => {
                Reference { scheme: None, path: path.into(), query: Some(query.into()) }
            }
            None => Reference { scheme: None, path: text.into(), query: None },
        }
    }

    /// A path alone; a `?` in it is part of the path.
    pub fn from_path(path: impl Into<Text>) -> Self {
        Reference { scheme: None, path: path.into(), query: None }
    }

    /// The same reference with another scheme.
    pub fn with_scheme(mut self, scheme: impl Into<Text>) -> Self {
        self.scheme = Some(scheme.into());
        self
    }

    /// The same reference with a query (without the `?`).
    pub fn with_query(mut self, query: impl Into<Text>) -> Self {
        self.query = Some(query.into());
        self
    }

    /// The same scheme and query on another path.
    pub fn with_path(&self, path: impl Into<Text>) -> Self {
        Reference { scheme: self.scheme.clone(), path: path.into(), query: self.query.clone() }
    }

    /// The scheme, where one was written.
    pub fn scheme(&self) -> Option<&str> {
        self.scheme.as_deref()
    }

    /// The path as written.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The path without leading slashes, which is what most stores look up.
    pub fn relative_path(&self) -> &str {
        self.path.trim_start_matches('/')
    }

    /// The query, where there is one, still escaped.
    pub fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// The path without leading slashes and without escapes, for stores whose keys are one text.
    pub fn key(&self) -> Cow<'_, str> {
        crate::decode_segment(self.relative_path())
    }

    /// The parts of the path between slashes; empty parts are left out.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.path.as_str().split('/').filter(|part| !part.is_empty())
    }

    /// The last part of the path, or nothing at the root.
    pub fn name(&self) -> Option<&str> {
        self.path.as_str().rsplit('/').find(|part| !part.is_empty())
    }

    /// The first part of the path, and the reference of what follows it, without a slash before
    /// it; nothing at the root. The path is not copied.
    pub fn split_first(&self) -> Option<(&str, Reference)> {
        let path = self.relative_path();
        let first = path.split('/').next().filter(|first| !first.is_empty())?;
        let rest = path[first.len()..].trim_start_matches('/');
        let from = self.path.len() - rest.len();
        let rest = self.with_path(self.path.slice(from..self.path.len()));
        Some((first, rest))
    }

    /// The reference of what lies above: without the last part of the path and the slashes around
    /// it; nothing at the root. The path is not copied.
    pub fn parent(&self) -> Option<Reference> {
        let path = self.path();
        let name = self.name()?;
        let above = path.trim_end_matches('/').len() - name.len();
        let above = path[..above].trim_end_matches('/').len();
        // The slash that makes a path absolute stays.
        let above = above.max(usize::from(path.starts_with('/')));
        Some(self.with_path(self.path.slice(0..above)))
    }

    /// This reference followed by a relative path: one slash between them.
    pub fn join(&self, relative: &str) -> Self {
        let base = self.path.trim_end_matches('/');
        let relative = relative.trim_start_matches('/');
        let path = match (base.is_empty() && !self.path.starts_with('/'), relative.is_empty()) {
            (true, _) => relative.to_string(),
            (false, true) => self.path.to_string(),
            (false, false) => format!("{base}/{relative}"),
        };
        self.with_path(path)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = &self.scheme {
            write!(out, "{scheme}:")?;
        }
        out.write_str(&self.path)?;
        if let Some(query) = &self.query {
            write!(out, "?{query}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn splitting() {
        let split = |path: &str| {
            let reference = Reference::from_path(path).with_query("q");
            let (first, rest) = reference.split_first()?;
            assert_eq!(rest.query(), Some("q"));
            Some((first.to_string(), rest.path().to_string()))
        };
        let pair = |first: &str, rest: &str| Some((first.to_string(), rest.to_string()));
        assert_eq!(split("a"), pair("a", ""));
        assert_eq!(split("//a//b/c/"), pair("a", "b/c/"));
        assert_eq!(split("é/ü"), pair("é", "ü"));
        assert_eq!(split("//"), None);
    }

    #[test]
    fn parents() {
        let parent = |path: &str| {
            let above = Reference::from_path(path).parent()?;
            Some(above.path().to_string())
        };
        assert_eq!(parent("/a/b//c/").as_deref(), Some("/a/b"));
        assert_eq!(parent("/a").as_deref(), Some("/"));
        assert_eq!(parent("a").as_deref(), Some(""));
        assert_eq!((parent("/"), parent("")), (None, None));
    }
}
