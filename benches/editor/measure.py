#!/usr/bin/env python3
"""How long an editor waits: a completion and the diagnostics after each of 100 changes of a file of 3,371 lines.

    benches/editor/measure.py                                runnel alone
    benches/editor/measure.py py pyright-langserver --stdio

Prints milliseconds from a change to a completion at its place, and to the diagnostics that name it. The file is made of
`part.st` or `part.py`, many times; N is the number of the part.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

LINES = 3_371
CHANGES = 100
LONGEST_WAIT = 60
NAMES = {"st": "runnel", "py": "python"}
# A statement that is not right, and one whose end is completed.
WRONG = {"st": "missingN.", "py": "missingN"}
ASKED = {"st": "tasks0 first ", "py": "tasks0[0]."}


def text_of(kind):
    with open(os.path.join(os.path.dirname(__file__), "part." + kind)) as file:
        part = file.read()
    whole = "".join(re.sub(r"(?<=[a-z])N\b", str(at), part) for at in range(LINES // part.count("\n")))
    return whole + "\n" * (LINES - whole.count("\n"))


class Editor:
    def __init__(self, command, folder):
        self.server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.asked = 0
        self.ask("initialize", {
            "processId": os.getpid(), "rootUri": "file://" + folder,
            "workspaceFolders": [{"uri": "file://" + folder, "name": "bench"}],
            "capabilities": {"textDocument": {"publishDiagnostics": {}, "completion": {}}},
        })
        self.tell("initialized", {})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.server.stdin.flush()

    def tell(self, method, params):
        self.send({"method": method, "params": params})

    def next(self):
        length = 0
        while line := self.server.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        if not length:
            sys.exit("the server is gone")
        message = json.loads(self.server.stdout.read(length))
        if "id" in message and "method" in message:
            items = message["params"].get("items", []) if isinstance(message.get("params"), dict) else []
            self.send({"id": message["id"], "result": [None] * len(items) or None})
        return message

    def ask(self, method, params):
        self.asked += 1
        self.send({"id": self.asked, "method": method, "params": params})
        while True:
            message = self.next()
            if message.get("id") == self.asked and "method" not in message:
                return message.get("result")

    def until_named(self, name):
        start = time.perf_counter()
        while time.perf_counter() - start < LONGEST_WAIT:
            message = self.next()
            if message.get("method") == "textDocument/publishDiagnostics" and name in json.dumps(message):
                return
        sys.exit(f"no diagnostics name {name}")


def measure(kind, command):
    text, folder = text_of(kind), tempfile.mkdtemp()
    path = os.path.join(folder, "big." + kind)
    with open(path, "w") as file:
        file.write(text)
    editor, uri = Editor(command, folder), "file://" + path
    document = {"uri": uri, "languageId": NAMES[kind], "version": 0, "text": text}
    editor.tell("textDocument/didOpen", {"textDocument": document})
    times = {"completion": [], "diagnostics": []}
    # The first changes are not measured: a server may still read its own library.
    for at in range(-5, CHANGES):
        for what in times:
            document["version"] += 1
            line = ASKED[kind] if what == "completion" else WRONG[kind].replace("N", str(document["version"]))
            whole = text + line
            change = {"textDocument": document, "contentChanges": [{"text": whole}]}
            start = time.perf_counter()
            editor.tell("textDocument/didChange", change)
            if what == "completion":
                place = {"line": whole.count("\n"), "character": len(line)}
                if not editor.ask("textDocument/completion", {"textDocument": {"uri": uri}, "position": place}):
                    sys.exit("no completion")
            else:
                editor.until_named(line.rstrip(".;"))
            if at >= 0:
                times[what].append((time.perf_counter() - start) * 1000)
    editor.server.kill()
    name = os.path.basename(command[0])
    for what, all_of in times.items():
        all_of.sort()
        figures = "".join(f" {all_of[int(len(all_of) * part)]:8.1f}" for part in (0, 0.5, 0.9, 0.99))
        print(f"{name:28} {what:12}{figures}", flush=True)


print(f"{'editor, ms':28} {'':12}{'least':>9}{'p50':>9}{'p90':>9}{'p99':>9}", flush=True)
runnel = os.environ.get("RUNNEL", "target/release/runnel")
if len(sys.argv) > 2:
    measure(sys.argv[1], sys.argv[2:])
else:
    measure("st", [runnel, "lsp"])
