"""Reads the CSV files of refund batches, strictly: each fault is named by its line and field. Pure."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from io import StringIO

from django.utils.translation import gettext as _

from config.api.renderers import render_json

COLUMNS = ("payment", "amount", "currency", "destination", "memo", "reason")
MOST_ROWS = 500
MOST_BYTES = 256 * 1024
_LENGTHS = {"payment": 40, "amount": 17, "currency": 3, "destination": 80, "memo": 64, "reason": 500}
_AMOUNT = re.compile(r"[0-9]{1,13}(\.[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a file: at a line, and in a field if one is at fault."""

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
        """The values of the row, the same however its amount was written."""
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
        return _refused(1, "", _("The file is larger than %d KiB. Divide it into several.") % (MOST_BYTES // 1024))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return _refused(line, "", _("This is not UTF-8. Save the file as “CSV UTF-8”."))
    if "\0" in text:
        return _refused(text.count("\n", 0, text.index("\0")) + 1, "", _("This is not text."))
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
        return _refused(reader.line_num, "", _("This is not CSV: %(why)s.") % {"why": error})
    if not collected.faults and not collected.rows:
        return _refused(1, "", _("The file has no rows."))
    return RefundFile((), collected.faults) if collected.faults else RefundFile(collected.rows)


def _refused(line: int, name: str, words: str) -> RefundFile:
    return RefundFile(faults=[Fault(line, name, words)])


@dataclass(slots=True)
class _Collected:
    """The rows and faults read so far."""

    heading: list[str] = field(default_factory=list)
    rows: list[FileRow] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    count: int = 0
    is_over: bool = False

    def read_heading(self, cells: Sequence[str]) -> None:
        self.heading = [cell.strip().lower() for cell in cells]
        no_such = _("There is no such column. The columns are %(columns)s.") % {"columns": ", ".join(COLUMNS)}
        for name in self.heading:
            if name not in COLUMNS:
                self.faults.append(Fault(1, name[:40], no_such))
            elif self.heading.count(name) > 1:
                self.faults.append(Fault(1, name, _("This column is there twice.")))
        if "payment" not in self.heading:
            self.faults.append(Fault(1, "payment", _("The first line must name the columns, “payment” among them.")))
        self.is_over = bool(self.faults)

    def read_row(self, line: int, cells: Sequence[str]) -> None:
        self.count += 1
        if self.count > MOST_ROWS:
            self.faults.append(
                Fault(line, "", _("The file has more than %d rows. Divide it into several.") % MOST_ROWS)
            )
            self.is_over = True
            return
        if len(cells) != len(self.heading):
            words = _("This line has %(fields)d fields, and the heading has %(names)d.")
            self.faults.append(Fault(line, "", words % {"fields": len(cells), "names": len(self.heading)}))
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
                yield Fault(line, name, _("At most %d characters.") % _LENGTHS[name])
            elif not text.isprintable():
                yield Fault(line, name, _("Use printable characters only."))
        if not written["payment"]:
            yield Fault(line, "payment", _("Enter the id of the payment."))
        elif first := self.lines.get(written["payment"]):
            twice = _("Line %d refunds this payment already. Put both amounts into one row.") % first
            yield Fault(line, "payment", twice)
        amount = written.get("amount", "")
        if amount and (not _AMOUNT.fullmatch(amount) or not Decimal(amount)):
            yield Fault(
                line,
                "amount",
                _("Write it like 12.50: digits and a point, no currency. Leave it empty to refund all that is left."),
            )
