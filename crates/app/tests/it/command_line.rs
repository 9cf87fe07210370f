//! The command: exit statuses, errors, arguments, standard input and output.

use crate::support;

use crate::support::{Folder, Outcome, examples, program, run, run_with, runnel, runnel_with};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// A text that a program printed, as its lines.
fn lines(outcome: &Outcome) -> Vec<&str> {
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    outcome.out.lines().collect()
}

/// The titles of the errors.
fn titles(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("error: ")).collect()
}

#[test]
fn evaluating_prints_the_last_value() {
    for (source, shown) in [
        ("3 + 4", "7\n"),
        ("1. 2. 'three'", "three\n"),
        ("3 > 4", "false\n"),
        ("nil", ""),
        ("", ""),
        ("stdout println: 'said'", "said\n"),
        ("stdout print: 'a'; print: 'b'. 'c'", "abc\n"),
    ] {
        let outcome = runnel_with(&["-e", source]);
        assert_eq!((outcome.status, outcome.out.as_str()), (0, shown), "{source}: {outcome:?}");
        assert_eq!(outcome.err, "", "{source}");
    }
    assert_eq!(runnel_with(&["-e", "-3 abs"]).out, "3\n");
}

#[test]
fn periods_may_be_left_out_at_the_ends_of_lines() {
    let outcome = program(
        "context loadFramework:'MPWSideWeb'\n\
         a := 3\n\
         b := a +\n\
         \x20   4\n\
         list := [ 1,\n\
         \x20   2\n\
         ]\n\
         stdout println: a. stdout println: b\n\
         stdout println: (list collect: { :each |\n\
         \x20   twice := each * 2\n\
         \x20   twice + 1\n\
         })\n\
         'a text'\n\
         \x20   | uppercase\n\
         \x20   | count\n",
    );
    assert_eq!(lines(&outcome), ["3", "7", "[3,5]"]);
}

#[test]
fn every_status_means_one_thing() {
    let folder = Folder::new();
    let file = |name: &str, text: &str| folder.write(name, text).display().to_string();
    let missing = folder.path("missing.st").display().to_string();
    let directory = folder.path("").display().to_string();
    let cases: [(&[&str], i32); 12] = [
        (&[&file("good.st", "stdout println: 3.")], 0),
        (&[&file("exit.st", "shell exit: 7. stdout println: 'no'.")], 7),
        (&["--nonsense"], 64),
        (&[&file("argument.st", "#-<void>show:<int>count\ncount")], 64),
        (&[&file("syntax.st", "x := )")], 65),
        (&[&file("unknown.st", "stdout println: nothing + 1.")], 65),
        (&["-e", "x := ("], 65),
        (&[&missing], 66),
        (&[&directory], 66),
        (&["-e", "3 frobnicate"], 70),
        (&["-e", "Error signal: 'on purpose'"], 70),
        (&[&file("error.st", "stdout println: 1.\n3 frobnicate.\n")], 70),
    ];
    for (arguments, status) in cases {
        let outcome = runnel_with(arguments);
        assert_eq!(outcome.status, status, "{arguments:?}: {outcome:?}");
        assert_eq!(outcome.err.is_empty(), status < 64, "{arguments:?}: {outcome:?}");
    }
}

#[test]
fn a_message_names_what_where_and_what_next() {
    let folder = Folder::new();
    let missing = runnel_with(&[folder.path("missing.st").to_str().unwrap()]);
    assert!(missing.err.contains("missing.st cannot be read"), "{}", missing.err);

    let unknown = program("class Task { var title. }\ntask ← #Tusk{ title: 'x' }.\n");
    assert!(unknown.err.contains("program.st:2:"), "{}", unknown.err);
    assert!(unknown.err.contains("Tusk"), "{}", unknown.err);
    assert!(unknown.err.contains("did you mean `Task`?"), "{}", unknown.err);

    let minus = program("a ← 4. b ← 3.\nstdout println: a-b.\n");
    assert!(minus.err.contains("a - b"), "{}", minus.err);
}

#[test]
fn three_separate_errors_show_three_messages_and_nothing_runs() {
    let outcome = program(
        "stdout println: 'this must not be printed'.\n\
         first := )\n\
         stdout println: 'nor this'.\n\
         second := 3 max: .\n\
         third := 'a text without end\n",
    );
    assert_eq!((outcome.status, outcome.out.as_str()), (65, ""), "{outcome:?}");
    assert_eq!(titles(&outcome.err).len(), 3, "{}", outcome.err);
    for place in ["program.st:2:", "program.st:4:", "program.st:5:"] {
        assert!(outcome.err.contains(place), "{place} is missing: {}", outcome.err);
    }
    for source in ["2 | first := )", "4 | second := 3 max: ."] {
        assert!(outcome.err.contains(source), "{source} is missing: {}", outcome.err);
    }
}

