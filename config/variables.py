"""The environment variables that settings are read from. Every fault is collected, so that one start names them all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import environ
from django.core.exceptions import ImproperlyConfigured

Number = TypeVar("Number", int, float)


class Variables:
    """Reads typed values by name. A bad one yields its default, and `check` refuses to go on."""

    def __init__(self) -> None:
        self._env = environ.Env()
        self._problems: list[str] = []

    def read_file(self, path: Path) -> None:
        """Adds the variables of a file; what the environment has already set wins."""
        if path.is_file():
            self._env.read_env(path)

    def text(self, name: str, default: str = "") -> str:
        """The value, or the default: a variable set to nothing counts as one that is not set."""
        return str(self._env.str(name, default="")).strip() or default

    def choice(self, name: str, choices: Sequence[str], default: str) -> str:
        value = self.text(name, default)
        if value in choices:
            return value
        self.refuse(name, f"is {value!r}; set it to one of {', '.join(choices)}")
        return default

    def flag(self, name: str, default: bool) -> bool:
        return self.choice(name, ("true", "false"), str(default).lower()) == "true"

    def integer(self, name: str, default: int, *, minimum: int = 0) -> int:
        return self._number(name, default, minimum, int)

    def number(self, name: str, default: float, *, minimum: float = 0) -> float:
        return self._number(name, default, minimum, float)

    def names(self, name: str, default: Sequence[str] = ()) -> list[str]:
        """A list separated by commas."""
        return [item.strip() for item in self.text(name).split(",") if item.strip()] or list(default)

    def ports(self, name: str) -> list[int]:
        """TCP ports, separated by commas."""
        numbers = [int(item) if item.isascii() and item.isdigit() else 0 for item in self.names(name)]
        if all(1 <= number <= 65_535 for number in numbers):
            return numbers
        self.refuse(name, "has entries that are not ports; set it to numbers from 1 to 65535, as 8443,9443")
        return []

    def mapping(self, name: str) -> dict[str, str]:
        """Pairs `name=value`, separated by commas."""
        pairs = [item.partition("=") for item in self.names(name)]
        if broken := [key for key, separator, value in pairs if not (key and separator and value)]:
            self.refuse(name, f"has entries that are not NAME=VALUE: {', '.join(broken)}")
        return {key.strip(): value.strip() for key, _, value in pairs}

    def database(self, name: str) -> dict[str, Any] | None:
        """A PostgreSQL database as Django wants it; None when the variable is not set."""
        if not (address := self.text(name)):
            return None
        if not address.startswith(("postgres://", "postgresql://")):
            self.refuse(name, "is not a PostgreSQL address; set it like postgres://user:password@host:5432/ballast")
            return None
        return dict(self._env.db_url_config(address))

    def mail(self, name: str, default: str) -> dict[str, Any]:
        return dict(self._env.email_url_config(self.text(name, default)))

    def require(self, needed: Mapping[str, object], *, because: str, see: str) -> None:
        """Refuse what is empty of these, by their names."""
        for name, value in needed.items():
            if not value:
                self.refuse(name, f"is not set, but {because}; {see} says how")

    def refuse(self, name: str, fault: str) -> None:
        self._problems.append(f"{name} {fault}.")

    def check(self) -> None:
        """ImproperlyConfigured with everything that is wrong, each with what to set."""
        if self._problems:
            raise ImproperlyConfigured("Ballast does not start:" + "".join(f"\n  - {text}" for text in self._problems))

    def _number(self, name: str, default: Number, minimum: Number, convert: Callable[[str], Number]) -> Number:
        if not (text := self.text(name)):
            return default
        with suppress(ValueError):
            value = convert(text)
            if math.isfinite(value) and value >= minimum:
                return value
        self.refuse(name, f"is {text!r}; set it to a number of at least {minimum}")
        return default
