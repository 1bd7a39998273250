"""The networks there are: one file each, which declares as `NETWORK` everything that is data about it. Pure."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from payments.chains.profiles import Network


def _declared() -> dict[str, Network]:
    found: list[Network] = [import_module(f"{__name__}.{each.name}").NETWORK for each in iter_modules(__path__)]
    return {each.real.network: each for each in sorted(found, key=lambda each: each.position)}


NETWORKS = _declared()
"""By name, in the order in which lists show them."""
