//! Route labels of metrics: bounded cardinality, whatever clients request.

use runnel_http::ObservedRequest;

/// The label of requests without a result, or refused early.
pub(crate) const NONE: &str = "(none)";
/// The label beyond the limit.
pub(crate) const OTHER: &str = "(other)";
/// The most labels, with their methods.
pub(crate) const MOST: usize = 256;

/// The longest first path segment used as a label, in bytes.
const LONGEST: usize = 64;

/// Known methods; others share one label.
pub(crate) const METHODS: [&str; 8] =
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "OTHER"];

/// The index of a method in [`METHODS`].
pub(crate) fn method(name: &str) -> usize {
    METHODS.iter().position(|known| *known == name).unwrap_or(METHODS.len() - 1)
}

/// Calls a function with the label of a request: the route of the program, or else the path up to
/// its first segment.
pub(crate) fn with<T>(request: &ObservedRequest, act: impl FnOnce(&str) -> T) -> T {
    request.with_route(|route| match route {
        Some(route) => act(route),
        None => of_path(request.uri.path(), request.status(), act),
    })
}

fn of_path<T>(path: &str, status: u16, act: impl FnOnce(&str) -> T) -> T {
    if status == 0 || status >= 400 {
        return act(NONE);
    }
    let inner = path.strip_prefix('/').unwrap_or(path);
    match inner.split_once('/') {
        _ if inner.split('/').next().is_some_and(|first| first.len() > LONGEST) => act(OTHER),
        Some((first, rest)) if !rest.is_empty() => act(&format!("/{first}/*")),
        _ => act(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_named_by_its_beginning() {
        let name = |path, status| of_path(path, status, str::to_string);
        assert_eq!(name("/", 200), "/");
        assert_eq!(name("/hello", 200), "/hello");
        assert_eq!(name("/files/", 200), "/files/");
        assert_eq!(name("/files/a/b.png", 304), "/files/*");
        assert_eq!(name("/wp-admin.php", 404), NONE);
        assert_eq!(name(&format!("/{}", "x".repeat(65)), 200), OTHER);
    }

    #[test]
    fn unknown_methods_are_one() {
        assert_eq!(METHODS[method("PATCH")], "PATCH");
        assert_eq!(METHODS[method("BREW")], "OTHER");
    }
}
