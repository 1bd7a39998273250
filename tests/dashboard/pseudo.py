"""A language in which every text that goes through translation carries marks, so that all other text shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import Any
from unittest import mock

from django.utils import translation
from django.utils.translation import trans_real

BEGIN, END = "\u27e6", "\u27e7"
_SPOKEN = {"aria-label", "aria-description", "title", "placeholder", "alt", "data-label", "data-copy-label"}
_NOT_READ = {"script", "style", "code", "pre", "kbd", "svg"}
_VOID = {"input", "img", "br", "hr", "meta", "link", "source", "wbr", "col"}
_WORD = re.compile(r"[^\W\d_]{2,}")


def marked(text: str) -> str:
    return f"{BEGIN}{text}{END}" if text else text


@contextmanager
def pseudo_language() -> Iterator[None]:
    """Inside, all that is translated stands between marks; what is put into it stands between them as well."""
    real = trans_real

    def plain(message: str) -> Any:
        return marked(real.gettext(message))

    def plural(singular: str, plural: str, number: float) -> str:
        return marked(real.ngettext(singular, plural, number))

    def in_context(context: str, message: str) -> str:
        translated = real.pgettext(context, message)
        return translated if context == "date format" else marked(translated)

    with (
        mock.patch.object(translation._trans, "pgettext", in_context),  # type: ignore[attr-defined]
        mock.patch.object(translation._trans, "gettext", plain),  # type: ignore[attr-defined]
        mock.patch.object(translation._trans, "ngettext", plural),  # type: ignore[attr-defined]
    ):
        yield


class _Reader(HTMLParser):
    """Collects what people read of a page and what stands outside of marks."""

    def __init__(self) -> None:
        super().__init__()
        self.outside: list[str] = []
        self.depth = 0
        self._silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            is_button = tag == "input" and name == "value" and dict(attrs).get("type") in {"submit", "button"}
            if value and (name in _SPOKEN or name.startswith("data-say-") or is_button):
                self.outside += outside(value)[0]
        if tag in _NOT_READ or ("translate", "no") in attrs or self._silent:
            self._silent += [] if tag in _VOID else [tag]

    def handle_endtag(self, tag: str) -> None:
        if self._silent and tag == self._silent[-1]:
            self._silent.pop()

    def handle_data(self, data: str) -> None:
        found, self.depth = outside(data, self.depth)
        if not self._silent:
            self.outside += found


def outside(text: str, depth: int = 0) -> tuple[list[str], int]:
    """The pieces of a text that are in no marks, when it begins in so many, and in how many it ends."""
    pieces = [""]
    for character in text:
        if character == BEGIN:
            depth += 1
        elif character == END:
            depth -= 1
        elif depth == 0:
            pieces[-1] += character
            continue
        pieces.append("")
    return [piece.strip() for piece in pieces if piece.strip()], depth


def not_translated(page: str, data: re.Pattern[str]) -> list[str]:
    """Words that people read on this page, or in this text, and that no translation would change."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    found = [piece for piece in reader.outside if _WORD.search(data.sub(" ", piece))]
    return [*dict.fromkeys(found), *(["a mark is not closed"] if reader.depth else [])]
