//! The packages of `make dist`, made of the binary under test: they install and run where nothing else is.

use crate::support::{self, Folder};
use runnel_scratch::list_as_left_out;
use std::path::{Path, PathBuf};
use std::process::Command;

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name)
}

/// Packs a binary; answers the sums of the packages.
fn packed(binary: &Path, folder: &Path) -> String {
    // Little compression: the bytes only have to be the same.
    let made = Command::new("python3")
        .arg(script("pack.py"))
        .args([binary, folder])
        .env("RUNNEL_PACK_LEVEL", "1")
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap()
}

#[test]
fn packages_install_and_run_and_have_the_same_bytes_again() {
    let folder = Folder::new();
    // Without its debugging information the binary is a third of its size.
    let binary = folder.path("runnel");
    let whole = support::runnel().get_program().to_owned();
    let stripped = Command::new("strip").arg("-o").arg(&binary).arg(whole).status();
    if !stripped.is_ok_and(|status| status.success()) {
        return list_as_left_out("packages: strip is not installed (apt install binutils)");
    }
    let (first, second) = (folder.path("first"), folder.path("second"));
    let sums = packed(&binary, &first);
    for package in [".tar.gz", ".tgz", ".whl", ".deb", ".cdx.json", "runnel.rb"] {
        assert!(sums.contains(package), "{package} is missing:\n{sums}");
    }
    assert_eq!(packed(&binary, &second), sums);
    let checked = Command::new("python3").arg(script("check.py")).arg(&first).output().unwrap();
    let table = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{table}{}", String::from_utf8_lossy(&checked.stderr));
    print!("{table}");
}

#[test]
fn what_is_no_executable_is_not_packed() {
    let folder = Folder::new();
    let made = Command::new("python3")
        .arg(script("pack.py"))
        .args([script("pack.py"), folder.path("out")])
        .output()
        .unwrap();
    assert!(!made.status.success());
    let text = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(text.ends_with("pack.py: not an executable for Linux\n"), "{text}");
}
