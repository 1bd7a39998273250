"""What all commands share: the options before the command, the client, and what is printed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import typer

from ballast import AppInfo, Ballast
from ballast._version import __version__
from ballast.cli import keys
from ballast.cli.output import Output


class Refused(Exception):
    """The command cannot do this: the message says why, and what to do."""


@dataclass
class Session:
    profile: str
    output: Output

    @cached_property
    def keys(self) -> keys.Keys:
        """Those of the environment's variables, or those that `ballast login` kept."""
        names = ("BALLAST_URL", "BALLAST_PUBLIC_KEY", "BALLAST_SECRET_KEY")
        values = [os.environ.get(name, "") for name in names]
        if all(values):
            return keys.Keys(*values)
        found = keys.load(self.profile)
        if found is None:
            other = "" if self.profile == "default" else f" --profile {self.profile}"
            raise Refused(f"No keys: run `ballast{other} login`, or set {', '.join(names)}.")
        return found

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
