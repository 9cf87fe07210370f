//! `runnel doc`: what a class, a message, an option, a scheme, a command, a finding, a kind of error, a name
//! or a word of the language is, from its definition in the kernel or in Rust.
//!
//! `lookup` finds what a name means, and `groups` puts definitions together; `text`, `data` and `pages` write them.

pub(crate) mod command;
mod data;
mod entries;
pub(crate) mod groups;
mod links;
mod lookup;
mod pages;
mod text;
pub(crate) mod topics;

use crate::console::Console;
use crate::exit_status;
use std::io::IsTerminal;
use std::path::Path;
use text::{Sheet, WIDTH};

/// Prints the definitions of a name; without one, the classes. With a folder, writes the pages of all.
pub(crate) fn run(names: &[String], markdown: Option<&Path>, json: bool) -> u8 {
    if let Some(folder) = markdown {
        return match pages::write(folder) {
            Ok(_) => 0,
            Err(error) => {
                Console::error(&format!("error: {} cannot be written: {error}", folder.display()));
                exit_status::CANNOT_CREATE
            }
        };
    }
    if names.is_empty() {
        match json {
            true => data::classes().iter().for_each(|class| Console::line(&class.to_string())),
            false => {
                let mut sheet = sheet();
                sheet.classes();
                Console::part(&sheet.into_text());
            }
        }
        return 0;
    }
    let shown = match json {
        true => objects(names),
        false => explanation(names),
    };
    match shown {
        Ok(text) => {
            Console::line(&text);
            0
        }
        Err(text) => {
            Console::error(&text);
            exit_status::USAGE
        }
    }
}

/// One object a line.
fn objects(names: &[String]) -> Result<String, String> {
    let subjects = lookup::find(names).map_err(|unknown| unknown_text(&unknown))?;
    let objects: Vec<String> = subjects.iter().map(|one| data::subject(one).to_string()).collect();
    Ok(objects.join("\n"))
}

/// The definitions of a name as text, or the nearest names: also for the prompt.
pub(crate) fn explanation(names: &[String]) -> Result<String, String> {
    let subjects = lookup::find(names).map_err(|unknown| unknown_text(&unknown))?;
    let mut sheet = sheet();
    sheet.subjects(&subjects);
    Ok(sheet.into_text().trim_end().to_owned())
}

fn unknown_text(unknown: &lookup::Unknown) -> String {
    let mut sheet = Sheet::new(WIDTH, false);
    sheet.unknown(unknown);
    sheet.into_text().trim_end().to_owned()
}

/// As wide as the terminal, with its styles.
fn sheet() -> Sheet {
    Sheet::new(width(), crate::report::colours(&std::io::stdout()))
}

/// The columns of the terminal.
fn width() -> usize {
    let out = std::io::stdout();
    match rustix::termios::tcgetwinsize(&out) {
        Ok(size) if out.is_terminal() && size.ws_col > 0 => size.ws_col.into(),
        _ => WIDTH,
    }
}
