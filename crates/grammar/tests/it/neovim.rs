//! The grammar and its queries in Neovim, with the configuration in `editors/neovim`.

use crate::programs::root;
use runnel_scratch::list_as_left_out;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = "// A scheme.
scheme Tasks {
    var <string> title.
    /tasks/:id { get { ^\"task {id}\" } }
    -at: index { file:notes/{index}.txt }
}
\"not a comment\" length
";
/// Line and column, and a capture there.
const EXPECTED: [(u32, u32, &str); 11] = [
    (0, 3, "comment"),
    (1, 0, "keyword"),
    (1, 8, "type"),
    (2, 10, "type"),
    (3, 6, "markup.link.url"),
    (3, 17, "keyword"),
    (3, 25, "string"),
    (3, 30, "none"),
    (4, 5, "function.method"),
    (4, 18, "module"),
    (6, 3, "string"),
];
const SCRIPT: &str = "
local captures = {}
for _, place in ipairs(EXPECTED) do
    local found = {}
    for _, one in ipairs(vim.treesitter.get_captures_at_pos(0, place[1], place[2])) do
        table.insert(found, one.capture)
    end
    table.insert(captures, place[1] .. ':' .. place[2] .. ' ' .. table.concat(found, ' '))
end
table.insert(captures, 'folds ' .. vim.fn.foldlevel(3) .. ' ' .. vim.fn.foldlevel(7))
vim.fn.writefile(captures, vim.env.RUNNEL_OUT)
vim.cmd('qa!')
";

/// A Neovim with `vim.treesitter.get_captures_at_pos`: the one that `.ci/run` installs, or that of the system.
fn neovim() -> Option<PathBuf> {
    let home = PathBuf::from(std::env::var_os("HOME")?);
    let own = home.join(".cache/runnel/editors/py/bin/nvim");
    [own, PathBuf::from("nvim")].into_iter().find(|nvim| {
        let version = Command::new(nvim).arg("--version").output();
        let text = version.map(|out| String::from_utf8_lossy(&out.stdout).into_owned());
        text.is_ok_and(|text| !["NVIM v0.7", "NVIM v0.8"].iter().any(|old| text.starts_with(old)))
    })
}

/// The folder of a configuration: the plugin, the compiled grammar and the queries.
fn configuration(folder: &Path) {
    let grammar = root().join("editors/tree-sitter-runnel");
    let source = grammar.join("src");
    for name in ["plugin", "parser", "queries"] {
        std::fs::create_dir_all(folder.join(name)).unwrap();
    }
    let plugin = root().join("editors/neovim/runnel.lua");
    std::fs::copy(plugin, folder.join("plugin/runnel.lua")).unwrap();
    let queries = folder.join("queries/runnel");
    std::os::unix::fs::symlink(grammar.join("queries").canonicalize().unwrap(), queries).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-I"]).arg(&source);
    cc.args([source.join("parser.c"), source.join("scanner.c")]);
    assert!(cc.arg("-o").arg(folder.join("parser/runnel.so")).status().unwrap().success());
}

#[test]
fn neovim_colours_a_program_by_the_grammar() {
    let Some(nvim) = neovim() else {
        return list_as_left_out("Neovim 0.9 or newer is not installed");
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    configuration(folder);
    let places: Vec<String> =
        EXPECTED.iter().map(|(line, at, _)| format!("{{{line},{at}}}")).collect();
    let script = SCRIPT.replace("EXPECTED", &format!("{{{}}}", places.join(",")));
    std::fs::write(folder.join("try.lua"), script).unwrap();
    std::fs::write(folder.join("tasks.rnl"), PROGRAM).unwrap();
    let mut command = Command::new(nvim);
    command.args(["--headless", "--clean", "--cmd"]);
    command.arg(format!("set rtp^={}", folder.display()));
    command
        .arg(folder.join("tasks.rnl"))
        .arg("-c")
        .arg(format!("luafile {}", folder.join("try.lua").display()));
    let out = folder.join("out.txt");
    let result = command.env("RUNNEL_OUT", &out).output().unwrap();
    let found = std::fs::read_to_string(out).unwrap_or_default();
    let errors = String::from_utf8_lossy(&result.stderr);
    for ((line, at, capture), seen) in
        EXPECTED.iter().zip(found.lines().chain(std::iter::repeat("")))
    {
        let has = seen.split(' ').skip(1).any(|one| one == *capture);
        assert!(has, "{line}:{at} is no {capture}: {seen}\n{found}\n{errors}");
    }
    assert!(found.ends_with("folds 1 0\n"), "{found}");
}
