"""What every package of the command holds, from one binary: `Package.of(binary)`."""

import pathlib
import platform
import re
import shutil
import subprocess

from archives import gz, read

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHELLS = {
    "bash": "usr/share/bash-completion/completions/runnel",
    "zsh": "usr/share/zsh/vendor-completions/_runnel",
    "fish": "usr/share/fish/vendor_completions.d/runnel.fish",
}
# The machine as Debian, npm, Python wheels and containers call it.
MACHINES = {
    "x86_64": {"deb": "amd64", "npm": "x64", "wheel": "x86_64", "oci": "amd64"},
    "aarch64": {"deb": "arm64", "npm": "arm64", "wheel": "aarch64", "oci": "arm64"},
}
ELF_MACHINES = {62: "x86_64", 183: "aarch64"}
HOMEPAGE = "https://github.com/runnel-lang/runnel"
SUMMARY = "A small dynamic language in which every resource is a variable, and the server that runs it"


class Package:
    def __init__(self, binary):
        self.path = pathlib.Path(binary).resolve()
        self.binary = read(self.path)
        if self.binary[:4] != b"\x7fELF":
            raise SystemExit(f"{binary}: not an executable for Linux")
        machine = ELF_MACHINES.get(int.from_bytes(self.binary[18:20], "little"))
        if machine is None:
            raise SystemExit(f"{binary}: made for a machine that no package is made for")
        self.machine, self.names = machine, MACHINES[machine]
        manifest = (ROOT / "Cargo.toml").read_text()
        self.version = re.search(r'^version = "(.*)"', manifest, re.M).group(1)
        # A static executable names no loader.
        self.is_static = b"/ld-linux" not in self.binary[: 64 << 10]
        # Made for another machine than this one.
        self.is_foreign = self.machine != platform.machine()

    def command(self):
        """The words that start the binary: its path, after QEMU's where it is made for another machine than this one."""
        if not self.is_foreign:
            return [self.path]
        # The names in Debian's packages qemu-user-static and qemu-user.
        for name in [f"qemu-{self.machine}-static", f"qemu-{self.machine}"]:
            if shutil.which(name):
                return [shutil.which(name), self.path]
        raise SystemExit(f"{self.path}: made for {self.machine}, which needs QEMU here: apt install qemu-user-static")

    def asked(self, *words):
        """What the binary prints; its own definitions give completions and man pages."""
        run = subprocess.run([*self.command(), *words], capture_output=True, check=True)
        return run.stdout

    def manuals(self):
        """(name, content) of each man page."""
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            self.asked("man", folder)
            return [(page.name, page.read_bytes()) for page in sorted(pathlib.Path(folder).iterdir())]

    def documents(self):
        """(name, content) of what comes with every package."""
        return [(name, read(ROOT / name)) for name in ["LICENSE-MIT", "README.md", "CHANGELOG.md"]]

    def tree(self):
        """The files below `/`, as (name, content, mode)."""
        files = [("usr/bin/runnel", self.binary, 0o755)]
        for shell, name in SHELLS.items():
            files.append((name, self.asked("completions", shell), 0o644))
        for name, content in self.manuals():
            files.append((f"usr/share/man/man1/{name}.gz", gz(content), 0o644))
        for name, content in self.documents():
            name = "copyright" if name == "LICENSE-MIT" else name
            files.append((f"usr/share/doc/runnel/{name}", content, 0o644))
        for path in sorted((ROOT / "examples").rglob("*")):
            if path.is_file():
                name = path.relative_to(ROOT)
                files.append((f"usr/share/runnel/{name}", read(path), 0o644))
        return files
