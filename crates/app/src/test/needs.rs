//! Servers that a page or a program needs: started for it, and gone when it has been tested.
//!
//! A page says `<!-- needs: redis nats -->` on a line of its own, a program says
//! `// test needs: redis nats`. The addresses are in the environment of what is tested.

use runnel_scratch::{Server, Service};
use std::path::Path;

/// The servers of one page or program, shared by its parts.
pub(super) struct Needs {
    services: Vec<Service>,
    servers: tokio::sync::OnceCell<Result<Vec<Server>, String>>,
}

impl Needs {
    /// What a text says that it needs, or the line and the fault of what it says.
    pub(super) fn read(text: &str, path: &Path) -> Result<Needs, (usize, String)> {
        let page = path.extension().is_some_and(|ending| ending == "md");
        let (mark, end) = if page { ("<!-- needs:", "-->") } else { ("// test needs:", "") };
        let mut services = Vec::new();
        let mut lines = text.lines().enumerate();
        let found =
            lines.find_map(|(number, line)| Some((number, line.trim().strip_prefix(mark)?)));
        let (number, names) = found.unwrap_or_default();
        for name in names.trim_end().trim_end_matches(end).split_whitespace() {
            match Service::named(name) {
                Some(service) => services.push(service),
                None => {
                    let known = Service::ALL.map(Service::name).join(", ");
                    let fault = format!("there is no server `{name}` for tests; known are {known}");
                    return Err((number + 1, fault));
                }
            }
        }
        Ok(Needs { services, servers: tokio::sync::OnceCell::new() })
    }

    /// The servers that are not installed, each with what installs it. In continuous integration
    /// (the variable `CI` is set) none may be missing, so there it is empty.
    pub(super) fn missing(&self) -> Vec<String> {
        if std::env::var_os("CI").is_some() {
            return Vec::new();
        }
        let missing = self.services.iter().filter(|service| !service.is_installed());
        missing.map(|service| format!("{} ({})", service.name(), service.help())).collect()
    }

    /// Starts the servers at the first call, and answers the variables with their addresses.
    pub(super) async fn environment(&self) -> Result<Vec<(&'static str, String)>, String> {
        if self.services.is_empty() {
            return Ok(Vec::new());
        }
        let started = self.servers.get_or_init(|| async {
            let services = self.services.clone();
            let start = move || services.into_iter().map(Server::start).collect();
            match tokio::task::spawn_blocking(start).await {
                Ok(servers) => servers,
                Err(error) => Err(error.to_string()),
            }
        });
        let servers = started.await.as_ref().map_err(String::clone)?;
        let mut variables = Vec::new();
        for (service, server) in self.services.iter().zip(servers) {
            variables.push((service.variable(), server.url()));
            if *service == Service::S3 {
                // The server takes any; without some the client would look for real ones.
                let made_up = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
                variables.extend(made_up.map(|name| (name, "testing".to_string())));
                variables.push(("AWS_REGION", "us-east-1".to_string()));
            }
        }
        Ok(variables)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_is_read() {
        let page = Path::new("a.md");
        let read = |text, path| Needs::read(text, path).map(|needs| needs.services);
        assert_eq!(
            read("# A\n\n<!-- needs: redis nats -->\n", page).unwrap(),
            [Service::Redis, Service::Nats]
        );
        assert_eq!(read("# A\n", page).unwrap(), []);
        let program = Path::new("a.st");
        assert_eq!(read("// test needs: postgres\n3", program).unwrap(), [Service::Postgres]);
        let fault = read("3.\n// test needs: oracle\n", program).unwrap_err();
        assert_eq!(fault.0, 2);
        assert!(fault.1.contains("oracle"), "{}", fault.1);
    }
}
