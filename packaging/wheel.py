"""A wheel for PyPI with the binary as its script (PEP 427): `pip install FILE`, `uvx --from FILE runnel`."""

import base64
import hashlib
import io
import time
import zipfile

from archives import LEVEL, TIME
from contents import HOMEPAGE, SUMMARY

METADATA = """Metadata-Version: 2.1
Name: runnel
Version: {version}
Summary: {summary}
Home-page: {homepage}
License: MIT
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme}"""

WHEEL = """Wheel-Version: 1.0
Generator: packaging/wheel.py
Root-Is-Purelib: false
{tags}
"""


def wheel(package):
    """The name of the file, and its bytes."""
    machine = package.names["wheel"]
    # A static executable runs with every libc.
    platforms = [f"manylinux_2_17_{machine}", f"musllinux_1_1_{machine}"] if package.is_static else [f"linux_{machine}"]
    tag = "py3-none-" + ".".join(platforms)
    stem = f"runnel-{package.version}"
    documents = dict(package.documents())
    readme = documents["README.md"].decode()
    metadata = METADATA.format(version=package.version, summary=SUMMARY, homepage=HOMEPAGE, readme=readme)
    tags = "\n".join(f"Tag: py3-none-{platform}" for platform in platforms)
    files = [
        (f"{stem}.data/scripts/runnel", package.binary, 0o755),
        (f"{stem}.dist-info/METADATA", metadata.encode(), 0o644),
        (f"{stem}.dist-info/WHEEL", WHEEL.format(tags=tags).encode(), 0o644),
        (f"{stem}.dist-info/licenses/LICENSE-MIT", documents["LICENSE-MIT"], 0o644),
    ]
    record = ""
    for name, content, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    record += f"{stem}.dist-info/RECORD,,\n"
    files.append((f"{stem}.dist-info/RECORD", record.encode(), 0o644))
    buffer = io.BytesIO()
    moment = time.gmtime(max(TIME, 315532800))[:6]  # zip begins with 1980
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
        for name, content, mode in files:
            info = zipfile.ZipInfo(name, moment)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
            archive.writestr(info, content, compresslevel=LEVEL)
    return f"{stem}-{tag}.whl", buffer.getvalue()
