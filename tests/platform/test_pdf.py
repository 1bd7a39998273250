"""PDF files say what they were given, to the letter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from config.pages import pdf
from config.pages.pdf import Column, Paper, Table, Text, pdf_of
from tests.pdf_text import pages_in, text_in

COLUMNS = [Column("What"), Column("Amount", is_number=True)]


def paper(*blocks: Text | Table, title: str = "Statement") -> Paper:
    return Paper(title, ["Harbour Coffee"], blocks, "en", "Page")


def test_what_strangers_have_named_things_is_never_read_as_markup() -> None:
    names = [
        "#strong[bold] #panic()",
        "$5 + $6$ = 11",
        "\\ * _ ` ~ <tag> @ref // /* */",
        "= Heading",
        '"quoted" {"json": [1]} \\u0041',
        '#image("/etc/hostname")',
        "Łódź Ελλάδα Москва – −197.00",
    ]
    told = text_in(pdf_of(paper(Text(names, heading=names[0]), Table(COLUMNS, [[name, "1.00"] for name in names]))))
    for name in names:
        assert told.count(name) == (3 if name == names[0] else 2), name
    assert names[0] in text_in(pdf_of(paper(title=names[0])))


def test_letters_that_no_font_has_do_not_stop_it() -> None:
    assert "1.00" in text_in(pdf_of(paper(Table(COLUMNS, [["東京 🛒 \ue000 \x07 \u202e", "1.00"]]))))


def test_a_long_table_goes_on_over_pages_under_the_same_heads_and_loses_no_row() -> None:
    rows = [[f"Payment number {number}", f"{number}.00"] for number in range(1, 401)]
    file = pdf_of(paper(Table(COLUMNS, rows, ends_in_total=True)))
    pages = pages_in(file)
    assert len(pages) > 5
    for number, page in enumerate(pages, start=1):
        words = " ".join(page.split())
        assert "What Amount Payment number" in words
        assert f"Page {number} / {len(pages)}" in words
    assert re.findall(r"Payment number (\d+) \1\.00", text_in(file)) == [str(number) for number in range(1, 401)]
    assert pdf_of(paper(Table(COLUMNS, rows, ends_in_total=True))) == file


def test_a_template_that_is_wrong_is_an_error_that_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pdf, "TEMPLATE", tmp_path / "paper.typ")
    (tmp_path / "paper.typ").write_text("#let paper = json(bytes(sys.inputs.paper))\n#paper.subject")
    with pytest.raises(RuntimeError, match=r"(?s)could not set 'Statement'.*subject"):
        pdf_of(paper())
