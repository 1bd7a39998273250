"""What all commands share: the options before the command, the client, and what is printed."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import typer

from ballast import AppInfo, Ballast
from ballast._core import installation_url
from ballast._version import __version__
from ballast.cli import keys
from ballast.cli.output import Output


class Refused(Exception):
    """The command cannot do this: the message says why, and what to do."""


@dataclass
class Session:
    profile: str | None
    """The one that was asked for."""
    output: Output

    @cached_property
    def keys(self) -> keys.Keys:
        """Those of the profile that was asked for, else those of the variables, else those of the default profile."""
        names = ("BALLAST_URL", "BALLAST_PUBLIC_KEY", "BALLAST_SECRET_KEY")
        values = [os.environ.get(name, "") for name in names]
        if self.profile is None and all(values):
            found: keys.Keys | None = keys.Keys(*values)
        else:
            found = keys.load(self.kept_as)
        if found is None and self.profile is not None:
            raise Refused(f"No keys of the profile {self.profile}: run `ballast --profile {self.profile} login`.")
        if found is None:
            raise Refused(f"No keys: run `ballast login`, or set {', '.join(names)}.")
        return replace(found, url=installation_url(found.url))

    @property
    def kept_as(self) -> str:
        """The profile that `login` and `logout` act on."""
        return "default" if self.profile is None else self.profile

    @cached_property
    def client(self) -> Ballast:
        return connect(self.keys)

    def sandbox_client(self) -> Ballast:
        if self.client.environment != "sandbox":
            raise Refused("This works in the sandbox alone: use a pair of keys that begin with pk_test_ and sk_test_.")
        return self.client


def connect(found: keys.Keys, **options: Any) -> Ballast:
    app = AppInfo("ballast-cli", __version__)
    return Ballast(found.public_key, found.secret_key, base_url=found.url, app_info=app, **options)


def session(context: typer.Context) -> Session:
    found = context.find_object(Session)
    assert found is not None
    return found
