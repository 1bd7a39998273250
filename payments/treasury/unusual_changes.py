"""Coins that came to a hot wallet or left it without a transfer, and what that is called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from config.money import Asset, format_crypto
from payments.chains.protocol.operations import UnusualChange, UnusualKind
from payments.transfers.audit.wallet_snapshot import WalletSnapshot

WORDS: Mapping[UnusualKind, str] = {
    "clawback": "taken back by its issuer (clawback)",
    "claimed": "claimed from a balance that was set aside for the wallet",
    "traded": "exchanged on the network itself",
    "merged": "come from an account that was merged into the wallet",
    "other": "moved by an operation of an unknown kind",
    "set_aside": "set aside for the wallet, which may claim it",
}


def of_the_last_day(snapshot: WalletSnapshot, height: int) -> list[UnusualChange]:
    """Unusual changes of all hot wallets of a network in the day up to this height. ChainError when it does not
    answer."""
    if (operations := snapshot.chain.operations) is None:
        return []
    first = max(1, height - snapshot.blocks_of_a_day)
    return [
        change
        for address in snapshot.addresses
        for change in operations.unusual_changes(address, first_height=first, last_height=height)
    ]


def of_asset(changes: Iterable[UnusualChange], asset: Asset) -> list[UnusualChange]:
    return [each for each in changes if each.contract == asset.contract]


def in_words(changes: Sequence[UnusualChange], asset: Asset) -> str:
    """In words, the newest first, however many there are."""
    newest = sorted(changes, key=lambda each: -each.height)
    lines = [
        f"{format_crypto(abs(each.amount), asset.decimals)} {asset.code} {WORDS[each.kind]}, "
        f"block {each.height}, {each.transaction_hash}"
        for each in newest[:_SHOWN]
    ]
    return "; ".join(lines + [f"and {len(newest) - _SHOWN} more"] * (len(newest) > _SHOWN))


_SHOWN = 3
