//! Documents under validators, linters and generators that know nothing of us.

use crate::support::{api, judges, leave_out, node_tool, succeed};
use runnel_openapi::document_text;
use std::path::Path;
use std::process::Command;

fn judge(name: &str) {
    let Some(judges) = judges() else {
        return leave_out("the judges of OpenAPI are not installed; .ci/run installs them");
    };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("openapi.json"), document_text(&api(name))).unwrap();
    std::fs::write(path("rules.yaml"), "extends: [\"spectral:oas\"]\n").unwrap();
    let document = path("openapi.json");

    let mut validator = Command::new(judges.join("py/bin/python"));
    validator.args(["-m", "openapi_spec_validator"]).arg(&document);
    succeed(&mut validator, "openapi-spec-validator");

    let mut spectral = node_tool(&judges, "spectral");
    spectral.arg("lint").arg(&document).arg("--ruleset").arg(path("rules.yaml"));
    succeed(spectral.args(["--fail-severity", "warn"]), "spectral");

    let mut redocly = node_tool(&judges, "redocly");
    redocly.env("REDOCLY_TELEMETRY", "off").args(["lint", "--extends", "recommended"]);
    succeed(redocly.arg(&document), "redocly");

    let mut types = node_tool(&judges, "openapi-typescript");
    succeed(types.arg(&document).arg("-o").arg(path("api.ts")), "openapi-typescript");
    compile(&judges, &path("api.ts"));

    let mut orval = node_tool(&judges, "orval");
    orval.arg("--input").arg(&document).arg("--output").arg(path("client.ts"));
    succeed(&mut orval, "orval");
}

fn compile(judges: &Path, file: &Path) {
    let mut compiler = node_tool(judges, "tsc");
    succeed(compiler.args(["--noEmit", "--strict", "--skipLibCheck"]).arg(file), "tsc --strict");
}

#[test]
fn judges_accept_todos() {
    judge("todos");
}

#[test]
fn judges_accept_a_blog_with_unions_files_and_formats() {
    judge("blog");
}

#[test]
fn judges_accept_sixty_paths() {
    judge("large");
}
