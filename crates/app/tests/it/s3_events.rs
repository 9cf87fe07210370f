//! What clients of an S3 server change is told to the program.

use crate::s3_server::python;
use crate::support::http::send;
use crate::support::{Folder, Process, eventually, eventually_or, free_port, runnel};
use std::process::Command;

/// Prints each change, and those of the store below.
fn program(port: u16, store: &str) -> String {
    format!(
        "data ← {store}.
         server ← #S3Server{{ port: {port}, users: #{{ mainkey: 'mainsecret' }} }} → data.
         server start.
         server changes → {{ :each | stdout println: \"{{each kind}} {{each path}} {{each event}}\" }}.
         data changes → {{ :each | stdout println: \"below {{each}}\" }}.
         stderr println: 'watching'."
    )
}

/// Puts, copies, uploads in parts, deletes, keeps versions and asks for a queue.
const CLIENT: &str = r#"
import sys, boto3, botocore
s3 = boto3.client('s3', endpoint_url=sys.argv[1], aws_access_key_id='mainkey',
                  aws_secret_access_key='mainsecret', region_name='us-east-1')
s3.create_bucket(Bucket='photos')
s3.put_object(Bucket='photos', Key='cats/größe tom.txt', Body=b'purr')
s3.copy_object(Bucket='photos', Key='copy', CopySource='photos/cats/größe tom.txt')
upload = s3.create_multipart_upload(Bucket='photos', Key='big')['UploadId']
part = s3.upload_part(Bucket='photos', Key='big', UploadId=upload, PartNumber=1, Body=b'x' * 2**21)
s3.complete_multipart_upload(Bucket='photos', Key='big', UploadId=upload, MultipartUpload={
    'Parts': [{'PartNumber': 1, 'ETag': part['ETag']}]})
s3.delete_objects(Bucket='photos', Delete={'Objects': [{'Key': 'copy'}, {'Key': 'nothing'}]})
s3.put_bucket_versioning(Bucket='photos', VersioningConfiguration={'Status': 'Enabled'})
s3.delete_object(Bucket='photos', Key='big')
marker = s3.list_object_versions(Bucket='photos')['DeleteMarkers'][0]['VersionId']
s3.delete_object(Bucket='photos', Key='big', VersionId=marker)
try:
    s3.put_bucket_notification_configuration(Bucket='photos', NotificationConfiguration={
        'QueueConfigurations': [{'QueueArn': 'arn:aws:sqs:::q', 'Events': ['s3:ObjectCreated:*']}]})
except botocore.exceptions.ClientError as error:
    print(error.response['Error']['Code'])
s3.put_bucket_notification_configuration(Bucket='photos', NotificationConfiguration={
    'EventBridgeConfiguration': {}})
print('EventBridgeConfiguration' in s3.get_bucket_notification_configuration(Bucket='photos'))
s3.put_object(Bucket='photos', Key='end', Body=b'')
"#;

/// What the client's work is told as.
const TOLD: [&str; 7] = [
    "changed photos/cats/größe tom.txt s3:ObjectCreated:Put",
    "changed photos/copy s3:ObjectCreated:Copy",
    "changed photos/big s3:ObjectCreated:CompleteMultipartUpload",
    "deleted photos/copy s3:ObjectRemoved:Delete",
    "deleted photos/big s3:ObjectRemoved:DeleteMarkerCreated",
    "changed photos/big s3:ObjectRemoved:Delete",
    "changed photos/end s3:ObjectCreated:Put",
];

#[test]
fn objects_are_told_of_as_they_change() {
    let Some(python) = python() else { return };
    for store in ["#MemoryStore{}", "ref:file:data asScheme"] {
        let folder = Folder::new();
        let port = free_port();
        std::fs::create_dir(folder.path("data")).unwrap();
        let mut command = runnel();
        command.arg(folder.write("events.st", program(port, store))).current_dir(folder.path(""));
        let mut process = Process::start(&mut command);
        process.listens(port);
        process.err_shows("watching");
        let script = folder.write("client.py", CLIENT);
        let mut client = Command::new(&python);
        client.arg(script).arg(format!("http://127.0.0.1:{port}"));
        let answer = client.env_remove("AWS_CA_BUNDLE").output().unwrap();
        let said = String::from_utf8_lossy(&answer.stderr);
        assert!(answer.status.success(), "{store}: {said}{}", process.err());
        assert_eq!(String::from_utf8_lossy(&answer.stdout), "InvalidArgument\nTrue\n");
        process.out_shows(TOLD[6]);
        let out = process.out();
        let told: Vec<&str> = out.lines().filter(|line| !line.starts_with("below ")).collect();
        assert_eq!(told, TOLD, "{store}");
        // The store below tells of the same keys, and of its own.
        for below in ["photos/cats/größe tom.txt", "photos/copy", "photos/big", "photos/end"] {
            let line = format!("below changed {below}");
            eventually_or(|| process.out().contains(&line), || format!("{store}: {line}"));
        }
        eventually("it is deleted below", || process.out().contains("below deleted photos/copy"));
    }
}

#[test]
fn clients_of_every_worker_are_watched() {
    let folder = Folder::new();
    let port = free_port();
    let program = format!(
        "server ← #S3Server{{ port: {port} }} → ref:memory:shared asScheme.
         server start.
         server changes → {{ :each | stdout println: each path }}.
         stderr println: 'watching'."
    );
    let mut command = runnel();
    command.args(["--workers", "2"]).arg(folder.write("events.st", program));
    let mut process = Process::start(&mut command);
    process.listens(port);
    eventually("both watch", || process.err().matches("watching").count() == 2);
    send(port, "PUT", "/photos", &[], b"").unwrap();
    // Connections go to the workers in turn.
    for number in 0..4 {
        let reply = send(port, "PUT", &format!("/photos/{number}"), &[], b"x").unwrap();
        assert_eq!(reply.status, 200);
    }
    let told = || {
        let out = process.out();
        (0..4).map(|number| out.matches(&format!("photos/{number}\n")).count()).collect::<Vec<_>>()
    };
    eventually_or(|| told() == [2, 2, 2, 2], || process.out());
}
