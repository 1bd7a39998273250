"""A Redis of a test's own, so that it can be stopped, frozen and killed."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import redis

from tests.ports import free_port

BINARY = shutil.which("redis-server")


PASSWORD = "a pass/word: with @ and ,"


@dataclass(frozen=True)
class Certificates:
    """An authority of a test's own, and a certificate of it for 127.0.0.1."""

    authority: Path
    certificate: Path
    key: Path

    @classmethod
    def make(cls, folder: Path) -> Certificates:
        made = cls(folder / "authority.pem", folder / "server.pem", folder / "server.key")
        authority_key, request, extensions = folder / "authority.key", folder / "server.csr", folder / "names"
        extensions.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost")
        new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        for command in (
            ["req", "-x509", *new_key, "-keyout", authority_key, "-out", made.authority, "-subj", "/CN=test"],
            ["req", *new_key, "-keyout", made.key, "-out", request, "-subj", "/CN=127.0.0.1"],
            ["x509", "-req", "-in", request, "-CA", made.authority, "-CAkey", authority_key, "-CAcreateserial",
             "-extfile", extensions, "-out", made.certificate, "-days", "2"],
        ):  # fmt: skip
            subprocess.run(["openssl", *map(str, command)], check=True, capture_output=True)
        return made


class RedisServer:
    """One server. With `certificates` it speaks TLS alone; `options` are lines of its configuration."""

    def __init__(self, *options: str, certificates: Certificates | None = None, password: str = "") -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="ballast-redis-"))
        self.port = free_port()
        self._certificates = certificates
        self._password = password
        self._options = options
        scheme, query = ("rediss", f"?ssl_ca_certs={certificates.authority}") if certificates else ("redis", "")
        login = f":{quote(password, safe='')}@" if password else ""
        self.url = f"{scheme}://{login}127.0.0.1:{self.port}/0{query}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert BINARY is not None
        configuration = self._folder / "redis.conf"
        configuration.write_text("\n".join(self._configuration()))
        command = [BINARY, str(configuration), *(["--sentinel"] if self._is_sentinel else [])]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        client = redis.Redis.from_url(self.url)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                client.ping()
                return
            except redis.RedisError:
                time.sleep(0.02)
        raise RuntimeError("redis-server did not start")

    @property
    def _is_sentinel(self) -> bool:
        return any(option.startswith("sentinel ") for option in self._options)

    def _configuration(self) -> Iterator[str]:
        yield "bind 127.0.0.1"
        yield f"dir {self._folder}"
        if self._certificates is None:
            yield f"port {self.port}"
        else:
            yield from ("port 0", f"tls-port {self.port}", "tls-replication yes", "tls-auth-clients no")
            yield f"tls-cert-file {self._certificates.certificate}"
            yield f"tls-key-file {self._certificates.key}"
            yield f"tls-ca-cert-file {self._certificates.authority}"
        if not self._is_sentinel:
            yield 'save ""'
        if self._password:
            yield f'requirepass "{self._password}"'
            yield from () if self._is_sentinel else (f'masterauth "{self._password}"',)
        yield from self._options

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)
