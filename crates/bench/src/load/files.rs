//! The limit of open files, and so of connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files beside the connections: standard streams, polls, timers, reads of `/proc`.
const OTHERS: u64 = 300;

/// Raises the limit of open files for this many connections.
///
/// # Errors
/// A sentence with the limit and how to raise it.
pub(crate) fn allow(connections: usize) -> Result<(), String> {
    let needed = connections as u64 + OTHERS;
    let limit = getrlimit(Resource::Nofile);
    let enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= needed);
    if enough(limit.current) {
        return Ok(());
    }
    let wanted = Rlimit { current: Some(needed), maximum: limit.maximum };
    if enough(limit.maximum) && setrlimit(Resource::Nofile, wanted).is_ok() {
        return Ok(());
    }
    let most = limit.maximum.or(limit.current).unwrap_or_default();
    Err(format!(
        "{connections} connections need {needed} open files, and the system lets this process have \
         {most}; take fewer connections, or raise the limit with ulimit -n"
    ))
}

#[allow(clippy::unwrap_used)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_connections_as_the_system_lets_are_allowed() {
        assert_eq!(allow(1), Ok(()));
        let most = getrlimit(Resource::Nofile).maximum;
        if let Some(most) = most.filter(|most| *most < u64::from(u32::MAX)) {
            let why = allow(most as usize).unwrap_err();
            assert!(why.contains("ulimit -n"), "{why}");
            assert_eq!(getrlimit(Resource::Nofile).maximum, Some(most));
        }
    }
}
