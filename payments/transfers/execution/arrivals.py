"""Arrived amounts of payouts, by the receipt of their on-chain transaction. A token may keep a part.

What is set aside for a recipient as a claimable balance counts as arrived: it has left the hot wallet for good.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence

from payments.chains.errors import ChainUnavailable, InvalidAddress
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.chain import Chain
from payments.chains.protocol.transfers import IncomingTransfer
from payments.chains.stellar import addresses as stellar_addresses
from payments.transfers.models import Payout, Transfer


class NothingArrived(ChainUnavailable):
    """The transaction succeeded, and its receipt shows fewer transfers to a recipient than were signed."""


def arrived_by(chain: Chain, transfer: Transfer, transaction_hash: str) -> dict[uuid.UUID, int]:
    """Base units that each payout's recipient got, by the key of the payout; NothingArrived when one got nothing."""
    lines = list(transfer.lines.select_related("payout").order_by("place"))
    arrived: dict[uuid.UUID, int] = {}
    finders = [(False, chain.reading.find_transfers)]
    if chain.operations:
        finders.append((True, chain.operations.find_set_aside))
    for set_aside, find in finders:
        if payouts := [line.payout for line in lines if bool(line.claimable_balance) == set_aside]:
            moves = [move for move in find(transaction_hash) if move.sender == transfer.wallet.address]
            arrived |= divided(chain.profile, payouts, moves)
    return arrived


def divided(
    profile: NetworkProfile, payouts: Sequence[Payout], moves: Iterable[IncomingTransfer]
) -> dict[uuid.UUID, int]:
    """Amount each payout's recipient got: one recipient's moves are assigned to its payouts in order."""
    sent: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
    for move in moves:
        sent[move.contract, move.recipient, move.memo or ""].append(move.amount)
    waiting: defaultdict[tuple[str, str, str], list[Payout]] = defaultdict(list)
    for payout in payouts:
        contract = profile.assets[payout.asset].contract
        waiting[contract, *as_shown(profile, payout.recipient, payout.memo)].append(payout)
    arrived: dict[uuid.UUID, int] = {}
    for key, those in waiting.items():
        amounts = sent[key]
        if len(amounts) < len(those):
            raise NothingArrived(f"The receipt shows {len(amounts)} transfers to {key[1]}; {len(those)} were signed.")
        if len(those) == 1:
            amounts = [sum(amounts)]
        arrived |= {payout.pk: min(units, int(payout.amount)) for payout, units in zip(those, amounts, strict=False)}
    return arrived


def as_shown(profile: NetworkProfile, recipient: str, memo: str) -> tuple[str, str]:
    """Recipient and memo as the network reports them: a muxed address is an account and a memo there."""
    if not profile.takes_memos:
        return recipient, memo
    try:
        account, identifier = stellar_addresses.split(recipient)
    except InvalidAddress:  # changed since it was checked, so it differs from what the network shows
        return recipient, memo
    return account, stellar_addresses.normalise_memo(memo if identifier is None else str(identifier)) or ""
