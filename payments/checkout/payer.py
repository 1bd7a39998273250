"""A payer's view of a payment, and the words for each of its states."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from urllib.parse import urlsplit

from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _

from config.coins import coin_name
from config.pages import wording
from merchants.pages.branding import brand_of
from payments.chains.profiles import CreditRule
from payments.checkout.choices.usual_wait import usual_wait
from payments.checkout.facts import PayerFacts, facts_of
from payments.checkout.paying import HowToPay, how_to_pay
from payments.choices import choices_among
from payments.models import UNPAID_FOR_GOOD, Payment
from payments.records import confirmations_of
from payments.states import DiscrepancyKind, PaymentStatus

Tone = Literal["accent", "good", "warn", "calm"]

_ENDS = (".", "!", "?", "。", "！", "？", "؟")
"""Signs that end a sentence in one of the languages."""


@dataclass(frozen=True, slots=True)
class State:
    """The state of the payment: a headline, a sentence, and the progress of its confirmations."""

    title: str
    detail: str
    tone: Tone
    icon: str
    waiting: bool = False
    confirmations: int | None = None
    required: int = 0

    @property
    def announcement(self) -> str:
        """Both as one text, for screen readers."""
        return f"{self.title}{'' if self.title.endswith(_ENDS) else '.'} {self.detail}"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something unusual that the payer should know."""

    title: str
    words: str


@dataclass(frozen=True, slots=True)
class PayerView:
    """All that the page and its status reply may show: payers see no other field of a payment."""

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
    purpose: str
    items: tuple[str, ...]
    is_paid: bool
    help_url: str
    """The merchant's support, with the reference in the subject of a mail; empty where it names none."""
    has_receipt: bool
    choice: Literal["", "open", "made"]
    """Whether the payer has yet to choose coin and network, or may choose again; empty where neither is."""
    again_url: str
    """Address for another payment in its place: while nothing was sent, and after it has ended unpaid."""

    @property
    def revision(self) -> str:
        """Changes exactly when the page would show something else, apart from its countdown."""
        fields = [getattr(self, name) for name in self.__slots__ if name != "seconds_left"]
        return hashlib.sha256(repr(fields).encode()).hexdigest()[:16]


def look_at(payment: Payment, now: datetime) -> PayerView:
    """The payment as its payer sees it now."""
    return view_of(facts_of(payment, now))


def view_of(facts: PayerFacts) -> PayerView:
    payment, network = facts.payment, facts.network
    redirect_url, redirect_host = _way_back(payment)
    state, notices = _headline_and_notices(facts)
    return PayerView(
        id=payment.public_id,
        sandbox=payment.environment == "sandbox",
        payee=payment.merchant.payee,
        status=payment.status,
        state=state,
        notices=tuple(notices),
        fiat_amount=wording.fiat(payment.fiat_amount, payment.currency),
        amount=wording.coins_to_send(payment.due, payment.decimals),
        coin=payment.cryptocurrency,
        coin_name=coin_name(payment.cryptocurrency),
        network=network.name,
        how_to_pay=_how_to_pay(facts),
        expires_at=payment.expires_at,
        seconds_left=max(0, int((payment.expires_at - facts.now).total_seconds())),
        poll_seconds=_poll_seconds(payment),
        receipt=tuple(_receipt(facts)),
        details=tuple(_details(facts)),
        redirect_url=redirect_url,
        redirect_host=redirect_host,
        purpose=purpose_of(payment),
        items=items_of(payment),
        is_paid=payment.status in _PAID,
        help_url=brand.support_url_about(payment.public_id) if (brand := brand_of(payment.merchant)) else "",
        has_receipt=payment.completed_at is not None,
        choice=_choice(facts),
        again_url=_again_url(facts),
    )


def _shown_metadata(payment: Payment) -> Mapping[str, str]:
    """The texts of the metadata where the merchant shows what is paid for; empty where it does not."""
    if not ((brand := brand_of(payment.merchant)) and brand.shows_items):
        return {}
    return {name: value for name, value in payment.metadata.items() if isinstance(value, str)}


def purpose_of(payment: Payment) -> str:
    """Its description, the purpose of its link, or the description of its metadata where the merchant shows that."""
    if payment.description or payment.payment_link is None:
        return payment.description or _shown_metadata(payment).get("description", "")
    return payment.payment_link.description


