"""Changes of a merchant's balance by postings, as the rows that settlements are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import PostingDraft
from payments.chains import registry
from payments.models import BalanceChange, Payment
from payments.states import BalanceChangeKind

KIND_OF_POSTING: Mapping[str, BalanceChangeKind] = MappingProxyType(
    {
        "payment_released": BalanceChangeKind.PAYMENT,
        "payment_reopened": BalanceChangeKind.REVERSAL,
        "deposit_reversed": BalanceChangeKind.REVERSAL,
        "suspense_kept": BalanceChangeKind.ACCEPTED,
        "refund_reserved": BalanceChangeKind.REFUND,
        "refund_covered": BalanceChangeKind.REFUND,
        "refund_voided": BalanceChangeKind.REFUND_FAILED,
        "missing_held": BalanceChangeKind.MISSING,
        "missing_ended": BalanceChangeKind.MISSING_ENDED,
        "loss_of_house": BalanceChangeKind.MISSING_ENDED,
        "loss_of_merchant": BalanceChangeKind.LOSS,
    }
)
"""Every kind of posting of a payment that touches its merchant's accounts."""

MERCHANT_ACCOUNTS = (AccountKind.MERCHANT_AVAILABLE, AccountKind.MERCHANT_RECEIVABLE)


def record_balance_changes(
    drafts: Iterable[PostingDraft], payment: Payment, *, reference: str = "", returns_fee: bool = False
) -> None:
    """Record what these postings of a payment changed for its merchant, beside them.

    `reference` is the public id of their subject, if not the payment; with `returns_fee` they are of a refund that
    gives the fee back. A posting that was made before has its changes already, perhaps in a settlement: those stay as
    they are.
    """
    changes = [change for draft in drafts for change in balance_changes(draft, payment, reference=reference)]
    _insert(changes, returns_fee=returns_fee)


def record_balance_changes_together(drafted: Iterable[tuple[Payment, Iterable[PostingDraft]]]) -> None:
    """The same of postings of many payments, which are their subjects."""
    _insert([change for payment, drafts in drafted for draft in drafts for change in balance_changes(draft, payment)])


def _insert(changes: Sequence[BalanceChange], *, returns_fee: bool = False) -> None:
    if changes:
        # Keys made within a millisecond sort at random. Fees and statements read changes by their keys: what was undone
        # before the rest was counted again must come first.
        for change, key in zip(changes, sorted(each.id for each in changes), strict=True):
            change.id, change.returns_fee = key, returns_fee
        BalanceChange.objects.bulk_create(changes, ignore_conflicts=True)


def balance_changes(draft: PostingDraft, payment: Payment, *, reference: str = "") -> list[BalanceChange]:
    """Changes of one posting for the merchant: a row for each coin it changes. Writes nothing."""
    gains: dict[tuple[str, str], int] = {}
    for line in draft.lines:
        if line.account.kind in MERCHANT_ACCOUNTS:
            pot = line.account.network, line.account.asset
            gains[pot] = gains.get(pot, 0) - line.amount  # a credit is the merchant's gain, whichever account it is
    return [
        BalanceChange(
            merchant_id=payment.merchant_id,
            environment=payment.environment,
            kind=KIND_OF_POSTING[draft.kind],
            reference=reference or payment.public_id,
            payment=payment,
            network=network,
            asset=asset,
            decimals=_decimals(payment, network, asset),
            wallet=payment.wallet_on(network),
            amount=gain,
            posting_kind=draft.kind,
            posting_reference=draft.reference,
        )
        for (network, asset), gain in gains.items()
        if gain
    ]


def _decimals(payment: Payment, network: str, asset: str) -> int:
    if (network, asset) == (payment.network, payment.cryptocurrency):
        return payment.decimals
    return registry.decimals(payment.environment, network, asset)
