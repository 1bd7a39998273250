"""Sanctions lists as they are published, and files that are none."""

from __future__ import annotations

import io
from datetime import date

import pytest

from payments.screening.formats import Entry, ListUnreadable, ParsedList, parse
from tests.screening.samples import (
    BITCOIN,
    ETHEREUM,
    EU,
    PLAIN,
    SDN,
    SDN_ADVANCED,
    SDN_CSV,
    STELLAR,
)

DAY = date(2026, 11, 20)


def parsed(text: str) -> ParsedList:
    return parse(io.BytesIO(text.encode()))


@pytest.mark.parametrize(
    ("text", "source", "published_on", "entries", "foreign", "numbers"),
    [
        pytest.param(SDN, "ofac", DAY, 2, {BITCOIN}, ("90001", "90002"), id="sdn.xml"),
        pytest.param(SDN_ADVANCED, "ofac", DAY, 2, {BITCOIN}, ("90001", "90002"), id="sdn_advanced.xml"),
        pytest.param(SDN_CSV, "ofac", None, 2, {BITCOIN}, ("90001", "90002"), id="sdn.csv"),
        pytest.param(EU, "eu", DAY, 2, set(), ("EU.90001.1", "EU.90002.1"), id="eu"),
        pytest.param("\ufeff" + PLAIN, "", None, 3, {BITCOIN}, ("", ""), id="plain, with a mark of its encoding"),
    ],
)
def test_a_list_is_read(
    text: str, source: str, published_on: date | None, entries: int, foreign: set[str], numbers: tuple[str, str]
) -> None:
    found = parsed(text)
    programmes = ("CYB, DPRK", "CYB") if source == "eu" else ("CYBER2, DPRK3", "CYBER2")
    expected = {
        ETHEREUM: Entry(numbers[0], "Invented PERSON", programmes[0]),
        STELLAR: Entry(numbers[1], "INVENTED COMPANY", programmes[1]),
    }
    if text == SDN_ADVANCED:  # names are written from the last to the first
        expected[ETHEREUM] = Entry("90001", "PERSON Invented", programmes[0])
    assert found == ParsedList(source, published_on, entries, expected, foreign)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "neither XML nor a CSV", id="empty"),
        pytest.param("<html><body>Not found</body></html>", "begins with <html>", id="a page"),
        pytest.param("name,country\nInvented,XX\n", "neither XML nor a CSV", id="another CSV"),
        pytest.param(SDN[: len(SDN) // 2], "cannot be read to its end", id="XML cut off"),
        pytest.param(SDN_CSV[: len(SDN_CSV) // 2], "cannot be read to its end", id="CSV cut off"),
        pytest.param("<sdnList></sdnList>", "no entry", id="no entry"),
        pytest.param('<!DOCTYPE x [<!ENTITY a "b">]><sdnList>&a;</sdnList>', "cannot be read", id="entities"),
        pytest.param("address,name\n,Invented\n", "Line 2 has no address", id="no address"),
        pytest.param(SDN_CSV.replace("DOB 1 Jan 1990", "X" * 900), "import sdn.xml", id="CSV with a remark cut off"),
    ],
)
def test_a_file_that_is_none_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ListUnreadable, match=problem):
        parsed(text)
