"""Rows that statements are built of, without a database: settlements and balance changes as people write them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from config import ids
from payments.states import BalanceChangeKind
from settlements.models import Settlement
from settlements.plans.statements import Change
from settlements.states import SettlementStatus

PERIOD_START = datetime(2027, 1, 30, tzinfo=UTC)
PERIOD_END = PERIOD_START + timedelta(days=1)
WALLET = "0x52908400098527886E0F7030069857D2E4169EE7"
HASH = "0x" + "c0ffee42" * 8
DECIMALS = {"USDC": 6, "USDT": 6, "DAI": 18}
PAYMENT_ID = ids.new_uuid(1_800_000_000_000)
REFUND_ID = ids.REFUND.encode(ids.new_uuid(1_800_000_000_000))

_milliseconds = count(1)


def change(
    amount: int,
    *,
    coin: str = "USDC",
    kind: str = BalanceChangeKind.PAYMENT,
    at: datetime | None = None,
    fiat: int | None = None,
    due: int | None = None,
    currency: str = "EUR",
    payment_coin: str = "",
    reference: str = "",
) -> Change:
    """A change inside the period, after all made before it; `fiat` and `due` say what its payment was quoted at."""
    instant = at or PERIOD_START + timedelta(hours=1)
    milliseconds = int(instant.timestamp()) * 1000 + next(_milliseconds)
    quoted = fiat is not None
    return Change(
        id=ids.new_uuid(milliseconds),
        kind=kind,
        reference=reference or ids.PAYMENT.encode(PAYMENT_ID),
        payment_id=PAYMENT_ID if quoted else None,
        asset=coin,
        decimals=DECIMALS[coin],
        wallet=WALLET,
        amount=amount,
        fiat_amount=fiat,
        currency=currency if quoted else None,
        payment_coin=(payment_coin or coin) if quoted else None,
        due=due or abs(amount) if quoted else None,
    )


RATE = {"rate": "0.999000000000", "source": "kraken", "quotedAt": "2027-01-31T00:00:02.000Z"}


def coin_part(coin: str, changes: Iterable[Change], *, fee: int = 0, converted: int | None = None) -> dict[str, Any]:
    """What a settlement notes of one of its coins; `converted` is what it became at RATE."""
    own = [each.amount for each in changes if each.asset == coin]
    gross = sum(amount for amount in own if amount > 0)
    refund = gross - sum(own)
    return {
        "coin": coin,
        "decimals": DECIMALS[coin],
        "gross": str(gross),
        "fee": str(fee),
        "refund": str(refund),
        "net": str(gross - refund - fee),
        **({} if converted is None else {**RATE, "converted": str(converted)}),
    }


def settlement_of(
    parts: Sequence[dict[str, Any]],
    *,
    status: str = SettlementStatus.COMPLETED,
    amount: int | None = None,
    currency: str = "USDC",
    converted: bool = True,
) -> Settlement:
    """A settlement that pays what its coins come to."""
    own = sum(int(part["net"]) for part in parts if part["coin"] == currency)
    other = sum(int(part.get("converted", 0)) for part in parts)
    return Settlement(
        id=uuid.UUID("019c1234-5678-7abc-8def-0123456789ab"),
        status=status,
        environment="sandbox",
        network="polygon",
        destination=WALLET,
        currency=currency,
        decimals=DECIMALS[currency],
        amount=own + other if amount is None else amount,
        coins=list(parts),
        fee_bps=50,
        converted_at=PERIOD_END + timedelta(seconds=2) if converted else None,
        period_start=PERIOD_START,
        period_end=PERIOD_END,
        scheduled_for=PERIOD_END,
        completed_at=PERIOD_END + timedelta(minutes=1) if status == SettlementStatus.COMPLETED else None,
        ended_at=PERIOD_END + timedelta(minutes=1) if status != SettlementStatus.PENDING else None,
        transaction_hash=HASH if status == SettlementStatus.COMPLETED else "",
    )
