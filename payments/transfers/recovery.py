"""After a restore: finds what the wallet has sent that the ledger does not have, and the payouts it has paid.

A restored database still has payouts waiting that were paid after the backup was made. The chain shows it: a transfer
of the exact amount to the exact address of a waiting payout has paid it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from django.db import transaction
from django.db.models import Max

from config.errors import DomainError
from config.money import Asset
from payments.chains import registry
from payments.chains.base import Chain, OutgoingTransfer, SignedTransfer
from payments.chains.profiles import NetworkProfile
from payments.transfers import services
from payments.transfers.arrivals import as_shown
from payments.transfers.hashes import signed_as
from payments.transfers.models import Payout, Transfer, Wallet
from payments.transfers.states import PayoutStatus

logger = structlog.get_logger(__name__)

BLOCKS_MAX = 100_000
"""A network with at most so many blocks is read from its first one."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A transfer on the chain that is not in our rows, and the payout it has paid, if one matches.

    While it is not final it proves nothing, and nobody may be paid in the meantime.
    """

    sent: OutgoingTransfer
    asset: Asset | None
    payout: Payout | None
    is_final: bool
    is_ours: bool = False
    """It went to another hot wallet of ours, so that the coins are still there."""


class StartUnknown(DomainError):
    code = "start_unknown"
    message = (
        "The ledger has no transfer of this wallet to begin looking from. Say from which block on: that of its first "
        "transfer, or of the contracts' deployment."
    )


def unknown_transfers(wallet: Wallet, *, since_block: int | None = None) -> list[Unknown]:
    """What has left the wallet since a block: by default the last that the ledger has a transfer in.

    StartUnknown when the ledger has none, and the network has too many blocks to be read from its first one.
    """
    chain = registry.chain(wallet.environment, wallet.network)
    head = chain.head()
    first = since_block
    if first is None:
        first = Transfer.objects.filter(wallet=wallet).aggregate(height=Max("height"))["height"]
    if first is None and head.finalized_height > BLOCKS_MAX:
        raise StartUnknown(param="since_block")
    sent = chain.outgoing(wallet.address, first_height=first or 0, last_height=head.height)
    ours = signed_as({transfer.transaction_hash for transfer in sent})
    waiting = list(
        Payout.objects.filter(
            environment=wallet.environment,
            network=wallet.network,
            status__in=[PayoutStatus.READY, PayoutStatus.HELD],
        ).order_by("id")
    )
    assets = {asset.contract: asset for asset in chain.profile.assets.values()}
    others = Wallet.objects.filter(environment=wallet.environment, network=wallet.network).exclude(pk=wallet.pk)
    own = set(others.values_list("address", flat=True))
    return [
        Unknown(
            transfer,
            assets.get(transfer.contract),
            _taken(chain.profile, waiting, transfer, assets.get(transfer.contract)),
            is_final=transfer.height <= head.finalized_height,
            is_ours=transfer.recipient in own,
        )
        for transfer in sent
        if transfer.transaction_hash not in ours
    ]


def _taken(
    profile: NetworkProfile, waiting: list[Payout], sent: OutgoingTransfer, asset: Asset | None
) -> Payout | None:
    """Remove and return the first payout that equals what was sent; None when there is none."""
    if sent.is_conditional:
        return None
    for payout in waiting:
        wanted = (payout.asset, payout.amount, *as_shown(profile, payout.recipient, payout.memo))
        if asset is not None and wanted == (asset.code, sent.amount, sent.recipient, sent.memo or ""):
            waiting.remove(payout)
            return payout
    return None


def adopt(wallet: Wallet, unknown: Sequence[Unknown]) -> int:
    """Adopt transfers that have paid payouts, one on-chain transaction at a time; returns how many payouts.

    Their cost is booked like any other, and that of a transfer to another hot wallet of ours too. Whatever else has
    paid no payout is not touched.
    """
    chain = registry.chain(wallet.environment, wallet.network)
    by_hash: dict[str, list[Unknown]] = {}
    for each in unknown:
        if (each.payout is not None or each.is_ours) and each.is_final and each.sent.sequence is not None:
            by_hash.setdefault(each.sent.transaction_hash, []).append(each)
    return sum(_adopt_one(wallet, chain, parts) for parts in by_hash.values())


def as_signed(
    wallet: Wallet, transaction_hash: str, channel: str, sequence: int, claimable_balances: Sequence[str]
) -> SignedTransfer:
    """An on-chain transaction that the network shows, as if it had been signed here; its bytes are not known.

    `claimable_balances` are the ids of those that it made, by place; empty for a payment.
    """
    return SignedTransfer(
        raw=b"",
        transaction_hash=transaction_hash,
        sender=wallet.account_of(channel),
        sequence=sequence,
        valid_until=None,
        payouts=(),
        claimable_balances={place: each for place, each in enumerate(claimable_balances) if each},
    )


def _adopt_one(wallet: Wallet, chain: Chain, parts: Sequence[Unknown]) -> int:
    sent = parts[0].sent
    assert sent.sequence is not None  # noqa: S101 - narrowed by the caller
    payouts = [part.payout for part in parts if part.payout is not None]
    balances = [part.sent.claimable_balance for part in parts]
    signed = as_signed(wallet, sent.transaction_hash, sent.channel, sent.sequence, balances)
    status = chain.transfer_status(signed)
    mined = services.Mined(sent.transaction_hash, sent.height, status.fee_units, chain.profile.native, status.said_by)
    with transaction.atomic():
        transfer = services.record_found(wallet, signed, payout_ids=[payout.pk for payout in payouts])
        if transfer is None:
            return 0
        # Only what equals a payout is adopted: all of it has arrived.
        services.record_final(transfer, mined, arrived={payout.pk: int(payout.amount) for payout in payouts})
    logger.warning("transfer adopted", wallet=str(wallet), transaction_hash=sent.transaction_hash)
    return len(payouts)
