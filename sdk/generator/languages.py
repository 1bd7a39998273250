"""Each language: where its generated files are, and what makes its layout.

Templates are in `templates/<language>/`; `<path>.jinja` makes `sdk/<language>/<path>`. They get `api` (model.Api), and
as filters the functions of names.py and those of the language below. One with `[record]`, `[resource]`, `[enumeration]`
or `[event]` in its name makes a file for each, which it gets by that name; where it writes nothing there is no file.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jinja2

from sdk.generator import names, python
from sdk.generator.model import Api
from sdk.generator.php import FILTERS as PHP_FILTERS
from sdk.generator.reading import ROOT
from sdk.generator.typescript import FILTERS as TYPESCRIPT_FILTERS

TEMPLATES = Path(__file__).with_name("templates")
MARK = re.compile(r"Generated from \S+ by sdk/generator")
EACH = re.compile(r"\[(record|resource|enumeration|event)\]")


Files = dict[str, str]
"""Texts by their paths in the language's folder."""


def ruff(files: Files) -> Files:
    """As `ruff format` of this repository lays them out, with sorted imports of what they use."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        # In that folder it does not find the package, and would put its modules in two groups.
        settings = ("--config", str(ROOT / "pyproject.toml"), "--config", 'lint.isort.known-first-party=["ballast"]')
        for command in ("check --fix --select F401", "check --fix --select I,RUF022", "format"):
            program = [sys.executable, "-m", "ruff", *command.split(), "--quiet", *settings, "."]
            subprocess.run(program, check=True, cwd=folder)
        return {path: (folder / path).read_text(encoding="utf-8") for path in files}


@dataclass(frozen=True)
class Language:
    name: str
    """Of its folder, in sdk/ and in templates/."""
    filters: dict[str, Callable[..., Any]] = field(default_factory=dict)
    context: Callable[[Api], dict[str, Any]] = lambda _api: {}
    """What its templates get beside `api`."""
    formatted: Callable[[Files], Files] = lambda files: files
    """Lays the texts out. Where `make check` has no formatter, the templates do it."""
    file_name: Callable[[str], str] = names.pascal
    """The name of the file of one record, resource, enumeration or event."""

    def stale(self, files: Iterable[Path]) -> list[Path]:
        """Generated files beside the given ones that no template makes any more."""
        folders = {path.parent for path in files}
        beside = {path for folder in folders for path in folder.glob("*.*")} - set(files)
        return sorted(path for path in beside if MARK.search(path.read_text(encoding="utf-8", errors="replace")[:200]))

    def render(self, api: Api) -> Files:
        """The generated files."""
        folder = TEMPLATES / self.name
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(folder), undefined=jinja2.StrictUndefined, keep_trailing_newline=True,
            trim_blocks=True, lstrip_blocks=True, autoescape=False,  # noqa: S701 - it writes programs, not pages
        )  # fmt: skip
        for function in (names.snake, names.pascal, names.camel):
            environment.filters[function.__name__] = function
        environment.filters.update(self.filters)
        context = self.context(api)
        files: Files = {}
        for template in sorted(folder.rglob("*.jinja")):
            relative = template.relative_to(folder)
            path = relative.with_suffix("").as_posix()
            found = environment.get_template(relative.as_posix())
            each = EACH.search(path)
            if each is None:
                files[path] = found.render(api=api, **context)
                continue
            for one in getattr(api, f"{each[1]}s"):
                target = EACH.sub(self.file_name(one.name), path)
                text = found.render(api=api, **context, **{each[1]: one})
                if text.strip():
                    files[target] = text
        return self.formatted(files)


LANGUAGES = (
    Language("python", python.FILTERS, python.context, ruff, names.snake),
    Language("typescript", TYPESCRIPT_FILTERS),
    Language("php", PHP_FILTERS),
)
