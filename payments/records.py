"""Payments as replies show them and as events carry them."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, Self

from django.core.exceptions import EmptyResultSet
from django.db.models import Func, QuerySet, TextField
from orjson import Fragment

from config import ids
from config.api.renderers import format_any_instant, format_instant
from config.database import prepared
from config.hooks import Hook
from config.money import FIAT_DIGITS, format_crypto, from_units
from config.pages import qr
from merchants.models import Merchant
from payments.chains import registry
from payments.chains.protocol.addresses import DepositAddress
from payments.deposits.models import ScanCursor
from payments.models import Deposit, Discrepancy, Payment, page_url
from payments.states import DepositStatus, PaymentStatus
from webhooks.events.recording import build_event
from webhooks.models import Event

newest_refunds: Hook[[Payment, int, bool], list[dict[str, Any]]] = Hook("newest_refunds")
"""The newest refunds of a payment, so many, with their `claimUrl` or not; refunds provide it."""


class Written(Func):
    """A value that the database writes as text for replies, at a fifth of the cost of doing it here."""

    output_field = TextField()

    @classmethod
    def instant(cls, name: str) -> Self:
        form = """to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"""
        return cls(name, template=form)

    @classmethod
    def as_text(cls, name: str) -> Self:
        return cls(name, template="%(expressions)s::text")

    @classmethod
    def decimal(cls, name: str) -> Self:
        return cls(name, template="trim_scale(%(expressions)s)::text")


class ShownPayment(NamedTuple):
    """The columns of a record, in the form it shows them; a list reads its payments as these."""

    id: uuid.UUID
    status: str
    fiat_amount: int
    currency: str
    due: int
    decimals: int
    cryptocurrency: str
    network: str
    qr_png: bytes
    expires_at: str
    received: int
    refunded: int
    rate: str
    rate_source: str
    rate_quoted_at: str
    deposit_address: str
    memo: str
    muxed_address: str
    payment_uri: str
    required_confirmations: int
    status_reasons: list[str]
    merchant_wallet: str
    redirect_url: str
    cancel_url: str
    webhook_url: str
    expires_in: int
    metadata: str
    description: str
    items: str
    note: str
    environment: str
    completed_at: str | None
    closed_at: str | None
    cancelled_at: str | None
    version: int
    deposit_count: int
    payment_link_id: uuid.UUID | None
    choices: str
    chosen_at: str | None


AWAITING = (PaymentStatus.CREATED, PaymentStatus.PENDING, PaymentStatus.UNDERPAID)

TRANSFERS_SHOWN = 100
"""Transfers in a payment's record, the first that were seen. `GET /payments/:id/transfers` has all of them."""


def qr_codes_of(payment_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, str]:
    """QR codes over the whole price, by payment. They never change, but for a payment whose payer chooses: its events
    have their own."""
    rows = Payment.objects.filter(pk__in=payment_ids).values_list("pk", "qr_png")
    return {key: qr.data_uri(bytes(png)) for key, png in rows}


def amount_due(payment: Payment | ShownPayment, deposits: Collection[Deposit]) -> int:
    """Base units still to be sent, after all that was seen; 0 once it cannot be paid any more."""
    if payment.status not in AWAITING or payment.closed_at is not None:
        return 0
    if not deposits:
        return max(0, int(payment.due) - int(payment.received))
    own = (payment.network, payment.cryptocurrency)
    standing = (each for each in deposits if each.status != DepositStatus.ORPHANED)
    seen = sum(int(each.amount) for each in standing if (each.network, each.asset) == own)
    return max(0, int(payment.due) - max(seen, int(payment.received)))


