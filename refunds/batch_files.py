"""Reads the CSV files that ask for refunds, strictly: each fault is named by its line and field. Pure."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from io import StringIO

from config.api.renderers import render_json

COLUMNS = ("payment", "amount", "currency", "destination", "memo", "reason")
MOST_ROWS = 500
MOST_BYTES = 256 * 1024
_LENGTHS = {"payment": 40, "amount": 17, "currency": 3, "destination": 80, "memo": 64, "reason": 500}
_AMOUNT = re.compile(r"[0-9]{1,13}(\.[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a file: at a line, and in a field if one is at fault."""

    line: int
    field: str
    words: str


@dataclass(frozen=True, slots=True)
class FileRow:
    """One row as it was written. No amount: all that is left."""

    line: int
    payment: str
    amount: Decimal | None = None
    currency: str = ""
    destination: str = ""
    memo: str = ""
    reason: str = ""

    @property
    def cells(self) -> list[str]:
        """What it asks for, the same however its amount was written."""
        amount = "" if self.amount is None else f"{self.amount.normalize():f}"
        return [self.payment, amount, self.currency.upper(), self.destination, self.memo, self.reason]


@dataclass(frozen=True, slots=True)
class RefundFile:
    """The rows of a file, or its faults: a file with one fault has no rows."""

    rows: Sequence[FileRow] = ()
    faults: Sequence[Fault] = ()

    @property
    def digest(self) -> bytes:
        """The same for the same rows, however the file was called, quoted or ordered."""
        return sha256(render_json(sorted(row.cells for row in self.rows))).digest()


def read_file(content: bytes) -> RefundFile:
    """The rows of a CSV file in UTF-8, with a heading of some of COLUMNS, `payment` among them."""
    if len(content) > MOST_BYTES:
        return _refused(1, "", f"The file is larger than {MOST_BYTES // 1024} KiB. Divide it into several.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return _refused(line, "", "This is not UTF-8. Save the file as “CSV UTF-8”.")
    if "\0" in text:
        return _refused(text.count("\n", 0, text.index("\0")) + 1, "", "This is not text.")
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    collected = _Collected()
    try:
        for number, cells in enumerate(reader):
            if number == 0:
                collected.read_heading(cells)
            elif any(cells):
                collected.read_row(reader.line_num, cells)
            if collected.is_over:
                break
    except csv.Error as error:
        return _refused(reader.line_num, "", f"This is not CSV: {error}.")
    if not collected.faults and not collected.rows:
        return _refused(1, "", "The file has no rows.")
    return RefundFile((), collected.faults) if collected.faults else RefundFile(collected.rows)


def _refused(line: int, name: str, words: str) -> RefundFile:
    return RefundFile(faults=[Fault(line, name, words)])


@dataclass(slots=True)
class _Collected:
    """What has been read so far."""

    heading: list[str] = field(default_factory=list)
    rows: list[FileRow] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    count: int = 0
    is_over: bool = False

    def read_heading(self, cells: Sequence[str]) -> None:
        self.heading = [cell.strip().lower() for cell in cells]
        allowed = ", ".join(COLUMNS)
        for name in self.heading:
            if name not in COLUMNS:
                self.faults.append(Fault(1, name[:40], f"There is no such column. The columns are {allowed}."))
            elif self.heading.count(name) > 1:
                self.faults.append(Fault(1, name, "This column is there twice."))
        if "payment" not in self.heading:
            self.faults.append(Fault(1, "payment", "The first line must name the columns, “payment” among them."))
        self.is_over = bool(self.faults)

    def read_row(self, line: int, cells: Sequence[str]) -> None:
        self.count += 1
        if self.count > MOST_ROWS:
            self.faults.append(Fault(line, "", f"The file has more than {MOST_ROWS} rows. Divide it into several."))
            self.is_over = True
            return
        if len(cells) != len(self.heading):
            words = f"This line has {len(cells)} fields, and the heading has {len(self.heading)}."
            self.faults.append(Fault(line, "", words))
            return
        written = {name: cell.strip() for name, cell in zip(self.heading, cells, strict=True)}
        found = list(self._faults_of(line, written))
        self.lines.setdefault(written["payment"], line)
        self.faults += found
        if not found:
            amount = written.pop("amount", "")
            self.rows.append(FileRow(line, amount=Decimal(amount) if amount else None, **written))

    def _faults_of(self, line: int, written: dict[str, str]) -> Iterator[Fault]:
        for name, text in written.items():
            if len(text) > _LENGTHS[name]:
                yield Fault(line, name, f"At most {_LENGTHS[name]} characters.")
            elif not text.isprintable():
                yield Fault(line, name, "Use printable characters only.")
        if not written["payment"]:
            yield Fault(line, "payment", "Name the payment by its id.")
        elif first := self.lines.get(written["payment"]):
            yield Fault(line, "payment", f"Line {first} refunds this payment already. Put both amounts into one row.")
        amount = written.get("amount", "")
        if amount and (not _AMOUNT.fullmatch(amount) or not Decimal(amount)):
            yield Fault(line, "amount", "Write it like 12.50: digits, a point, no currency. Empty is all that is left.")
