"""What arrived of payouts, by the receipt of the on-chain transaction that carried them. A token may keep a part."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence

from payments.chains.base import Chain, IncomingTransfer
from payments.chains.errors import ChainUnavailable, InvalidAddress
from payments.chains.profiles import NetworkProfile
from payments.chains.stellar import addresses as stellar_addresses
from payments.transfers.models import Payout, Transfer


class NothingArrived(ChainUnavailable):
    """The transaction succeeded, and its receipt shows fewer transfers to a recipient than were signed."""


def arrived_by(chain: Chain, transfer: Transfer, transaction_hash: str) -> dict[uuid.UUID, int]:
    """Base units that each payout's recipient got, by the key of the payout; NothingArrived when one got nothing."""
    payouts = [line.payout for line in transfer.lines.select_related("payout").order_by("place")]
    if not payouts:
        return {}
    found = chain.find_transfers(transaction_hash)
    moves = [move for move in found if move.sender == transfer.wallet.address]
    return divided(chain.profile, payouts, moves)


def divided(
    profile: NetworkProfile, payouts: Sequence[Payout], moves: Iterable[IncomingTransfer]
) -> dict[uuid.UUID, int]:
    """What each payout's recipient got: one recipient's moves in their order, all of them for a single payout."""
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
    if profile.family != "stellar":
        return recipient, memo
    try:
        account, identifier = stellar_addresses.split(recipient)
    except InvalidAddress:  # altered since it was checked, so it will differ from what is shown
        return recipient, memo
    return account, stellar_addresses.normalise_memo(memo if identifier is None else str(identifier)) or ""