def items_of(payment: Payment) -> tuple[str, ...]:
    """Items paid for, line by line: its own, else those of the metadata where the merchant shows it."""
    if payment.items:
        return tuple(" ".join(filter(None, wording.item(each, payment.currency))) for each in payment.items)
    shown = _shown_metadata(payment)
    return tuple(shown[name] for n in range(1, MOST_ITEMS + 1) if (name := f"item_{n}") in shown)


MOST_ITEMS = 20
_PAID = {PaymentStatus.COMPLETED, PaymentStatus.PARTIALLY_REFUNDED, PaymentStatus.REFUNDED}
_SETTLED = _PAID | {PaymentStatus.CANCELLED}
_OPEN = {PaymentStatus.CREATED, PaymentStatus.UNDERPAID}
POLL_SECONDS, OVER_POLL_SECONDS = 2, 15


def _poll_seconds(payment: Payment) -> int:
    """Seconds between polls of the page: 0 when its payer has nothing left to wait for."""
    if payment.status in _SETTLED:
        return 0
    over = payment.status == PaymentStatus.EXPIRED or payment.closed_at is not None
    return OVER_POLL_SECONDS if over else POLL_SECONDS


def _state(facts: PayerFacts) -> State:
    payment, payee = facts.payment, facts.payment.merchant.payee
    match PaymentStatus(payment.status):
        case PaymentStatus.CREATED if facts.in_time:
            return State(
                gettext("Waiting for your payment"),
                gettext("It will appear here soon after you send it."),
                "accent",
                "clock",
                waiting=True,
            )
        case PaymentStatus.CREATED:
            detail = gettext(
                "If you have already paid, your payment will still appear here. If not, do not send anything now."
            )
            return State(gettext("The time to pay is over"), detail, "calm", "clock", waiting=True)
        case PaymentStatus.PENDING:
            return _confirming(facts)
        case PaymentStatus.UNDERPAID:
            return _short(facts)
        case PaymentStatus.COMPLETED if payment.accepted and payment.received < payment.due:
            detail = gettext("{payee} accepted {held} instead of {due}. There is nothing left to pay.")
            detail = detail.format(payee=payee, held=facts.held(payment.received), due=facts.to_send(payment.due))
            return State(gettext("Paid: the smaller amount was accepted"), detail, "good", "check")
        case PaymentStatus.COMPLETED:
            detail = gettext("{payee} has been notified. You can close this page.").format(payee=payee)
            return State(gettext("Paid. Thank you!"), detail, "good", "check")
        case PaymentStatus.PARTIALLY_REFUNDED:
            detail = gettext("{amount} of what you paid was sent back to you or is on its way.")
            detail = detail.format(amount=facts.held(payment.refunded))
            return State(gettext("Partly refunded"), detail, "calm", "undo")
        case PaymentStatus.REFUNDED:
            detail = gettext("{amount} was sent back to you or is on its way.")
            detail = detail.format(amount=facts.held(payment.refunded))
            return State(gettext("Refunded"), detail, "calm", "undo")
        case PaymentStatus.EXPIRED:
            detail = gettext(
                "Do not send money to its address any more. If you still want to pay, ask {payee} for a new payment."
            ).format(payee=payee)
            return State(gettext("This payment has expired"), detail, "calm", "clock")
        case PaymentStatus.CANCELLED:
            detail = gettext("{payee} cancelled it. Do not send money to its address any more.").format(payee=payee)
            return State(gettext("This payment was cancelled"), detail, "calm", "cross")


def _headline_and_notices(facts: PayerFacts) -> tuple[State, list[Notice]]:
    """The state and what is unusual; while nothing else has come, money that does not count is the headline."""
    state, notices = _state(facts), _notices(facts)
    is_astray = any(discrepancy.kind in _ASTRAY for discrepancy in facts.discrepancies)
    if facts.payment.status != PaymentStatus.CREATED or not facts.in_time or not is_astray:
        return state, notices
    astray = notices.pop()
    pay = gettext("To pay, send {due} on {network} to the address below.")
    pay = pay.format(due=facts.to_send(facts.missing), network=facts.network.name)
    return State(astray.title, f"{astray.words} {pay}", "warn", "warning", waiting=True), notices


