"""Where things are on the machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
"""The tree that this is a part of: an unpacked archive, or an installed release."""
ACCOUNT = "ballast"
"""As whom commands run; the processes have users that systemd makes for each."""


@dataclass(frozen=True)
class Places:
    """All of them below a folder: / but in a trial."""

    root: Path = Path("/")

    @property
    def home(self) -> Path:
        return self.root / "srv" / "ballast"

    @property
    def current(self) -> Path:
        return self.home / "current"

    @property
    def previous(self) -> Path:
        return self.home / "previous"

    @property
    def to_restart(self) -> Path:
        """A file that is there until the processes run the current release."""
        return self.home / ".to-restart"

    @property
    def settings(self) -> Path:
        return self.root / "etc" / "ballast"

    @property
    def units(self) -> Path:
        return self.root / "etc" / "systemd" / "system"

    @property
    def command(self) -> Path:
        return self.root / "usr" / "local" / "bin" / "ballast"

    @property
    def is_a_trial(self) -> bool:
        return self.root != Path("/")
