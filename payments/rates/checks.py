"""Refuses a choice of rate sources that cannot price payments, before anything starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from config.coins import COINS
from payments.rates.providers import PROVIDERS
from payments.rates.tables import BUNDLED, PEGS

KNOWN = frozenset({*PROVIDERS, PEGS, BUNDLED})
FEWEST_EXCHANGES = 3
"""Exchanges for each coin: two must agree, so with three one may fail."""

_EXAMPLE = f"Leave it unset, or set it like RATE_SOURCES={','.join([*PROVIDERS, PEGS])}"


@register()
def check_rate_sources(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    found: list[CheckMessage] = [
        Error(f"RATE_SOURCES {fault}.", hint=_EXAMPLE, id=f"rates.E{number:03}")
        for number, fault in faults(settings.RATE_SOURCES, in_production=settings.IN_PRODUCTION)
    ]
    if unknown := sorted(settings.RATE_SOURCE_URLS.keys() - PROVIDERS.keys()):
        named = f"RATE_SOURCE_URLS names sources that are not asked at an address: {', '.join(unknown)}."
        found.append(Error(named, hint=f"Those that are: {', '.join(PROVIDERS)}.", id="rates.E006"))
    return found


def faults(names: Sequence[str], *, in_production: bool) -> list[tuple[int, str]]:
    """Faults of the choice, numbered; empty when it can price payments."""
    chosen = set(names)
    if chosen == {BUNDLED}:
        return [(1, "is `bundled`, a table that no payment in production may be priced with")] if in_production else []
    found: list[tuple[int, str]] = []
    if BUNDLED in chosen:
        found.append((2, "mixes `bundled` with real sources"))
    if unknown := sorted(chosen - KNOWN):
        found.append((3, f"names unknown sources: {', '.join(unknown)}"))
    exchanges = [PROVIDERS[name] for name in chosen & PROVIDERS.keys()]
    if scarce := [coin for coin in COINS if sum(coin in each.coins for each in exchanges) < FEWEST_EXCHANGES]:
        found.append((4, f"has fewer than {FEWEST_EXCHANGES} exchanges that price {', '.join(scarce)}"))
    if "ecb" not in chosen:
        found.append((5, "lacks `ecb`, without which only the dollar and currencies pegged to it have a price"))
    return found
