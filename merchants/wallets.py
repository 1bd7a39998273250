"""Rules for the wallets a merchant's money may go to: the allow list, and the time that a change of it takes to count.
Pure.

Without a list any wallet will do. A wallet that comes onto the list is first paid a day later, and so is any other
wallet after the list was removed: somebody who stole a key cannot get the next settlement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

COOL_OFF = timedelta(hours=24)
ANY_WALLET = "*"
"""The key, among the instants of the list, for when the list was removed."""

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC).isoformat()


@dataclass(frozen=True, slots=True)
class WalletRules:
    """A merchant's allow list, and since when each of its wallets is on it, by `wallet_key`."""

    allowed: frozenset[str] = frozenset()
    since: Mapping[str, datetime] | None = None

    @classmethod
    def of(cls, allow_list: Sequence[str], allowed_at: Mapping[str, str]) -> WalletRules:
        return cls(
            frozenset(map(wallet_key, allow_list)),
            {wallet_key(wallet): datetime.fromisoformat(at) for wallet, at in allowed_at.items()},
        )

    def allows(self, wallet: str) -> bool:
        return not self.allowed or wallet_key(wallet) in self.allowed

    def cools_off_until(self, wallet: str) -> datetime | None:
        """First time an allowed wallet may be paid; None when there was no recent change."""
        since = self.since or {}
        changed = since.get(wallet_key(wallet), since.get(ANY_WALLET))
        return None if changed is None else changed + COOL_OFF

    def is_cooling_off(self, wallet: str, now: datetime) -> bool:
        until = self.cools_off_until(wallet)
        return until is not None and now < until


def wallet_key(wallet: str) -> str:
    """One spelling for each wallet: the case of an evm address is only a checksum."""
    return wallet.lower() if wallet.startswith(("0x", "0X")) else wallet


def instants_after(
    wallets: Sequence[str], *, before: Sequence[str], instants: Mapping[str, str], now: datetime
) -> dict[str, str]:
    """Since when each wallet is allowed once `wallets` replaces the list of `before`, as ISO 8601.

    A wallet that was on the list keeps its instant, also when the list is removed.
    """
    known = {wallet_key(wallet): _LONG_AGO for wallet in before} | {wallet_key(w): at for w, at in instants.items()}
    if not wallets:
        return known | ({ANY_WALLET: now.isoformat()} if before else {})
    return {wallet: known.get(wallet_key(wallet), now.isoformat()) for wallet in wallets}
