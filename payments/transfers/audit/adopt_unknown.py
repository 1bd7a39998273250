"""After a restore: finds what the wallet has sent that the ledger does not have, and the payouts it has paid.

A restored database still has payouts waiting that were paid after the backup was made. The chain shows it: a transfer
of the exact amount to the exact address of a waiting payout has paid it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Max

from config.errors import DomainError
from config.money import Asset
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.ledger.models import Stop, StopKind
from merchants.ledger.stops import propose_lifting, register_way
from merchants.models import User
from payments.chains import registry
from payments.chains.errors import ChainError, NetworkUnavailable
from payments.chains.protocol.chain import Chain
from payments.chains.protocol.payouts import SignedTransfer
from payments.chains.protocol.transfers import OutgoingTransfer, SentTransaction
from payments.transfers import services
from payments.transfers.execution.arrivals import as_shown
from payments.transfers.execution.hashes import signed_as
from payments.transfers.models import Payout, Transfer, Wallet
from payments.transfers.owners import PayoutsToAttribute, found_payout, found_payouts
from payments.transfers.states import OPEN_TRANSFERS, PayoutStatus
from payments.transfers.wallets import expected_sequences

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
    """True if it went to another hot wallet of ours, so that the coins are still there."""

    @property
    def is_known(self) -> bool:
        return self.payout is not None or self.is_ours


class NotInLedger(DomainError):
    code = "not_in_ledger"


class SequenceTaken(DomainError):
    code = "sequence_taken"
    message = (
        "A transfer of Ballast's own has the same sequence and is not known to be dead yet. The money worker finds out "
        "within minutes; agree again then."
    )


class NotAPayout(DomainError):
    code = "not_a_payout"
    message = "Ballast pays nobody like this."


class StartUnknown(DomainError):
    code = "start_unknown"
    message = (
        "The ledger has no transfer of this wallet to begin looking from. Say from which block on: that of its first "
        "transfer, or of the contracts' deployment."
    )


def unknown_transfers(wallet: Wallet, *, since_block: int | None = None) -> list[Unknown]:
    """Transfers that have left the wallet since a block: by default the last that the ledger has a transfer in.

    StartUnknown when the ledger has none, and the network has too many blocks to be read from its first one.
    """
    chain = registry.chain(wallet.environment, wallet.network)
    head = chain.reading.head()
    first = since_block
    if first is None:
        first = Transfer.objects.filter(wallet=wallet).aggregate(height=Max("height"))["height"]
    if first is None and head.finalized_height > BLOCKS_MAX:
        raise StartUnknown(param="since_block")
    sent = chain.reading.outgoing(wallet.address, first_height=first or 0, last_height=head.height)
    ours = signed_as({transfer.transaction_hash for transfer in sent})
    waiting: defaultdict[tuple[str, int, str, str], list[Payout]] = defaultdict(list)
    for payout in Payout.objects.filter(
        environment=wallet.environment, network=wallet.network, status__in=[PayoutStatus.READY, PayoutStatus.HELD]
    ).order_by("-id"):
        shown = as_shown(chain.profile, payout.recipient, payout.memo)
        waiting[payout.asset, int(payout.amount), *shown].append(payout)
    assets = {asset.contract: asset for asset in chain.profile.assets.values()}
    others = Wallet.objects.filter(environment=wallet.environment, network=wallet.network).exclude(pk=wallet.pk)
    own = set(others.values_list("address", flat=True))
    return [
        Unknown(
            transfer,
            assets.get(transfer.contract),
            _taken(waiting, transfer, assets.get(transfer.contract)),
            is_final=transfer.height <= head.finalized_height,
            is_ours=transfer.recipient in own,
        )
        for transfer in sent
        if transfer.transaction_hash not in ours
    ]


def is_version(wallet: Wallet, parts: Sequence[Unknown]) -> bool:
    """True if a transfer on its way has the nonce of an on-chain transaction and pays the same: its fee was raised
    after the backup. Our rows then get this version of it, which is followed to its end as any other."""
    sent, profile = parts[0].sent, registry.profile(wallet.environment, wallet.network)
    if sent.sequence is None:
        return False
    taken = Transfer.objects.filter(
        wallet=wallet, channel=sent.channel, sequence=sent.sequence, status__in=OPEN_TRANSFERS
    ).first()
    if taken is None:
        return False
    carried = [each.payout for each in taken.lines.select_related("payout")]
    wanted = Counter((each.asset, int(each.amount), *as_shown(profile, each.recipient, each.memo)) for each in carried)
    moved = Counter(
        (each.asset.code if each.asset else "", each.sent.amount, each.sent.recipient, each.sent.memo or "")
        for each in parts
    )
    if wanted != moved:
        return False
    balances = [each.sent.claimable_balance for each in parts]
    signed = as_signed(wallet, sent.transaction_hash, sent.channel, sent.sequence, balances)
    services.record_found_version(taken, signed)
    return True


def adopt_idle(wallet: Wallet, channel: str, sent: SentTransaction, native: Asset) -> bool:
    """Record an on-chain transaction of the wallet that moved no coin: one that failed, or set something up. Its
    sequence and its cost are known from then on. False when another transfer has its sequence."""
    mined = services.Mined(sent.transaction_hash, sent.height, sent.fee_units, native, sent.said_by)
    signed = as_signed(wallet, sent.transaction_hash, channel, sent.sequence, ())
    with transaction.atomic():
        transfer = services.record_found(wallet, signed, payout_ids=[])
        if transfer is None:
            return False
        if sent.succeeded:
            services.record_final(transfer, mined, arrived={})
        else:
            services.record_failed(transfer, mined, error="It was found in its block after a restore.")
        return True


def _taken(
    waiting: Mapping[tuple[str, int, str, str], list[Payout]], sent: OutgoingTransfer, asset: Asset | None
) -> Payout | None:
    """Remove and return the oldest payout that equals what was sent; None when there is none."""
    if sent.is_conditional or asset is None:
        return None
    same = waiting.get((asset.code, sent.amount, sent.recipient, sent.memo or ""))
    return same.pop() if same else None


def adopt(wallet: Wallet, unknown: Sequence[Unknown]) -> int:
    """Adopt what the wallet itself has sent, one on-chain transaction at a time and each as a whole; returns how many
    payouts that waited.

    Its cost is booked like any other, and that of a transfer to another hot wallet of ours too. What has paid no payout
    that waits is a found one.
    """
    chain = registry.chain(wallet.environment, wallet.network)
    adopted = 0
    for parts in by_transaction(unknown).values():
        first = parts[0].sent
        if first.sequence is not None and all(each.is_final for each in parts):
            signed = as_signed(wallet, first.transaction_hash, first.channel, first.sequence, ())
            status = chain.sending.status(signed)
            mined = mined_as(chain, first.transaction_hash, first.height, status.fee_units, status.said_by)
            with suppress(SequenceTaken, NotAPayout), transaction.atomic():
                adopt_transaction(wallet, [found_as(wallet, each) for each in parts], mined)
                adopted += sum(each.payout is not None for each in parts)
    return adopted


def found_as(wallet: Wallet, each: Unknown) -> Unknown:
    """The transaction with a found payout of its own, where it has paid no pending payout. NotAPayout for another coin,
    and for coins that others than their recipient may claim."""
    if each.is_known:
        return each
    if each.asset is None or each.sent.is_conditional:
        raise NotAPayout
    sent = each.sent
    payout = found_payout(
        environment=wallet.environment,
        asset=each.asset,
        amount=sent.amount,
        recipient=sent.recipient,
        memo=sent.memo or "",
    )
    return replace(each, payout=payout)


def by_transaction(unknown: Sequence[Unknown]) -> dict[str, list[Unknown]]:
    """The same by the on-chain transaction they are in, in their order."""
    found: dict[str, list[Unknown]] = {}
    for each in unknown:
        found.setdefault(each.sent.transaction_hash, []).append(each)
    return found


def mined_as(chain: Chain, transaction_hash: str, height: int, fee: int, said_by: tuple[str, ...]) -> services.Mined:
    return services.Mined(transaction_hash, height, fee, chain.profile.native, said_by)


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


def adopt_transaction(wallet: Wallet, parts: Sequence[Unknown], mined: services.Mined) -> None:
    """Adopt one on-chain transaction with its cost, and the payouts that its parts have.

    SequenceTaken when another transfer has its sequence; InsufficientFunds when the ledger has too little in the hot
    wallet.
    """
    sent = parts[0].sent
    assert sent.sequence is not None  # noqa: S101 - narrowed by the caller
    payouts = [part.payout for part in parts if part.payout is not None]
    balances = [part.sent.claimable_balance for part in parts if part.payout is not None]
    signed = as_signed(wallet, sent.transaction_hash, sent.channel, sent.sequence, balances)
    with transaction.atomic():
        transfer = services.record_found(wallet, signed, payout_ids=[payout.pk for payout in payouts])
        if transfer is None:
            raise SequenceTaken
        # Only what equals a payout is adopted: all of it has arrived.
        services.record_final(transfer, mined, arrived={payout.pk: int(payout.amount) for payout in payouts})
    logger.warning("transfer adopted", wallet=str(wallet), transaction_hash=sent.transaction_hash)


def propose_thaw(frozen: Stop, unknown: Sequence[Unknown], *, since_block: int | None = None, by: User) -> Proposal:
    """Propose that a wallet signs again, or agree to it. What of `unknown` is not adopted stays unexplained."""
    hashes = {each.sent.transaction_hash for each in unknown}
    left = sorted(hashes - signed_as(hashes).keys())
    note = f"It leaves unexplained what it sent by {', '.join(left)}." if left else ""
    return propose_lifting(frozen, by=by, note=note, after={"unexplained": left, "since_block": since_block})


def _nothing_unexplained(frozen: Stop) -> Mapping[str, object]:
    """The terms of a wallet's thaw, if all that it has sent is in the ledger: otherwise it might be paid again."""
    after: dict[str, object] = {"unexplained": [], "since_block": None}
    if lacking := _look(frozen, after)[2]:
        raise NotInLedger(
            f"It has sent {len(lacking)} transactions that the ledger does not have. Look at them: manage.py "
            f"thaw_wallet --env {frozen.environment} --network {frozen.network}"
        )
    return after


