#!/usr/bin/env python3
"""Installs each package of a folder where nothing else is, and runs the first program of README.md with it:
`packaging/check.py FOLDER [--root DEBIAN]`.

Prints a table: the package, its size, the seconds to install it, the seconds from the start of the program to its first
answer, and how it is linked. A package that cannot be tried here is listed with the reason; a failure ends with 1.

With `--root`, the folder of a clean Debian system (`mmdebstrap --variant=minbase stable DEBIAN`), the Debian package and
the archive are installed there, as root by chroot. Without it they are unpacked into an empty folder.

A command for another machine runs under QEMU (`apt install qemu-user-static`): unpacked, not in a root of its own, and
its seconds say little about that machine."""

import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request

from contents import MACHINES, Package

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = []


def program(folder, port):
    """The first program of README.md, with a port of its own."""
    text = (ROOT / "README.md").read_text()
    source = re.search(r"^## A program\n.*?^```runnel\n(.*?)^```", text, re.M | re.S).group(1)
    assert source.count("8080") == 1, "the first program of README.md names its port once"
    path = pathlib.Path(folder) / "tasks.st"
    path.write_text(source.replace("8080", str(port)))
    return path


def free_port():
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def asked(port, path, body=None):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=body)
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=5) as answer:
        return answer.status, answer.read()


