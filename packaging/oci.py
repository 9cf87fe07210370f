"""A container image with the static binary alone, made without a container engine: an archive that `podman load`,
`docker load` and `skopeo copy oci-archive:` read (OCI image specification 1.1, and Docker's manifest.json)."""

import json
import time

from archives import TIME, gz, sha256, tar
from contents import HOMEPAGE, SUMMARY

USER = 65534  # nobody
# The admin port of the program in the image, by convention: `#HTTPServer{ admin: 9090 }`.
HEALTH = ["CMD", "/usr/bin/runnel", "-e", "http://127.0.0.1:9090/healthz"]


def oci(package):
    """The name of the file, and its bytes."""
    if not package.is_static:
        return None
    passwd = f"root:x:0:0:root:/root:/sbin/nologin\nnobody:x:{USER}:{USER}:nobody:/data:/sbin/nologin\n"
    layer = tar(
        [
            ("usr/bin/runnel", package.binary, 0o755),
            ("etc/passwd", passwd.encode(), 0o644),
            ("etc/group", f"nogroup:x:{USER}:\n".encode(), 0o644),
            ("data/.keep", b"", 0o644),
            ("srv/.keep", b"", 0o644),
            ("tmp/.keep", b"", 0o644),
        ],
        # What a program writes beside it by a relative path is kept in a volume.
        {"data": USER},
    )
    packed = gz(layer)
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(TIME))
    config = document(
        {
            "created": created,
            "architecture": package.names["oci"],
            "os": "linux",
            "config": {
                "User": f"{USER}:{USER}",
                "WorkingDir": "/data",
                "Volumes": {"/data": {}},
                "Entrypoint": ["/usr/bin/runnel"],
                "StopSignal": "SIGTERM",
                "Healthcheck": {"Test": HEALTH, "Interval": 30_000_000_000, "Timeout": 5_000_000_000, "Retries": 3},
                "Labels": {
                    "org.opencontainers.image.title": "runnel",
                    "org.opencontainers.image.description": SUMMARY,
                    "org.opencontainers.image.version": package.version,
                    "org.opencontainers.image.licenses": "MIT",
                    "org.opencontainers.image.source": HOMEPAGE,
                },
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(layer)}"]},
            "history": [{"created": created, "created_by": "packaging/oci.py"}],
        }
    )
    manifest = document(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": described("application/vnd.oci.image.config.v1+json", config),
            "layers": [described("application/vnd.oci.image.layer.v1.tar+gzip", packed)],
        }
    )
    name = f"runnel:{package.version}"
    reference = described("application/vnd.oci.image.manifest.v1+json", manifest)
    reference["annotations"] = {"org.opencontainers.image.ref.name": name}
    index = {"schemaVersion": 2, "manifests": [reference]}
    docker = [{"Config": blob(config), "RepoTags": [name], "Layers": [blob(packed)]}]
    entries = [
        ("oci-layout", document({"imageLayoutVersion": "1.0.0"}), 0o644),
        ("index.json", document(index), 0o644),
        ("manifest.json", document(docker), 0o644),
        (blob(config), config, 0o644),
        (blob(manifest), manifest, 0o644),
        (blob(packed), packed, 0o644),
    ]
    return f"runnel-{package.version}-{package.names['oci']}.oci.tar", tar(entries)


def document(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def blob(content):
    return f"blobs/sha256/{sha256(content)}"


def described(kind, content):
    return {"mediaType": kind, "digest": f"sha256:{sha256(content)}", "size": len(content)}
