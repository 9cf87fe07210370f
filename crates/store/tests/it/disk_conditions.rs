//! Files created by several programs at the same time: each is created by one of them.

use runnel_store::{Condition, Content, Context, Disk, Kind, Reference, Store};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const FOLDER: &str = "RUNNEL_TEST_FOLDER_OF_THE_CREATORS";
const NAME: &str = "disk_conditions::each_file_is_created_by_one_program";
const PROGRAMS: usize = 4;
const FILES: usize = 100;

fn at(number: usize) -> Reference {
    Reference::from_path(format!("files/{number}"))
}

/// Creates what nobody else has, and says on a line of its own which those were.
async fn create(folder: &Path) {
    let disk = Disk::new(folder).unwrap();
    let context = Context { only_if: Some(Condition::Absent), ..Context::default() };
    let own = std::process::id().to_string();
    for number in 0..FILES {
        match disk.put(&at(number), Content::text(own.clone()), &context).await {
            Ok(put) => {
                assert!(put.is_created());
                let mut out = std::io::stdout().lock();
                writeln!(out, "\ncreated {number} {own}").unwrap();
            }
            Err(error) => assert_eq!(error.kind, Kind::Precondition, "{error}"),
        }
    }
}

fn run(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work);
}

#[test]
fn each_file_is_created_by_one_program() {
    if let Ok(folder) = std::env::var(FOLDER) {
        run(create(Path::new(&folder)));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = || {
        Command::new(std::env::current_exe().unwrap())
            .args([NAME, "--exact", "--nocapture", "--test-threads=1"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let programs: Vec<_> = (0..PROGRAMS).map(|_| program()).collect();
    let mut creators: BTreeMap<usize, String> = BTreeMap::new();
    for program in programs {
        let output = program.wait_with_output().unwrap();
        assert!(output.status.success());
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let Some(rest) = line.strip_prefix("created ") else { continue };
            let (number, creator) = rest.split_once(' ').unwrap();
            let before = creators.insert(number.parse().unwrap(), creator.to_string());
            assert_eq!(before, None, "file {number} was created twice");
        }
    }
    assert_eq!(creators.len(), FILES);
    for (number, creator) in creators {
        let found = std::fs::read_to_string(folder.path().join(format!("files/{number}")));
        assert_eq!(found.unwrap(), creator);
    }
    // Nothing is left of those who came too late.
    assert_eq!(std::fs::read_dir(folder.path().join("files")).unwrap().count(), FILES);
}

/// A tag is what is compared at the very end, however long the content takes.
#[test]
fn what_is_written_meanwhile_is_not_replaced() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path()).unwrap();
        disk.put(&at(1), Content::text("first"), &Context::default()).await.unwrap();
        let tag = disk.get(&at(1), &Context::default()).await.unwrap().unwrap().entity_tag;
        let only_if = tag.map(Condition::Tag);
        let other = Disk::new(folder.path()).unwrap();
        let pieces = futures_util::stream::once(async move {
            other.put(&at(1), Content::text("second"), &Context::default()).await?;
            Ok(bytes::Bytes::from_static(b"late"))
        });
        let late = Content {
            body: runnel_store::Body::Stream(Box::pin(pieces), None),
            ..Content::default()
        };
        let context = Context { only_if, ..Context::default() };
        let put = disk.put(&at(1), late, &context).await;
        assert_eq!(put.unwrap_err().kind, Kind::Precondition);
        let found = disk.get(&at(1), &Context::default()).await.unwrap().unwrap();
        assert_eq!(found.read(100).await.unwrap(), "second");
        assert_eq!(std::fs::read_dir(folder.path().join("files")).unwrap().count(), 1);
    });
}
