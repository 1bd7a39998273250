"""The story of a payment, of a payout and of a wallet."""

from __future__ import annotations

from collections.abc import Iterator

from config.admin.story import Section
from config.admin.values import instant, money, network_name, record_id
from config.money import fiat_share
from config.pages import wording
from payments.dashboard.timeline import timeline_for_operators
from payments.models import Payment
from payments.stories import sections
from payments.stories.sections import MOST, linked, transaction
from payments.transfers.models import Payout, Transfer, Wallet

SUMS = (
    ("Asked for", "due"),
    ("Received", "received"),
    ("Given to the merchant", "released"),
    ("More than was due", "surplus"),
    ("Still missing", "short"),
    ("Refunded", "refunded"),
    ("Returned", "returned"),
)


def of_payment(payment: Payment) -> Iterator[Section]:
    deposits = list(payment.deposits.order_by("-id")[:MOST])
    discrepancies = list(payment.discrepancies.order_by("-id")[:MOST])
    yield Section(
        title="Money",
        headings=("", "Coins", "Worth"),
        rows=[
            (words, wording.coins(units, payment.decimals, payment.cryptocurrency), _worth(payment, units))
            for words, name in SUMS
            if (units := getattr(payment, name))
        ],
    )
    yield sections.timeline(timeline_for_operators(payment, deposits=deposits, discrepancies=discrepancies))
    yield sections.deposits(deposits)
    yield sections.postings_of(payment.environment, [payment.pk])
    yield from sections.events_of([payment.pk])
    yield sections.actions_of(payment.merchant_id, [payment.public_id, *(each.public_id for each in discrepancies)])


def _worth(payment: Payment, units: int) -> str:
    if not payment.due:
        return ""
    worth = fiat_share(units, fiat_amount=payment.fiat_amount, due=payment.due)
    return wording.fiat(worth, payment.currency)


def of_payout(payout: Payout) -> Iterator[Section]:
    yield Section(title="For", headings=("Record",), rows=[(record_id(payout.reference, is_page=True),)])
    yield from sections.transfers_of(payout)
    yield sections.postings_of(payout.environment, [payout.pk])


def of_wallet(wallet: Wallet) -> Iterator[Section]:
    yield Section(
        title="Latest transfers",
        headings=("Signed", "For", "State", "Network fee", "Transaction"),
        rows=[_row(each) for each in Transfer.objects.filter(wallet=wallet).order_by("-pk")[:20]],
        empty=f"Nothing has left it on {network_name(wallet.environment, wallet.network)}.",
    )


def _row(each: Transfer) -> tuple[str, ...]:
    place = each.environment, each.network
    return (
        instant(each.created_at),
        linked(each, each.get_purpose_display()),
        each.get_status_display(),
        money(each.fee_units, place),
        transaction(*place, each.transaction_hash),
    )
