"""Claims as the tests make them: what is said of an on-chain transaction that somebody names."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from payments.chains import registry
from payments.chains.simulated import control
from payments.claims.claims import claim_record, explain_claim
from payments.deposits.models import ScanCursor
from payments.models import Payment
from tests.payments.scenes import SANDBOX, everything, watch

UNKNOWN = "0x" + "ab" * 32


def claim(payment: Payment, transaction_hash: str) -> dict[str, Any]:
    """The answer, which changes nothing of the payment."""
    before = everything()
    record = claim_record(payment, transaction_hash, explain_claim(payment, transaction_hash))
    assert everything() == before
    return record


def said(payment: Payment, transaction_hash: str) -> tuple[str, list[tuple[str, bool]]]:
    """The code of the whole, and code and match of every transfer."""
    record = claim(payment, transaction_hash)
    return record["status"], [(each["code"], each["matched"]) for each in record["transfers"]]


def message(payment: Payment, transaction_hash: str) -> str:
    text: str = claim(payment, transaction_hash)["message"]
    return text


def skip_unread_blocks(network: str) -> None:
    """Lose the place in a network, as no watcher does: what is in its blocks up to here is never read."""
    chain = registry.chain(SANDBOX, network)
    height = chain.reading.head().finalized_height
    ScanCursor.objects.filter(environment=SANDBOX, network=network).update(
        cursor=chain.reading.cursor_at(height), head_height=height, finalized_height=height
    )
    control.mine(network, at=timezone.now() + timedelta(minutes=2))
    watch()
