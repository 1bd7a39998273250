"""The house: who may import whom, who may write what, and which file means what."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.db import models

ROOT = Path(__file__).resolve().parent.parent
APPS = ("merchants", "webhooks", "payments", "refunds", "settlements")

# Bottom to top: a foreign key points to its own app or to one further down.
LAYERS = (
    "merchants",
    "ledger",
    "webhooks",
    "rates",
    "simulated_chain",
    "transfers",
    "operations",
    "payments",
    "losses",
    "refunds",
    "settlements",
)


def sources(*places: str) -> Iterator[tuple[str, ast.Module]]:
    """The syntax trees of our own modules below these places, migrations left out."""
    for place in places:
        path = ROOT / place
        for file in [path] if path.suffix == ".py" else sorted(path.rglob("*.py")):
            name = file.relative_to(ROOT).as_posix()
            if "/migrations/" not in name:
                yield name, ast.parse(file.read_text(), filename=name)


def test_imports_go_down_only() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    run = subprocess.run([*command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


# Statuses.

MAY_CHANGE_A_STATUS = {
    "merchants/services.py",
    "merchants/access/idempotency.py",  # the HTTP status of a stored reply
    "payments/changes.py",
    "payments/crediting.py",
    "payments/losses/services.py",
    "payments/rereading.py",
    "payments/refunding.py",
    "payments/reversing.py",
    "payments/services.py",
    "payments/transfers/payouts.py",
    "payments/transfers/services.py",
    "payments/watching.py",
    "refunds/services.py",
    "settlements/services.py",
    "webhooks/sending/attempts.py",
    "webhooks/services.py",
}
"""Everything else asks them to."""


def writes_of_status(tree: ast.Module) -> Iterator[int]:
    """Lines that assign `something.status`, or set it by `.update(status=...)`."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets):
                pass
            case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
                targets = [target]
            case ast.Call(func=ast.Attribute(attr="update"), keywords=keywords):
                yield from (node.lineno for keyword in keywords if keyword.arg == "status")
                continue
            case _:
                continue
        for written in targets:
            parts = written.elts if isinstance(written, ast.Tuple) else [written]
            yield from (part.lineno for part in parts if isinstance(part, ast.Attribute) and part.attr == "status")


def test_only_services_change_a_status() -> None:
    found = [
        f"{name}:{line}"
        for name, tree in sources(*APPS)
        if not name.startswith("payments/chains/") and name not in MAY_CHANGE_A_STATUS
        for line in writes_of_status(tree)
    ]
    assert found == []


def test_a_change_of_status_would_be_found() -> None:
    sneaky = "payment.status = 'completed'\na, deposit.status = 1, 2\nqueryset.update(status='x')\nself.other = 1"
    assert sorted(writes_of_status(ast.parse(sneaky))) == [1, 2, 3]


# Money.

MONEY = (
    "config/money.py",
    "config/fields.py",
    "merchants/ledger",
    "payments/assessment.py",
    "payments/booking_sweeps.py",
    "payments/changes.py",
    "payments/claims.py",
    "payments/crediting.py",
    "payments/dust.py",
    "payments/explaining.py",
    "payments/invariants.py",
    "payments/losses",
    "payments/models.py",
    "payments/native.py",
    "payments/postings.py",
    "payments/records.py",
    "payments/rereading.py",
    "payments/reversing.py",
    "payments/services.py",
    "payments/refunding.py",
    "payments/simulator.py",
    "payments/strays.py",
    "payments/sweeping.py",
    "payments/transfers",
    "payments/treasury.py",
    "payments/watching.py",
    "payments/rates/agreement.py",
    "payments/rates/tables.py",
    "refunds",
    "settlements",
)
NO_MONEY = {"merchants/ledger/reconciliation.py", "refunds/examples.py", "settlements/examples.py"}
"""Seconds of checks, and replies as the reference shows them."""


def floats(tree: ast.Module) -> Iterator[int]:
    """Lines with a float in them: a literal, float() or an annotation."""
    for node in ast.walk(tree):
        literal = isinstance(node, ast.Constant) and isinstance(node.value, float)
        named = isinstance(node, ast.Name) and node.id == "float"
        if literal or named:
            yield node.lineno  # type: ignore[attr-defined]


def test_no_float_is_near_money() -> None:
    found = [
        f"{name}:{line}" for name, tree in sources(*MONEY) if name not in NO_MONEY for line in sorted(floats(tree))
    ]
    assert found == []


def test_a_float_would_be_found() -> None:
    assert sorted(floats(ast.parse("a = 1.5\nb = float(c)\nd: float = 2\ne = 10"))) == [1, 2, 3]


