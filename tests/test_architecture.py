"""The house: who may import whom, who may write what, and which file means what."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from django.apps import apps
from django.db import models

from config.database.advisory_locks import LockClass
from tests.forgetting import KEPT, REMEMBERED
from tests.syntax import tree_in

ROOT = Path(__file__).resolve().parent.parent
APPS = ("merchants", "webhooks", "payments", "refunds", "settlements")

# Bottom to top: a foreign key points to its own app or to one further down.
LAYERS = (
    "merchants",
    "people",
    "audit",
    "four_eyes",
    "request_log",
    "ledger",
    "webhooks",
    "rates",
    "simulated_chain",
    "screening",
    "transfers",
    "operations",
    "merchant_wallets",
    "payments",
    "receipts",
    "losses",
    "house",
    "refunds",
    "settlements",
    "invoices",
)


@cache
def tree_of(file: Path) -> ast.Module:
    """Nobody changes it: what is read here is the same for every test."""
    return tree_in(file)


def sources(*places: str) -> Iterator[tuple[str, ast.Module]]:
    """The syntax trees of our own modules below these places, migrations left out."""
    for place in places:
        path = ROOT / place
        assert path.exists(), f"{place} is named here and is not there any more"
        for file in [path] if path.suffix == ".py" else sorted(path.rglob("*.py")):
            name = file.relative_to(ROOT).as_posix()
            if "/migrations/" not in name:
                yield name, tree_of(file)


def test_imports_go_down_only() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_coverage_is_measured_of_every_state_table_and_of_nothing_that_is_gone() -> None:
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]["run"]["source"]
    measured = {ROOT / place if "/" in place else ROOT / f"{place.replace('.', '/')}.py" for place in configured}
    assert {path for place in ("config", *APPS) for path in (ROOT / place).rglob("states.py")} <= measured
    assert [path for path in measured if not path.exists()] == []


# Pure modules.

OUTSIDE = {"settings", "registry", "connection", "connections", "transaction", "timezone", "wake"}
"""What a pure module imports from nowhere: the configuration, the database, the clock, another process."""


def says_it_is_pure(tree: ast.Module) -> bool:
    return re.search(r"\bPure\b", ast.get_docstring(tree) or "") is not None


def reaches_outside(part: ast.AST, module: ast.Module) -> Iterator[str]:
    """What a module, or a part of it, does with the world outside of it."""
    imports = [node for node in ast.walk(module) if isinstance(node, ast.Import | ast.ImportFrom)]
    outside = OUTSIDE & {alias.asname or alias.name for node in imports for alias in node.names}
    for node in ast.walk(part):
        if isinstance(node, ast.Name) and node.id in outside:
            yield node.id
        elif isinstance(node, ast.Attribute) and node.attr == "objects":
            yield ast.unparse(node)


def used_of_ours(tree: ast.Module) -> Iterator[tuple[str, ast.AST, ast.Module]]:
    """What a module imports from our own code, and where it is from: each function, or the whole of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in (*APPS, "config"):
            file = ROOT / f"{str(node.module).replace('.', '/')}.py"
            for alias in node.names:
                inner = file.with_suffix("") / f"{alias.name}.py"
                if inner.exists():
                    used = tree_of(inner)
                    yield f"{node.module}.{alias.name}", used, used
                elif file.exists():
                    used = tree_of(file)
                    for each in used.body:
                        if isinstance(each, ast.FunctionDef) and each.name == alias.name:
                            yield f"{node.module}.{alias.name}", each, used


def test_a_module_that_says_it_is_pure_is_pure() -> None:
    pure = {name: tree for name, tree in sources(*APPS, "config") if says_it_is_pure(tree)}
    assert len(pure) > 30
    found = []
    for name, tree in pure.items():
        found += [f"{name}: {word}" for word in reaches_outside(tree, tree)]
        for imported_name, used, module in used_of_ours(tree):
            found += [f"{name} by {imported_name}: {word}" for word in reaches_outside(used, module)]
    assert found == []


# Statuses.

