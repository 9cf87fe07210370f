//! TypeScript clients: types that hold, and requests that a server understands.

use crate::support::{api, judges, leave_out, node_tool, succeed};
use runnel_openapi::{Api, typescript};
use std::path::Path;
use std::process::Command;

/// Options of a strict project of today.
const STRICT: [&str; 8] = [
    "--strict",
    "--exactOptionalPropertyTypes",
    "--noUncheckedIndexedAccess",
    "--noUnusedLocals",
    "--target",
    "es2022",
    "--lib",
    "es2022,dom,dom.iterable",
];

fn compile(judges: &Path, folder: &Path, files: &[&str]) {
    let mut compiler = node_tool(judges, "tsc");
    compiler.args(STRICT).args(["--module", "nodenext", "--outDir"]).arg(folder);
    compiler.args(files.iter().map(|file| folder.join(file)));
    succeed(&mut compiler, "tsc --strict");
}

#[test]
fn clients_of_all_descriptions_pass_strict_checks() {
    let Some(judges) = judges() else { return leave_out("TypeScript is not installed") };
    let folder = tempfile::tempdir().unwrap();
    for name in ["todos", "blog", "large"] {
        let file = format!("{name}.ts");
        std::fs::write(folder.path().join(&file), typescript(&api(name))).unwrap();
        compile(&judges, folder.path(), &[&file]);
    }
}

/// The script checks types while it compiles, and requests and answers while it runs.
#[test]
fn a_client_and_a_server_understand_each_other() {
    let Some(judges) = judges() else { return leave_out("TypeScript is not installed") };
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("package.json", r#"{ "type": "module" }"#);
    write("client.ts", &typescript(&api("blog")));
    write("use.ts", include_str!("client/use.ts"));
    write("server.mjs", include_str!("client/server.mjs"));
    compile(&judges, folder.path(), &["use.ts"]);
    let mut node = Command::new("node");
    node.arg(folder.path().join("server.mjs"));
    let said = succeed(&mut node, "the client");
    assert!(said.ends_with("14 checks\n"), "{said}");
}

#[test]
fn a_text_of_the_program_ends_no_comment_and_no_literal() {
    let described = crate::support::parse(
        r#"{ "title": "A\n*/ B", "servers": ["https://a/\"\u2028"], "operations": [
            { "method": "GET", "path": [{ "text": "`${x}" }], "about": "Ends */ here." } ] }"#,
    );
    let client = typescript(&Api::read(&described));
    assert!(client.starts_with("// A */ B 1.0.0: a client"), "{client}");
    assert!(client.contains(r#"const DEFAULT_BASE_URL = "https://a/\"\u2028";"#));
    assert!(client.contains("/** Ends * / here. */"));
    assert!(client.contains(r"path: `/\`\${x}`"));
}
