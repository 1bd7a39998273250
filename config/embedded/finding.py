"""Finds the `make run` that a management command is meant for, and the settings it runs with."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from config.process.variables import Variables

BASE_DIR = Path(__file__).resolve().parents[2]
CHOICES = ("BALLAST_MODE", "DATABASE_URL", "SECRET_KEY")
"""One of these in the environment selects the installation."""

OF_THE_CODE = frozenset({"devnet", "devnet_pay", "makemigrations", "spectacular"})
"""Commands about the code alone, in any checkout."""

OF_NOTHING = frozenset({"", "check", "collectstatic", "help", "version", "--help", "-h", "--version"})
"""Commands without a database, whose settings are those of the environment."""

_COMMAND = ["-m", "config.embedded", "run"]


class NoneFound(Exception):
    """There is no running installation, or there are several; the message names the places searched and the remedy."""


@dataclass(frozen=True)
class Running:
    """A supervisor of this checkout."""

    process_id: int
    var: Path
    environment: Mapping[str, str]


def chosen_environment(command: str) -> dict[str, str]:
    """Variables to add to the environment so that the command works on the running installation; NoneFound without one.

    Nothing is added if the environment or .env selects one, or none is needed.
    """
    variables = Variables()
    variables.read_file(BASE_DIR / ".env")
    if command in OF_NOTHING or any(variables.text(name) for name in CHOICES):
        return {}
    if command in OF_THE_CODE:
        return {"BALLAST_MODE": "embedded"}
    found = running()
    if named := variables.text("BALLAST_VAR"):
        folder = Path(named).resolve()
        matching = [each for each in found if each.var == folder]
        where = f"with its data in {folder}"
    else:
        matching, where = found, f"out of {BASE_DIR}"
    if len(matching) != 1:
        raise NoneFound(_what_to_do(found, matching, where))
    return _settings_of(matching[0])


def running() -> list[Running]:
    """Every supervisor of this checkout that this account can see."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cmdline()[1:4] == _COMMAND and Path(process.cwd()) == BASE_DIR:
                environment = process.environ()
                var = Path(environment.get("BALLAST_VAR") or BASE_DIR / "var").resolve()
                found.append(Running(process.pid, var, environment))
        except (psutil.Error, OSError):
            continue
    return sorted(found, key=lambda each: each.var)


def settings_of_running(var: Path) -> dict[str, str]:
    """The settings of the supervisor that runs with this folder; empty when none does."""
    return next((_settings_of(each) for each in running() if each.var == var), {})


def _settings_of(instance: Running) -> dict[str, str]:
    """The settings it was started with, so that a command uses the same networks and addresses."""
    names = re.findall(r"^#?([A-Z_]+)=", (BASE_DIR / ".env.example").read_text(encoding="utf-8"), re.MULTILINE)
    settings = {name: instance.environment[name] for name in names if instance.environment.get(name)}
    port = settings.get("BALLAST_PORT", "8000")
    return {
        "PUBLIC_URL": f"http://127.0.0.1:{port}",
        # Commands may take as long as they need; the limit is there for requests.
        "DATABASE_STATEMENT_TIMEOUT_SECONDS": "0",
        **settings,
        "BALLAST_MODE": "embedded",
        "BALLAST_VAR": str(instance.var),
    }


def _what_to_do(found: list[Running], matching: list[Running], where: str) -> str:
    lines = [f"- {each.var} (process {each.process_id})" for each in found]
    if matching:
        return "\n".join(["Several Ballasts are running here. Say which by its folder, BALLAST_VAR=…:", *lines])
    sentence = f"No Ballast is running {where}."
    if found:
        return "\n".join([f"{sentence} There are, to be named by BALLAST_VAR=…:", *lines])
    return (
        f"{sentence} Start it by make run, or name the folder it was started with: BALLAST_VAR=folder. "
        "For one in production set its environment, DATABASE_URL first."
    )


def adopt(command: str) -> None:
    """Give this process the settings of the installation that is meant.

    What .env has is left there. The settings read it again, and take the environment for given to this process.
    """
    before = set(os.environ)
    chosen = chosen_environment(command)
    for name in os.environ.keys() - before:
        del os.environ[name]
    os.environ.update(chosen)