def _confirming(facts: PayerFacts) -> State:
    payment = facts.payment
    height = facts.cursor.head_height if facts.cursor else 0
    required = payment.required_confirmations
    confirmations = confirmations_of(payment, facts.deposits, {payment.network: height})
    block = max((deposit.height for deposit in facts.standing), default=height)
    delayed = facts.finality_is_delayed or facts.network_has_no_new_blocks
    left = _seconds_left(facts, confirmations)
    if delayed:
        then = str(_NETWORK_DELAY)
    elif left:
        then = gettext("{confirmations} of {required} confirmations, {left} left.")
    else:
        then = gettext("{confirmations} of {required} confirmations, waiting for the network to make it final.")
    words = [gettext("Seen in block {block}."), then]
    if facts.missing:
        words.append(gettext("{missing} has not arrived yet."))
    values = {
        "block": wording.whole(block),
        "confirmations": confirmations,
        "required": required,
        "left": wording.about(left),
        "missing": facts.to_send(facts.missing),
        "network": facts.network.name,
        "payee": payment.merchant.payee,
    }
    return State(
        gettext("Payment seen, network delay") if delayed else gettext("Payment seen, confirming"),
        " ".join(words).format(**values),
        "warn" if delayed else "accent",
        "clock" if delayed else "blocks",
        waiting=True,
        confirmations=confirmations,
        required=required,
    )


def _seconds_left(facts: PayerFacts, confirmations: int) -> int:
    """Seconds until the transfer counts, by what the network has needed lately; 0 where nobody can know.

    In steps of ten seconds, so that the page changes no more often than somebody reads it.
    """
    missing = max(0, facts.payment.required_confirmations - confirmations)
    left: float = missing * max(facts.network.block_seconds, 1)
    payment = facts.payment
    rule = CreditRule(payment.required_confirmations, payment.require_finalized)
    usual = usual_wait(payment.environment, payment.network, rule, facts.now)
    if usual is not None and facts.standing:
        waited = (facts.now - max(deposit.seen_at for deposit in facts.standing)).total_seconds()
        left = max(left, usual - waited)
    return math.ceil(left / _STEP_SECONDS) * _STEP_SECONDS


_STEP_SECONDS = 10

_NETWORK_DELAY = _(
    "{network} is slow to confirm payments right now. Your money is safe: do not pay again. {payee} will see the "
    "payment as soon as it is final."
)


def _short(facts: PayerFacts) -> State:
    payment, payee = facts.payment, facts.payment.merchant.payee
    came = gettext("{held} of {due} has arrived.")
    came = came.format(held=facts.held(payment.received), due=facts.to_send(payment.due))
    if payment.closed_at is None and facts.in_time:
        detail = f"{came} {gettext('Send the rest to the same address before the time runs out.')}"
        title = gettext("{missing} is still missing").format(missing=facts.to_send(facts.missing))
        return State(title, detail, "warn", "warning", waiting=True)
    remedy = gettext("It is safe. Contact {payee}, who can accept it or send it back, and give the reference below.")
    detail = f"{came} {remedy.format(payee=payee)}"
    return State(gettext("Less than the full amount arrived in time"), detail, "warn", "warning")


def _notices(facts: PayerFacts) -> list[Notice]:
    notices = []
    payee = facts.payment.merchant.payee
    if facts.network_is_silent and facts.payment.status not in _SETTLED:
        words = gettext(
            "We cannot reach the network right now. If you have already paid, your money is not lost: it counts "
            "from the time you sent it, as soon as the network answers. Do not pay twice."
        )
        notices.append(Notice(gettext("{network} is slow to answer").format(network=facts.network.name), words))
    elif facts.network_has_no_new_blocks and facts.payment.status in _OPEN:
        words = gettext(
            "The network is not adding new blocks right now. If you have already paid, your money is not lost and "
            "will appear here with the next block. Do not pay twice."
        )
        notices.append(Notice(gettext("{network} is delayed").format(network=facts.network.name), words))
    for discrepancy in facts.discrepancies:
        if discrepancy.kind == DiscrepancyKind.UNDERPAID:
            continue  # the state shows it already
        if discrepancy.kind == DiscrepancyKind.REVIEW:
            words = gettext("It is safe and is being recorded now.")
            notices.append(Notice(gettext("Your transfer has arrived"), words))
            continue
        title, detail = _ASTRAY[DiscrepancyKind(discrepancy.kind)]
        amount = wording.coins(discrepancy.amount, discrepancy.decimals, discrepancy.asset)
        notices.append(Notice(title.format(amount=amount), f"{detail} {_GET_IT_BACK.format(payee=payee)}"))
    return notices


