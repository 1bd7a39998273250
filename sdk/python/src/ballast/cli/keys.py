"""The keys that `ballast login` keeps: one file in the user's folder of settings, which its owner alone can read."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import asdict, dataclass
from pathlib import Path

import typer


class CannotKeep(Exception):
    """The file of keys is not safe, or cannot be read; the message has the remedy."""


@dataclass(frozen=True)
class Keys:
    url: str
    public_key: str
    secret_key: str

    def __repr__(self) -> str:
        return f"Keys({self.url!r}, {self.public_key!r})"


def path() -> Path:
    return Path(typer.get_app_dir("ballast")) / "keys.json"


def load(profile: str) -> Keys | None:
    found = _read().get(profile)
    return Keys(**found) if found else None


def save(profile: str, keys: Keys) -> Path:
    return _write({**_read(), profile: asdict(keys)})


def forget(profile: str) -> bool:
    found = _read()
    if profile not in found:
        return False
    del found[profile]
    _write(found)
    return True


def _read() -> dict[str, dict[str, str]]:
    file = path()
    try:
        with file.open(encoding="utf-8") as opened:
            mode = stat.S_IMODE(os.fstat(opened.fileno()).st_mode)
            if os.name == "posix" and mode & 0o077:
                raise CannotKeep(f"{file} can be read by others. Run: chmod 600 '{file}', and replace the keys in it.")
            found: dict[str, dict[str, str]] = json.load(opened)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CannotKeep(f"{file} cannot be read ({error}). Remove it, and run: ballast login") from error
    return found


def _write(profiles: dict[str, dict[str, str]]) -> Path:
    """Written beside and moved into place: half a file is never there."""
    file = path()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = file.with_suffix(f".{os.getpid()}")
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
        json.dump(profiles, opened, indent=1)
    beside.replace(file)
    return file
