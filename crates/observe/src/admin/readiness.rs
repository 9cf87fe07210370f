//! Readiness: the checks of the program, and whether the server is stopping.

use runnel_store::{Context, Error, Kind, Reference, Result, Store};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The most checks of a program.
const MOST: usize = 64;
/// The timeout for all of them together.
const TIME: Duration = Duration::from_secs(2);

/// The checks of a program: stores that answer a get without an error when ready.
#[derive(Default)]
pub(crate) struct Readiness {
    checks: RefCell<Vec<(String, Rc<dyn Store>)>>,
}

impl Readiness {
    /// Adds a check, or replaces the one with this name.
    pub(crate) fn add(&self, name: &str, check: Rc<dyn Store>) -> Result<()> {
        let mut checks = self.checks.borrow_mut();
        if let Some(known) = checks.iter_mut().find(|(known, _)| known == name) {
            known.1 = check;
        } else if checks.len() < MOST {
            checks.push((name.to_string(), check));
        } else {
            let message = format!("a server has at most {MOST} checks: join some");
            return Err(Error::new(Kind::TooLarge, message));
        }
        Ok(())
    }

    /// Runs all checks concurrently. Returns each with its error, if any.
    pub(crate) fn ask(&self) -> impl Future<Output = Vec<(String, Option<String>)>> + use<> {
        let checks = self.checks.borrow().clone();
        async move {
            let deadline = Instant::now() + TIME;
            let context = Context { deadline: Some(deadline), ..Context::default() };
            let place = Reference::from_path("/");
            // Started together, awaited in turn.
            let begun: Vec<_> =
                checks.iter().map(|(name, check)| (name, check.get(&place, &context))).collect();
            let mut found = Vec::with_capacity(begun.len());
            for (name, answer) in begun {
                let wrong = match tokio::time::timeout_at(deadline.into(), answer).await {
                    Ok(Ok(Some(_))) => None,
                    Ok(Ok(None)) => Some("it answered nothing".to_string()),
                    Ok(Err(error)) => Some(error.message),
                    Err(_) => Some(format!("it took longer than {} s", TIME.as_secs())),
                };
                found.push((name.clone(), wrong));
            }
            found
        }
    }
}
