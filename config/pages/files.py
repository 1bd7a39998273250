"""Files that people save: the lines of CSV, and the headers by which any file is handed out."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence

_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json", "pdf": "application/pdf"}
_FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")
"""The full-width forms too: spreadsheets of East Asia read them alike."""


def text_cell(text: str) -> str:
    """Text that no spreadsheet reads as a formula. Amounts are numbers and may begin with a minus."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


class _Line:
    """What csv.writer writes to: it returns what this returns."""

    write = staticmethod(str)


def csv_lines(rows: Iterable[Sequence[object]], *, delimiter: str = ",") -> Iterator[str]:
    """Lines by RFC 4180, one at a time."""
    return map(csv.writer(_Line(), delimiter=delimiter).writerow, rows)


def file_headers(name: str) -> dict[str, str]:
    """Headers of a reply that is saved under this name, of the type that the name ends with."""
    kind = _TYPES.get(name.rpartition(".")[2], "application/octet-stream")
    return {"Content-Type": kind, "Content-Disposition": f'attachment; filename="{name}"'}
