//! `runnel lsp` before a plain client that others wrote, and before Neovim.

use crate::judges::judge;
use crate::support::{Folder, run, runnel, skip};
use std::fmt::Write;
use std::process::Command;

/// One part of the program, with a line to format; N is its number.
const PART: &str = include_str!("../../../../benches/editor/part.st");
/// Lines of the program that the judge opens.
const LINES: usize = 3_371;

fn program() -> String {
    let mut text = String::new();
    let parts = LINES / PART.lines().count();
    for number in 0..parts {
        text.push_str(&PART.replace('N', &number.to_string()));
    }
    for _ in text.lines().count()..LINES {
        writeln!(text, "// the end").unwrap();
    }
    assert_eq!(text.lines().count(), LINES);
    text
}

/// What starts the server.
fn server() -> std::ffi::OsString {
    runnel().get_program().to_owned()
}

#[test]
fn a_plain_client_finds_all_features_of_the_language_server() {
    let Some(judge) = judge("lsp/lsp_check.py") else { return };
    let folder = Folder::new();
    let file = folder.write("big.st", program());
    // `lines0` in line 26, behind characters of one byte.
    let mut command = Command::new("python3");
    command.arg(judge).arg("--file").arg(file);
    command.args(["--language", "runnel", "--at", "25:17", "--keys", "20", "--"]);
    let outcome = run(command.arg(server()).arg("lsp"));
    assert!(outcome.out.contains("28 passed, 0 failed"), "{}{}", outcome.out, outcome.err);
}

#[test]
fn neovim_shows_diagnostics_completion_and_hovers() {
    if Command::new("nvim").arg("--version").output().is_err() {
        return skip("nvim is not installed");
    }
    let folder = Folder::new();
    let script = folder.write("try.lua", NEOVIM);
    let file =
        folder.write("misspelt.st", "colour := 'red'.\nstdout println: coluor.\n'abc' uppercase");
    let mut command = Command::new("nvim");
    let load = format!("luafile {}", script.display());
    command.args(["--headless", "-u", "NONE", "-i", "NONE", "-n"]).arg(file);
    command.args(["-c", &load, "-c", "qa!"]);
    command.env("RUNNEL", server()).env("XDG_STATE_HOME", folder.path("state"));
    let outcome = run(&mut command);
    let said = format!("{}{}", outcome.out, outcome.err);
    assert!(said.contains("diagnostic: nothing is called `coluor` here"), "{said}");
    assert!(said.contains("completion: uppercase"), "{said}");
    assert!(said.contains("hover: The text in capital letters"), "{said}");
    assert!(said.contains("left"), "{said}");
}

/// Starts the server for the file, as the manual says, and asks as keys of a user would.
const NEOVIM: &str = r#"
local buffer = vim.api.nvim_get_current_buf()
local id = vim.lsp.start_client({
    name = "runnel", cmd = { vim.env.RUNNEL, "lsp" }, root_dir = vim.fn.fnamemodify(vim.fn.argv(0), ":p:h"),
})
assert(vim.wait(30000, function() return vim.lsp.get_client_by_id(id) ~= nil end, 10))
vim.lsp.buf_attach_client(buffer, id)
assert(vim.wait(30000, function() return #vim.diagnostic.get(buffer) > 0 end, 10), "no diagnostics")
print("diagnostic: " .. vim.diagnostic.get(buffer)[1].message)
local function ask(method, line, character)
    local params = {
        textDocument = { uri = vim.uri_from_bufnr(buffer) },
        position = { line = line, character = character },
    }
    local answers = vim.lsp.buf_request_sync(buffer, method, params, 30000)
    for _, answer in pairs(answers) do return answer.result end
end
for _, item in ipairs(ask("textDocument/completion", 2, 9).items) do
    if item.label == "uppercase" then print("completion: " .. item.label) end
end
local hover = ask("textDocument/hover", 2, 8).contents.value
print("hover: " .. hover:match("The text in capital letters[^\n]*"))
vim.lsp.stop_client(id)
assert(vim.wait(30000, function() return vim.lsp.get_client_by_id(id) == nil end, 10))
print("left")
"#;
