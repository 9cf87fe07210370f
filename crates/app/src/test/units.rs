//! Options of times and sizes: none takes a number without its unit, and none is a plain number.

use crate::event_loop::block_on;
use crate::run::RunningProgram;
use crate::world::options::{OptionOwner, owners};
use runnel_catalogue::KindOption;
use runnel_runtime::{Failure, Isolate, catalogue};
use runnel_store::SettingKind;

/// Words in the names of what has a unit.
const MEASURES: [&str; 16] = [
    "after", "age", "bytes", "delay", "expires", "interval", "lease", "length", "memory", "per",
    "rate", "size", "time", "timeout", "ttl", "window",
];

/// Numbers whose names have such a word: calls in a second, characters.
const NUMBERS: [(&str, &str); 2] = [("Limit", "rate"), ("Accounts", "minPasswordLength")];

/// The statement by which a program gives an option and uses it.
fn written(owner: &OptionOwner, name: &str, value: &str) -> String {
    let of = |target: &str| format!("{target} #{{ {name}: {value} }}");
    match owner.name {
        class @ ("HTTPServer" | "S3Server") => {
            format!("(#{class}{{ port: 0, {name}: {value} }} → DictStore store) start stop")
        }
        "Proxy" => format!("#Proxy{{ to: 'http://127.0.0.1:1', {name}: {value} }}"),
        "SQLite database" => of("ref:sqlite::memory: database:"),
        "PostgreSQL database" => of("ref:postgres://127.0.0.1:1/nothing database:"),
        "continuous backup" => {
            of("ref:sqlite::memory: backupContinuously: ref:memory:copies/ with:")
        }
        class => format!("#{class}{{ {name}: {value} }}"),
    }
}

fn is_refused_by_check(isolate: &Isolate, source: &str) -> bool {
    let found = isolate.check(source, "units").unwrap();
    found.iter().any(|one| one.code == Some("no-unit"))
}

async fn is_refused_when_run(isolate: &Isolate, source: &str) -> bool {
    match isolate.run(source, "units").await {
        Ok(_) => false,
        Err(Failure::Fault(fault)) => fault.message.contains("has no unit: write "),
        Err(Failure::Compile(found)) => panic!("{source}: {found:?}"),
    }
}

#[test]
fn options_take_no_number_without_its_unit() {
    let (mut durations, mut sizes) = (0, 0);
    let mut faults = Vec::new();
    let ran = block_on(async {
        let program = RunningProgram::new().unwrap();
        let isolate = &program.isolate;
        for owner in owners() {
            for info in &owner.options {
                let right = match info.kind {
                    SettingKind::Duration => ["0", "nil", "(60 * 1) seconds", "1 minute"],
                    SettingKind::Size => ["0", "nil", "(60 * 1) kilobytes", "'60K'"],
                    _ => continue,
                };
                let is_size = info.kind == SettingKind::Size;
                (durations, sizes) =
                    (durations + usize::from(!is_size), sizes + usize::from(is_size));
                let of = |value: &str| written(&owner, info.name, value);
                if !is_refused_by_check(isolate, &of("60")) {
                    faults.push(format!("`runnel check` takes {}", of("60")));
                }
                if !is_refused_when_run(isolate, &of("60 * 1")).await {
                    faults.push(format!("a program runs with {}", of("60 * 1")));
                }
                for value in right {
                    let source = of(value);
                    if is_refused_by_check(isolate, &source)
                        || is_refused_when_run(isolate, &source).await
                    {
                        faults.push(format!("{source} is refused"));
                    }
                }
            }
        }
        std::mem::forget(program);
    });
    ran.unwrap();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(durations > 30 && sizes > 8, "{durations} durations, {sizes} sizes");
}

/// The words of `maxBodySize`.
fn has_measure(name: &str) -> bool {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        if letter.is_uppercase() {
            words.push(String::new());
        }
        words.last_mut().unwrap().extend(letter.to_lowercase());
    }
    let last = words.len() - 1;
    // `maxConnectionsPerClient` has no unit; `per` has.
    words
        .iter()
        .enumerate()
        .any(|(at, word)| MEASURES.contains(&word.as_str()) && (word != "per" || at == last))
}

#[test]
fn names_of_times_and_sizes_are_not_those_of_plain_numbers() {
    let mut plain = Vec::new();
    for owner in owners() {
        let numbers = owner
            .options
            .iter()
            .filter(|info| matches!(info.kind, SettingKind::Count | SettingKind::Number));
        plain.extend(numbers.map(|info| (owner.name.to_string(), info.name.to_string())));
    }
    for class in catalogue().classes().filter(|class| class.room != "widgets") {
        for message in &class.messages {
            let name = message.selector.strip_prefix("set").and_then(|rest| {
                let name = rest.strip_suffix(':')?;
                Some(name[..1].to_lowercase() + &name[1..])
            });
            let is_number = message.parameters.first().is_some_and(|one| {
                let number =
                    |kind: &KindOption| matches!(kind, KindOption::Class(name) if name == "Number");
                one.kind.options.iter().any(number)
            });
            plain.extend(name.filter(|_| is_number).map(|name| (class.name.clone(), name)));
        }
    }
    plain.retain(|(_, name)| has_measure(name));
    plain.retain(|(owner, name)| !NUMBERS.contains(&(owner, name)));
    assert_eq!(plain, []);
    assert!(has_measure("maxBodySize") && has_measure("per") && !has_measure("maxPerClient"));
}
