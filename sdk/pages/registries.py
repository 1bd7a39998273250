"""The packages that were built, offered to pip, npm and Composer as their registries would: by names alone."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@contextmanager
def installing(work: Path) -> Iterator[dict[str, str]]:
    """The environment in which `pip install ballast-sdk` and the like find what `build` of each language made."""
    built = work.parent
    (wheel,) = built.glob("python/**/ballast_sdk-*.whl")
    (tarball,) = built.glob("typescript/app/ballast-sdk-*.tgz")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _npm(tarball))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    npmrc = work / "npmrc"
    npmrc.write_text(f"@ballast:registry=http://127.0.0.1:{server.server_port}/\nfund=false\naudit=false\n")
    composer = work / "composer"
    composer.mkdir(exist_ok=True)
    archives = {"type": "artifact", "url": str(built / "php" / "archives")}
    (composer / "config.json").write_text(json.dumps({"repositories": [archives, {"packagist.org": False}]}))
    try:
        yield {
            "PIP_FIND_LINKS": str(wheel.parent),
            "PIP_NO_COMPILE": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "NPM_CONFIG_USERCONFIG": str(npmrc),
            "COMPOSER_HOME": str(composer),
            "COMPOSER_ALLOW_SUPERUSER": "1",
            "COMPOSER_NO_INTERACTION": "1",
        }
    finally:
        server.shutdown()


def _npm(tarball: Path) -> type[BaseHTTPRequestHandler]:
    """A registry of one package."""
    content = tarball.read_bytes()
    version = tarball.stem.removeprefix("ballast-sdk-")
    digest = "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()

    class Registry(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host = f"http://{self.headers['Host']}/{tarball.name}"
            dist = {"tarball": host, "integrity": digest}
            package = {"name": "@ballast/sdk", "version": version, "dist": dist}
            about = {"name": "@ballast/sdk", "dist-tags": {"latest": version}, "versions": {version: package}}
            body = content if self.path.endswith(".tgz") else json.dumps(about).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Is silent."""

    return Registry
