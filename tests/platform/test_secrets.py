"""The secrets of an embedded run: made once, private, and added to when a new version needs one more."""

from __future__ import annotations

import stat
from pathlib import Path

from config.embedded.secrets import NAMES, ensure_secrets


def values(var: Path) -> dict[str, str]:
    lines = (var / "secrets.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


def test_they_are_made_once_for_their_owner_alone(tmp_path: Path) -> None:
    ensure_secrets(tmp_path)
    first = values(tmp_path)
    assert set(first) == set(NAMES)
    assert all(len(value) >= 50 for value in first.values())
    assert len(set(first.values())) == len(NAMES)
    assert stat.S_IMODE((tmp_path / "secrets.env").stat().st_mode) == 0o600
    ensure_secrets(tmp_path)
    assert values(tmp_path) == first


def test_a_missing_one_is_added_and_the_others_stay(tmp_path: Path) -> None:
    (tmp_path / "secrets.env").write_text("SECRET_KEY=kept\n")
    ensure_secrets(tmp_path)
    assert values(tmp_path)["SECRET_KEY"] == "kept"
    assert set(values(tmp_path)) == set(NAMES)
