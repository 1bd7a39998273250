"""What is public is listed in public_api.txt. `python test_public_api.py` writes it."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from pathlib import Path

import ballast
from ballast import events, models, resources

LIST = Path(__file__).with_name("public_api.txt")


def lines() -> Iterator[str]:
    for module in (ballast, events, models, resources):
        for name, value in sorted(vars(module).items()):
            if name.startswith("_") or inspect.ismodule(value) or getattr(value, "__module__", "").startswith("typing"):
                continue
            if module is ballast and name not in ballast.__all__:
                continue
            if inspect.isclass(value) and value.__module__.startswith("ballast"):
                if module is not ballast and not value.__module__.startswith(module.__name__):
                    continue
                yield from class_lines(f"{module.__name__}.{name}", value)
            elif module is ballast or (inspect.isfunction(value) and value.__module__ == module.__name__):
                yield f"{module.__name__}.{name}"


def class_lines(name: str, kind: type) -> Iterator[str]:
    yield name
    if dataclasses.is_dataclass(kind):
        yield f"{name}: {' '.join(sorted(field.name for field in dataclasses.fields(kind)))}"
    for member, value in sorted(vars(kind).items()):
        if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
            names = inspect.signature(value).parameters if inspect.isfunction(value) else ()
            yield f"{name}.{member}({', '.join(one for one in names if one != 'self')})"


def test_what_is_public_is_what_is_listed() -> None:
    assert list(lines()) == LIST.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    LIST.write_text("\n".join(lines()) + "\n", encoding="utf-8")
