"""The search over all sections of the documentation and all operations, events and errors of the API reference."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from django.utils.safestring import SafeString

from config.api.reference.views import reference
from config.docs import library
from config.docs.markdown import excerpt

MOST_RESULTS = 30
MOST_LETTERS = 100


@dataclass(frozen=True)
class Place:
    """Something that can be found. `found_in` is `text` with the title before it, in small letters."""

    address: str
    title: str
    page: str
    text: str
    found_in: str
    handicap: int


@dataclass(frozen=True)
class Result:
    address: str
    title: str
    page: str
    excerpt: SafeString


def search(query: str, public_url: str) -> list[Result]:
    """The places that have every word of the query, the best first."""
    words = list(dict.fromkeys(query[:MOST_LETTERS].lower().split()))
    if not words:
        return []
    fitting = (place for place in _places(public_url) if all(word in place.found_in for word in words))
    best = heapq.nlargest(MOST_RESULTS, fitting, key=lambda place: _worth(place, words))
    return [Result(place.address, place.title, place.page, excerpt(place.text, words)) for place in best]


def _worth(place: Place, words: list[str]) -> int:
    """How well a place fits: words of a title say more than how often they stand in the text."""
    worth = -place.handicap
    title, page = place.title.lower(), place.page.lower() if place.page != place.title else ""
    for word in words:
        worth += 30 * (word in title) + 15 * (word in page) + min(place.found_in.count(word), 5)
        worth += 10 * bool(re.search(rf"\b{re.escape(word)}\b", title))
    return worth


@cache
def _places(public_url: str) -> tuple[Place, ...]:
    return (*_sections(), *_of_the_reference(public_url))


def _sections() -> Iterator[Place]:
    for name in library.slugs().values():
        page = library.title(name)
        for section in library.sections(name):
            address = library.address(name)
            yield _place(
                address if section.level == 1 else f"{address}#{section.anchor}",
                section.title,
                page,
                section.text,
                handicap=60 if name.startswith("adr/") else 0,
            )


def _of_the_reference(public_url: str) -> Iterator[Place]:
    read, home = reference(public_url), f"{library.HOME}/api"
    for resource in read.resources:
        for each in resource.operations:
            fields = " ".join(field.name for field in (*each.in_path, *each.in_query, *each.body))
            text = f"{each.method} {each.path} {each.description} {each.anchor} {fields}"
            yield _place(f"{home}/{resource.slug}#{each.anchor}", each.summary, f"API: {resource.name}", text)
        for record in resource.records:
            fields = " ".join(field.name for field in record.fields)
            yield _place(f"{home}/{resource.slug}#{record.anchor}", record.title, f"API: {resource.name}", fields)
    for event in read.events:
        yield _place(f"{home}/webhook-events#{event.type}", event.type, "API: Webhook events", event.words)
    for type in read.fault_types:
        text = f"{type.advice} {type.repeat}"
        yield _place(f"{home}/errors#{type.name}", type.name, "API: Errors", text)
    for fault in read.faults:
        yield _place(f"{home}/errors#{fault.code}", fault.code, "API: Errors", f"{fault.status} {fault.message}")


def _place(address: str, title: str, page: str, text: str, *, handicap: int = 0) -> Place:
    plain = re.sub(r"<[^>]+>", "", text)
    return Place(address, title, page, plain, f"{title} {page} {plain}".lower(), handicap)
