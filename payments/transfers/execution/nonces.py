"""The next nonce to sign for: of the wallet itself, or of an account that lends its own, a channel.

A channel is called by its address; the empty name means the wallet itself.
"""

from __future__ import annotations

from collections import Counter

import structlog
from django.db.models import Max

from payments.chains.protocol.chain import Chain
from payments.transfers import services
from payments.transfers.models import Channel, Transfer, Wallet
from payments.transfers.states import OPEN_TRANSFERS, TransferStatus
from payments.transfers.wallets import expected_sequences, freeze_of, signing_channels

logger = structlog.get_logger(__name__)


def known_sequence(wallet: Wallet, channel: str) -> int:
    """The next sequence that has never been signed for, by the rows as they are now."""
    if not channel:
        return Wallet.objects.values_list("next_sequence", flat=True).get(pk=wallet.pk)
    known = Channel.objects.filter(wallet=wallet, address=channel).values_list("next_sequence", flat=True)
    return known.first() or 0


def free_channels(wallet: Wallet, chain: Chain) -> list[str]:
    """Channels that may have another transfer on its way, each as many times as that is so; the idle ones first."""
    open_now = Transfer.objects.filter(wallet=wallet, status__in=OPEN_TRANSFERS)
    used = Counter(open_now.values_list("channel", flat=True))
    places = chain.profile.transfers_in_flight
    free = [(used[each] + place, each) for each in signing_channels(wallet, chain) for place in range(places)]
    return [channel for place, channel in sorted(free, key=lambda one: one[0]) if place < places]


class Sequences:
    """The sequences of one wallet, for as long as one round or one signature takes."""

    def __init__(self, wallet: Wallet, chain: Chain) -> None:
        self._wallet, self._chain = wallet, chain
        self._has_looked = False

    def next(self, channel: str) -> int | None:
        """The nonce to sign for next, or None while the wallet is frozen, until an operator has looked.

        The network is queried before the rows are read: all that it has seen of ours is in them by then. Every channel
        is queried first: what a restored database has lost may have been sent by any of them.
        """
        every = expected_sequences(self._wallet, self._chain) if not self._has_looked else {}
        expected = (
            every
            if channel in every
            else {channel: self._chain.hot_wallet.next_sequence(self._wallet.account_of(channel))}
        )
        if freeze_of(self._wallet) is not None:
            return None
        if not all(is_known(self._wallet, self._chain, each, of_chain) for each, of_chain in expected.items()):
            return None
        self._has_looked = True
        live = Transfer.objects.filter(wallet=self._wallet, channel=channel).exclude(status=TransferStatus.DEAD)
        last = live.aggregate(last=Max("sequence"))["last"]
        return max(expected[channel], 0 if last is None else last + 1)


def is_known(wallet: Wallet, chain: Chain, channel: str, expected: int) -> bool:
    """True if all that the network has seen is in the rows, or only prepared the account; else the wallet is frozen."""
    known, account = known_sequence(wallet, channel), wallet.account_of(channel)
    if expected <= known:
        return True
    if chain.preparations and chain.preparations.only_set_up(account, known, expected - 1):
        logger.info("account was prepared", wallet=str(wallet), account=account, known=known, expected=expected)
        services.catch_up(wallet, {channel: expected})
        return True
    whose = f"its channel {account}" if channel else "this wallet"
    reason = (
        f"The network has seen transfers of {whose} up to sequence {expected - 1}, the ledger only up to {known - 1}. "
        "Was the database restored from a backup, or is the key used elsewhere?"
    )
    services.freeze_wallet(wallet, reason=reason)
    return False
