"""A package for npm with the binary inside: `npm install FILE`, `npx --package FILE runnel`."""

import json

from archives import gz, tar
from contents import HOMEPAGE, SUMMARY


def npm(package):
    """The name of the file, and its bytes."""
    manifest = {
        "name": "runnel",
        "version": package.version,
        "description": SUMMARY,
        "license": "MIT",
        "homepage": HOMEPAGE,
        "os": ["linux"],
        "cpu": [package.names["npm"]],
        "bin": {"runnel": "bin/runnel"},
        "files": ["bin"],
    }
    if not package.is_static:
        manifest["libc"] = ["glibc"]
    documents = dict(package.documents())
    entries = [
        ("package/package.json", (json.dumps(manifest, indent=2) + "\n").encode(), 0o644),
        ("package/LICENSE-MIT", documents["LICENSE-MIT"], 0o644),
        ("package/README.md", documents["README.md"], 0o644),
        ("package/bin/runnel", package.binary, 0o755),
    ]
    return f"runnel-{package.version}-{package.names['npm']}.tgz", gz(tar(entries))
