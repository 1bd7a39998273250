"""Builds the files of a release from the commit that is checked out, twice, and keeps them if both are equal.

`make release` runs it. Nothing of the time, the machine or the person is in the files.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from config.process.release import RELEASE
from tests.release import licences
from tests.release.bill import bill_of_materials
from tests.release.lock import LOCKS, ROOT

SUMS = "SHA256SUMS"


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--once"]:
        build(Path(arguments[1]))
        return 0
    if problems := [*_of_the_tree(), *licences.main()]:
        sys.stderr.write("".join(f"{problem}\n" for problem in problems))
        return 1
    target = Path(arguments[0] if arguments else ROOT / "dist") / f"ballast-{RELEASE}"
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "first", Path(folder) / "second"
        _built_apart(first, umask=0o022, TZ="UTC", LC_ALL="C.UTF-8", PYTHONHASHSEED="1")
        _built_apart(second, umask=0o077, TZ="Pacific/Chatham", LC_ALL="C", PYTHONHASHSEED="2")
        if differing := _differing(first, second):
            sys.stderr.write(f"Built twice, these differ: {', '.join(differing)}\n")
            return 1
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(first, target)
    sys.stdout.write((target / SUMS).read_text(encoding="utf-8"))
    sys.stdout.write(f"Built twice, and equal, in {target}.\n")
    if "not released yet" in _section_of_the_changelog():
        sys.stdout.write(f"A trial: CHANGELOG.md has no date for {RELEASE} yet.\n")
    return 0


def build(folder: Path) -> None:
    """Write the files of the release, and their digests, into a folder."""
    folder.mkdir(parents=True)
    at = datetime.fromtimestamp(int(_git("log", "-1", "--format=%ct")), UTC)
    name = f"ballast-{RELEASE}"
    files = {
        f"{name}.tar.gz": _archive(f"{name}/"),
        f"{name}-image.tar.gz": _archive("", *image_paths()),
    }
    for suffix, lock in LOCKS.items():
        files[f"{name}{suffix}.cdx.json"] = bill_of_materials(lock, at).encode()
        files[f"{name}{suffix}-licences.txt"] = licences.notices(lock).encode()
    for file, content in files.items():
        (folder / file).write_bytes(content)
    digests = {file: hashlib.sha256(content).hexdigest() for file, content in sorted(files.items())}
    (folder / SUMS).write_text("".join(f"{digest}  {file}\n" for file, digest in digests.items()), encoding="utf-8")


def image_paths() -> list[str]:
    """What `docker build` is given: the Dockerfile and what .dockerignore lets through."""
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    return ["Dockerfile", ".dockerignore", *(rule[1:] for rule in rules if rule.startswith("!"))]


def _archive(prefix: str, *paths: str) -> bytes:
    """A tar file of the commit, with its time on each file; no name and no time in its compression."""
    command = ["git", "-c", "tar.umask=0022", "archive", "--format=tar", f"--prefix={prefix}", "HEAD", *paths]
    archived = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return gzip.compress(archived.stdout, mtime=0)


def _of_the_tree() -> list[str]:
    found = []
    if changed := _git("status", "--porcelain"):
        found.append(f"A release is built from a commit, and these are not committed:\n{changed}")
    if not _section_of_the_changelog():
        found.append(f"CHANGELOG.md has no section for {RELEASE}.")
    return found


def _section_of_the_changelog() -> str:
    """The heading of this release, empty without one."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(RELEASE)}\b.*$", text, re.MULTILINE)
    return found[0] if found else ""


def _built_apart(folder: Path, *, umask: int, **environment: str) -> None:
    command = [sys.executable, "-m", "tests.release", "--once", str(folder)]
    subprocess.run(command, cwd=ROOT, env=os.environ | environment, umask=umask, check=True)


def _differing(first: Path, second: Path) -> list[str]:
    names = sorted({path.name for folder in (first, second) for path in folder.iterdir()})
    return [name for name in names if _content(first / name) != _content(second / name)]


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
