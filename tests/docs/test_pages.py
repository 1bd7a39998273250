"""The documentation at /docs: complete, linked without a gap, with nothing from elsewhere, and a search that finds."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from django.http import HttpResponse
from django.test import Client

from config.docs import library, views
from config.process.release import RELEASE

DOCS = Path(__file__).resolve().parents[2] / "docs"
HOME = "/docs"


def get(address: str, **headers: str) -> HttpResponse:
    response = Client().get(address, headers=headers)
    assert isinstance(response, HttpResponse)
    return response


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Every page by its address."""
    addresses = sorted({library.address(name) for name in library.slugs().values()})
    assert len(addresses) == len(list(DOCS.rglob("*.md")))
    return {address: get(address).content.decode() for address in addresses}


def test_every_link_leads_to_a_place_that_is_there_once(pages: dict[str, str]) -> None:
    places = {address: re.findall(r'\sid="([^"]+)"', page) for address, page in pages.items()}
    assert {address: ids for address, ids in places.items() if len(ids) != len(set(ids))} == {}
    links = {
        (path or address, anchor)
        for address, page in pages.items()
        for path, anchor in re.findall(r'(?:href|src)="(/docs[^"#]*|)(?:#([^"]*))?"', page)
    }
    assert len(links) > 400
    assert {(path, anchor) for path, anchor in links if path in places and anchor not in {"", *places[path]}} == set()
    others = {path for path, _ in links if path not in places}
    assert {"/docs/api", "/docs/openapi.json"} <= others
    assert {path for path in others if get(path).status_code != 200} == set()


def test_nothing_is_loaded_from_elsewhere_and_nothing_is_inline(pages: dict[str, str]) -> None:
    for address, page in pages.items():
        assert not re.findall(r'(?:src|action)="https?:', page), address
        assert not re.findall(r'<link[^>]+href="https?:', page), address
        assert not re.findall(r"<[^>]+\sstyle=", page), address
        assert page.count("<script") == page.count('<script type="module" src="/'), address
        assert "&lt;!--" not in page, address


def test_a_page_is_made_once_compressed_and_not_sent_again() -> None:
    first = get(f"{HOME}/operations", **{"Accept-Encoding": "gzip"})
    assert first.headers["Content-Encoding"] == "gzip"
    made = views._made.cache_info().misses
    again = get(f"{HOME}/operations", **{"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert views._made.cache_info().misses == made


@pytest.mark.parametrize("path", ["nothing", "../manage.py", "%2e%2e/manage.py", "images", "nothing/", "adr/0085"])
def test_there_is_nothing_else(path: str) -> None:
    assert get(f"{HOME}/{path}").status_code == 404


def test_a_slash_at_the_end_leads_to_the_page() -> None:
    assert get(f"{HOME}/runbooks/gas_tank_low/").headers["Location"] == f"{HOME}/runbooks/gas_tank_low"
    assert get(f"{HOME}/").headers["Location"] == HOME


def test_programs_get_the_files_as_they_are() -> None:
    page = get(f"{HOME}/operations.md")
    assert page.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert page.content == (DOCS / "operations.md").read_bytes()
    assert get("/llms.txt").content == get(f"{HOME}/llms.txt").content
    assert f"release {RELEASE}." in get("/llms.txt").text
    listed = re.findall(r"^- \[[^\]]+\]\(https?://[^/]+(/docs/[^)]+)\): .", get("/llms.txt").text, re.MULTILINE)
    assert len(listed) > 40
    assert {path for path in listed if get(path).status_code != 200} == set()
    assert Client().post(HOME).status_code == 405


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("EVM_COLD_WALLET", "/docs/house-money#hot-and-cold-wallet"),
        ("Backups", "/docs/backups"),
        ("wallet hot REPLACING", "/docs/replacing-keys#replacing-the-hot-wallet-of-ethereum-and-polygon"),
        ("create a refund", "/docs/api/refunds#refunds_create"),
        ("openssl dgst signature", "/docs/api/signing#a-signed-request"),
        ("Retry-After rate limit", "/docs/api/rate-limits"),
        ("rate_unavailable", "/docs/api/errors#rate_unavailable"),
        ("payment.completed", "/docs/api/webhook-events#payment.completed"),
        ("starting_after", "/docs/api/payments"),
    ],
)
def test_one_search_finds_pages_and_the_reference(query: str, found: str) -> None:
    page = Client().get(f"{HOME}/search", {"q": query}).text
    results = re.findall(r'<li class="listing__item">.*?href="([^"]+)"', page, re.DOTALL)[:3]
    assert found in {address if "#" in found else address.partition("#")[0] for address in results}


def test_a_search_shows_what_was_asked_and_nothing_of_it_is_run() -> None:
    page = Client().get(f"{HOME}/search", {"q": "<script>alert(1)</script>"}).text
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert "Nothing has all words" in page
    assert "Write words above" in get(f"{HOME}/search").text
    found = Client().get(f"{HOME}/search", {"q": "x" * 5000}).text
    assert "x" * 100 in found
    assert "x" * 101 not in found
    assert "<mark>I12w</mark>" in unescape(Client().get(f"{HOME}/search", {"q": "i12w"}).text)
