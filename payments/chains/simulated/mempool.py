"""What waits for a block of a simulated network: how signed bytes get in, are replaced, and are forgotten."""

from __future__ import annotations

from collections.abc import Collection

from payments.chains.errors import TransferRefused
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.payouts import SignedTransfer
from payments.chains.simulated import actions, signing
from payments.chains.simulated.blocks import Timetable, next_sequences
from payments.chains.simulated.clock import refuse_in_outage
from payments.chains.simulated.models import SimulatedNetwork, SimulatedStatus, SimulatedTransaction
from payments.chains.simulated.networks import is_evm


def accept(row: SimulatedNetwork, raw: bytes) -> None:
    """Take bytes in, as a node does: once, in time, and only for a sequence that nobody else has used.

    A waiting transfer gives way to one of the same sequence that offers enough more. On stellar it must be the same
    transaction with a higher fee, the sequence must be the next, and nothing else of the sender may wait.
    """
    content, transaction_hash = signing.read(raw), signing.hash_of(row.network, raw)
    known = SimulatedTransaction.objects.filter(network=row.network, transaction_hash=transaction_hash).first()
    if known is not None and known.status != SimulatedStatus.DROPPED:
        return
    head_time = Timetable(row, row.height, row.height).closed_at(row.height)
    if content.expires_at is not None and content.expires_at < head_time:
        raise TransferRefused("too late: the transfer is not valid any more")
    other = (
        SimulatedTransaction.objects.filter(network=row.network, sender=content.sender, sequence=content.sequence)
        .exclude(status=SimulatedStatus.DROPPED)
        .first()
    )
    if other is not None:
        _give_way(other, content, transaction_hash)
    if not is_evm(row.network):
        _require_turn(row, content)
    if known is not None:
        known.status, known.error = SimulatedStatus.PENDING, ""
        known.save(update_fields=["status", "error"])
        return
    actions.submit(
        row,
        sender=content.sender,
        sequence=content.sequence,
        movements=content.movements,
        transaction_hash=transaction_hash,
        source=content.source,
        valid_until=content.expires_at,
        inner_hash=content.inner,
        fee_payer=content.source,
        fee_offer=content.fee_offer,
        work=content.work,
        swept_contract=content.swept_contract,
        swept_addresses=list(content.swept_addresses),
    )


def _give_way(other: SimulatedTransaction, content: signing.Content, transaction_hash: str) -> None:
    """Drop what has this sequence so far; TransferRefused when it stays."""
    is_it = is_evm(other.network) or other.root == (content.inner or transaction_hash)
    if other.height is not None or other.fee_offer is None or not is_it:
        raise TransferRefused(f"sequence {content.sequence} is used by another transfer")
    if content.fee_offer < (wanted := signing.enough_to_replace(other.network, other.fee_offer)):
        raise TransferRefused(f"replacement underpriced: it offers {content.fee_offer}, {wanted} is needed")
    forget(other, "replaced")


def _require_turn(row: SimulatedNetwork, content: signing.Content) -> None:
    sent = SimulatedTransaction.objects.filter(network=row.network, sender=content.sender)
    if sent.filter(status=SimulatedStatus.PENDING).exists():
        raise TransferRefused("try again later: another transfer of this account waits")
    expected = next_sequences(row.network, [content.sender], pending=False)[content.sender]
    if content.sequence != expected:
        raise TransferRefused(f"sequence {content.sequence} is not the next, which is {expected}")


def forget(entry: SimulatedTransaction, reason: str) -> None:
    """Let go of what waits. Its bytes may be sent again."""
    entry.status, entry.error = SimulatedStatus.DROPPED, reason
    entry.save(update_fields=["status", "error"])


def evict(row: SimulatedNetwork) -> None:
    """Forget every signed transfer that waits; what payers send is not signed, and stays."""
    waiting = SimulatedTransaction.objects.filter(network=row.network, status=SimulatedStatus.PENDING)
    waiting.filter(fee_offer__isnull=False).update(status=SimulatedStatus.DROPPED, error="evicted")


def revive(row: SimulatedNetwork, transaction_hash: str) -> None:
    """Somebody kept the bytes of a forgotten transfer: they wait again, in place of what waits in theirs."""
    entries = SimulatedTransaction.objects.filter(network=row.network)
    entry = entries.get(transaction_hash=transaction_hash, status=SimulatedStatus.DROPPED)
    same = entries.filter(sender=entry.sender, sequence=entry.sequence)
    if same.filter(height__isnull=False).exists():
        raise ValueError(f"sequence {entry.sequence} of this sender is in a block")
    for other in same.filter(status=SimulatedStatus.PENDING):
        forget(other, "replaced")
    entry.status, entry.error = SimulatedStatus.PENDING, ""
    entry.save(update_fields=["status", "error"])


def offer_now(profile: NetworkProfile, replacing: Collection[SignedTransfer]) -> int:
    """The fee to offer just now. It only reads: a transfer is often signed inside a database transaction."""
    if replacing and not profile.can_replace:
        raise ValueError(f"a transfer on {profile.network} cannot be replaced")
    row = SimulatedNetwork.objects.filter(network=profile.network).first() or SimulatedNetwork()
    refuse_in_outage(row)
    return signing.offer(profile.network, row.fee_level, replacing)