_GET_IT_BACK = _("It is safe. To get it back, contact {payee} and give the reference below.")
_ASTRAY = {
    DiscrepancyKind.LATE: (_("{amount} arrived late"), _("It arrived after the time to pay had ended.")),
    DiscrepancyKind.OVERPAID: (_("You sent {amount} too much"), _("The payment itself is complete.")),
    DiscrepancyKind.WRONG_TOKEN: (_("{amount} arrived, but it is the wrong coin"), _("It does not count.")),
    DiscrepancyKind.WRONG_NETWORK: (_("{amount} arrived on the wrong network"), _("It does not count.")),
    DiscrepancyKind.UNASKED: (_("{amount} arrived before this payment was created"), _("It does not count.")),
    DiscrepancyKind.NO_MEMO: (
        _("{amount} arrived without its memo"),
        _("Without its memo we cannot match it to your payment."),
    ),
}


def _how_to_pay(facts: PayerFacts) -> HowToPay | None:
    payment = facts.payment
    if payment.status not in _OPEN or not facts.in_time or payment.closed_at is not None:
        return None
    if _choice(facts) == "open":
        return None
    seen = {deposit.transaction_hash for deposit in facts.standing}
    return how_to_pay(payment, facts.network, missing=facts.missing, seen=seen)


def _receipt(facts: PayerFacts) -> list[tuple[str, str]]:
    payment = facts.payment
    lines = [
        *([(pgettext("what it pays for", "For"), purpose)] if (purpose := purpose_of(payment)) else ()),
        (gettext("Reference"), payment.public_id),
        (gettext("Price"), wording.fiat(payment.fiat_amount, payment.currency)),
        (gettext("Amount due"), facts.to_send(payment.due)),
        (gettext("Rate"), wording.quote(payment.cryptocurrency, payment.rate, payment.currency)),
        (gettext("Network"), facts.network.name),
    ]
    if facts.seen:
        lines.append((gettext("Received"), facts.held(facts.seen)))
    if payment.refunded:
        lines.append((gettext("Refunded"), facts.held(payment.refunded)))
    if payment.completed_at is not None:
        lines.append((pgettext("when it was paid", "Paid"), wording.moment(payment.completed_at)))
    lines.extend((gettext("Transaction"), deposit.transaction_hash) for deposit in facts.standing)
    return lines


def _details(facts: PayerFacts) -> list[tuple[str, str]]:
    payment, code = facts.payment, facts.payment.cryptocurrency
    of_the_payment = [
        *([(pgettext("what it pays for", "For"), purpose)] if (purpose := purpose_of(payment)) else ()),
        (gettext("Reference"), payment.public_id),
    ]
    if _choice(facts) == "open":
        return [*of_the_payment, (gettext("Expires"), wording.moment(payment.expires_at))]
    return [
        *of_the_payment,
        (gettext("Coin"), f"{coin_name(code)} ({code})"),
        (gettext("Network"), facts.network.name),
        (
            gettext("Asset") if facts.network.family == "stellar" else gettext("Token contract"),
            facts.network.assets[code].contract,
        ),
        (gettext("Rate"), wording.quote(payment.cryptocurrency, payment.rate, payment.currency)),
        (gettext("Expires"), wording.moment(payment.expires_at)),
    ]


def _choice(facts: PayerFacts) -> Literal["", "open", "made"]:
    payment = facts.payment
    if not payment.choices or payment.status != PaymentStatus.CREATED or facts.deposits or not facts.in_time:
        return ""
    return "open" if payment.chosen_at is None else "made"


def _again_url(facts: PayerFacts) -> str:
    """Where the payer may choose again, at the payment's own page or its link's; empty where there is none."""
    payment, link = facts.payment, facts.payment.payment_link
    if _choice(facts):
        return f"/pay/{payment.public_id}/choose"
    if link is None or facts.deposits:
        return ""
    if payment.status in UNPAID_FOR_GOOD:
        return f"/link/{link.code}"
    if payment.status != PaymentStatus.CREATED or not facts.in_time:
        return ""
    has_choice = len(choices_among(link.environment, link.wallets, link.coins)) > 1
    return f"/link/{link.code}?instead_of={payment.public_id}" if has_choice else ""


def _way_back(payment: Payment) -> tuple[str, str]:
    """The payer's way back, with the host to show: the redirect URL after success, else the cancel URL or the shop.

    Empty where the merchant named none, or one that is not of the web.
    """
    url = payment.redirect_url if payment.completed_at else payment.cancel_url
    parts = urlsplit(url or payment.redirect_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return "", ""
    return url or f"{parts.scheme}://{parts.netloc}/", parts.hostname
