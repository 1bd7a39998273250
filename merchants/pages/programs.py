"""The programs that the pages for developers show: each runs as it is, in four languages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from django.conf import settings

FOLDER = settings.BASE_DIR / "templates" / "quick_start"
SAMPLE_URL, SAMPLE_KEY = "https://pay.example.com/sandbox/v1", "pk_test_your_public_key"
"""Placeholders in the program files for this installation's sandbox and the merchant's own key."""


class Language(NamedTuple):
    """A language of the programs, and how one is run."""

    slug: str
    name: str
    ending: str
    run: str
    serve: str


LANGUAGES = (
    Language("curl", "curl", "sh", "sh {file}", 'sh {file} $ID $TIMESTAMP "$SIGNATURE"'),
    Language("python", "Python", "py", "python3 {file}", "python3 {file}"),
    Language("node", "Node", "mjs", "node {file}", "node {file}"),
    Language("php", "PHP", "php", "php {file}", "php -S 127.0.0.1:9000 {file}"),
)


@dataclass(frozen=True)
class Program:
    """A program with the name of its file, and the line that runs it."""

    name: str
    code: str
    command: str


def program(language: Language, name: str, *, public_key: str | None = None) -> Program:
    """One program of templates/quick_start, for this installation and with this key."""
    file = f"{name}.{language.ending}"
    code = (
        _source(file)
        .replace(SAMPLE_URL, f"{settings.PUBLIC_URL}/sandbox/v1")
        .replace(SAMPLE_KEY, public_key or SAMPLE_KEY)
    )
    command = (language.serve if name == "receive_webhook" else language.run).format(file=file)
    return Program(file, code, f"{command} pay_…" if name == "read_payment" else command)


@cache
def _source(file: str) -> str:
    return (FOLDER / file).read_text(encoding="utf-8")
