"""`python -m tests.evm.network.fetching`: fetches the local node by npm, once.

npm only carries it: what comes is one program, and none of the package's scripts runs. Where it cannot be had that is
said, and is an error only with `--required`.
"""
# ruff: noqa: T201 - it talks to the person at the terminal

from __future__ import annotations

import base64
import hashlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "1.7.1"
FOLDER = Path(__file__).resolve().parents[3] / ".anvil"

_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_INTEGRITY = {
    "linux-amd64": "+XmShybEaxfCrr0OUUZwYEy2OnYZt5pHH9TzBtLv3+VrK0O/ANuNSVEahqNhKHlgX7GRJ59383ofNhxkRWIYTg==",
}
"""SHA-512 of the packages that have been looked at. For others, npm's own check against its registry must do."""


def platform_name() -> str:
    machine = platform.machine().lower()
    return f"{platform.system().lower()}-{_MACHINES.get(machine, machine)}"


def fetched_binary() -> Path:
    """Where this version of the node is, once it has been fetched."""
    return FOLDER / VERSION / "anvil"


def fetch() -> str:
    """What is in the way, or nothing."""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed (Debian: apt install npm)"
    package = f"@foundry-rs/anvil-{platform_name()}@{VERSION}"
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", package, "--ignore-scripts", "--fetch-retries=1", "--loglevel=error"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        archives = list(Path(folder).glob("*.tgz"))
        if run.returncode or len(archives) != 1:
            return f"npm could not fetch {package}"
        digest = base64.b64encode(hashlib.sha512(archives[0].read_bytes()).digest()).decode()
        if _INTEGRITY.get(platform_name(), digest) != digest:
            return f"{package} is not the package it was when its version was chosen"
        _unpack(archives[0], fetched_binary())
    return ""


def _unpack(archive: Path, target: Path) -> None:
    """Whole or not at all: another process may be looking for it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as package, tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as written:
        member = package.extractfile("package/bin/anvil")
        if member is None:
            raise FileNotFoundError("the package has no program in it")
        shutil.copyfileobj(member, written)
    Path(written.name).chmod(0o755)
    Path(written.name).replace(target)


def main() -> int:
    if fetched_binary().exists():
        return 0
    required = "--required" in sys.argv[1:]
    print(f"Fetching the local ethereum node, anvil {VERSION}", file=sys.stderr)
    problem = fetch()
    if not problem:
        return 0
    print(f"{problem}; {'it must be there' if required else 'tests that need it are skipped'}.", file=sys.stderr)
    return int(required)


if __name__ == "__main__":
    sys.exit(main())