#[test]
fn an_error_shows_the_lines_it_came_through() {
    let outcome = program(
        "class Helper {\n\
         \x20   -deeper: what { what frobnicate. }\n\
         \x20   -go: what { [ 1 ] do: { :each | self deeper: what }. }\n\
         }\n\
         stdout println: 'before'.\n\
         Helper new go: 'x'.\n\
         stdout println: 'after'.\n",
    );
    assert_eq!((outcome.status, outcome.out.as_str()), (70, "before\n"), "{outcome:?}");
    let mut rest = outcome.err.as_str();
    for place in ["program.st:2", "program.st:3", "program.st:6"] {
        let at = rest.find(place).unwrap_or_else(|| panic!("no {place}: {}", outcome.err));
        rest = &rest[at..];
    }
    assert!(outcome.err.contains("does not understand frobnicate"), "{}", outcome.err);
}

#[test]
fn errors_are_json_for_machines() {
    let folder = Folder::new();
    let file = folder.write("wrong.st", "a := 3 +\n4.\nb := (3\nc := )\n");
    let outcome = run(runnel().arg("--json").arg(&file));
    assert_eq!((outcome.status, outcome.out.as_str()), (65, ""), "{outcome:?}");
    let errors: Vec<serde_json::Value> =
        outcome.err.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!errors.is_empty());
    for error in &errors {
        assert_eq!(error["level"], "error", "{error}");
        assert_eq!(error["file"], file.display().to_string(), "{error}");
        assert!(error["line"].as_u64().unwrap() >= 3, "{error}");
        assert!(error["column"].as_u64().unwrap() >= 1, "{error}");
        assert!(!error["message"].as_str().unwrap().is_empty(), "{error}");
    }

    let file = folder.write("raises.st", "x := 3.\nx frobnicate.\n");
    let outcome = run(runnel().arg("--json").arg(&file));
    assert_eq!(outcome.status, 70, "{outcome:?}");
    let error: serde_json::Value = serde_json::from_str(outcome.err.trim_end()).unwrap();
    assert_eq!(error["kind"], "doesNotUnderstand");
    assert_eq!(error["trace"][0]["line"], 2);
}

/// A program with one argument of each type.
const TYPED: &str = "#-<void>show:<int>count with:<bool>open and:<float>share plus:text\n\
    stdout println: count + 1.\n\
    stdout println: open not.\n\
    stdout println: share * 2.\n\
    stdout println: text uppercase.\n\
    stdout println: args.\n";

#[test]
fn arguments_are_what_the_signature_says() {
    let folder = Folder::new();
    let file = folder.write("typed.st", TYPED).display().to_string();
    let outcome = runnel_with(&[&file, "4", "true", "2.5", "grüße", "more", "--", "--json", "-x"]);
    assert_eq!(lines(&outcome), ["5", "false", "5", "GRÜSSE", "[more,--json,-x]"]);
    let outcome = runnel_with(&["run", &file, "-4", "no", "1", ""]);
    assert_eq!(lines(&outcome), ["-3", "true", "2", "", "[]"]);

    let wrong: [(&[&str], &str); 3] = [
        (&["four", "true", "1", "x"], "`count` must be a whole number, not `four`"),
        (&["4", "perhaps", "1", "x"], "`open` must be true or false, not `perhaps`"),
        (&["4", "true", "much", "x"], "`share` must be a number, not `much`"),
    ];
    for (arguments, message) in wrong {
        let outcome = run(runnel().arg(&file).args(arguments));
        assert_eq!((outcome.status, outcome.out.as_str()), (64, ""), "{outcome:?}");
        assert!(outcome.err.contains(message), "{}", outcome.err);
    }
}

#[test]
fn missing_arguments_are_listed() {
    let folder = Folder::new();
    let file = folder.write("typed.st", TYPED).display().to_string();
    let outcome = runnel_with(&[&file, "4", "true"]);
    assert_eq!((outcome.status, outcome.out.as_str()), (64, ""), "{outcome:?}");
    let expected = format!(
        "error: `share` is missing\n\nusage: runnel {file} <count> [--open] <share> <text>\n\n  \
         count, --count  a whole number\n  --open          true or false\n  \
         share, --share  a number\n  text, --text    a text\n  --help          this text\n"
    );
    assert_eq!(outcome.err, expected);
}

#[test]
fn a_reference_is_an_argument() {
    let folder = Folder::new();
    let file = folder.write("read.st", "#-<void>show:<ref>what\nstdout print: what value.\n");
    folder.write("note.txt", "in the file");
    for reference in ["note.txt", "file:note.txt", "env:NOTE"] {
        let mut command = runnel();
        command.arg(&file).arg(reference).current_dir(folder.path("")).env("NOTE", "in the file");
        assert_eq!(run(&mut command).out, "in the file", "{reference}");
    }
}

#[test]
fn the_declared_result_is_shown() {
    for (text, out) in [
        ("#-<int>add:<int>a\na + 1\n", "5\n"),
        ("#-show:<int>a\n[ a, 'two', [ 3 ] ]\n", "4\ntwo\n[3]\n"),
        ("#-show:<int>a\n1 to: a\n", "1\n2\n3\n4\n"),
        ("#-show:<int>a\nnil\n", ""),
        ("#-<void>show:<int>a\na + 1\n", ""),
        ("a ← 3.\na + 1\n", ""),
    ] {
        let folder = Folder::new();
        let outcome = run(runnel().arg(folder.write("result.st", text)).arg("4"));
        assert_eq!((outcome.status, outcome.out.as_str()), (0, out), "{text}: {outcome:?}");
    }
}

