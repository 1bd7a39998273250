"""Names of records in the ledger's pages."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from config import ids
from config.pages import wording
from merchants.ledger.owners import OwnerName
from payments.models import Deposit, Payment
from payments.transfers.models import Payout


def names_of_records(keys: Collection[UUID]) -> dict[UUID, OwnerName]:
    """What payments, payouts and deposits with these keys are called, for the ledger's pages."""
    payments = Payment.objects.filter(pk__in=keys).values_list("pk", flat=True)
    names = {key: OwnerName(ids.PAYMENT.encode(key), "payments.Payment", key) for key in payments}
    payouts = Payout.objects.filter(pk__in=keys).values_list("pk", "reference")
    names |= {key: OwnerName(reference, "transfers.Payout", key) for key, reference in payouts}
    if others := set(keys) - names.keys():
        deposits = Deposit.objects.filter(pk__in=others).values_list("pk", "transaction_hash")
        names |= {key: OwnerName(wording.short_hash(found), "payments.Deposit", key) for key, found in deposits}
    return names
