"""Content of a receipt, the envelope that is signed, and the same content in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db.models import Count, Sum
from django.utils.translation import gettext, pgettext

from config.api.renderers import format_instant
from config.coins import coin_name
from config.hooks import Hook
from config.money import FIAT_DIGITS, format_crypto, from_units, to_units
from config.pages import wording
from merchants.ledger.chart import AccountKind
from merchants.models import Merchant
from payments.chains import registry
from payments.checkout.payer import items_of, purpose_of
from payments.models import Payment
from payments.receipts.keys import signing_key
from payments.receipts.verify import FORMAT, Envelope, signed_bytes
from payments.states import DepositStatus

Payload = dict[str, Any]
"""Text, lists and objects alone: amounts are decimal numbers in text."""

VERIFY_PATH = "/receipts/verify"
LISTED = 100
"""Of the transactions and of the refunds, the first ones. The sums are over all."""
_DIGITS = 18
"""The most decimals of a coin."""

refunds_paid: Hook[[Payment], tuple[list[tuple[str, int, str, datetime]], int, int]] = Hook("refunds_paid")
"""Of the completed refunds of what a payment received: the first ones (reference, amount, transaction, time), how many
there are, and their sum."""


def payment_payload(payment: Payment, now: datetime) -> Payload | None:
    """The content of the receipt of a payment that was completed, by its price or by what was accepted, also when it
    was refunded since. None for any other, and while its transactions do not add up to what it received: the network
    has just undone one. Only confirmed money that counts for it is in it.
    """
    decimals, paid_at = payment.decimals, payment.completed_at
    counted = payment.deposits.filter(status=DepositStatus.CREDITED, booked_to=AccountKind.PAYMENT).order_by("id")
    sums = counted.aggregate(count=Count("id"), amount=Sum("amount"))
    if paid_at is None or sums["amount"] != payment.received:
        return None
    refunds, refund_count, refunded = refunds_paid(payment)
    return {
        "kind": "payment",
        **parties(payment.merchant, payment.environment, now),
        "reference": payment.public_id,
        "purpose": purpose_of(payment),
        "items": list(items_of(payment)),
        "price": price(payment.fiat_amount, payment.currency),
        "rate": f"{payment.rate.normalize():f}",
        **coin_on_network(payment.environment, payment.network, payment.cryptocurrency),
        "address": payment.deposit_address,
        "memo": payment.memo,
        "amountDue": format_crypto(payment.due, decimals),
        "amountReceived": format_crypto(payment.received, decimals),
        "amountRefunded": format_crypto(refunded, decimals),
        "paidAt": format_instant(paid_at),
        "transactionCount": str(sums["count"]),
        "transactions": [
            transaction(each.transaction_hash, format_crypto(each.amount, decimals), each.first_block_time)
            for each in counted[:LISTED]
        ],
        "refundCount": str(refund_count),
        "refunds": [
            {"reference": reference, **transaction(sent, format_crypto(amount, decimals), at)}
            for reference, amount, sent, at in refunds
        ],
    }


def parties(merchant: Merchant, environment: str, now: datetime) -> Payload:
    """The issuer of the receipt, its time, and the merchant."""
    return {
        "issuer": settings.PUBLIC_URL,
        "issuedAt": format_instant(now),
        "environment": str(environment),
        "merchant": merchant.payee,
    }


def coin_on_network(environment: str, network: str, code: str) -> Payload:
    profile = registry.known_profile(environment, network)
    asset = profile.assets.get(code)
    return {
        "coin": {"code": code, "name": coin_name(code), "contract": asset.contract if asset else ""},
        "network": {"id": network, "name": profile.name},
    }


def price(units: int, currency: str) -> dict[str, str]:
    return {"amount": f"{from_units(units, FIAT_DIGITS[currency]):f}", "currency": currency}


def transaction(transaction_hash: str, amount: str, at: datetime) -> dict[str, str]:
    return {"hash": transaction_hash, "amount": amount, "at": format_instant(at)}


def sign(payload: Payload) -> Envelope:
    """The receipt with the signature of this installation, by the key of the year in which it is issued."""
    key_id, key = signing_key(datetime.fromisoformat(payload["issuedAt"]))
    return {"format": FORMAT, "key": key_id, "payload": payload, "signature": key.sign(signed_bytes(payload)).hex()}


def signed_by(receipt: Envelope) -> str:
    """The signer of a receipt and how that is checked, as a sentence."""
    words = gettext(
        "%(issuer)s signed this receipt with the key %(key)s. Anybody can check its JSON file at %(address)s."
    )
    address = f"{settings.PUBLIC_URL}{VERIFY_PATH}"
    return words % {"issuer": settings.PUBLIC_URL, "key": receipt["key"], "address": address}


# --- in words ------------------------------------------------------------------------------------------


def title_of(payload: Payload) -> str:
    return gettext("Receipt") if payload["kind"] == "payment" else gettext("Receipt for a refund")


def price_of(payload: Payload) -> str:
    """`25.00 EUR`; empty for a coin that was not quoted."""
    if not (its := payload["price"]):
        return ""
    return wording.fiat(to_units(Decimal(its["amount"]), FIAT_DIGITS[its["currency"]]), its["currency"])


def lines_of(payload: Payload) -> list[tuple[str, str]]:
    """Lines of the receipt, besides its merchant: terms and descriptions."""
    lines = [*_what_for(payload), *_where(payload)]
    if payload["kind"] == "payment":
        lines += _paid(payload)
    else:
        lines += _sent_back(payload)
    lines.append((gettext("Receipt issued"), _moment(payload["issuedAt"])))
    return [(term, words) for term, words in lines if words]


def _what_for(payload: Payload) -> Iterable[tuple[str, str]]:
    yield pgettext("what it pays for", "For"), payload["purpose"]
    for item in payload.get("items", ()):
        yield gettext("What it is for"), item
    yield gettext("Reference"), payload["reference"]
    yield gettext("Payment"), payload.get("payment", "")
    yield gettext("Price"), price_of(payload)


def _where(payload: Payload) -> Iterable[tuple[str, str]]:
    coin = payload["coin"]
    is_issued = ":" in coin["contract"]  # `CODE:ISSUER`, as on stellar
    yield gettext("Coin"), f"{coin['name']} ({coin['code']})"
    yield gettext("Asset") if is_issued else gettext("Token contract"), coin["contract"]
    yield gettext("Network"), payload["network"]["name"]
    yield gettext("Address"), payload["address"]
    yield gettext("Memo"), payload["memo"]


def _paid(payload: Payload) -> Iterable[tuple[str, str]]:
    code = payload["coin"]["code"]
    yield gettext("Rate"), wording.quote(code, Decimal(payload["rate"]), payload["price"]["currency"])
    yield gettext("Amount due"), _coins(payload["amountDue"], code)
    yield gettext("Received"), _coins(payload["amountReceived"], code)
    yield pgettext("when it was paid", "Paid"), _moment(payload["paidAt"])
    yield from _listed(gettext("Transaction"), gettext("Transactions"), payload, "transaction")
    if payload["refunds"]:
        yield gettext("Refunded"), _coins(payload["amountRefunded"], code)
        yield from _listed(gettext("Refund"), gettext("Refunds"), payload, "refund")


def _sent_back(payload: Payload) -> Iterable[tuple[str, str]]:
    code = payload["coin"]["code"]
    yield gettext("Amount"), _coins(payload["amount"], code)
    if Decimal(payload["tokenFee"]):
        yield gettext("Kept by the token on the way"), _coins(payload["tokenFee"], code)
    yield gettext("Claimable balance"), payload["claimableBalance"]
    yield from _listed(gettext("Transaction"), "", payload, "transaction")


def _listed(one: str, many: str, payload: Payload, what: str) -> Iterable[tuple[str, str]]:
    """Each transaction or refund, after how many there are where not all of them are listed."""
    rows, count = payload[f"{what}s"], int(payload.get(f"{what}Count", 0))
    if count > len(rows):
        yield many, wording.whole(count)
    for row in rows:
        yield one, " · ".join(filter(None, _row(row, payload["coin"]["code"])))


def _row(row: Mapping[str, str], code: str) -> tuple[str, ...]:
    return _coins(row["amount"], code), _moment(row["at"]), row.get("reference", ""), row["hash"]


def _coins(amount: str, code: str) -> str:
    return wording.coins(to_units(Decimal(amount), _DIGITS), _DIGITS, code)


def _moment(at: str) -> str:
    return wording.moment(datetime.fromisoformat(at))