def _look(frozen: Stop, after: Mapping[str, Any]) -> tuple[Wallet, dict[str, int], set[str]]:
    """A frozen wallet, the sequences that the network expects of it, and the hashes of what it has sent that the ledger
    lacks.

    NetworkUnavailable when the network does not answer; PayoutsToAttribute while it has found payouts.
    """
    if found_payouts(frozen.environment, frozen.network).exists():
        raise PayoutsToAttribute
    wallet = Wallet.objects.get(environment=frozen.environment, network=frozen.network, address=frozen.address)
    try:
        expected = expected_sequences(wallet, registry.chain(wallet.environment, wallet.network))
        unknown = unknown_transfers(wallet, since_block=after["since_block"])
    except ChainError as error:
        raise NetworkUnavailable(f"{wallet.network} must answer before the wallet signs again: {error}") from error
    return wallet, expected, {each.sent.transaction_hash for each in unknown}


def _thaw(frozen: Stop, proposal: Proposal, people: str) -> bool:
    """False when the wallet has sent something else that the ledger lacks."""
    wallet, expected, lacking = proposal.heard
    if not lacking <= set(proposal.after["unexplained"]):
        return False
    services.thaw_wallet(wallet, expected, thawed_by=people)
    return True


register_way(
    StopKind.WALLET,
    ProposalKind.THAW,
    first="Find out why. While the ledger lacks what the wallet sent: manage.py thaw_wallet.",
    permission="transfers.change_wallet",
    lift=_thaw,
    after=_nothing_unexplained,
    before_transaction=lambda stop_id, after: next(
        (_look(frozen, after) for frozen in Stop.objects.freezing().filter(pk=stop_id)), None
    ),
)
