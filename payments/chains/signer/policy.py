"""What a signer allows, by its own file: limits of each coin on each network, of fees and of the rate."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from payments.chains.profiles import NetworkProfile

Place = tuple[str, str]
"""Environment and network."""


class PolicyRefused(Exception):
    """The file cannot be used; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class CoinLimits:
    """In base units of the coin."""

    transfer: int
    day: int


@dataclass(frozen=True, slots=True)
class PlacePolicy:
    """Of one network: what may be paid, and what fees may cost in a day, in base units of the native coin."""

    coins: Mapping[str, CoinLimits]
    fees_per_day: int


@dataclass(frozen=True, slots=True)
class Policy:
    """What is not named is not signed."""

    signatures_per_minute: int
    places: Mapping[Place, PlacePolicy]


def read_policy(path: Path, profiles: Mapping[Place, NetworkProfile]) -> Policy:
    """The policy in a file of TOML, for networks of these profiles. PolicyRefused names what is wrong in it."""
    try:
        content = tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise PolicyRefused(f"{path} cannot be read: {error}") from error
    rate = content.pop("signatures_per_minute", None)
    if type(rate) is not int or rate < 1:
        raise PolicyRefused("signatures_per_minute must be a whole number of at least 1")
    places = {}
    for environment, networks in content.items():
        for network, limits in _table(networks, environment).items():
            profile = profiles.get((environment, network))
            if profile is None:
                known = ", ".join(".".join(place) for place in profiles) or "none"
                raise PolicyRefused(f"[{environment}.{network}] is no network with a key here; there are: {known}")
            places[environment, network] = _place(dict(_table(limits, network)), profile, f"{environment}.{network}")
    return Policy(rate, places)


def _place(content: dict[str, Any], profile: NetworkProfile, name: str) -> PlacePolicy:
    fees = _units(content.pop("fees_per_day", None), profile.native.decimals, f"fees_per_day of {name}")
    coins = {}
    for code, limits in content.items():
        if code not in profile.assets:
            raise PolicyRefused(f"[{name}.{code}] is no coin there; there are: {', '.join(profile.assets)}")
        found = _table(limits, code)
        if set(found) != {"transfer", "day"}:
            raise PolicyRefused(f"[{name}.{code}] must have transfer and day, and nothing else")
        decimals = profile.assets[code].decimals
        coins[code] = CoinLimits(
            *(_units(found[limit], decimals, f"{limit} of {name}.{code}") for limit in ("transfer", "day"))
        )
    return PlacePolicy(coins, fees)


def _table(found: object, name: str) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise PolicyRefused(f"{name} must be a table, and is {found!r}")
    return found


def _units(text: object, decimals: int, name: str) -> int:
    """An amount written as a text, as "1000" or "0.25", in base units."""
    try:
        amount = Decimal(text) if isinstance(text, str) else Decimal("NaN")
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise PolicyRefused(f'{name} must be an amount in quotes, as "1000" or "0.25"')
    return int(amount.scaleb(decimals))
