"""The size of the code, in the figures of docs/architecture.md: `make figures`."""

from __future__ import annotations

import ast
import io
import os
import re
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

import django
from django.apps import apps

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("config", "deploy", "merchants", "payments", "refunds", "settlements", "webhooks")
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(source: str) -> int:
    """Lines with code: no blank line, no comment, no docstring of a module, class or function."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SILENT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node
        ):
            lines.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def words(names: list[str]) -> int:
    """Words with a letter or digit: no bar of a table, no bullet, no mark by itself."""
    texts = ((ROOT / name).read_text(encoding="utf-8") for name in names)
    return sum(any(map(str.isalnum, word)) for text in texts for word in text.split())


def lines_of_clients(files: list[str]) -> Counter[bool]:
    """Lines of sdk/ that are not blank, of files that its generator writes (True) and of all others."""
    lines: Counter[bool] = Counter()
    for name in filter(re.compile(r"sdk/.*\.(py|ts|mjs|js|php)").fullmatch, files):
        text = (ROOT / name).read_text(encoding="utf-8")
        is_generated = not name.startswith("sdk/generator/") and "by sdk/generator" in text[:400]
        lines[is_generated] += sum(bool(line.strip()) for line in text.splitlines())
    return lines


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from config.celery import app

    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    files = [name for name in listed if (ROOT / name).exists()]
    code: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    migrations: list[str] = []
    for name in filter(re.compile(rf"({'|'.join(ROOMS)}|templates|tests)/.*\.py").fullmatch, files):
        if re.search(r"/migrations/\d", name):
            migrations.append(name)
        elif "/migrations/" not in name:
            code[name.partition("/")[0]] += code_lines((ROOT / name).read_text(encoding="utf-8"))
            modules[str(Path(name).parent)] += not name.endswith("__init__.py")
    ours = [model for model in apps.get_models() if model.__module__.partition(".")[0] in ROOMS]
    settings = re.findall(r"^#?([A-Z][A-Z0-9_]*)=", (ROOT / ".env.example").read_text(encoding="utf-8"), re.MULTILINE)
    commands = [name for name in files if re.search(r"/management/commands/[a-z]\w*\.py$", name)]
    pages = [name for name in files if re.fullmatch(r"docs/(?!adr/).*\.md", name)]
    decisions = [name for name in files if re.fullmatch(r"docs/adr/0.*\.md", name)]
    tests, clients = code.pop("tests"), lines_of_clients(files)
    in_migrations = sum(code_lines((ROOT / name).read_text(encoding="utf-8")) for name in migrations)
    for title, number in (
        ("Code lines of the product, without blank lines, comments, docstrings and migrations", sum(code.values())),
        *((f"- in `{room}/`", number) for room, number in code.most_common()),
        ("Code lines of the tests", tests),
        ("Lines of `sdk/` with its tests, without blank lines", clients[False]),
        ("Lines of `sdk/` that are generated", clients[True]),
        ("Modules of the product", sum(number for folder, number in modules.items() if not folder.startswith("tests"))),
        ("Modules of the largest folder", max(n for folder, n in modules.items() if not folder.startswith("tests"))),
        ("Tables", sum(model._meta.managed and not model._meta.proxy for model in ours)),
        ("Settings", len(set(settings))),
        ("Periodic tasks", len(app.conf.beat_schedule)),
        ("Management commands", len(commands)),
        ("Migrations", len(migrations)),
        ("Code lines of the migrations", in_migrations),
        ("Words of the pages in `docs/`, without bare marks", words(pages)),
        ("Words of the decisions in `docs/adr/`, without bare marks", words(decisions)),
    ):
        sys.stdout.write(f"| {title} | {number:,} |\n")


if __name__ == "__main__":
    main()
