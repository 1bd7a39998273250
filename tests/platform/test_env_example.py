"""`.env.example` is the list of settings that operators read: it names what the code reads, neither more nor less."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.platform.test_settings import forked
from tests.syntax import tree_in

ROOT = Path(__file__).resolve().parents[2]
RECORDING = """
from config.process.variables import Variables
read, names = Variables.text, set()
Variables.text = lambda self, name, default="": (names.add(name), read(self, name, default))[1]
import config.settings
print(*names)
"""
SUPERVISOR = ROOT / "config" / "embedded" / "supervisor.py"


def variables_read_by(path: Path) -> set[str]:
    """The first argument of every `variables.method("NAME")` and `secret("NAME")`."""
    names = set()
    for node in ast.walk(tree_in(path)):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            is_reader = isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "variables"
            is_secret = isinstance(node.func, ast.Name) and node.func.id == "secret"
            if is_reader or is_secret:
                names.add(node.args[0].value)
    return {name for name in names if isinstance(name, str)}


def variables_read_by_settings() -> set[str]:
    """Whatever is asked for while the settings are made."""
    ended = forked("-c", RECORDING, BALLAST_MODE="embedded")
    assert ended.returncode == 0, ended.stderr
    return set(ended.stdout.split())


def test_env_example_names_exactly_the_variables_that_are_read() -> None:
    documented = re.findall(r"^#?([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE)
    assert len(documented) == len(set(documented))
    files = [(ROOT / name).read_text() for name in ("compose.yaml", "compose.signer.yaml")]
    composed = re.findall(r"\$\{([A-Z_]+)", "".join(files))
    assert set(documented) == {*composed, *variables_read_by_settings(), *variables_read_by(SUPERVISOR)}


def test_no_other_module_reads_settings_from_the_environment() -> None:
    """A setting read elsewhere would be in no list, and checked by nobody."""
    reading = re.compile(r"os\.environ|os\.getenv|environ\.Env")
    allowed = {
        "config/process/variables.py",
        "config/process/alive.py",  # in the container, without the settings
        "config/celery.py",
        "config/web.py",
        "config/wsgi.py",
        "config/embedded/background.py",
        "config/installation/backups/drilling.py",  # hands its own settings to the commands of a drill
        "config/installation/backups/programs.py",  # hands its own environment to PostgreSQL's programs
        "config/embedded/finding.py",  # hands the settings of the run it found to a command
        "config/embedded/postgres.py",
        "config/embedded/supervisor.py",
        "config/process/telemetry.py",  # tells a library, which reads no other place, where it comes
        "config/embedded/web.py",  # before the settings are read
        "webhooks/management/commands/webhook_listen.py",  # the caller names the variable; it is no setting
    }
    packages = ("config", "merchants", "webhooks", "payments", "refunds", "settlements")
    found = {
        str(path.relative_to(ROOT))
        for package in packages
        for path in (ROOT / package).rglob("*.py")
        if reading.search(path.read_text())
    }
    assert found <= allowed
