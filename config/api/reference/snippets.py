"""The example of each operation in four languages: programs with curl and with our clients, from examples.json.

`python -m sdk.generator` writes that file, and `make sdk` runs each of them against the sandbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from config.api.renderers import read_json, render_json

SAMPLE_ID = "01kfjhr3c8e4bs0dz6wd5n5yry"

_FILE = Path(__file__).with_name("examples.json")


class Snippet(NamedTuple):
    """A program. `language` is what it is called on a page."""

    language: str
    code: str


def runnable(value: Any) -> Any:
    """The example with numbers as programs write them."""
    match value:
        case Decimal():
            return float(value)
        case Mapping():
            return {name: runnable(inner) for name, inner in value.items()}
        case list():
            return [runnable(inner) for inner in value]
    return value


def snippets(operation: str, samples: Mapping[str, str]) -> tuple[Snippet, ...]:
    """The programs of an operation, with a sample in place of each parameter of the path."""
    return tuple(Snippet(language, _filled(code, samples)) for language, code in _programs().get(operation, {}).items())


def _filled(code: str, samples: Mapping[str, str]) -> str:
    for name, sample in samples.items():
        code = code.replace(f"{{{name}}}", sample)
    return code


def as_json(value: Any) -> str:
    return render_json(value, indented=True).decode()


@cache
def _programs() -> Mapping[str, Mapping[str, str]]:
    found: Mapping[str, Mapping[str, str]] = read_json(_FILE.read_text(encoding="utf-8"))
    return found
