"""`/paths/strict-receive` and `/paths/strict-send`: what a payment from one asset to another would cost, directly or
through the native coin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.stellar.network.entries import NATIVE, State, amount_text
from tests.stellar.network.moving import asset_fields, stroops
from tests.stellar.network.offers import quote
from tests.stellar.network.problems import bad_request


@dataclass(frozen=True, slots=True)
class _Asked:
    sources: list[str]
    destinations: list[str]
    amount: int


def find(state: State, kind: str, query: Mapping[str, str]) -> list[dict[str, Any]]:
    """The ways that offers allow at this moment, the best first."""
    receiving = kind == "strict-receive"
    asked = _asked(state, query, receiving=receiving)
    found = [
        _record(way, sent, arrived)
        for way in _ways(asked)
        for sent, arrived in [_through(state, way, asked.amount, receiving=receiving)]
        if sent and arrived
    ]
    return sorted(found, key=lambda each: each["source_amount"] if receiving else each["destination_amount"])


def _asked(state: State, query: Mapping[str, str], *, receiving: bool) -> _Asked:
    fixed, other = ("destination", "source") if receiving else ("source", "destination")
    if (amount := query.get(f"{fixed}_amount")) is None:
        raise bad_request(f"{fixed}_amount", "Value must be positive")
    named = query.get(f"{fixed}_asset_type", NATIVE)
    ours = NATIVE if named == NATIVE else f"{query.get(f'{fixed}_asset_code')}:{query.get(f'{fixed}_asset_issuer')}"
    if account := query.get(f"{other}_account"):
        held = state.accounts.get(account)
        theirs = [NATIVE, *(held.lines if held else ())]
    else:
        theirs = [each for each in query.get(f"{other}_assets", "").split(",") if each]
    both = ([ours], theirs)
    sources, destinations = (both[1], both[0]) if receiving else both
    return _Asked(sources, destinations, stroops(amount))


def _ways(asked: _Asked) -> Iterator[list[str]]:
    for source in asked.sources:
        for destination in asked.destinations:
            yield [source, destination]
            if source != destination and NATIVE not in (source, destination):
                yield [source, NATIVE, destination]


def _through(state: State, way: list[str], amount: int, *, receiving: bool) -> tuple[int, int]:
    """What would be sent and what would arrive; nothing where offers do not reach."""
    hops = [(one, following) for one, following in pairwise(way) if one != following]
    moved = amount
    for pays, gets in reversed(hops) if receiving else hops:
        moved = quote(state, gets=gets, pays=pays, amount=moved, receiving=receiving)
    return (moved, amount) if receiving else (amount, moved)


def _record(way: list[str], sent: int, arrived: int) -> dict[str, Any]:
    return {
        **{f"source_{name}": value for name, value in asset_fields(way[0]).items()},
        "source_amount": amount_text(sent),
        **{f"destination_{name}": value for name, value in asset_fields(way[-1]).items()},
        "destination_amount": amount_text(arrived),
        "path": [asset_fields(each) for each in way[1:-1]],
    }
