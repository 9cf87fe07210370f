#!/usr/bin/env python3
"""Follows guides as a reader does: saves their files, types their commands, compares what they print.

    tests/guides/run.py target/debug/runnel docs/guides

README.md beside this file describes the blocks of a page.
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

# What a reader's machine has besides `runnel`: a shell, curl, coreutils, grep and sed.
COMMANDS = """sh curl grep sed base64 basename cat chmod cp cut date dirname echo env expr false head id ln ls md5sum
    mkdir mktemp mv printf pwd rm rmdir seq sha256sum sleep sort stat tail tee test timeout touch tr true uname uniq
    wc whoami""".split()
COMMAND_SECONDS = 30
START_SECONDS = 20
RELOAD_SECONDS = 0.3
# The addresses in whose place a page gets free ports.
PORT = re.compile(r"(?:port: |Port: |admin: |--port |localhost:|127\.0\.0\.1:|listen )(\d{4,5})\b")
FENCE = re.compile(r"^```(\w*) ?(.*)$")
NAME = re.compile(r"^// ([\w./-]+\.(?:st|rnl))$")


class Block:
    """A fenced block of a page."""

    def __init__(self, line, kind, words):
        self.line, self.kind, self.words, self.lines = line, kind, words, []

    @property
    def text(self):
        return "".join(line + "\n" for line in self.lines)

    def file_name(self):
        """The name under which a reader saves this block, or None."""
        if self.kind == "file":
            return self.words
        head = self.lines[:2] if self.kind == "runnel" else []
        # A signature line stands before everything else.
        named = [NAME.match(line) for line in head if not line.startswith("#-")]
        return named[0].group(1) if named and named[0] else None


def blocks_of(text):
    """The fenced blocks of a page, in order."""
    found, current = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if current is None:
            fence = FENCE.match(line)
            if fence:
                current = Block(number, fence.group(1), fence.group(2).strip())
        elif line == "```":
            found.append(current)
            current = None
        else:
            current.lines.append(line)
    if current is not None:
        sys.exit(f"error: line {current.line}: this block is never closed")
    return found


def commands_of(block):
    """The commands of a console block: line, text, expected output."""
    found = []
    for number, line in enumerate(block.lines, block.line + 1):
        if line.startswith("$ "):
            found.append([number, line[2:], []])
        elif not found:
            sys.exit(f"error: line {number}: this block begins with `$ `")
        elif line.startswith("> ") and not found[-1][2]:
            found[-1][1] += "\n" + line[2:]
        else:
            found[-1][2].append(line)
    return [(number, command, "\n".join(output)) for number, command, output in found]


def trimmed(text):
    """Text without white space at the ends of its lines and of itself."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def matches(expected, actual):
    """Whether an output is as expected, where `…` stands for any text."""
    parts = trimmed(expected).split("…")
    return re.fullmatch(".*".join(map(re.escape, parts)), trimmed(actual), re.DOTALL) is not None


def free_ports(text):
    """A free port, with as many digits, for each port that a page names."""
    named, ports = list(dict.fromkeys(PORT.findall(text))), {}
    for port in named:
        lowest = max(2000, 10 ** (len(port) - 1))
        for other in random.sample(range(lowest, min(10 ** len(port), 32000)), 100):
            if str(other) not in named and str(other) not in ports.values() and not is_open(other):
                ports[port] = str(other)
                break
    return ports


def is_open(port):
    """Whether a port of this machine accepts connections."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", int(port))) == 0


def with_ports(text, ports):
    for port, other in ports.items():
        text = re.sub(rf"(?<![\d.]){port}(?!\d)", other, text)
    return text


class Job:
    """A command in the background, in a process group of its own, which writes to a file."""

    def __init__(self, command, place, environment, log, port=None):
        self.command, self.log, self.port, self.seen = command, log, port, 0
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                ["sh", "-c", "exec " + command], cwd=place, env=environment,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)

    def said(self):
        return self.log.read_text(errors="replace")[self.seen:]

    def await_start(self):
        """What it printed until it serves, or until it ended; None when neither happens."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            ended = self.process.poll() is not None
            said = self.said()
            if ended or self.serves(said):
                self.seen += len(said)
                return said
            time.sleep(0.02)
        return None

    def serves(self, said):
        """Whether it says that it serves, or failed to; whether its port is open, where it is not ours."""
        if self.port:
            return is_open(self.port)
        return re.search(r"^(serving|window) .*\n|^error: .* did not start.*\n|^note: waiting .*\n", said, re.M)

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