def payment_link_and_code(payment: Payment | ShownPayment, missing: int) -> tuple[str, bytes]:
    """The link and the PNG of the code for `missing` base units; the first ones once nothing is missing, and where the
    network or the coin is not in use any more."""
    environment, network = payment.environment, payment.network
    if 0 < missing < payment.due and network in registry.networks(environment):
        asset = registry.profile(environment, network).assets.get(payment.cryptocurrency)
        if asset is not None:
            chain = registry.chain(environment, network)
            to = DepositAddress(payment.deposit_address, payment.memo or None, payment.muxed_address or None)
            uri = chain.payment_uri(to=to, asset=asset, amount=missing)
            return uri, qr.drawn(chain.qr_text(to=to, payment_uri=uri))
    return payment.payment_uri, bytes(payment.qr_png)


_INSTANTS = {"expires_at", "rate_quoted_at", "completed_at", "closed_at", "cancelled_at", "chosen_at"}
_JSON = {"metadata", "items", "choices"}
_UNITS = ("due", "received", "refunded")
_PLACES_OF_UNITS = [ShownPayment._fields.index(name) for name in _UNITS]
_WRITTEN = {
    **dict.fromkeys(_INSTANTS, Written.instant),
    **dict.fromkeys((*_JSON, *_UNITS), Written.as_text),
    "rate": Written.decimal,
}
_COLUMNS = tuple(_WRITTEN[name](name) if name in _WRITTEN else name for name in ShownPayment._fields)


@cache
def _select() -> str:
    """The columns of a ShownPayment, and their table, as SQL: to have Django write it each time would take longer than
    to read the row."""
    sql, _ = Payment.objects.order_by().values_list(*_COLUMNS).query.sql_with_params()
    return str(sql)


def rows_of_one(merchant: Merchant, environment: str, key: uuid.UUID) -> list[tuple[Any, ...]]:
    """For `Records.read_rows`: the row of a payment, if the merchant has it."""
    # The plan is kept, and one that was made of an empty table may take any index that a condition fits: only the key's
    # does here.
    whose = "merchant_id IS NOT DISTINCT FROM %s AND environment IS NOT DISTINCT FROM %s"
    return prepared.rows(f"{_select()} WHERE id = %s AND {whose}", [key, merchant.pk, str(environment)])


def rows_of_page(payments: QuerySet[Payment]) -> list[tuple[Any, ...]]:
    """For `Records.read_rows`: the rows of a page, whose payments are ordered by their keys."""
    query = payments.query
    if sum(map(bool, query.alias_refcount.values())) > 1:
        raise RuntimeError("a list of payments is narrowed by their own columns")
    try:
        where, parameters = query.get_compiler(payments.db).compile(query.where)
    except EmptyResultSet:
        return []
    order = "DESC" if query.order_by == ("-pk",) else "ASC"
    sql = f"{_select()} WHERE {where} ORDER BY id {order} LIMIT {query.high_mark}"
    return prepared.rows(sql, parameters, is_planned_once=False)


