//! Under which name a request is counted: few names, whatever clients ask for.

use runnel_http::ObservedRequest;

/// A request that found nothing, or that was refused before anything was asked.
pub(crate) const NONE: &str = "(none)";
/// Where there are too many names already.
pub(crate) const OTHER: &str = "(other)";
/// The most names, with their methods.
pub(crate) const MOST: usize = 256;

/// The longest first segment of a path that is a name, in bytes.
const LONGEST: usize = 64;

/// The known methods; others are counted as one.
pub(crate) const METHODS: [&str; 8] =
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "OTHER"];

/// The place of a method in [`METHODS`].
pub(crate) fn method(name: &str) -> usize {
    METHODS.iter().position(|known| *known == name).unwrap_or(METHODS.len() - 1)
}

/// Does something with the name of a request's route: the pattern of the program that answered;
/// where none did, the path up to its first segment.
pub(crate) fn with<T>(request: &ObservedRequest, act: impl FnOnce(&str) -> T) -> T {
    request.with_route(|route| match route {
        Some(route) => act(route),
        None => of_path(request.uri().path(), request.status(), act),
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
