//! All options that programs give to servers, databases and combinators, as their tables define them.

use crate::world::database_options::{POSTGRES, SQLITE};
use crate::world::s3_server::OPTIONS;
use crate::world::server_options::infos;
use runnel_http::PROXY_OPTIONS;
use runnel_sql::SHIPPING;
use runnel_store::{SettingInfo, SettingList, combinators};

/// What has options.
#[derive(Clone, Debug)]
pub(crate) struct OptionOwner {
    /// A class, or what else has them.
    pub(crate) name: &'static str,
    /// How a program writes them.
    pub(crate) written: String,
    /// The scheme of a database.
    pub(crate) scheme: Option<&'static str>,
    pub(crate) options: Vec<SettingInfo>,
}

impl OptionOwner {
    fn class(name: &'static str, options: Vec<SettingInfo>) -> OptionOwner {
        OptionOwner { name, written: format!("#{name}{{ … }}"), scheme: None, options }
    }

    /// Whether a message of the class only gets or sets an option.
    pub(crate) fn is_accessor(&self, selector: &str) -> bool {
        let is = |name: &str| selector == name || selector == setter(name);
        self.options.iter().any(|info| is(info.name))
    }

    /// Whether it is a class.
    pub(crate) fn is_class(&self) -> bool {
        self.written.starts_with('#')
    }
}

/// Everything that has options: servers, the proxy, combinators, databases, continuous backups.
pub(crate) fn owners() -> Vec<OptionOwner> {
    let server = infos();
    let s3_server = [OPTIONS.infos(), server.clone()].concat();
    let mut owners = vec![
        OptionOwner::class("HTTPServer", server),
        OptionOwner::class("S3Server", s3_server),
        OptionOwner::class("Proxy", PROXY_OPTIONS.infos()),
        OptionOwner {
            name: "SQLite database",
            written: "ref:sqlite:FILE database: #{ … }".into(),
            scheme: Some("sqlite"),
            options: SQLITE.infos(),
        },
        OptionOwner {
            name: "PostgreSQL database",
            written: "ref:postgres://HOST/NAME database: #{ … }".into(),
            scheme: Some("postgres"),
            options: POSTGRES.infos(),
        },
        OptionOwner {
            name: "continuous backup",
            written: "database backupContinuously: store with: #{ … }".into(),
            scheme: None,
            options: SHIPPING.infos(),
        },
    ];
    let combinators = combinators().filter(|one| !one.infos().is_empty());
    owners.extend(combinators.map(|one| OptionOwner::class(one.class, one.infos())));
    owners
}

/// `setTitle:` of `title`.
fn setter(name: &str) -> String {
    let mut rest = name.chars();
    let first = rest.next().map(|first| first.to_ascii_uppercase());
    format!("set{}{}:", first.unwrap_or_default(), rest.as_str())
}