def payment_record(
    payment: Payment | ShownPayment,
    *,
    deposits: Sequence[Deposit] = (),
    heads: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """The payment as the API shows it and as events carry it.

    `deposits` are those seen for it, all or as read by `Records`. `heads` are the heights of the networks' tips, for
    deposits that still wait for confirmations.
    """
    if deposits:
        deposits = sorted(deposits, key=lambda deposit: deposit.id)
    due = amount_due(payment, deposits)
    uri, png = payment_link_and_code(payment, due)
    public_id, created_at = ids.PAYMENT.encode(payment.id), ids.created_at_of(payment.id)

    decimals = payment.decimals
    instant, value = (_as_written, Fragment) if isinstance(payment, ShownPayment) else (format_any_instant, _as_written)
    rate = payment.rate if isinstance(payment, ShownPayment) else f"{payment.rate.normalize():f}"
    return {
        "id": public_id,
        "object": "payment",
        "status": payment.status,
        "amount": from_units(payment.fiat_amount, FIAT_DIGITS[payment.currency]),
        "currency": payment.currency,
        "cryptoAmount": format_crypto(payment.due, decimals),
        "cryptocurrency": payment.cryptocurrency,
        "network": payment.network,
        "url": page_url(public_id),
        "qrCode": qr.data_uri(png),
        "expiresAt": instant(payment.expires_at),
        "createdAt": format_instant(created_at),
        "amountDue": format_crypto(due, decimals),
        "amountReceived": format_crypto(payment.received, decimals),
        "amountRefunded": format_crypto(payment.refunded, decimals),
        "exchangeRate": {
            "rate": rate,
            "source": payment.rate_source,
            "quotedAt": instant(payment.rate_quoted_at),
        },
        "depositAddress": payment.deposit_address,
        "memo": payment.memo or None,
        "muxedAddress": payment.muxed_address or None,
        "paymentUri": uri,
        "confirmations": confirmations_of(payment, deposits, heads or {}) if deposits else 0,
        "requiredConfirmations": payment.required_confirmations,
        "statusReasons": payment.status_reasons,
        "transfers": [transfer_record(deposit) for deposit in deposits[:TRANSFERS_SHOWN]] if deposits else [],
        "transferCount": payment.deposit_count,
        "merchantWallet": payment.merchant_wallet,
        "redirectUrl": payment.redirect_url or None,
        "cancelUrl": payment.cancel_url or None,
        "webhookUrl": payment.webhook_url or None,
        "expiresIn": payment.expires_in,
        "metadata": value(payment.metadata),
        "description": payment.description or None,
        "items": value(payment.items),
        "note": payment.note or None,
        "paymentLink": ids.PAYMENT_LINK.encode(payment.payment_link_id) if payment.payment_link_id else None,
        "choices": value(payment.choices),
        "chosenAt": instant(payment.chosen_at),
        "environment": payment.environment,
        "completedAt": instant(payment.completed_at),
        "cancelledAt": instant(payment.cancelled_at),
        "closedAt": instant(payment.closed_at),
        "version": payment.version,
    }


# The first ones of each payment, and the newest that waits for confirmations: it has the fewest.
_DEPOSITS_SHOWN = """
    SELECT deposit.* FROM unnest(%(payments)s::uuid[]) AS wanted (id)
    JOIN payments_payment AS payment ON payment.id = wanted.id
    CROSS JOIN LATERAL (
        (SELECT * FROM payments_deposit WHERE payment_id = wanted.id ORDER BY id LIMIT %(most)s)
        UNION
        (SELECT * FROM payments_deposit WHERE payment_id = wanted.id AND payment.deposit_count > %(most)s
            AND status = 'seen' AND network = payment.network AND asset = payment.cryptocurrency
            ORDER BY height DESC, id DESC LIMIT 1)
    ) AS deposit
"""


class Records:
    """The records of many payments, with what they need besides their own rows read once for all of them."""

    def __init__(self) -> None:
        self._deposits: dict[uuid.UUID, list[Deposit]] = {}
        self._heads: dict[tuple[str, str], int] = {}

    def read(self, payments: Sequence[Payment | ShownPayment]) -> None:
        """Read the deposits of those payments that have any, and the networks' tips if one of them still waits."""
        paid = [payment.id for payment in payments if payment.deposit_count]
        if not paid:
            return
        for deposit in Deposit.objects.raw(_DEPOSITS_SHOWN, {"payments": paid, "most": TRANSFERS_SHOWN}):
            if deposit.payment_id is not None:
                self._deposits.setdefault(deposit.payment_id, []).append(deposit)
        if any(deposit.status == DepositStatus.SEEN for found in self._deposits.values() for deposit in found):
            tips = ScanCursor.objects.values_list("environment", "network", "head_height")
            self._heads = {(environment, network): height for environment, network, height in tips}

    def read_rows(self, rows: Sequence[tuple[Any, ...]]) -> list[ShownPayment]:
        """As read, for rows of `rows_of_one` or `rows_of_page`; returns the payments."""
        payments = []
        for row in rows:
            values = list(row)
            for place in _PLACES_OF_UNITS:
                values[place] = int(values[place])
            payments.append(ShownPayment._make(values))
        self.read(payments)
        return payments

    def of(self, payment: Payment | ShownPayment) -> dict[str, Any]:
        if not (deposits := self._deposits.get(payment.id)):
            return payment_record(payment)
        heads = {
            network: height
            for (environment, network), height in self._heads.items()
            if environment == payment.environment
        }
        return payment_record(payment, deposits=deposits, heads=heads)

    def of_payment(self, payment: Payment) -> dict[str, Any]:
        """The record of one payment, read as it is now."""
        self.read([payment])
        return self.of(payment)


def payment_events(
    payment: Payment,
    types: Iterable[str],
    *,
    deposits: Sequence[Deposit] | None = None,
    heads: Mapping[str, int] | None = None,
) -> list[Event]:
    """Events, not yet stored, that carry the payment as it is now. `deposits` and `heads` are read where left out."""
    if deposits is None:
        record = Records().of_payment(payment)
    else:
        record = payment_record(payment, deposits=deposits, heads=heads)
    return [
        build_event(
            merchant_id=payment.merchant_id,
            environment=payment.environment,
            type=type,
            object_id=payment.id,
            version=payment.version,
            payload=record,
            direct_url=payment.webhook_url,
        )
        for type in types
    ]


def confirmations_of(payment: Payment | ShownPayment, deposits: Iterable[Deposit], heads: Mapping[str, int]) -> int:
    """Confirmations of the deposit that still needs most, at most what is required; 0 before anything is seen."""
    counts = [
        payment.required_confirmations
        if deposit.status == DepositStatus.CREDITED
        else max(0, min(heads.get(deposit.network, 0) - deposit.height + 1, payment.required_confirmations))
        for deposit in deposits
        if deposit.status != DepositStatus.ORPHANED
        and deposit.network == payment.network
        and deposit.asset == payment.cryptocurrency
    ]
    return min(counts, default=0)


def _as_written(value: Any) -> Any:
    return value


def transfer_record(deposit: Deposit) -> dict[str, Any]:
    """An on-chain transfer that was seen for a payment, as the API shows it."""
    return {
        "id": ids.TRANSFER.encode(deposit.id),
        "object": "transfer",
        "hash": deposit.transaction_hash,
        "amount": format_crypto(deposit.amount, deposit.decimals),
        "cryptocurrency": deposit.asset,
        "network": deposit.network,
        "status": deposit.status,
        "block": deposit.height,
        "missing": format_crypto(deposit.missing, deposit.decimals) if deposit.missing else None,
        "conflictingMemo": deposit.conflicting_memo or None,
        "seenAt": format_instant(deposit.seen_at),
    }


def discrepancy_record(discrepancy: Discrepancy) -> dict[str, Any]:
    """Money of a payment that is or was in suspense, as the API shows it."""
    return {
        "id": discrepancy.public_id,
        "object": "discrepancy",
        "paymentId": ids.PAYMENT.encode(discrepancy.payment_id) if discrepancy.payment_id else None,
        "kind": discrepancy.kind,
        "status": discrepancy.status,
        "amount": format_crypto(discrepancy.amount, discrepancy.decimals),
        "cryptocurrency": discrepancy.asset,
        "network": discrepancy.network,
        "note": discrepancy.note or None,
        "createdAt": format_instant(discrepancy.created_at),
        "resolvedAt": format_any_instant(discrepancy.resolved_at),
    }


def timeline_entry(event: Event) -> dict[str, Any]:
    """One event of a payment, with its status at that time."""
    return {
        "id": event.public_id,
        "object": "event",
        "type": event.type,
        "version": event.version,
        "status": event.payload["status"],
        "amountReceived": event.payload["amountReceived"],
        "createdAt": format_instant(event.created_at),
    }
