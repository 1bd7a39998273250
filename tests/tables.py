"""The tables of docs/, alert rules and dashboard, by what the code knows: `make tables`; `make check` compares."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import django

from tests import capacity as model

ROOT = Path(__file__).resolve().parents[1]
PART = re.compile(r"(<!-- make tables: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(*rows: Iterable[object]) -> Iterator[str]:
    """Lines of a table, whose first row is its head."""
    for number, row in enumerate(rows):
        cells = [" ".join(str(cell).split()).replace("|", "\\|") for cell in row]
        yield f"| {' | '.join(cells)} |"
        if not number:
            yield "|" + "---|" * len(cells)


def first_sentence(text: str) -> str:
    return " ".join(text.split()).removeprefix("Required: ").partition(". ")[0].rstrip(".:")


def settings() -> Iterator[str]:
    """Every setting of `.env.example` with the default or example there, and the first sentence above it."""
    rows, comment = [("setting", "default or example", "what it is")], ""
    for line in (ROOT / ".env.example").read_text(encoding="utf-8").splitlines():
        if found := re.match(r"#?([A-Z][A-Z0-9_]*)=(.*)", line):
            if not found[1].startswith("TESTNET_"):
                rows.append((f"`{found[1]}`", found[2] and f"`{found[2]}`", first_sentence(comment)))
            comment = ""
        else:
            comment = f"{comment} {line[2:]}" if line.startswith("# ") and not line.startswith("# ---") else ""
    return table(*rows)


def commands() -> Iterator[str]:
    from django.core.management import get_commands, load_command_class

    ours = sorted((name, app) for name, app in get_commands().items() if (ROOT / app.replace(".", "/")).exists())
    return table(
        ("command", "what it does"),
        *((f"`{name}`", first_sentence(load_command_class(app, name).help)) for name, app in ours),
    )


def alarms() -> Iterator[str]:
    from payments.monitoring.metrics.definitions import WARNINGS
    from payments.monitoring.states import AlarmKind

    rows = (
        (f"[`{kind.value}`](runbooks/{kind.value}.md)", kind.label, "morning" if kind in WARNINGS else "now")
        for kind in AlarmKind
    )
    return table(("alarm, with its runbook", "in words", "look at it"), *rows)


def metrics() -> Iterator[str]:
    from payments.monitoring.metrics.definitions import METRICS

    rows = (
        (
            f"`{metric.name}`" + (f"<br>by {', '.join(metric.labels)}" if metric.labels else ""),
            f"{metric.kind}: {metric.meaning}",
            metric.alert.when if metric.alert else f"no rule: {metric.instead}",
        )
        for metric in METRICS
    )
    return table(("metric", "what it is", "alert when"), *rows)


def marks(allowed: Iterable[bool]) -> list[str]:
    return ["yes" if is_allowed else "–" for is_allowed in allowed]


def permissions() -> Iterator[str]:
    from merchants.roles import PERMISSIONS, Permission, Role

    return table(
        ("may", "in code", *(role.label for role in Role)),
        *((each.label, f"`{each.value}`", *marks(each in PERMISSIONS[role] for role in Role)) for each in Permission),
    )


def operators() -> Iterator[str]:
    """Lists and pages of the admin, with what each role of operators may do there; equal ones share a row."""
    from django.contrib import admin

    from config.admin.roles import Role
    from config.admin.site import GROUPS, PAGES

    pages = {model._meta.label: page for model, page in admin.site._registry.items()}
    rows: dict[tuple[str, ...], list[str]] = {}
    for group, labels in GROUPS.items():
        for page in (pages[label] for label in labels):
            rights = (_rights(page, role) for role in Role)
            rows.setdefault((group, *rights), []).append(str(page.opts.verbose_name_plural))
        for own in PAGES.get(group, ()):
            rights = ("see" if _may(role, *own.permissions) else "–" for role in Role)
            rows.setdefault((group, *rights), []).append(own.title)
    return table(
        ("lists and pages", *(role.label for role in Role)),
        *((f"{group}: {', '.join(names)}", *rights) for (group, *rights), names in rows.items()),
    )


def _may(role: Any, *permissions: str) -> bool:
    from config.admin.roles import permissions_of

    return {*permissions} <= {f"{app}.{name}" for app, name in permissions_of(role)}


def _rights(page: Any, role: Any) -> str:
    """Verbs and actions of somebody with this role on a page of the admin."""
    from django.test import RequestFactory

    request: Any = RequestFactory().get("/admin/")
    request.user = SimpleNamespace(has_perm=lambda name, row=None: _may(role, name), is_superuser=False)
    if not page.has_view_permission(request):
        return "–"
    verbs = ["see", *(verb for verb in ("add", "change") if getattr(page, f"has_{verb}_permission")(request))]
    verbs += ["delete"] if page.has_delete_permission(request) else []
    words = (words for name, (_, _, words) in page.get_actions(request).items() if name != "delete_selected")
    return ", ".join(dict.fromkeys([*verbs, *(each.partition(":")[0].lower() for each in words)]))


def actions() -> Iterator[str]:
    """The actions that each permission allows."""
    from merchants.roles import Action, Permission

    rows: dict[Permission, list[str]] = {each: [] for each in Permission}
    for action in Action:
        rows[action.permission].append(f"`{action.value}`")
    return table(
        ("needs", "actions"), *((f"`{needs.value}`", ", ".join(names)) for needs, names in rows.items() if names)
    )


def scopes() -> Iterator[str]:
    from merchants.access.scopes import DESCRIPTIONS, NEEDS, Scope, may_give
    from merchants.roles import Role

    return table(
        ("scope", "lets a key", "needs", *(role.label for role in Role)),
        *(
            (f"`{scope}`", DESCRIPTIONS[scope], f"`{NEEDS[scope]}`", *marks(may_give(role, [scope]) for role in Role))
            for scope in Scope
        ),
        ("none: full access", "everything", "all", *marks(may_give(role, []) for role in Role)),
    )


def events() -> Iterator[str]:
    from webhooks.events.catalogue import CATALOGUE

    return table(("event", "when"), *((f"`{type}`", meaning) for type, meaning in CATALOGUE.items()))


def capacity() -> Iterator[str]:
    return table(*model.needs())


def coefficients() -> Iterator[str]:
    return table(*model.coefficients())


TABLES: tuple[Callable[[], Iterator[str]], ...] = (
    settings,
    commands,
    alarms,
    metrics,
    permissions,
    operators,
    actions,
    scopes,
    events,
    capacity,
    coefficients,
)


def written(page: str) -> str:
    """The page with each of its tables as the code has it."""
    by_name = {each.__name__: each for each in TABLES}
    return PART.sub(lambda part: part[1] + "\n" + "\n".join(by_name[part[2]]()) + "\n\n" + part[3], page)


def main() -> int:
    """Writes the tables, or with --check exits with 1 where one is another."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    pages = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
    found = {part[2] for page in pages.values() for part in PART.finditer(page)}
    from tests.alerting import dashboard, rules, runbooks

    made = {path: written(page) for path, page in pages.items()} | runbooks.missing()
    made |= {rules.RULES: rules.written(), dashboard.DASHBOARD: dashboard.written()}
    differ = {path: text for path, text in made.items() if not path.exists() or path.read_text("utf-8") != text}
    if "--check" not in sys.argv:
        for path, text in differ.items():
            path.write_text(text, encoding="utf-8")
        return 0
    if differ or found != {each.__name__ for each in TABLES}:
        sys.stderr.write(f"Run `make tables`: {[path.name for path in differ]} differ; there are {sorted(found)}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
