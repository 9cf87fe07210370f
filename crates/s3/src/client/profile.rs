//! The files `~/.aws/credentials` and `~/.aws/config`.

use crate::client::options::S3Options;
use runnel_store::{Error, Kind, Result};
use std::collections::HashMap;
use std::io::Read;
use std::path::PathBuf;

/// The most that is read of such a file, in bytes.
const FILE_SIZE: u64 = 1024 * 1024;

/// What the files say about one profile.
#[derive(Default)]
pub(crate) struct Profile {
    values: HashMap<String, String>,
}

impl Profile {
    /// The profile of `AWS_PROFILE`, or `default`. Missing files say nothing.
    pub(crate) fn read(options: &S3Options) -> Result<Profile> {
        let named = options.variable("AWS_PROFILE");
        let name = named.as_deref().unwrap_or("default");
        let file = |variable: &str, usual: &str| {
            let given = options.variable(variable).map(PathBuf::from);
            given
                .or_else(|| Some(PathBuf::from(options.variable("HOME")?).join(".aws").join(usual)))
        };
        let mut profile = Profile::default();
        let mut is_there = false;
        // Both may hold everything; what the file of credentials says counts.
        for (variable, usual) in
            [("AWS_CONFIG_FILE", "config"), ("AWS_SHARED_CREDENTIALS_FILE", "credentials")]
        {
            let Some(text) = file(variable, usual).and_then(|path| text_of(&path)) else {
                continue;
            };
            is_there |= profile.take(&text, name);
        }
        if !is_there && let Some(name) = named {
            let message = format!(
                "there is no profile `{name}` in the files of AWS; look at AWS_PROFILE, which names it"
            );
            return Err(Error::new(Kind::Invalid, message));
        }
        Ok(profile)
    }

    pub(crate) fn value(&self, name: &str) -> Option<String> {
        self.values.get(name).filter(|value| !value.is_empty()).cloned()
    }

    /// Takes what a file says about the profile. Answers whether it says anything.
    fn take(&mut self, text: &str, name: &str) -> bool {
        let (mut is_ours, mut is_there) = (false, false);
        for line in text.lines() {
            // An indented line belongs to a nested setting, such as those below `s3 =`.
            if line.starts_with([' ', '\t', '#', ';']) {
                continue;
            }
            let line = line.trim();
            if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                let section = section.trim();
                let section = section.strip_prefix("profile ").map_or(section, str::trim);
                is_ours = section == name;
                is_there |= is_ours;
            } else if let (true, Some((key, value))) = (is_ours, line.split_once('=')) {
                self.values.insert(key.trim().to_ascii_lowercase(), value.trim().to_string());
            }
        }
        is_there
    }
}

fn text_of(path: &std::path::Path) -> Option<String> {
    let mut text = String::new();
    std::fs::File::open(path).ok()?.take(FILE_SIZE).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::rc::Rc;

    fn options(folder: &std::path::Path, profile: Option<&'static str>) -> S3Options {
        let home = folder.to_str().unwrap().to_string();
        let variable = move |name: &str| match name {
            "HOME" => Some(home.clone()),
            "AWS_PROFILE" => profile.map(String::from),
            _ => None,
        };
        S3Options { variable: Rc::new(variable), ..S3Options::default() }
    }

    #[test]
    fn both_files_are_read() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".aws");
        std::fs::create_dir(&folder).unwrap();
        let config = "[default]\nregion = eu-west-1\ns3 =\n  region = nested\n\
                      # [other]\n[profile other]\r\nregion=eu-north-1\r\naws_access_key_id = A\n";
        std::fs::write(folder.join("config"), config).unwrap();
        let credentials =
            "; a note\n[other]\nAWS_ACCESS_KEY_ID = B\naws_secret_access_key = c=d==\n";
        std::fs::write(folder.join("credentials"), credentials).unwrap();
        let profile = Profile::read(&options(home.path(), None)).unwrap();
        assert_eq!(profile.value("region").as_deref(), Some("eu-west-1"));
        assert_eq!(profile.value("aws_access_key_id"), None);
        let profile = Profile::read(&options(home.path(), Some("other"))).unwrap();
        assert_eq!(profile.value("region").as_deref(), Some("eu-north-1"));
        assert_eq!(profile.value("aws_access_key_id").as_deref(), Some("B"));
        assert_eq!(profile.value("aws_secret_access_key").as_deref(), Some("c=d=="));
    }

    #[test]
    fn a_profile_that_is_named_has_to_be_there() {
        let home = tempfile::tempdir().unwrap();
        assert!(Profile::read(&options(home.path(), None)).unwrap().values.is_empty());
        let error = Profile::read(&options(home.path(), Some("none"))).err().unwrap();
        assert_eq!(error.kind, Kind::Invalid);
        assert!(error.message.contains("AWS_PROFILE"), "{error}");
    }
}
