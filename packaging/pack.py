#!/usr/bin/env python3
"""All packages of one binary: `packaging/pack.py BINARY FOLDER`. Called by `make dist`.

The same binary and commit give the same bytes. What each package is for stands in docs/install.md."""

import os
import pathlib
import subprocess
import sys

import contents

if "SOURCE_DATE_EPOCH" not in os.environ:
    asked = ["git", "log", "-1", "--format=%ct"]
    date = subprocess.run(asked, cwd=contents.ROOT, capture_output=True, text=True).stdout.strip()
    os.environ["SOURCE_DATE_EPOCH"] = date or "0"

from archives import gz, read, sha256, tar, write  # noqa: E402  (their time is that of the commit)
from dependencies import bill_of_materials, licences  # noqa: E402
from npm import npm  # noqa: E402
from oci import oci  # noqa: E402
from wheel import wheel  # noqa: E402


def archive(package, texts):
    """The files below a folder, to unpack anywhere."""
    stem = f"runnel-{package.version}-{package.machine}-linux"
    files = [(f"{stem}/bin/runnel", package.binary, 0o755)]
    for name, content, mode in package.tree():
        if name != "usr/bin/runnel":
            files.append((f"{stem}/{name.removeprefix('usr/')}", content, mode))
    files.append((f"{stem}/share/doc/runnel/licences-of-libraries.txt", texts, 0o644))
    return f"{stem}.tar.gz", gz(tar(files))


def formula(package, name, content):
    template = (contents.ROOT / "packaging" / "homebrew.rb.in").read_text()
    values = {"VERSION": package.version, "FILE": name, "SHA256": sha256(content), "HOMEPAGE": contents.HOMEPAGE}
    for key, value in values.items():
        template = template.replace(f"@{key}@", value)
    return "runnel.rb", template.encode()


def main():
    if len(sys.argv) != 3:
        raise SystemExit("usage: packaging/pack.py BINARY FOLDER")
    package, out = contents.Package(sys.argv[1]), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    texts = licences(package)
    made = [archive(package, texts)]
    made.append(formula(package, *made[0]))
    made.append(("runnel.cdx.json", bill_of_materials(package)))
    made.append(("licences-of-libraries.txt", texts))
    made.extend([npm(package), wheel(package)])
    image = oci(package)
    if image is None:
        print("no container image: the binary is not static", file=sys.stderr)
    else:
        made.append(image)
    for name, content in made:
        write(out / name, content)
    names = [name for name, _ in made]
    if subprocess.run(["sh", "-c", "command -v dpkg-deb"], capture_output=True).returncode == 0:
        deb = [contents.ROOT / "packaging" / "deb", package.path, out]
        made_deb = subprocess.run(deb, capture_output=True, text=True, check=True).stdout.strip()
        names.append(pathlib.Path(made_deb).name)
    else:
        print("no Debian package: dpkg-deb is not installed", file=sys.stderr)
    sums = "".join(f"{sha256(read(out / name))}  {name}\n" for name in sorted(names))
    write(out / "SHA256SUMS", sums.encode())
    for name in sorted(names):
        print(f"{(out / name).stat().st_size:>12,}  {out / name}")


main()
