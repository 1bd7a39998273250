"""What a payer may see of a payment, and how each of its states is told in plain language. Nothing else leaves here."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from typing import Literal
from urllib.parse import urlsplit

from payments import wording
from payments.chains import registry
from payments.chains.profiles import NetworkProfile
from payments.checkout.paying import HowToPay, how_to_pay
from payments.models import Deposit, Discrepancy, Payment, ScanCursor
from payments.records import confirmations_of
from payments.states import DepositStatus, DiscrepancyKind, DiscrepancyStatus, PaymentStatus

Tone = Literal["accent", "good", "warn", "calm"]

NETWORK_SILENCE = timedelta(seconds=15)
"""How long a network may fail to answer before the payer is told."""


@dataclass(frozen=True, slots=True)
class State:
    """Where the payment stands: a headline, a sentence, and how far its confirmations are."""

    title: str
    detail: str
    tone: Tone
    icon: str
    waiting: bool = False
    confirmations: int | None = None
    required: int = 0

    @property
    def announcement(self) -> str:
        """Both as one text, for those who hear the page."""
        return f"{self.title}{'' if self.title.endswith('!') else '.'} {self.detail}"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something unusual that the payer should know."""

    title: str
    words: str


@dataclass(frozen=True, slots=True)
class PayerView:
    """All that the page and its status reply may show: no field of a payment reaches a payer but through here."""

    id: str
    sandbox: bool
    payee: str
    status: str
    state: State
    notices: tuple[Notice, ...]
    fiat_amount: str
    amount: str
    coin: str
    coin_name: str
    network: str
    how_to_pay: HowToPay | None
    expires_at: datetime
    seconds_left: int
    poll_seconds: int
    receipt: tuple[tuple[str, str], ...]
    details: tuple[tuple[str, str], ...]
    redirect_url: str
    redirect_host: str

    @property
    def revision(self) -> str:
        """Changes exactly when the page would read differently; the countdown apart, which the page runs itself."""
        fields = [value for name, value in zip(self.__slots__, astuple(self), strict=True) if name != "seconds_left"]
        return hashlib.sha256(repr(fields).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Sighting:
    """The payment with all that has been seen of it, at one moment."""

    payment: Payment
    deposits: Sequence[Deposit]
    discrepancies: Sequence[Discrepancy]
    network: NetworkProfile
    cursor: ScanCursor | None
    now: datetime

    @property
    def in_time(self) -> bool:
        return self.now < self.payment.expires_at

    @property
    def standing(self) -> list[Deposit]:
        """Transfers of the right coin on the right network that no reorganisation has undone."""
        return [
            deposit
            for deposit in self.deposits
            if deposit.status != DepositStatus.ORPHANED
            and deposit.network == self.payment.network
            and deposit.asset == self.payment.cryptocurrency
        ]

    @property
    def seen(self) -> int:
        return sum(deposit.amount for deposit in self.standing)

    @property
    def missing(self) -> int:
        due: int = self.payment.due
        return max(0, due - self.seen)

    @property
    def network_is_silent(self) -> bool:
        cursor = self.cursor
        if cursor is None:
            return False
        failing = cursor.failing_since is not None and self.now - cursor.failing_since >= NETWORK_SILENCE
        return failing or cursor.halted_at is not None

    @property
    def network_has_no_new_blocks(self) -> bool:
        cursor = self.cursor
        return cursor is not None and cursor.head_standstill.total_seconds() >= self.network.head_stall_seconds

    @property
    def finality_is_delayed(self) -> bool:
        """Whether something seen waits to become final, and nothing does."""
        cursor = self.cursor
        if cursor is None or not self.payment.require_finalized:
            return False
        waiting = any(deposit.height > cursor.finalized_height for deposit in self.standing)
        return waiting and cursor.finality_standstill.total_seconds() >= self.network.finality_stall_seconds

    def held(self, units: int) -> str:
        return wording.held(self.payment, units)

    def asked(self, units: int) -> str:
        return f"{wording.coins_asked(units, self.payment.decimals)} {self.payment.cryptocurrency}"


def look_at(payment: Payment, now: datetime) -> PayerView:
    """The payment as its payer sees it now."""
    watched = payment.status != PaymentStatus.CREATED or payment.deposit_count > 0
    sighting = Sighting(
        payment=payment,
        deposits=list(payment.deposits.order_by("id")) if watched else [],
        discrepancies=list(payment.discrepancies.filter(status=DiscrepancyStatus.OPEN).order_by("id"))
        if watched
        else [],
        network=registry.known_profile(payment.environment, payment.network),
        cursor=ScanCursor.objects.filter(environment=payment.environment, network=payment.network).first(),
        now=now,
    )
    return view_of(sighting)


def view_of(sighting: Sighting) -> PayerView:
    payment, network = sighting.payment, sighting.network
    redirect_url, redirect_host = _way_back(payment)
    return PayerView(
        id=payment.public_id,
        sandbox=payment.environment == "sandbox",
        payee=payment.merchant.name,
        status=payment.status,
        state=_state(sighting),
        notices=tuple(_notices(sighting)),
        fiat_amount=wording.fiat(payment),
        amount=wording.coins_asked(payment.due, payment.decimals),
        coin=payment.cryptocurrency,
        coin_name=wording.COIN_NAMES.get(payment.cryptocurrency, payment.cryptocurrency),
        network=network.name,
        how_to_pay=_how_to_pay(sighting),
        expires_at=payment.expires_at,
        seconds_left=max(0, int((payment.expires_at - sighting.now).total_seconds())),
        poll_seconds=_poll_seconds(payment),
        receipt=tuple(_receipt(sighting)),
        details=tuple(_details(sighting)),
        redirect_url=redirect_url,
        redirect_host=redirect_host,
    )


_PAID = {PaymentStatus.COMPLETED, PaymentStatus.PARTIALLY_REFUNDED, PaymentStatus.REFUNDED}
_SETTLED = _PAID | {PaymentStatus.CANCELLED}
_OPEN = {PaymentStatus.CREATED, PaymentStatus.UNDERPAID}


def _poll_seconds(payment: Payment) -> int:
    """How often the page asks again: 0 when its payer has nothing left to wait for."""
    if payment.status in _SETTLED:
        return 0
    over = payment.status == PaymentStatus.EXPIRED or payment.closed_at is not None
    return 15 if over else 2


def _state(sighting: Sighting) -> State:
    payment, payee = sighting.payment, sighting.payment.merchant.name
    match PaymentStatus(payment.status):
        case PaymentStatus.CREATED if sighting.in_time:
            return State(
                "Waiting for your payment", "It shows up here once you have sent it.", "accent", "clock", waiting=True
            )
        case PaymentStatus.CREATED:
            detail = "If you have already sent it, it will still show up here. Otherwise do not send anything now."
            return State("The time to pay is over", detail, "calm", "clock", waiting=True)
        case PaymentStatus.PENDING:
            return _confirming(sighting)
        case PaymentStatus.UNDERPAID:
            return _short(sighting)
        case PaymentStatus.COMPLETED if payment.accepted and payment.received < payment.due:
            accepted = f"{sighting.held(payment.received)} of {sighting.asked(payment.due)}"
            detail = f"{payee} has accepted {accepted} for this payment. There is nothing left to pay."
            return State("Accepted with less", detail, "good", "check")
        case PaymentStatus.COMPLETED:
            return State("Paid. Thank you!", f"{payee} has been told. You can close this page.", "good", "check")
        case PaymentStatus.PARTIALLY_REFUNDED:
            detail = f"{sighting.held(payment.refunded)} of what you paid was sent back to you or is on its way."
            return State("Partly refunded", detail, "calm", "undo")
        case PaymentStatus.REFUNDED:
            detail = f"{sighting.held(payment.refunded)} was sent back to you or is on its way."
            return State("Refunded", detail, "calm", "undo")
        case PaymentStatus.EXPIRED:
            detail = f"Do not send money to its address any more. Ask {payee} for a new payment."
            return State("This payment has expired", detail, "calm", "clock")
        case PaymentStatus.CANCELLED:
            detail = f"{payee} called it off. Do not send money to its address any more."
            return State("This payment was cancelled", detail, "calm", "cross")


def _confirming(sighting: Sighting) -> State:
    payment = sighting.payment
    height = sighting.cursor.head_height if sighting.cursor else 0
    required = payment.required_confirmations
    confirmations = confirmations_of(payment, sighting.deposits, {payment.network: height})
    block = max((deposit.height for deposit in sighting.standing), default=height)
    delayed = sighting.finality_is_delayed or sighting.network_has_no_new_blocks
    words = [f"Seen in block {block:,}.", f"{confirmations} of {required} confirmations"]
    left = (required - confirmations) * sighting.network.block_seconds
    if delayed:
        words[-1:] = [_NETWORK_DELAY.format(network=sighting.network.name, payee=payment.merchant.name)]
    elif confirmations < required:
        words[-1] += f", {wording.about(left)} left."
    else:
        words[-1] += ", waiting for the network to make it final."
    if sighting.missing:
        words.append(f"{sighting.asked(sighting.missing)} of the amount has not been seen yet.")
    return State(
        "Payment seen, network delay" if delayed else "Payment seen, confirming",
        " ".join(words),
        "warn" if delayed else "accent",
        "clock" if delayed else "blocks",
        waiting=True,
        confirmations=confirmations,
        required=required,
    )


_NETWORK_DELAY = (
    "{network} itself is slow to make it final just now. There is nothing for you to do: do not pay again. "
    "{payee} is told as soon as it is final."
)


def _short(sighting: Sighting) -> State:
    payment, payee = sighting.payment, sighting.payment.merchant.name
    came = f"{sighting.held(payment.received)} of {sighting.asked(payment.due)} has arrived."
    if payment.closed_at is None and sighting.in_time:
        detail = f"{came} Send the rest to the same address before the time is over."
        return State(f"{sighting.asked(sighting.missing)} is still missing", detail, "warn", "warning", waiting=True)
    detail = f"{came} It is kept safe. Ask {payee} whether to send it back to you, and name the reference below."
    return State("Too little arrived in time", detail, "warn", "warning")


def _notices(sighting: Sighting) -> list[Notice]:
    notices = []
    payee = sighting.payment.merchant.name
    if sighting.network_is_silent and sighting.payment.status not in _SETTLED:
        words = (
            "We cannot read the network just now. Money that you have sent is not lost: it is counted, with the time "
            "at which you sent it, as soon as the network answers again. Do not send it twice."
        )
        notices.append(Notice(f"{sighting.network.name} is slow to answer", words))
    elif sighting.network_has_no_new_blocks and sighting.payment.status in _OPEN:
        words = (
            "The network itself makes no new blocks just now. Money that you have sent is not lost and shows up here "
            "with the next ones. Do not send it twice."
        )
        notices.append(Notice(f"{sighting.network.name} is delayed", words))
    for discrepancy in sighting.discrepancies:
        if discrepancy.kind == DiscrepancyKind.UNDERPAID:
            continue  # the state itself says so
        title, words = _ASTRAY[DiscrepancyKind(discrepancy.kind)]
        amount = f"{wording.coins_held(discrepancy.amount, discrepancy.decimals)} {discrepancy.asset}"
        notices.append(Notice(title.format(amount=amount), f"{words} {_ASK.format(payee=payee)}"))
    return notices


_ASK = "It is kept safe; ask {payee} to send it back, and name the reference below."
_ASTRAY = {
    DiscrepancyKind.LATE: ("{amount} arrived late", "It came after the time to pay was over."),
    DiscrepancyKind.OVERPAID: ("You sent {amount} more than was due", "The payment itself is complete."),
    DiscrepancyKind.WRONG_TOKEN: ("{amount} arrived, which is not the coin asked for", "It does not count."),
    DiscrepancyKind.WRONG_NETWORK: ("{amount} arrived on another network", "It does not count."),
    DiscrepancyKind.UNASKED: ("{amount} arrived before it was asked for", "It does not count."),
    DiscrepancyKind.NO_MEMO: ("{amount} arrived without its memo", "It cannot be told whose it is."),
}


def _how_to_pay(sighting: Sighting) -> HowToPay | None:
    payment = sighting.payment
    if payment.status not in _OPEN or not sighting.in_time or payment.closed_at is not None:
        return None
    seen = {deposit.transaction_hash for deposit in sighting.standing}
    return how_to_pay(payment, sighting.network, missing=sighting.missing, seen=seen)


def _receipt(sighting: Sighting) -> list[tuple[str, str]]:
    payment = sighting.payment
    lines = [
        ("Reference", payment.public_id),
        ("Price", wording.fiat(payment)),
        ("Amount due", sighting.asked(payment.due)),
        ("Rate", f"1 {payment.cryptocurrency} = {wording.rate(payment.rate)} {payment.currency}"),
        ("Network", sighting.network.name),
    ]
    if sighting.seen:
        lines.append(("Received", sighting.held(sighting.seen)))
    if payment.refunded:
        lines.append(("Refunded", sighting.held(payment.refunded)))
    if payment.completed_at is not None:
        lines.append(("Paid", f"{payment.completed_at:%-d %B %Y, %H:%M} UTC"))
    lines.extend(("Transaction", deposit.transaction_hash) for deposit in sighting.standing)
    return lines


def _details(sighting: Sighting) -> list[tuple[str, str]]:
    payment, code = sighting.payment, sighting.payment.cryptocurrency
    return [
        ("Reference", payment.public_id),
        ("Coin", f"{wording.COIN_NAMES.get(code, code)} ({code})"),
        ("Network", sighting.network.name),
        ("Token contract", sighting.network.assets[code].contract),
        ("Rate", f"1 {code} = {wording.rate(payment.rate)} {payment.currency}"),
        ("Expires", f"{payment.expires_at:%-d %B %Y, %H:%M} UTC"),
    ]


def _way_back(payment: Payment) -> tuple[str, str]:
    """Where a payer who has paid goes on, with the host to show; only ever a web address."""
    if payment.status != PaymentStatus.COMPLETED:
        return "", ""
    parts = urlsplit(payment.redirect_url)
    return (payment.redirect_url, parts.hostname) if parts.scheme in {"http", "https"} and parts.hostname else ("", "")
