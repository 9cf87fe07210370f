//! A self-signed certificate for development: created once, kept in a private folder, for this
//! machine alone.

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use runnel_store::{Error, Kind, Reference, Result, Verb};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Lifetime in use: browsers reject certificates that are valid for much more than a year.
const USED_FOR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// Validity beyond that, so that a running server never has an expired one.
const LONGER: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Tolerance for clocks that are behind.
const EARLIER: Duration = Duration::from_secs(24 * 60 * 60);

/// The names of the two files.
const CERTIFICATE: &str = "local-certificate.pem";
const KEY: &str = "local-key.pem";

/// The certificate files in a folder, created when missing or too old.
///
/// # Errors
/// The folder cannot be written.
pub(crate) fn in_folder(folder: &Path) -> Result<(PathBuf, PathBuf)> {
    let (certificate, key) = (folder.join(CERTIFICATE), folder.join(KEY));
    if !is_recent(&certificate) || !is_recent(&key) {
        make(folder, &certificate, &key)?;
    }
    Ok((certificate, key))
}

/// Whether the file exists and is recent enough.
fn is_recent(path: &Path) -> bool {
    let written = std::fs::metadata(path).and_then(|about| about.modified());
    written.is_ok_and(|written| written.elapsed().is_ok_and(|age| age < USED_FOR))
}

fn make(folder: &Path, certificate: &Path, key: &Path) -> Result<()> {
    let failed = |error: rcgen::Error| {
        Error::new(Kind::Failed, "no certificate could be made").with_detail(error.to_string())
    };
    let mut about = CertificateParams::new(vec!["localhost".to_string()]).map_err(failed)?;
    for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
        about.subject_alt_names.push(rcgen::SanType::IpAddress(address));
    }
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, "Runnel development on this machine");
    about.distinguished_name = name;
    about.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    let now = SystemTime::now();
    about.not_before = (now - EARLIER).into();
    about.not_after = (now + USED_FOR + LONGER).into();
    let pair = KeyPair::generate().map_err(failed)?;
    let made = about.self_signed(&pair).map_err(failed)?;
    private_folder(folder).map_err(|error| unwritten(error, folder))?;
    for (path, text) in [(key, pair.serialize_pem()), (certificate, made.pem())] {
        write(path, &text).map_err(|error| unwritten(error, path))?;
    }
    Ok(())
}

fn unwritten(error: io::Error, path: &Path) -> Error {
    Error::from_io(error, Verb::Put, &Reference::from_path(path.to_string_lossy().into_owned()))
}

/// Creates a folder that only its owner can enter, where it is missing.
///
/// # Errors
/// Those of the file system.
pub fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Writes atomically: a process that starts at the same time sees the old file or the new one.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&beside)?.write_all(text.as_bytes())?;
    std::fs::rename(&beside, path)
}
