"""After a restore: what the wallet has sent that these books know nothing of, and whom it has paid by it.

Books that were restored from a backup still want to pay what was paid after it was made. The chain knows better: a
transfer of the very amount to the very address of a payout that waits has paid it.
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
from payments.transfers import services
from payments.transfers.models import Envelope, Payout, Transfer, Wallet
from payments.transfers.states import PayoutStatus

logger = structlog.get_logger(__name__)

BLOCKS_MAX = 100_000
"""A network that has no more blocks than this is looked through from its first one."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A transfer that no transfer of ours explains, and the payout it has paid, if there is one like it.

    While it is not final it proves nothing: nobody may be paid in the meantime.
    """

    sent: OutgoingTransfer
    asset: Asset | None
    payout: Payout | None
    is_final: bool


class StartUnknown(DomainError):
    code = "start_unknown"
    message = (
        "The books have no transfer of this wallet to begin looking from. Say from which block on: that of its first "
        "transfer, or of the contracts' deployment."
    )


def unknown_transfers(wallet: Wallet, *, since_block: int | None = None) -> list[Unknown]:
    """What has left the wallet since a block: by default the last that the ledger has a transfer in.

    StartUnknown when the books have none, and the network is too long to be looked through from its beginning.
    """
    chain = registry.chain(wallet.environment, wallet.network)
    head = chain.head()
    first = since_block
    if first is None:
        first = Transfer.objects.filter(wallet=wallet).aggregate(height=Max("height"))["height"]
    if first is None and head.finalized_height > BLOCKS_MAX:
        raise StartUnknown(param="since_block")
    sent = chain.outgoing(wallet.address, first_height=first or 0, last_height=head.height)
    ours = set(
        Envelope.objects.filter(transaction_hash__in={transfer.transaction_hash for transfer in sent}).values_list(
            "transaction_hash", flat=True
        )
    )
    waiting = list(
        Payout.objects.filter(
            environment=wallet.environment,
            network=wallet.network,
            status__in=[PayoutStatus.READY, PayoutStatus.HELD],
        ).order_by("id")
    )
    assets = {asset.contract: asset for asset in chain.profile.assets.values()}
    return [
        Unknown(
            transfer,
            assets.get(transfer.contract),
            _taken(waiting, transfer, assets.get(transfer.contract)),
            is_final=transfer.height <= head.finalized_height,
        )
        for transfer in sent
        if transfer.transaction_hash not in ours
    ]


def _taken(waiting: list[Payout], sent: OutgoingTransfer, asset: Asset | None) -> Payout | None:
    """The first payout that is just like what was sent; no two are matched with the same one."""
    for payout in waiting:
        wanted = (payout.asset, payout.amount, payout.recipient, payout.memo)
        if asset is not None and wanted == (asset.code, sent.amount, sent.recipient, sent.memo or ""):
            waiting.remove(payout)
            return payout
    return None


def adopt(wallet: Wallet, unknown: Sequence[Unknown]) -> int:
    """Take over what has paid payouts of ours, on-chain transaction by transaction; answers how many payouts.

    Its cost is booked like that of any other. What has paid nobody is left alone.
    """
    chain = registry.chain(wallet.environment, wallet.network)
    by_hash: dict[str, list[Unknown]] = {}
    for each in unknown:
        if each.payout is not None and each.is_final and each.sent.sequence is not None:
            by_hash.setdefault(each.sent.transaction_hash, []).append(each)
    return sum(_adopt_one(wallet, chain, parts) for parts in by_hash.values())


def _adopt_one(wallet: Wallet, chain: Chain, parts: Sequence[Unknown]) -> int:
    sent = parts[0].sent
    assert sent.sequence is not None  # noqa: S101 - narrowed by the caller
    payouts = [part.payout for part in parts if part.payout is not None]
    signed = SignedTransfer(
        raw=b"",
        transaction_hash=sent.transaction_hash,
        sender=wallet.address,
        sequence=sent.sequence,
        valid_until=None,
        payouts=(),
    )
    fee = chain.transfer_status(signed).fee_units
    mined = services.Mined(sent.transaction_hash, sent.height, fee, chain.profile.native)
    with transaction.atomic():
        transfer = services.record_found(wallet, signed, payout_ids=[payout.pk for payout in payouts])
        if transfer is None:
            return 0
        # Only what is just like a payout is adopted: it has arrived whole.
        services.record_final(transfer, mined, arrived={payout.pk: int(payout.amount) for payout in payouts})
    logger.warning("transfer adopted", wallet=str(wallet), transaction_hash=sent.transaction_hash)
    return len(payouts)
