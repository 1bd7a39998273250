"""What the command prints: a table and colours on a terminal, tabs between columns elsewhere, JSON on wish."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ballast import Model
from ballast._json import dumps

STYLES = {
    "completed": "green", "delivered": "green", "succeeded": "green", "active": "green", "accepted": "green",
    "pending": "yellow", "underpaid": "yellow", "processing": "yellow", "requires_action": "yellow", "open": "yellow",
    "expired": "dim", "cancelled": "dim", "discarded": "dim", "failed": "red",
}  # fmt: skip
Columns = Mapping[str, Callable[[Any], Any]]


class Output:
    """`as_json`: each record is one line of JSON, with the API's own names, and nothing else is printed there."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.console = Console(highlight=False)
        self.errors = Console(stderr=True, highlight=False)

    def table(self, records: Iterable[Model], columns: Columns) -> None:
        if self.as_json:
            for record in records:
                self.json(record.raw)
            return
        if not self.console.is_terminal:
            for record in records:
                self.plain("\t".join(text(value(record)) for value in columns.values()))
            return
        table = Table(box=None, header_style="bold", pad_edge=False)
        for name in columns:
            table.add_column(name, no_wrap=name == "id", overflow="fold")
        for record in records:
            table.add_row(*(styled(value(record)) for value in columns.values()))
        if table.row_count:
            self.console.print(table)
        else:
            self.note("None.")

    def record(self, record: Model, columns: Columns) -> None:
        """One record, a field in each line."""
        if self.as_json:
            self.json(record.raw)
            return
        if not self.console.is_terminal:
            for name, value in columns.items():
                self.plain(f"{name}\t{text(value(record))}")
            return
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in columns.items():
            table.add_row(name, styled(value(record)))
        self.console.print(table)

    def json(self, value: Any) -> None:
        self.plain(dumps(value))

    def plain(self, line: str) -> None:
        typer.echo(line)

    def note(self, line: str, style: str = "") -> None:
        """For people: not in the output of a program that reads it."""
        self.errors.print(Text(line, style=style), soft_wrap=True)


def text(value: Any) -> str:
    """The value for people; what a terminal would obey is replaced, for others may have written it."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    found = ", ".join(map(text, value)) if isinstance(value, list) else str(value)
    return "".join(character if character.isprintable() else "�" for character in found)


def styled(value: Any) -> Text:
    found = text(value)
    return Text(found, style=STYLES.get(found, ""))
