"""The crates inside of the binary: a bill of materials (CycloneDX 1.5), and the texts of their licences.

Read from `cargo metadata`: what the command links on Linux, without what only builds or tests it."""

import json
import pathlib
import re
import subprocess
import time
import uuid

from archives import TIME, sha256
from contents import ROOT

TEXTS = re.compile(r"^(licen[cs]e|copying|unlicense|notice|copyright)", re.I)
# Crates that name a licence and have no text: the standard text of the first of these stands in.
STANDARD = ["MIT", "Apache-2.0", "BSD-3-Clause", "Zlib", "ISC", "BSL-1.0", "CC0-1.0", "Unicode-3.0", "CDLA-Permissive-2.0"]
# C sources that crates bring along, and their licence.
EMBEDDED = {"luajit-src": "LuaJIT 2.1, MIT", "libsqlite3-sys": "SQLite, public domain", "zstd-sys": "Zstandard, BSD-3-Clause"}


def linked(machine):
    """The packages of `cargo metadata` that are linked into the command."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    command += ["--filter-platform", f"{machine}-unknown-linux-gnu"]
    data = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
    packages = {one["id"]: one for one in data["packages"]}
    nodes = {one["id"]: one for one in data["resolve"]["nodes"]}
    root = next(one["id"] for one in data["packages"] if one["name"] == "runnel-app")
    found, waiting = set(), [root]
    while waiting:
        here = waiting.pop()
        # A macro runs in the compiler.
        is_macro = any("proc-macro" in target["kind"] for target in packages[here]["targets"])
        if here in found or is_macro:
            continue
        found.add(here)
        for dependency in nodes[here]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
        # The sources of a C library are a build dependency of its crate, and end up in the binary.
        for dependency in nodes[here]["deps"]:
            if packages[dependency["pkg"]]["name"] in EMBEDDED:
                waiting.append(dependency["pkg"])
    chosen = [packages[one] for one in found if packages[one]["source"] is not None]
    return sorted(chosen, key=lambda one: (one["name"], one["version"]))


def bill_of_materials(package):
    components = []
    for one in linked(package.machine):
        url = f"pkg:cargo/{one['name']}@{one['version']}"
        component = {"type": "library", "bom-ref": url, "name": one["name"], "version": one["version"], "purl": url}
        component["licenses"] = [{"expression": expression(one)}]
        components.append(component)
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.UUID(sha256(package.binary)[:32])}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(TIME)),
            "component": {
                "type": "application",
                "name": "runnel",
                "version": package.version,
                "hashes": [{"alg": "SHA-256", "content": sha256(package.binary)}],
            },
        },
        "components": components,
    }
    return (json.dumps(bill, indent=1) + "\n").encode()


def expression(one):
    """Its licence as SPDX writes it; old crates separate alternatives with a slash."""
    return (one["license"] or "").replace("/", " OR ").replace("  ", " ")


def licences(package):
    """All texts, each once, with the crates that it belongs to. A crate without any is an error."""
    texts, standard, without = {}, {}, []
    for one in linked(package.machine):
        folder = pathlib.Path(one["manifest_path"]).parent
        files = [path for path in sorted(folder.iterdir()) if path.is_file() and TEXTS.match(path.name)]
        if one["license_file"]:
            files.append(folder / one["license_file"])
        label = f"{one['name']} {one['version']} ({expression(one)})"
        if one["name"] in EMBEDDED:
            label += f", with {EMBEDDED[one['name']]}"
        found = {path.read_text(errors="replace").strip() for path in files}
        for text in sorted(found):
            texts.setdefault(text, []).append(label)
        for name in STANDARD:
            if len(found) == 1 and expression(one) == name:
                standard.setdefault(name, min(found))
        if any(path.name.upper().startswith("LICENSE-APACHE") for path in files):
            apache = next(path for path in files if path.name.upper().startswith("LICENSE-APACHE"))
            standard.setdefault("Apache-2.0", apache.read_text(errors="replace").strip())
        if not found:
            without.append((one, label))
    for one, label in without:
        known = [name for name in STANDARD if name in expression(one) and name in standard]
        if not known:
            raise SystemExit(f"{label}: no text of its licence; add it to packaging/dependencies.py")
        # The holder of the copyright of a standard text is another one: it is named by the crate.
        authors = ", ".join(one["authors"]) or "its authors"
        texts.setdefault(standard[known[0]], []).append(f"{label}, copyright {authors}")
    parts = ["Runnel contains the following libraries.\n"]
    for text, labels in sorted(texts.items(), key=lambda pair: pair[1][0]):
        parts.append("=" * 80 + "\n" + "\n".join(labels) + "\n" + "-" * 80 + "\n" + text + "\n")
    return "\n".join(parts).encode()
