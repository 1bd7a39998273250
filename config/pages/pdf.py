"""PDF files: a title, text and tables, set by Typst after templates/pdf/paper.typ (ADR 0071)."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

TEMPLATE = Path(__file__).parents[2] / "templates" / "pdf" / "paper.typ"
SECONDS_MAX = 30


@dataclasses.dataclass(frozen=True)
class Text:
    """Paragraphs, under a heading or none."""

    lines: Sequence[str]
    heading: str = ""
    kind: str = "text"
    ends_page: bool = False


@dataclasses.dataclass(frozen=True)
class Column:
    """The head of a column. Numbers stand at its right edge; they and dates are never parted, words are."""

    head: str
    is_number: bool = False
    is_date: bool = False


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of cells, under a heading or none. The last row stands out when it is a total."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    heading: str = ""
    ends_in_total: bool = False
    ends_page: bool = False
    kind: str = "table"


@dataclasses.dataclass(frozen=True)
class Paper:
    """Content of a file: plain words everywhere, of which none is read as markup."""

    title: str
    subtitle: Sequence[str]
    blocks: Sequence[Text | Table]
    language: str
    page: str
    """The word before the number of each page."""
    attached: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The texts of JSON files inside the PDF, by their names."""


def pdf_of(paper: Paper) -> bytes:
    """The file. The same paper gives the same bytes.

    A process of its own sets it: Typst keeps what it has set for a while, up to gigabytes after long tables.
    """
    finished = subprocess.run(  # noqa: S603 - our own program, with what it prints on its standard input
        [sys.executable, "-I", __file__, str(TEMPLATE)],
        input=json.dumps(dataclasses.asdict(paper)).encode(),
        capture_output=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    if finished.returncode:
        raise RuntimeError(f"Typst could not set {paper.title!r}: {finished.stderr.decode(errors='replace')[-2000:]}")
    return finished.stdout


if __name__ == "__main__":
    import typst  # by the process that sets it alone: 4 MiB

    sys.stdout.buffer.write(typst.compile(sys.argv[1], sys_inputs={"paper": sys.stdin.read()}))
