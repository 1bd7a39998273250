"""What must be right before anything is changed."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

POSTGRESQL, REDIS = 15, (6, 2)
"""The oldest versions."""
FREE_BYTES = 2 * 1024**3
WEB_PORTS = (8000, 8001)


@dataclass(frozen=True)
class Found:
    name: str
    is_well: bool
    text: str


def machine(home: Path, *, is_a_trial: bool) -> Iterator[Found]:
    """Of the machine: rights, Python, programs and disk."""
    is_root = os.geteuid() == 0 or is_a_trial
    yield Found("rights", is_root, "root" if is_root else "run it with sudo")
    try:
        import ensurepip  # noqa: F401 - only whether it is there

        yield Found("python", True, sys.version.split()[0])
    except ImportError:
        yield Found("python", False, "it cannot make environments: apt install python3-venv")
    wanted = {"psql": "postgresql-client"} | ({} if is_a_trial else {"systemctl": "systemd"})
    for program, package in wanted.items():
        has = shutil.which(program) is not None
        yield Found(program, has, "there" if has else f"not there: apt install {package}")
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    enough = f"{free // 1024**2:,} MB free at {there}"
    yield Found("disk", free >= FREE_BYTES, enough if free >= FREE_BYTES else f"{enough}; it takes 2,048")


def ports() -> Iterator[Found]:
    for port in WEB_PORTS:
        with socket.socket() as attempt:
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                attempt.bind(("127.0.0.1", port))
                yield Found(f"port {port}", True, "free")
            except OSError:
                yield Found(f"port {port}", False, f"something listens there already: ss -ltnp 'sport = :{port}'")


def postgresql(environment: Mapping[str, str], *, as_postgres: bool = False) -> Found:
    """Whether the server can be reached with this environment of psql, and is new enough."""
    code, said = psql(environment, "SHOW server_version_num", as_postgres=as_postgres)
    if code:
        return Found("postgresql", False, said.strip().splitlines()[0] if said.strip() else "psql failed")
    version = int(said.strip()) // 10_000
    return Found(
        "postgresql", version >= POSTGRESQL, f"{version}" if version >= POSTGRESQL else f"{version}; 15 is needed"
    )


def psql(environment: Mapping[str, str], script: str, *, as_postgres: bool = False) -> tuple[int, str]:
    """Runs a script given on standard input, so that nothing of it stands on a command line."""
    command = [
        "psql",
        "--no-psqlrc",
        "--quiet",
        "--tuples-only",
        "--no-align",
        "--no-password",
        "--set=ON_ERROR_STOP=1",
    ]
    if as_postgres:
        command = ["runuser", "-u", "postgres", "--", *command]
    ended = subprocess.run(
        command, env={**_bare(), **environment}, cwd="/", input=script, capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout if ended.returncode == 0 else ended.stderr


def psql_environment(url: str, **more: str) -> dict[str, str]:
    """What psql reads an address from: the password is on no command line."""
    parts = urlsplit(url)
    found = {"PGHOST": parts.hostname or "", "PGPORT": str(parts.port or ""), "PGDATABASE": parts.path.strip("/")}
    found |= {"PGUSER": unquote(parts.username or ""), "PGPASSWORD": unquote(parts.password or "")}
    names = {"sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY"}
    found |= {names[name]: values[-1] for name, values in parse_qs(parts.query).items() if name in names}
    return {name: value for name, value in (found | more).items() if value} | {"PGCONNECT_TIMEOUT": "5"}


def redis(url: str) -> Found:
    """Whether it answers and is new enough. Sentinels are left to `ballast doctor`."""
    parts = urlsplit(url)
    if parts.scheme not in ("redis", "rediss", "unix"):
        return Found("redis", True, "not asked: this takes more than a first look")
    try:
        with _connected(url) as connection:
            if parts.password:
                user = [unquote(parts.username)] if parts.username else []
                _say(connection, "AUTH", *user, unquote(parts.password))
            about = _say(connection, "INFO", "server")
    except (OSError, ValueError) as error:
        return Found("redis", False, str(error))
    text = next((each[14:] for each in about.splitlines() if each.startswith("redis_version:")), "0")
    version = tuple(int(part) for part in text.split(".")[:2])
    return Found("redis", version >= REDIS, text if version >= REDIS else f"{text}; 6.2 is needed")


def _connected(url: str) -> socket.socket:
    parts = urlsplit(url)
    if parts.scheme == "unix":
        local = socket.socket(socket.AF_UNIX)
        local.settimeout(5)
        local.connect(parts.path)
        return local
    connection = socket.create_connection((parts.hostname or "127.0.0.1", parts.port or 6379), timeout=5)
    if parts.scheme == "rediss":
        given = parse_qs(parts.query).get("ssl_ca_certs", [None])[-1]
        return ssl.create_default_context(cafile=given).wrap_socket(connection, server_hostname=parts.hostname)
    return connection


def _say(connection: socket.socket, *words: str) -> str:
    """Send a command; its reply, of one part. ValueError when it is refused."""
    encoded = [word.encode() for word in words]
    connection.sendall(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded))
    with connection.makefile("rb") as replies:
        head = replies.readline().decode().strip()
        if head.startswith("-"):
            raise ValueError(f"it refuses: {head[1:]}")
        return replies.read(int(head[1:])).decode() if head.startswith("$") else head[1:]


def _bare() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8"}
