"""The hashes that a transfer is known by: of each signed version, and of what stands in the block.

Somebody else may raise the fee of a transfer of ours by an envelope around it. Only its hash is then in the block, and
no version of ours has it.
"""

from __future__ import annotations

from collections.abc import Collection

from payments.transfers.models import Envelope, Transfer


def signed_as(hashes: Collection[str]) -> dict[str, Transfer]:
    """Our transfers among these on-chain transactions, by hash."""
    versions = Envelope.objects.filter(transaction_hash__in=hashes).select_related("transfer__wallet")
    in_blocks = Transfer.objects.filter(transaction_hash__in=hashes, envelopes__isnull=False).select_related("wallet")
    return {each.transaction_hash: each for each in in_blocks} | {
        each.transaction_hash: each.transfer for each in versions
    }
