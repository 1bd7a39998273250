"""The pages of the API reference: complete, linked without a gap, small, and made once."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape
from typing import Any

import pytest
from django.test import Client

from config.api.reference.views import _rendered
from config.api.views import openapi_document
from webhooks.events.catalogue import CATALOGUE

HOME = "/docs/api"


def read(address: str) -> str:
    response = Client().get(address)
    assert response.status_code == 200, address
    return response.content.decode()


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    value: dict[str, Any] = json.loads(openapi_document())
    return value


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Every page by its address, found by the links of the first one."""
    addresses = {HOME, *re.findall(rf'href="({HOME}/[a-z-]+)["#]', read(HOME))}
    return {address: read(address) for address in sorted(addresses)}


def test_every_link_leads_to_a_place_that_is_there_once(pages: dict[str, str]) -> None:
    places: dict[str, list[str]] = {address: re.findall(r'\sid="([^"]+)"', page) for address, page in pages.items()}
    assert {address: ids for address, ids in places.items() if len(ids) != len(set(ids))} == {}
    links = {
        (target or address, anchor)
        for address, page in pages.items()
        for target, anchor in re.findall(rf'href="({HOME}[a-z/-]*)?#([^"]+)"', page)
    }
    assert len(links) > 120
    assert {(address, anchor) for address, anchor in links if anchor not in places[address]} == set()


def test_every_operation_field_error_and_event_has_its_address(pages: dict[str, str], document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            page = pages[f"{HOME}/{operation['tags'][0].lower().replace(' ', '-')}"]
            anchor = operation["operationId"]
            assert f'id="{anchor}"' in page, (method, path)
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            for field in schemas[body["$ref"].rpartition("/")[2]].get("properties", {}) if body else {}:
                assert f'id="{anchor}-{field}"' in page, (anchor, field)
    codes = set(re.findall(r'_error","code":"([a-z_]+)"', openapi_document().decode()))
    assert len(codes) > 40
    assert {code for code in codes if f'id="{code}"' not in pages[f"{HOME}/errors"]} == set()
    types = document["components"]["schemas"]["ErrorReply"]["properties"]["error"]["properties"]["type"]["enum"]
    assert {type for type in types if f'id="{type}"' not in pages[f"{HOME}/errors"]} == set()
    assert {type for type in CATALOGUE if f'id="{type}"' not in pages[f"{HOME}/webhook-events"]} == set()


def test_nothing_is_loaded_from_elsewhere_and_nothing_is_inline(pages: dict[str, str]) -> None:
    for address, page in pages.items():
        assert not re.findall(r'(?:src|action)="https?:', page), address
        assert not re.findall(r'<link[^>]+href="https?:', page), address
        assert "<style" not in page
        assert "style=" not in page
        assert page.count("<script") == page.count('<script type="module" src="/')
    policy = Client().get(HOME).headers["Content-Security-Policy"]
    assert "unsafe-inline" not in policy
    # django-csp writes the directives in another order in each process.
    assert "connect-src 'self'" in policy.split("; ")


def test_a_page_is_made_once_compressed_and_not_sent_again() -> None:
    first = Client().get(f"{HOME}/payments", headers={"Accept-Encoding": "gzip"})
    assert first.headers["Content-Encoding"] == "gzip"
    assert len(first.content) < 20_000
    made = _rendered.cache_info().misses
    again = Client().get(f"{HOME}/payments", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert _rendered.cache_info().misses == made


def test_there_is_nothing_else_and_nothing_to_send() -> None:
    assert Client().get(f"{HOME}/nothing-here").status_code == 404
    assert Client().post(HOME).status_code == 405


def test_each_operation_has_programs_that_are_filled_in(pages: dict[str, str], document: dict[str, Any]) -> None:
    """`make sdk` runs them; here they are there, with the fields and the ids of this document."""
    programs: dict[str, list[str]] = {"curl": [], "Python": [], "TypeScript": [], "PHP": []}
    for page in pages.values():
        if '<article class="prose"' in page:  # a guide, whose programs tests/docs/test_guides.py runs
            continue
        for label, code in re.findall(
            r'<pre tabindex="0" aria-label="([^"]+)"><code>(.*?)</code></pre>', page, re.DOTALL
        ):
            programs.get(label, []).append(unescape(code))
    operations = sum(len(methods) for methods in document["paths"].values())
    assert {language: len(found) for language, found in programs.items()} == dict.fromkeys(programs, operations)
    assert [code for found in programs.values() for code in found if re.search(r"\{[a-z_]+\}", code)] == []
    for program in programs["Python"]:
        compile(program, "example", "exec")
    for program in programs["curl"]:
        words = shlex.split(program.replace("\\\n", " "))
        if "-d" in words:
            json.loads(words[words.index("-d") + 1])
