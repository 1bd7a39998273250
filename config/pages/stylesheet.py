"""The style sheet: the short files of static/css as one, so that a page loads one file and sections are short.

There is nothing to run: whoever looks for `css/ballast.css` among the static files gets it as the sections are now.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

NAME = "css/ballast.css"

FIRST, LAST = ("tokens", "base", "layout", "brand", "controls", "data", "feedback"), "print"
"""Of two rules for the same thing the later one wins: what is for all pages comes before what is for some of them."""


def stylesheet() -> str:
    """All sections, one after the other."""
    sections = {path.stem: path for path in (Path(settings.BASE_DIR) / "static/css").glob("*.css")}
    others = sorted(sections.keys() - {*FIRST, LAST})
    return "\n".join(sections[name].read_text("utf-8") for name in (*FIRST, *others, LAST))


class StylesheetFinder(BaseFinder):
    """Finds the style sheet beside the files that other finders find; a copy of it lies under BALLAST_VAR."""

    def __init__(self, app_names: Iterable[str] | None = None) -> None:
        self._storage = FileSystemStorage(location=settings.VAR_DIR / "static")

    def check(self, **options: Any) -> list[Any]:
        return []

    def find(self, path: str, find_all: bool = False, **options: Any) -> Any:
        if path != NAME:
            return []
        found = str(self._write())
        return [found] if find_all else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, FileSystemStorage]]:
        self._write()
        yield NAME, self._storage

    def _write(self) -> Path:
        """Keep the copy as the sections are now; it changes at once, for readers in other processes."""
        path, text = Path(self._storage.path(NAME)), stylesheet()
        if not path.exists() or path.read_text("utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            written = path.with_name(f"{path.name}.{os.getpid()}")
            written.write_text(text, "utf-8")
            written.replace(path)
        return path