def first_answer(command, folder, inside=None, environment=None):
    """Runs the program; answers the seconds until it answered its first request."""
    port = free_port()
    path = program(folder, port)
    start = time.monotonic()
    child = subprocess.Popen(
        [*command, inside or str(path)],
        cwd=folder,
        env=environment if environment is not None else {"HOME": str(folder), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        while True:
            try:
                asked(port, "/tasks")
                break
            except (urllib.error.URLError, ConnectionError):
                if child.poll() is not None or time.monotonic() - start > 60:
                    raise SystemExit(f"{command}: it serves nothing: {child.stderr.read().decode()}")
                time.sleep(0.005)
        seconds = time.monotonic() - start
        created = asked(port, "/tasks", b'{"title":"sow & reap"}')
        assert created == (201, b'{"id":1,"title":"sow & reap","done":false}'), created
        return seconds
    finally:
        child.terminate()
        child.wait(30)


def row(package, install, answer, linked):
    size = package.stat().st_size / 1_000_000
    ROWS.append((package.name, f"{size:.1f} MB", f"{install:.2f} s", f"{answer:.3f} s", linked))


def left_out(package, why):
    ROWS.append((package.name, f"{package.stat().st_size / 1_000_000:.1f} MB", "left out", why, ""))


def started(binary):
    """The words that start the command."""
    return Package(binary).command()


def is_ours(package, manager):
    """Whether the name of a package says that it is for this machine, in the words of its manager."""
    return MACHINES[platform.machine()][manager] in package.name


def linking(binary):
    package = Package(binary)
    if package.is_foreign:
        return f"{'static' if package.is_static else 'dynamic'}, {package.machine} under QEMU"
    found = subprocess.run(["ldd", binary], capture_output=True, text=True)
    text = found.stdout + found.stderr
    return "static" if "statically linked" in text or "not a dynamic executable" in text else "dynamic"


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def from_archive(package, work):
    start = time.monotonic()
    with tarfile.open(package) as archive:
        archive.extractall(work, filter="data")
    binary = next(pathlib.Path(work).glob("*/bin/runnel"))
    install = time.monotonic() - start
    assert run(*started(binary), "-e", "3 + 4") == "7\n"
    row(package, install, first_answer(started(binary), work), linking(binary))


def from_deb(package, work, root):
    start = time.monotonic()
    if root is None or not is_ours(package, "deb"):
        run("dpkg-deb", "-x", package, work)
        binary = pathlib.Path(work) / "usr/bin/runnel"
        names = ["usr/share/man/man1/runnel.1.gz", "usr/share/bash-completion/completions/runnel"]
        for name in [*names, "lib/systemd/system/runnel@.service", "usr/share/doc/runnel/copyright"]:
            assert (pathlib.Path(work) / name).is_file(), name
        row(package, time.monotonic() - start, first_answer(started(binary), work), linking(binary))
        return
    shutil.copy(package, pathlib.Path(root) / "tmp")
    run("chroot", root, "dpkg", "--force-depends", "-i", f"/tmp/{package.name}")
    install = time.monotonic() - start
    folder = pathlib.Path(root) / "srv"
    answer = first_answer(["chroot", root, "/usr/bin/runnel"], folder, "/srv/tasks.st", {"PATH": "/usr/sbin:/usr/bin"})
    row(package, install, answer, linking(pathlib.Path(root) / "usr/bin/runnel"))


def from_npm(package, work):
    if shutil.which("npm") is None:
        return left_out(package, "npm is not installed")
    start = time.monotonic()
    # npm refuses a package for another machine, unless forced.
    forced = [] if is_ours(package, "npm") else ["--force"]
    run("npm", "install", *forced, "--silent", "--no-audit", "--no-fund", "--prefix", work, package.resolve())
    install = time.monotonic() - start
    binary = pathlib.Path(work) / "node_modules/.bin/runnel"
    row(package, install, first_answer(started(binary), work), linking(binary))


def from_wheel(package, work):
    made = subprocess.run([sys.executable, "-m", "venv", work], capture_output=True)
    if made.returncode != 0:
        return left_out(package, "python3-venv is not installed")
    start = time.monotonic()
    if is_ours(package, "wheel"):
        run(f"{work}/bin/pip", "install", "--quiet", "--no-index", package.resolve())
        binary = pathlib.Path(work) / "bin/runnel"
    else:
        # pip installs for another machine into a folder only.
        platforms = package.name.removesuffix(".whl").split("-")[-1].split(".")
        words = ["--target", f"{work}/other", "--platform", platforms[0], "--only-binary", ":all:"]
        run(f"{work}/bin/pip", "install", "--quiet", "--no-index", *words, package.resolve())
        binary = pathlib.Path(work) / "other/bin/runnel"
    install = time.monotonic() - start
    row(package, install, first_answer(started(binary), work), linking(binary))


# Enters a root, a folder in it and a user, and becomes a program there.
ENTER = """import os, sys
root, folder, user, group, *command = sys.argv[1:]
os.chroot(root)
os.chdir(folder)
os.setgroups([])
os.setgid(int(group))
os.setuid(int(user))
os.execv(command[0], command)
"""


def from_image(package, work):
    """Unpacks the layers as an engine does, and starts the entry point in them alone, where this user may."""
    start = time.monotonic()
    layout, files = pathlib.Path(work) / "layout", pathlib.Path(work) / "files"
    with tarfile.open(package) as archive:
        archive.extractall(layout, filter="data")
    blob = lambda one: layout / "blobs" / one["digest"].replace(":", "/")
    index = json.loads((layout / "index.json").read_text())
    manifest = json.loads(blob(index["manifests"][0]).read_text())
    config = json.loads(blob(manifest["config"]).read_text())["config"]
    for layer in manifest["layers"]:
        with tarfile.open(blob(layer)) as archive:
            archive.extractall(files, filter="tar")  # with the owners
    install = time.monotonic() - start
    binary = files / config["Entrypoint"][0].lstrip("/")
    if os.geteuid() != 0 or Package(binary).is_foreign:
        return row(package, install, first_answer(started(binary), work), linking(binary))
    inside = [str(files), config["WorkingDir"], *config["User"].split(":"), *config["Entrypoint"]]
    command = [sys.executable, "-c", ENTER, *inside]
    answer = first_answer(command, files / "srv", "/srv/tasks.st", {"PATH": "/usr/sbin:/usr/bin"})
    row(package, install, answer, linking(binary))


def sums(folder):
    run("sha256sum", "--check", "--quiet", "SHA256SUMS", cwd=folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path)
    asked_for = parser.parse_args()
    sums(asked_for.folder)
    ways = {".tar.gz": from_archive, ".tgz": from_npm, ".whl": from_wheel, ".oci.tar": from_image}
    for package in sorted(asked_for.folder.iterdir()):
        with tempfile.TemporaryDirectory() as work:
            os.chmod(work, 0o755)
            if package.name.endswith(".deb"):
                from_deb(package, work, asked_for.root)
                continue
            way = next((way for end, way in ways.items() if package.name.endswith(end)), None)
            if way is not None:
                way(package, work)
    print("| package | size | installed in | first answer after | linked |\n| --- | ---: | ---: | ---: | --- |")
    for cells in ROWS:
        print("| " + " | ".join(cells) + " |")


main()