#[test]
fn a_filter_connects_standard_input_and_output() {
    let upper = examples().join("upper.st");
    for (input, output) in
        [("a\nb\n", "A\nB\n"), ("no newline", "NO NEWLINE\n"), ("", ""), ("\n\nx\r\n", "\n\nX\n")]
    {
        let outcome = run_with(runnel().arg(&upper), input.as_bytes());
        assert_eq!((outcome.status, outcome.out.as_str()), (0, output), "{input:?}: {outcome:?}");
    }
    let many: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
    let outcome = run_with(runnel().arg(&upper), many.as_bytes());
    assert_eq!((outcome.status, outcome.out), (0, many.to_uppercase()));
}

#[test]
fn input_that_is_no_text_is_an_error_and_not_the_end() {
    let outcome = run_with(runnel().arg(examples().join("upper.st")), b"a\nb\xff\nc\n");
    assert_eq!((outcome.status, outcome.out.as_str()), (70, "A\n"), "{outcome:?}");
    assert!(outcome.err.contains("standard input, line 2"), "{}", outcome.err);

    let handled = "2 repeat: { stdout println: ({ stdin readLine } onError: { :e | 'bad' }) }. nil";
    let outcome = run_with(runnel().args(["-e", handled]), b"b\xff\nc\n");
    assert_eq!(lines(&outcome), ["bad", "c"]);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let endless =
        "number ← 0. { true } whileTrue: { stdout println: number. number ← number + 1. }";
    let mut child = runnel()
        .args(["-e", endless])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first, "0\n");
    let outcome = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&outcome.stderr), "");
    assert_eq!(outcome.status.code(), Some(0));
}

#[test]
fn standard_error_is_apart_and_in_order() {
    let outcome = program("stdout println: 1. stderr println: 2. stdout println: 3.\n");
    assert_eq!((outcome.out.as_str(), outcome.err.as_str()), ("1\n3\n", "2\n"));

    let folder = Folder::new();
    let file =
        folder.write("both.st", "stdout println: 1. stderr println: 2. stdout println: 3.\n");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "\"$0\" \"$1\" 2>&1", env!("CARGO_BIN_EXE_runnel")]).arg(file);
    assert_eq!(run(&mut shell).out, "1\n2\n3\n");
}

#[test]
fn a_prompt_without_a_terminal_runs_what_it_is_given() {
    let outcome = run_with(&mut runnel(), b"a := 20\na +\n1\na * 2\nnil\nlast\n");
    assert_eq!(lines(&outcome), ["21", "40", "40"]);
}

#[test]
fn formatting_and_checking() {
    let folder = Folder::new();
    let source = "x:=3.\nstdout println:x+4\n";
    let file = folder.write("loose.st", source);
    let check = run(runnel().args(["fmt", "--check"]).arg(&file));
    assert_eq!(check.status, 1, "{check:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), source);

    let piped = run_with(runnel().arg("fmt"), source.as_bytes());
    assert_eq!((piped.status, piped.err.as_str()), (0, ""), "{piped:?}");
    assert_eq!(run(runnel().arg("fmt").arg(&file)).status, 0);
    let formatted = std::fs::read_to_string(&file).unwrap();
    assert_eq!(formatted, piped.out);
    assert_ne!(formatted, source);
    assert_eq!(run(runnel().args(["fmt", "--check"]).arg(&file)).status, 0);
    assert_eq!(run(runnel().arg(&file)).out, "7\n");

    // A program that does not parse is left alone.
    let wrong = folder.write("wrong.st", "x :=   )\n");
    assert_eq!(run(runnel().arg("fmt").arg(&wrong)).status, 65);
    assert_eq!(std::fs::read_to_string(&wrong).unwrap(), "x :=   )\n");

    let check = run(runnel().arg("check").arg(&file));
    assert_eq!((check.status, check.out.as_str()), (0, ""), "{check:?}");
    let check = run(runnel().arg("check").arg(&wrong).arg(&file));
    assert_eq!(titles(&check.err).len(), 1, "{check:?}");
    assert_eq!(check.status, 65);
    // Checking runs nothing.
    let writes = folder.write("writes.st", "file:made.txt ← 'x'. stdout println: 'ran'.\n");
    let check = run(runnel().arg("check").arg(&writes).current_dir(folder.path("")));
    assert_eq!((check.status, check.out.as_str()), (0, ""), "{check:?}");
    assert!(!folder.path("made.txt").exists());
}

#[test]
fn a_server_without_anything_to_serve_is_an_error() {
    for text in ["HTTPServer.\n", "#-serve\nHTTPServer.\n", "#HTTPServer{ port: 0 }.\n"] {
        let outcome = support::program(text);
        assert_eq!(outcome.status, 70, "{text}: {outcome:?}");
        assert!(outcome.err.contains("this server has nothing to serve"), "{}", outcome.err);
        assert!(!outcome.err.contains("serving on"), "{}", outcome.err);
    }
}
