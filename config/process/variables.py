"""The environment variables that settings are read from. Every fault is collected, so that one start names them all."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from config.process import roles

Number = TypeVar("Number", int, float)
_SHORTEST_SECRET = 8
_SHORTEST_KEY = 16
"""A piece of a path that is as long is a key by itself; shorter ones, as `mainnet`, are words."""


POSTGRES_PORT = "5432"


def _several_hosts(hosts: str) -> dict[str, str]:
    """HOST and PORT as libpq takes them: lists of the same length. Without a port, a host listens where all do."""
    named = []
    for each in hosts.split(","):
        host, _, port = each.rpartition(":") if ":" in each[each.rfind("]") + 1 :] else (each, "", "")
        named.append((host.strip("[]"), port or POSTGRES_PORT))
    return {"HOST": ",".join(host for host, _ in named), "PORT": ",".join(port for _, port in named)}


class Variables:
    """Reads typed values by name. A bad one yields its default, and `check` refuses to go on."""

    def __init__(self) -> None:
        self._env = environ.Env()
        self._problems: list[str] = []
        self._secrets: set[str] = set()
        self._of_files: set[str] = set()
        self.role = roles.ALL

    @property
    def secrets(self) -> frozenset[str]:
        """Every secret value that has been read, to be kept out of logs and error pages wherever it turns up."""
        return frozenset(self._secrets)

    def read_file(self, path: Path) -> None:
        """Adds the variables of a file; what the environment has already set wins."""
        if path.is_file():
            before = set(os.environ)
            self._env.read_env(path)
            self._of_files |= os.environ.keys() - before

    @staticmethod
    def hand_on(name: str, value: str) -> None:
        """Set a variable that a library reads by itself."""
        os.environ[name] = value

    def text(self, name: str, default: str = "") -> str:
        """The value, or the default: a variable set to nothing counts as one that is not set."""
        return str(self._env.str(name, default="")).strip() or default

    def secret(self, name: str) -> str:
        """As text, of a secret. Where the role of this process has no use for it, it is refused in the environment, and
        left out where a file has it that serves several roles."""
        value = self.text(name)
        if value and not roles.uses(self.role, name):
            if name in self._of_files:
                os.environ.pop(name, None)
                return ""
            self.refuse(name, f"is set, and the {self.role} process has no use for it; {roles.given_to(name)}")
            return ""
        self.conceal(value)
        return value

    def secret_or_file(self, name: str) -> str:
        """As secret, or what the file holds that the setting with _FILE behind its name names: not both."""
        value, path = self.secret(name), self.secret(f"{name}_FILE")
        if value and path:
            self.refuse(f"{name}_FILE", f"is set beside {name}; unset one of them")
        if value or not path:
            return value
        try:
            value = Path(path).read_text().strip()
        except (OSError, ValueError) as error:
            self.refuse(f"{name}_FILE", f"cannot be read: {getattr(error, 'strerror', None) or 'it is no text'}")
            return ""
        if not value:
            self.refuse(f"{name}_FILE", "names a file with nothing in it")
        self.conceal(value)
        return value

    def secret_names(self, name: str) -> list[str]:
        """As names, of secrets."""
        items = [item.strip() for item in self.secret(name).split(",") if item.strip()]
        self.conceal(*items)
        return items

    def addresses(self, name: str, default: Sequence[str] = (), *, only_encrypted: bool = False) -> list[str]:
        """As names, of URLs. Parts that may be an access key, and do no more than lead somewhere, are secrets.

        `only_encrypted` refuses plain http but for this machine.
        """
        urls = self.names(name, default)
        for url in urls:
            self.conceal(*(_keys_in(url) if _is_web_address(url) else _pieces_of(url)))
        if not all(map(_is_web_address, urls)):
            self.refuse(name, "has entries that are no addresses; set it like https://one.example,https://two.example")
        elif only_encrypted and not all(map(_is_private, urls)):
            self.refuse(name, "has an http address, whose key and replies anybody on the way can read; use https")
        return urls

    def conceal(self, *values: str) -> None:
        """Counts these among the secrets. Short ones would be found in innocent text."""
        self._secrets |= {value for value in values if len(value) >= _SHORTEST_SECRET}

    def conceal_keys_in(self, *urls: str) -> None:
        """Counts what gives access in these addresses among the secrets."""
        self.conceal(*(text for url in urls for text in _keys_in(url)))

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

    def choices(self, name: str, allowed: Sequence[str]) -> list[str]:
        """Some of these names, separated by commas."""
        found = self.names(name)
        if unknown := sorted(set(found) - set(allowed)):
            self.refuse(name, f"names {', '.join(unknown)}; set it to some of {', '.join(allowed)}")
        return found

    def ports(self, name: str) -> list[int]:
        """TCP ports, separated by commas."""
        numbers = [int(item) if item.isascii() and item.isdigit() else 0 for item in self.names(name)]
        if all(1 <= number <= 65_535 for number in numbers):
            return numbers
        self.refuse(name, "has entries that are not ports; set it to numbers from 1 to 65535, as 8443,9443")
        return []

    def mapping(
        self, name: str, *, values: str = r"[\s\S]*", wanted: str = "", keys: Collection[str] = ()
    ) -> dict[str, str]:
        """Pairs `name=value`, separated by commas; all of them refused, by what was `wanted`, when one is not so.

        `values` is the regular expression of a value; `keys` are the names there may be, any when empty.
        """
        pairs = [item.partition("=") for item in self.names(name)]
        if broken := [key for key, separator, value in pairs if not (key and separator and value)]:
            self.refuse(name, f"has entries that are not NAME=VALUE: {', '.join(broken)}")
        found = {key.strip(): value.strip() for key, _, value in pairs}
        if all(re.fullmatch(values, value) and (not keys or key in keys) for key, value in found.items()):
            return found
        self.refuse(name, f"is not {wanted}")
        return {}

    def database(self, name: str, *, session: str = "read-write") -> dict[str, Any] | None:
        """A PostgreSQL database as Django wants it; None when the variable is not set. Of several hosts the first that
        has such a `session` is used."""
        if not (address := self.text(name)):
            return None
        if not address.startswith(("postgres://", "postgresql://")):
            self.refuse(name, "is not a PostgreSQL address; set it like postgres://user:password@host:5432/ballast")
            return None
        self.conceal_keys_in(address)
        found = dict(self._env.db_url_config(address))
        hosts, _, _ = address.partition("://")[2].partition("/")
        if "," in (hosts := unquote(hosts.rpartition("@")[2])):
            found |= _several_hosts(hosts)
            found["OPTIONS"] = {"target_session_attrs": session, **found.get("OPTIONS", {})}
        return found

    def mail(self, name: str, default: str) -> dict[str, Any]:
        address = self.secret(name) or default
        self.conceal_keys_in(address)
        return dict(self._env.email_url_config(address))

    def require(self, needed: Mapping[str, object], *, because: str, see: str) -> None:
        """Refuse what is empty of these, by their names."""
        for name, value in needed.items():
            if not value:
                self.refuse(name, f"is not set, but {because}; {see} says how")

    def refuse(self, name: str, fault: str) -> None:
        self._problems.append(f"{name} {fault}.")

    def check(self) -> None:
        """Raise ImproperlyConfigured with everything that is wrong, each with the remedy."""
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


def _keys_in(url: str) -> list[str]:
    """Parts of an address that may give access: a password, and whatever stands behind the host."""
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ws", "wss"):
            found = [parts.username or "", parts.password or "", parts.path.strip("/"), parts.query, parts.fragment]
            pieces = [piece for text in found for piece in re.split("[/&=]", text) if len(piece) >= _SHORTEST_KEY]
            return [text for text in (*found, *pieces) if text]
        return [text for text in (parts.password or "", parts.query) if text]
    return [url]


def _pieces_of(text: str) -> list[str]:
    """Parts that may give access in something that was meant to be an address: each piece but the first, a host at
    best."""
    return [text, *re.split("[/?&=@#:]+", text)[1:]]


def _is_private(url: str) -> bool:
    """True if nobody on the way can read or change the traffic."""
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname == "localhost":
        return True
    with suppress(ValueError):
        return ip_address(parts.hostname or "").is_loopback
    return False


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False
