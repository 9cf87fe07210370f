//! Mail over a real connection: what an SMTP server receives, and the error messages when it refuses.

use crate::support::program;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

/// What a server answers to a command.
type MailReply = fn(&str) -> &'static str;

/// A server that takes one connection and answers what `reply` says to each command.
fn server(reply: MailReply) -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (port, std::thread::spawn(move || talk(listener.accept().unwrap().0, reply)))
}

/// The talk of one connection: all that the client said.
fn talk(stream: TcpStream, reply: MailReply) -> String {
    let mut writer = stream.try_clone().unwrap();
    let mut said = String::new();
    writer.write_all(b"220 test\r\n").unwrap();
    let mut is_data = false;
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { break };
        said.push_str(&line);
        said.push('\n');
        if is_data && line != "." {
            continue;
        }
        let answer = if is_data { "250 taken" } else { reply(&line) };
        is_data = line == "DATA" && answer.starts_with('3');
        if writer.write_all(format!("{answer}\r\n").as_bytes()).is_err() || line == "QUIT" {
            break;
        }
    }
    said
}

fn usual(line: &str) -> &'static str {
    match line.split(' ').next().unwrap_or_default() {
        "EHLO" => "250-test\r\n250-AUTH PLAIN\r\n250 8BITMIME",
        "AUTH" => "235 welcome",
        "DATA" => "354 go on",
        _ => "250 fine",
    }
}

fn send(port: u16, message: &str) -> crate::support::Outcome {
    program(&format!(
        "scheme:mail ← #MailServer{{ url: 'smtp://user:secret@127.0.0.1:{port}', \
         from: 'Shop <shop@example.org>' }}.\n\
         {{ mail:ann@example.org ← {message}. stdout println: 'sent' }}\n\
         \x20  onError: {{ :error | stdout println: error }}.\n"
    ))
}

#[test]
fn a_message_arrives() {
    let (port, talk) = server(usual);
    let outcome = send(
        port,
        "#{ subject: 'Grüße', text: \"One{newline}.{newline}Two\", html: '<p>One</p>', to: 'Bob <bob@example.org>', \
         attachments: [ #{ name: 'a.txt', mediaType: 'text/plain', data: 'file' } ] }",
    );
    assert_eq!((outcome.status, outcome.out.as_str()), (0, "sent\n"), "{outcome:?}");
    let said = talk.join().unwrap();
    for part in [
        "AUTH PLAIN",
        "MAIL FROM:<shop@example.org>",
        "RCPT TO:<ann@example.org>",
        "RCPT TO:<bob@example.org>",
        "Subject: =?utf-8?b?R3LDvMOfZQ==?=",
        "multipart/alternative",
        "filename=\"a.txt\"",
        "\n..\n",
    ] {
        assert!(said.contains(part), "{part} is missing:\n{said}");
    }
}

#[test]
fn no_error_tells_a_secret() {
    let refusals: [(MailReply, &str); 3] = [
        (
            |line| if line.starts_with("AUTH") { "535 no user:secret" } else { usual(line) },
            "refuses the user",
        ),
        (
            |line| if line.starts_with("RCPT") { "450 ann@example.org" } else { usual(line) },
            "come back later",
        ),
        (
            |line| if line == "DATA" { "554 ann@example.org" } else { usual(line) },
            "refuses the message",
        ),
    ];
    for (reply, words) in refusals {
        let (port, talk) = server(reply);
        let outcome = send(port, "#{ text: 'the-content' }");
        assert!(outcome.out.contains(words), "{outcome:?}");
        let told = outcome.out + &outcome.err;
        assert!(!told.contains("secret") && !told.contains("the-content"), "{told}");
        drop(talk);
    }
}