class Reader:
    """Follows one page in an empty folder with an empty environment."""

    def __init__(self, page, text, ports, folder, commands):
        self.page, self.ports, self.folder = page, ports, folder
        self.place, home = folder / "work", folder / "home"
        self.place.mkdir()
        home.mkdir()
        # As at a terminal, where curl shows no progress beside what it prints.
        (home / ".curlrc").write_text("no-progress-meter\n")
        self.environment = {"PATH": str(commands), "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb"}
        if "RUNNEL_KERNEL" in os.environ:
            self.environment["RUNNEL_KERNEL"] = os.path.abspath(os.environ["RUNNEL_KERNEL"])
        self.text, self.jobs = text, []
        self.steps = self.failed = 0

    def follow(self):
        for block in blocks_of(self.text):
            name = block.file_name()
            if name:
                self.save(block.line, name, block.text)
            elif block.kind in ("console", "sh"):
                for line, command, expected in commands_of(block):
                    self.type(line, command, expected)

    def save(self, line, name, text):
        path = self.place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        same = path.exists() and path.read_text() == text
        watching = [] if same else [job for job in self.jobs if job and self.is_watched(job, name)]
        for job in watching:
            job.seen += len(job.said())
        path.write_text(text)
        self.step(line, f"save {name}", "")
        for job in watching:
            said = job.await_start()
            # The version before still accepts a connection or two.
            time.sleep(RELOAD_SECONDS)
            if said is None or "did not start" in said:
                self.step(line, f"{job.command} starts again", said or "it does not serve")

    @staticmethod
    def is_watched(job, name):
        return "--watch" in job.command and name in job.command and job.process.poll() is None

    def type(self, line, command, expected):
        shown = command.split("\n")[0]
        if command.endswith("&"):
            return self.start(line, command[:-1].strip(), expected)
        if re.match(r"kill (-HUP )?%\d+$", command):
            return self.kill(line, command)
        deadline = time.monotonic() + START_SECONDS
        actual = self.output_of(command)
        # What is awaited may take longer on a busy machine.
        while command.startswith("sleep ") and not matches(expected, actual) and time.monotonic() < deadline:
            actual = self.output_of(command)
        self.compare(line, shown, expected, actual)

    def output_of(self, command):
        """What a command prints, and its exit status unless that is 0."""
        # A file, because a program in the background would keep a pipe open.
        log = self.folder / "output.log"
        try:
            with open(log, "wb") as output:
                done = subprocess.run(
                    ["sh", "-c", command], cwd=self.place, env=self.environment, stdin=subprocess.DEVNULL,
                    stdout=output, stderr=output, timeout=COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            return f"it took longer than {COMMAND_SECONDS} s"
        text = trimmed(log.read_text(errors="replace"))
        return text + ("\n" if text else "") + f"[{done.returncode}]" if done.returncode else text

    def start(self, line, command, expected):
        port = None if command.startswith("runnel ") else next((one for one in self.ports if not is_open(one)), None)
        job = Job(command, self.place, self.environment, self.folder / f"job-{line}.log", port)
        while self.jobs and self.jobs[-1] is None:
            self.jobs.pop()
        self.jobs.append(job)
        said = job.await_start()
        if said is None:
            return self.step(line, command + " &", f"it does not serve after {START_SECONDS} s: {job.said()}")
        self.compare(line, command + " &", expected or ("" if port else "serving …"), said)

    def kill(self, line, command):
        number = int(command.split("%")[1]) - 1
        if number >= len(self.jobs) or not self.jobs[number]:
            return self.step(line, command, "there is no such job")
        if "-HUP" in command:
            self.jobs[number].process.send_signal(signal.SIGHUP)
        else:
            self.jobs[number].end()
            self.jobs[number] = None
        self.step(line, command, "")

    def compare(self, line, shown, expected, actual):
        fault = "" if matches(expected, actual) else f"expected\n{trimmed(expected)}\nactual\n{trimmed(actual)}"
        self.step(line, shown, fault)

    def step(self, line, what, fault):
        self.steps += 1
        print(f"{'FAIL' if fault else 'ok  '} {self.page}:{line}  {what}")
        if fault:
            self.failed += 1
            print("\n".join("    | " + one for one in fault.splitlines()))

    def close(self):
        for job in self.jobs:
            if job:
                job.end()


def search_path(folder, runnel, more):
    """A folder with links to the commands that a reader has, or the name of one that is missing."""
    folder.mkdir()
    (folder / "runnel").symlink_to(runnel)
    for name in COMMANDS + more:
        found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
        if not found:
            return name
        (folder / name).symlink_to(found)
    return None


class Postgres:
    """A PostgreSQL with the user `postgres` and no password, as the one that a page tells a reader to start."""

    @staticmethod
    def program(name):
        installed = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
        return shutil.which(name) or next((str(one / name) for one in installed if (one / name).exists()), None)

    def __init__(self, folder, port):
        # It refuses to run as root.
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        if user:
            folder.chmod(0o755)
            (folder / "postgres").mkdir()
            shutil.chown(folder / "postgres", "postgres", "postgres")
        data = str(folder / "postgres" / "data")
        subprocess.run(
            [*user, self.program("initdb"), "--username=postgres", "--auth=trust", "--no-sync", "--pgdata", data],
            check=True, stdout=subprocess.DEVNULL, cwd="/")
        self.process = subprocess.Popen(
            [*user, self.program("postgres"), "-D", data, "-p", port, "-k", data, "-F"],
            stderr=subprocess.DEVNULL, cwd="/")
        deadline = time.monotonic() + START_SECONDS
        while not is_open(port):
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit("error: PostgreSQL does not start")
            time.sleep(0.05)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


def follow(page, runnel, keep_ports):
    """Follows a page; the numbers of steps and failures."""
    text = page.read_text()
    ports = {} if keep_ports else free_ports(text)
    wanted = re.search(r"^<!-- commands: (.*) -->$", text, re.M)
    with tempfile.TemporaryDirectory(prefix="runnel-guide-") as name:
        folder = pathlib.Path(name)
        missing = search_path(folder / "bin", runnel, wanted.group(1).split() if wanted else [])
        has_database = "<!-- needs: postgres -->" in text
        if has_database and not Postgres.program("initdb"):
            missing = "postgres"
        if missing:
            print(f"left out {page} ({missing} is not installed)")
            return 0, 0
        reader = Reader(page, with_ports(text, ports), ports.values(), folder, folder / "bin")
        database = Postgres(folder, ports.get("5432", "5432")) if has_database and not keep_ports else None
        try:
            reader.follow()
        finally:
            reader.close()
            if database:
                database.end()
        return reader.steps, reader.failed


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--keep-ports", action="store_true", help="use the ports that the pages name")
    options.add_argument("runnel", type=pathlib.Path, help="the command under test")
    options.add_argument("pages", type=pathlib.Path, nargs="+", help="pages, or folders with pages")
    chosen = options.parse_args()
    runnel = chosen.runnel.resolve()
    if not runnel.is_file():
        sys.exit(f"error: {chosen.runnel} is not a file")
    pages = [page for path in chosen.pages for page in (sorted(path.glob("*.md")) if path.is_dir() else [path])]
    counts = [follow(page, runnel, chosen.keep_ports) for page in pages]
    steps, failed = (sum(numbers) for numbers in zip(*counts)) if counts else (0, 0)
    print(f"{steps} steps, {failed} failed")
    sys.exit(1 if failed or not steps else 0)


if __name__ == "__main__":
    main()
