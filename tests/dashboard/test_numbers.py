"""Members choose how numbers are written, and every page of the dashboard writes all of its numbers so."""

from __future__ import annotations

import ast
import re
from html import unescape
from pathlib import Path

import pytest

from merchants.models import Member
from tests.dashboard.addresses import DOWNLOADS, READS, Records
from tests.dashboard.conftest import browser_of
from tests.dashboard.test_queries import multiply
from tests.factories import make_member
from tests.syntax import tree_in

ROOT = Path(__file__).resolve().parents[2]
PAGES = [path for path in READS if path not in DOWNLOADS]
NOT_FOR_READING = re.compile(r"<(code|pre|script|style|textarea|select)\b.*?</\1>|<[^>]*>", re.DOTALL)
"""What is copied, typed or run keeps the point; and attributes."""
OTHER_STYLE = re.compile(r"(?<![\w.:/-])\d+(?:\.(?:\d{1,2}|\d{4,})|(?:,\d{3})+)(?![\w:/-]|[.,]\d)")
"""`12.50`, `0.8667` and `1,250` are of another style than `12,50`, `0,8667` and `1.250`."""


def strange_numbers(page: str) -> list[str]:
    text = unescape(NOT_FOR_READING.sub(" ", page))
    spans = [(max(0, found.start() - 30), found.end() + 20) for found in OTHER_STYLE.finditer(text)]
    return [" ".join(text[start:end].split()) for start, end in spans]


def test_every_page_writes_numbers_as_its_reader_does(records: Records) -> None:
    multiply(records, 1)
    member = make_member(records.payment.merchant)
    Member.objects.filter(pk=member.pk).update(number_style="point")
    client = browser_of(member)
    pages = {path: client.get(records.in_path(path)).text for path in PAGES}
    assert {path: found for path, page in pages.items() if (found := strange_numbers(page))} == {}


def test_digits_are_grouped_by_the_one_function_that_knows_the_style() -> None:
    """Figures of a thousand and more are rare in tests, so the pages above cannot show that all of them are."""
    found = []
    for path in files_of_pages():
        tree = tree_in(path)
        styled = {
            id(part)
            for call in ast.walk(tree)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "in_style"
            for part in ast.walk(call)
        }
        found += [
            f"{path.relative_to(ROOT)}: {ast.unparse(part.value)}"
            for part in ast.walk(tree)
            if isinstance(part, ast.FormattedValue) and part.format_spec and id(part) not in styled
            if "," in (spec := ast.unparse(part.format_spec)) and "%" not in spec  # of a date
        ]
    assert found == [], "use whole, fiat or coins of config.pages.wording"


def files_of_pages() -> list[Path]:
    """The Python of the dashboard."""
    apps = ("merchants", "payments", "refunds", "settlements", "webhooks")
    found = [path for app in apps for path in sorted((ROOT / app).rglob("*.py"))]
    of_pages = {"presenters.py", "listing.py"}
    return [path for path in found if "dashboard" in str(path.relative_to(ROOT)) or path.name in of_pages]


@pytest.mark.parametrize(
    ("text", "strange"),
    [
        ("12,50 EUR, 1.250 payments, 1.250,00 EUR and 22 Jan 2027, 09:30", []),
        ("12.50 EUR", ["12.50 EUR"]),
        ("1,250 payments", ["1,250 payments"]),
        ("1 USDC = 0.8667 EUR", ["1 USDC = 0.8667 EUR"]),
        ("<code>12.50</code> <p title='1.5'>from 127.0.0.1:8000</p>", []),
    ],
)
def test_strange_numbers_are_seen(text: str, strange: list[str]) -> None:
    assert strange_numbers(text) == strange
