//! Compiles the kernel to bytecode, so that a start does not parse 900 KB of Lua: the same LuaJIT reads it
//! fifteen times faster. Line numbers and names stay in it for traces of errors. The definitions of messages in its
//! comments become the catalogue. Both are embedded compressed.

use mlua::{Function, Lua};
use runnel_catalogue::extract::extract;
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Write, stdout};
use std::path::Path;
use std::{env, fs};
use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

const KERNEL: &str = "src/kernel";

/// The level of compression: the highest that needs no more memory to decompress.
const LEVEL: i32 = 19;

/// The bytes of the shortest repetition. A short one takes as long to decompress as a long one: 6 bytes save a fifth of
/// the time at a start, for a twentieth more size.
const SHORTEST: u32 = 6;

fn main() -> Result<(), Box<dyn Error>> {
    stdout().write_all(b"cargo::rerun-if-changed=src/kernel\n")?;
    let lua = Lua::new();
    let dump: Function = lua.load("return string.dump").eval()?;
    let mut sources = Vec::new();
    let mut bytecode = BTreeMap::new();
    let classes = fs::read_to_string(Path::new(KERNEL).join("classes.txt"))?;
    for room in fs::read_dir(KERNEL)? {
        let room = room?;
        if !room.file_type()?.is_dir() {
            continue;
        }
        for file in fs::read_dir(room.path())? {
            let file = file?;
            let name = format!(
                "{}/{}",
                room.file_name().to_string_lossy(),
                file.file_name().to_string_lossy()
            );
            let source = fs::read_to_string(file.path())?;
            let chunk =
                lua.load(source.as_str()).set_name(format!("=kernel/{name}")).into_function()?;
            // `d`: the same bytes each time, so that builds can be compared.
            let code: mlua::LuaString = dump.call((chunk, "d"))?;
            bytecode.insert(name.clone(), code.as_bytes().to_vec());
            sources.push((name, source));
        }
    }
    let mut in_order = Vec::new();
    for name in fs::read_to_string(Path::new(KERNEL).join("files.rs"))?.lines().filter_map(listed) {
        let code = bytecode.get(name).ok_or_else(|| format!("no kernel file {name}"))?;
        in_order.extend(u32::try_from(code.len())?.to_le_bytes());
        in_order.extend(code);
    }
    embed("kernel.zst", &in_order)?;
    sources.sort();
    let files = sources.iter().map(|(name, source)| (name.as_str(), source.as_str()));
    let definitions = extract(files)? + &classes;
    embed("catalogue.zst", definitions.as_bytes())
}

/// The file that a line of the order of loading lists.
fn listed(line: &str) -> Option<&str> {
    line.trim().strip_prefix('"')?.strip_suffix("\",")
}

/// Writes a file to embed, compressed.
fn embed(name: &str, content: &[u8]) -> Result<(), Box<dyn Error>> {
    let mut compressor = Compressor::new(LEVEL)?;
    compressor.set_parameter(CParameter::MinMatch(SHORTEST))?;
    let path = Path::new(&env::var("OUT_DIR")?).join(name);
    Ok(fs::write(path, compressor.compress(content)?)?)
}
