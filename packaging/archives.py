"""Archives whose bytes depend on their contents only: fixed order, times, owners and modes."""

import gzip
import hashlib
import io
import os
import tarfile

# How much `gz` compresses: least for tests.
LEVEL = int(os.environ.get("RUNNEL_PACK_LEVEL", "9"))
# Seconds since 1970 of every file; the date of the last commit, which `packaging/dist` sets.
TIME = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))


def tar(entries, owners=None):
    """A tar of (name, bytes, mode) in the given order, with the folders that they need, and who owns some of these."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        folders = set()
        for name, content, mode in entries:
            parts = name.split("/")[:-1]
            for depth in range(1, len(parts) + 1):
                folder = "/".join(parts[:depth])
                if folder not in folders:
                    folders.add(folder)
                    info = tarfile.TarInfo(folder)
                    info.type, info.mode, info.mtime = tarfile.DIRTYPE, 0o755, TIME
                    info.uid = info.gid = (owners or {}).get(folder, 0)
                    archive.addfile(info)
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(content), mode, TIME
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def gz(content):
    return gzip.compress(content, compresslevel=LEVEL, mtime=0)


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)