MAY_CHANGE_A_STATUS = {
    "merchants/four_eyes/services.py",
    "merchants/services.py",
    "merchants/access/idempotency.py",  # the HTTP status of a stored reply
    "payments/suspense/sender_returns.py",
    "payments/suspense/payer_proofs.py",
    "payments/deposits/recording.py",
    "payments/dashboard/exports/services.py",
    "payments/merchant_wallets/services.py",
    "payments/treasury/house/fundings.py",
    "payments/treasury/house/withdrawals.py",
    "payments/treasury/losses/services.py",
    "payments/treasury/deposit_audit.py",
    "payments/transfers/payouts.py",
    "payments/transfers/services.py",
    "payments/deposits/watching.py",
    "refunds/found_refunds.py",
    "refunds/services.py",
    "settlements/payouts/outcome.py",
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
    "payments/deposits",
    "payments/claims",
    "payments/suspense",
    "payments/invariants.py",
    "payments/models.py",
    "payments/records.py",
    "payments/services.py",
    "payments/transfers",
    "payments/treasury",
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
MAY_TALK = ("payments/chains/", "payments/rates/", "webhooks/", "payments/receipts/verify.py")
"""The last is a program that people download: it fetches keys on their machines."""


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


OF_MONEY = ("payments", "ledger", "merchant_wallets", "transfers", "house", "refunds", "settlements")


def test_rows_of_money_are_never_deleted_with_what_they_point_to() -> None:
    for model in apps.get_models():
        if model._meta.app_label in OF_MONEY:
            for field in model._meta.get_fields():
                if isinstance(field, models.ForeignKey):
                    assert field.remote_field.on_delete is models.PROTECT, f"{model.__name__}.{field.name}"


# Files.

MODULES_MAX = 15


def test_no_folder_has_more_modules_than_a_reader_can_overlook() -> None:
    files = [Path(name) for name, _ in sources(*APPS, "config") if not name.endswith("__init__.py")]
    counted = Counter(str(file.parent) for file in files)
    assert {folder: count for folder, count in counted.items() if count > MODULES_MAX} == {}


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
    own = ("merchants/ledger", "config/admin")  # the end of `migrate`, of no row
    assert found == [f"{folder}/apps.py imports django.db.models.signals" for folder in own]


def lock_classes(tree: ast.Module) -> Iterator[str]:
    """The first number of every advisory lock of two that is taken by a statement, as the code writes it."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(args=[ast.Constant(value=str(statement)), *values]):
                if re.search(r"(?i)pg_\w*advisory\w*\([^()]+,", statement):
                    written = [each for value in values for each in getattr(value, "elts", [value])]
                    yield ast.unparse(written[0]) if written else statement


def test_each_kind_of_work_has_a_class_of_advisory_locks_of_its_own() -> None:
    """LockClass has no number twice, or it could not be imported, and no statement takes its class from elsewhere."""
    found = {(name, written) for name, tree in sources("config", *APPS) for written in lock_classes(tree)}
    assert found == {
        ("config/database/advisory_locks.py", "kind"),  # a LockClass, by its type
        ("webhooks/sending/leases.py", "LockClass.DISPATCHER"),
    }
    assert len({member.value for member in LockClass}) == len(LockClass.__members__)


def test_a_class_of_advisory_locks_from_elsewhere_would_be_found() -> None:
    sneaky = 'execute("SELECT pg_try_advisory_lock(%s, %s)", [7, 0])\nexecute("select pg_advisory_xact_lock(1, 2)")'
    assert list(lock_classes(ast.parse(sneaky))) == ["7", "select pg_advisory_xact_lock(1, 2)"]


def settings_of_an_import(tree: ast.Module) -> Iterator[str]:
    """Settings that are read when a class is defined: whoever changes one later, as a test does, changes nothing."""
    for part in ast.walk(tree):
        if isinstance(part, ast.ClassDef):
            inner = [node for node in part.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
            for node in itertools.chain.from_iterable(map(_run_at_once, inner)):
                if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "settings":
                    yield node.attr


def _run_at_once(part: ast.AST) -> Iterator[ast.AST]:
    yield part
    for inner in ast.iter_child_nodes(part):
        if not isinstance(inner, ast.Lambda):
            yield from _run_at_once(inner)


def test_no_class_keeps_a_setting_as_it_was_when_it_was_imported() -> None:
    found = {(name, setting) for name, tree in sources(*APPS, "config") for setting in settings_of_an_import(tree)}
    assert {
        each for each in found if each[1] not in ("AUTH_USER_MODEL", "BASE_DIR", "LANGUAGES", "DASHBOARD_LANGUAGES")
    } == set()
    kept = ast.parse("class A:\n    a = Field(default=settings.X)\n    b = Field(default=lambda: settings.Y)")
    assert list(settings_of_an_import(kept)) == ["X"]


def test_what_a_process_remembers_is_forgotten_before_each_test() -> None:
    """Or a test passes or fails by what ran before it, and by how long ago."""
    found = {
        (name.removesuffix(".py").replace("/", "."), remembered)
        for name, tree in sources("config", *APPS)
        for node in ast.walk(tree)
        if isinstance(node, ast.Global)
        for remembered in node.names
    }
    assert found == {*REMEMBERED, *KEPT}


def test_views_of_the_whole_server_are_narrowed() -> None:
    """Other databases of the same server, as those of other workers of the tests, have locks and sessions as well."""
    wide = [
        f"{name}:{part.lineno}"
        for name, tree in sources("config", *APPS, "tests")
        for part in ast.walk(tree)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
        if re.search(r"(?i)(from|join)\s+pg_(locks|stat_(?!user_)|prepared_xacts)", part.value)
        if not re.search(r"current_database\(\)|pg_backend_pid\(\)|\bpid = %s", part.value)
    ]
    assert wide == []


def test_browsers_wait_for_the_page_they_look_at() -> None:
    """Three ways that end too early, or not at all.

    `wait_for_url("**/keys")` is content with `/confirm?next=/keys`, `content()` with half a page, and the second look
    of `wait_for_function` is an `eval`, which the pages' content security policy refuses.
    """
    calls = [
        (part.func.attr, name)
        for name, tree in sources("tests/browser")
        for part in ast.walk(tree)
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)
    ]
    unsafe = {call for call in calls if call[0] in {"wait_for_url", "content", "wait_for_function"}}
    home = "tests/browser/pages.py"
    assert unsafe == {("wait_for_url", home), ("content", home)}, f"use wait_for_path and content_of of {home}"


def test_what_signs_is_imported_where_the_recursion_limit_is_kept() -> None:
    """Elsewhere the import would raise it a hundredfold, and a reply nested deep enough would end the process."""
    importing = {
        name
        for name, tree in sources("config", *APPS, "tests")
        for part in tree.body
        if (isinstance(part, ast.ImportFrom) and (part.module or "").startswith(("eth_account", "eth_keys", "py_ecc")))
        or (isinstance(part, ast.Import) and any(each.name.startswith("eth_account") for each in part.names))
    }
    assert importing == {"payments/chains/evm/keys/accounts.py"}


def test_the_top_level_holds_exactly_what_the_design_says() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == {
        "config", "deploy", "merchants", "webhooks", "payments", "refunds", "sdk", "settlements", "tests",
    }  # fmt: skip
