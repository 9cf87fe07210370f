//! Compiles the functions; where the command is linked with musl, under the names of the C library.

use std::env::var;
use std::io::Write;

fn main() -> std::io::Result<()> {
    if var("CARGO_CFG_TARGET_ARCH").is_ok_and(|name| name == "x86_64") {
        let mut build = cc::Build::new();
        // What is written as a loop must not become a call of the function that it is in.
        build.std("c11").opt_level(2).flags(["-ffreestanding", "-fno-builtin"]);
        build.flag_if_supported("-fno-tree-loop-distribute-patterns");
        if var("CARGO_CFG_TARGET_ENV").is_ok_and(|name| name == "musl") {
            build.define("NAMES_OF_C", None);
        }
        build.file("src/memory.c").compile("runnel-musl");
    }
    std::io::stdout().write_all(b"cargo::rerun-if-changed=src/memory.c\n")
}
