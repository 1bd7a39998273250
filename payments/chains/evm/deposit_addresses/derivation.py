"""From a payment's number to its deposit address: by which factory, and by which salt. Pure.

A salt is computed from the number with a key, so that nobody without the key knows an address before it is given out.
Installations that began without a key have addresses whose salt is the number itself: those keep it for ever.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from payments.chains.evm import addresses

KEY_BYTES = 32
FORMER = r"(plain|keyed):0x[0-9a-fA-F]{40}"
"""How a derivation of before is written in the settings, behind the last of its numbers."""

_SALT, _PRINT = b"ballast deposit address", b"ballast address key"


@dataclass(frozen=True, slots=True)
class Derivation:
    """One factory, with or without the key: where the addresses of consecutive numbers come from."""

    factory: str
    key: bytes | None

    @property
    def name(self) -> str:
        """The same for the same addresses, and gives nothing of the key away."""
        if self.key is None:
            return f"plain:{self.factory}"
        return f"keyed-{hmac.digest(self.key, _PRINT, sha256)[:4].hex()}:{self.factory}"

    def salt(self, number: int) -> int:
        if self.key is None:
            return number
        return int.from_bytes(hmac.digest(self.key, _SALT + number.to_bytes(32, "big"), sha256), "big")


@dataclass(frozen=True)
class Derivations:
    """Those of all numbers. `former` are in order, each with the last number that it is for; `present` has the rest."""

    present: Derivation
    former: tuple[tuple[int, Derivation], ...] = ()

    def of(self, number: int) -> Derivation:
        return next((derivation for last, derivation in self.former if number <= last), self.present)

    def address(self, number: int) -> str:
        derivation = self.of(number)
        implementation = addresses.forwarder_of(derivation.factory)
        return addresses.clone_address(
            factory=derivation.factory, implementation=implementation, salt=derivation.salt(number)
        )

    def by_first_number(self) -> dict[int, str]:
        """The name of each, by the first of its numbers."""
        firsts = [0, *(last + 1 for last, _ in self.former)]
        each = [*(derivation for _, derivation in self.former), self.present]
        return {first: derivation.name for first, derivation in zip(firsts, each, strict=True)}

    @cached_property
    def factories(self) -> tuple[str, ...]:
        """Each once, the present one first."""
        return tuple(dict.fromkeys([self.present.factory, *(derivation.factory for _, derivation in self.former)]))

    def together(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Those of these numbers that the factory of the first one has put or will put there, in their order."""
        return tuple(number for number in numbers if self.of(number).factory == self.of(numbers[0]).factory)


def derivations(*, factory: str, key: bytes | None, former: Mapping[str, str]) -> Derivations:
    """The derivations by the operator's settings. ValueError names the fault in `former`."""
    found: list[tuple[int, Derivation]] = []
    for last, text in former.items():
        if not re.fullmatch(r"\d{1,18}", last) or not re.fullmatch(FORMER, text):
            raise ValueError(f"{last}={text} is not like 10250=plain:0x…")
        if found and int(last) <= found[-1][0]:
            raise ValueError(f"{last} does not come after {found[-1][0]}")
        kind, _, address = text.partition(":")
        if kind == "keyed" and key is None:
            raise ValueError(f"{last}={text} needs the key")
        found.append((int(last), Derivation(addresses.parse(address), key if kind == "keyed" else None)))
    return Derivations(Derivation(factory, key), tuple(found))