# The outside.

TALKS_TO_OTHERS = ("http", "httpx", "requests", "socket", "urllib.request", "urllib3", "aiohttp", "smtplib", "ftplib")
MAY_TALK = ("payments/chains/", "payments/rates/", "webhooks/")


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def is_network(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in TALKS_TO_OTHERS)


def test_only_chains_rates_and_webhooks_talk_to_the_outside() -> None:
    found = [
        f"{name} imports {module}"
        for name, tree in sources(*APPS, "config/api")
        if not name.startswith(MAY_TALK)
        for module in imported(tree)
        if is_network(module) and module not in ("http", "http.cookies")
    ]
    assert found == []


# Tables.


def test_foreign_keys_point_down() -> None:
    upwards = []
    for model in apps.get_models():
        label = model._meta.app_label
        for field in model._meta.get_fields():
            if label in LAYERS and isinstance(field, models.ForeignKey):
                target = field.related_model._meta.app_label
                if target in LAYERS and LAYERS.index(target) > LAYERS.index(label):
                    upwards.append(f"{model.__name__}.{field.name} points up to {target}")
    assert upwards == []
    ours = {config.label for config in apps.get_app_configs() if config.name.split(".")[0] in APPS}
    assert ours == {*LAYERS}


def test_rows_of_money_are_never_deleted_with_what_they_point_to() -> None:
    for model in apps.get_models():
        if model._meta.app_label in ("payments", "ledger", "transfers", "refunds", "settlements"):
            for field in model._meta.get_fields():
                if isinstance(field, models.ForeignKey):
                    assert field.remote_field.on_delete is models.PROTECT, f"{model.__name__}.{field.name}"


# Files.

ROLES = {
    "__init__", "admin", "apps", "checks", "dashboard", "events", "forms", "invariants", "models", "postings",
    "serializers", "services", "states", "tasks", "viewsets",
}  # fmt: skip
"""The same name means the same thing in every app."""

OWN_NAMES = {
    "merchants": {"counting", "listing", "wallets", "wording"},
    "webhooks": {
        "addresses", "examples", "listener", "mailing", "purging", "rebuilding", "recording", "records", "reference",
        "schedule", "secrets", "showing", "signing", "targets",
    },
    "payments": {
        "acceptance", "assessment", "balance_changes", "booking_sweeps", "changes", "claims", "crediting", "dust",
        "examples", "explaining", "halting", "lookup", "native", "overview", "payable", "qr", "records", "refunding",
        "rereading", "resuming", "reversing", "simulator", "strays", "sweeping", "treasury", "unswept", "watching",
        "wording",
    },
    "refunds": {"amounts", "claim_page", "claims", "destinations", "examples", "payer", "records", "wording"},
    "settlements": {
        "examples", "making", "planning", "pricing", "proposals", "reading", "records", "runs", "schedule", "showing",
        "statement_formats", "statements", "wording",
    },
}  # fmt: skip
"""What an app has beside its roles. A new name here is a new idea of that app, or one too many."""

FOLDERS = {
    "merchants": {"access", "ledger", "management", "migrations"},
    "webhooks": {"management", "migrations", "sending"},
    "payments": {"chains", "checkout", "losses", "management", "migrations", "operations", "rates", "transfers"},
    "refunds": {"management", "migrations"},
    "settlements": {"management", "migrations"},
}


@pytest.mark.parametrize("app", APPS)
def test_each_file_of_an_app_plays_a_known_role(app: str) -> None:
    files = {path.stem for path in (ROOT / app).glob("*.py")}
    files = {"dashboard" if name.startswith("dashboard_") else name for name in files}  # one that grew too long
    assert files - ROLES - OWN_NAMES[app] == set()
    folders = {path.name for path in (ROOT / app).iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert folders - FOLDERS[app] == set()


def test_nothing_is_called_by_a_name_that_says_nothing() -> None:
    empty_words = {"utils", "util", "helpers", "helper", "common", "misc", "managers", "signals"}
    found = [name for name, _ in sources(*APPS, "config", "tests") if Path(name).stem in empty_words]
    assert found == []


def test_nobody_listens_to_signals() -> None:
    found = [
        f"{name} imports {module}"
        for name, tree in sources(*APPS, "config")
        for module in imported(tree)
        if module in ("django.dispatch", "django.db.models.signals", "django.core.signals")
    ]
    assert found == []


def test_the_top_level_holds_exactly_what_the_design_says() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == {"config", "merchants", "webhooks", "payments", "refunds", "settlements", "tests"}
