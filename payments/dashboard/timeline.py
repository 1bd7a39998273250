"""The timeline of a payment in words: what its network, its ledger, its webhooks and people did, newest first."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from config import ids
from config.hooks import Hook
from config.pages import wording
from config.pages.wording import whole
from merchants.audit.models import LoggedAction
from merchants.models import Member, Merchant
from merchants.roles import Permission
from payments.chains import registry
from payments.dashboard.decisions.rows import address_of
from payments.models import BalanceChange, Deposit, Discrepancy, Payment
from payments.states import BalanceChangeKind, DepositStatus, DiscrepancyKind, DiscrepancyStatus
from webhooks.events import catalogue as catalogue
from webhooks.models import Delivery, Event
from webhooks.pages.presenters import delivery_badge, host_of
from webhooks.states import DeliveryStatus

MOST_LINES = 60
"""Of a payment to which more has happened, the newest are shown."""

MOST_DELIVERIES = 20
MOST_ACTIONS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that happened. `rank` sorts what happened within one second: causes come before effects."""

    at: datetime
    title: str
    rank: int
    amount: str = ""
    detail: str = ""
    url: str = ""
    link: str = ""
    """The words of the link to `url`."""
    is_elsewhere: bool = False
    """True if `url` leads away from this installation."""


@dataclass(frozen=True, slots=True)
class Story:
    """Lines for events of another record: their words, their amount by the payload, and the record's page."""

    words: Mapping[str, str | Promise]
    amount: Callable[[Mapping[str, Any]], str]
    kind: ids.PublicId
    page: str
    link: str | Promise


refund_story: Hook[[], Story] = Hook("refund_story")
"""Lines for events of refunds; refunds provide it."""

settlement_story: Hook[[], Story] = Hook("settlement_story")
"""Lines for events of settlements; settlements provide it."""


@dataclass(frozen=True, slots=True)
class Timeline:
    lines: list[Line]
    is_cut: bool
    """True if more happened than is shown."""


def timeline_of(
    payment: Payment,
    member: Member,
    *,
    deposits: Sequence[Deposit],
    discrepancies: Sequence[Discrepancy],
    refunds: Sequence[uuid.UUID],
) -> Timeline:
    """Events of a payment, newest first, by four queries.

    `deposits` and `discrepancies` are those of the page, `refunds` the keys of the newest refunds.
    """
    merchant, environment = member.merchant, payment.environment
    changes = list(BalanceChange.objects.filter(payment=payment).order_by("-id")[: MOST_LINES + 1])
    settlements = {change.settlement for change in changes if change.settlement}
    found = Event.objects.of(merchant, environment).filter(object_id__in=[payment.pk, *refunds, *settlements])
    lines = [
        *_of_deposits(payment, deposits, {each.deposit_id for each in discrepancies}),
        *_of_discrepancies(discrepancies),
        *map(_of_balance, changes),
        *map(_of_event, found.order_by("-id")[: MOST_LINES + 1]),
        *_of_deliveries(payment, merchant),
        *_of_people(payment, member, [ids.REFUND.encode(key) for key in refunds], discrepancies),
    ]
    return Timeline(
        newest_first(lines)[:MOST_LINES],
        is_cut=len(lines) > MOST_LINES or payment.deposit_count > len(deposits),
    )


def timeline_for_operators(
    payment: Payment, *, deposits: Sequence[Deposit], discrepancies: Sequence[Discrepancy]
) -> list[Line]:
    """What the networks and the ledger did with a payment, newest first, by one query."""
    changes = BalanceChange.objects.filter(payment=payment).order_by("-id")[:MOST_LINES]
    lines = [
        *_of_deposits(payment, deposits, {each.deposit_id for each in discrepancies}),
        *_of_discrepancies(discrepancies),
        *map(_of_balance, changes),
    ]
    return newest_first(lines)[:MOST_LINES]


def newest_first(lines: Iterable[Line]) -> list[Line]:
    """In the order of their times to the second, which is what is shown; within one, effects above their causes."""
    return sorted(lines, key=lambda line: (line.at.replace(microsecond=0), line.rank, line.at), reverse=True)


# --- the network -------------------------------------------------------------------------------------


def _of_deposits(payment: Payment, deposits: Sequence[Deposit], aside: set[uuid.UUID | None]) -> Iterator[Line]:
    for deposit in deposits:
        profile = registry.known_profile(deposit.environment, deposit.network)
        values = {"network": profile.name, "block": whole(deposit.height)}
        explorer = profile.explorer and f"{profile.explorer}{deposit.transaction_hash}"
        title = _("A transfer arrived on %(network)s, in block %(block)s")
        if deposit.is_surplus:
            title = _("More was found at the deposit address on %(network)s than we had seen arrive")
        elif deposit.first_block_time > payment.expires_at:
            title = _("A transfer arrived late on %(network)s, in block %(block)s")
        yield Line(
            at=deposit.seen_at,
            rank=0,
            title=title % values,
            amount=_coins(deposit.amount, deposit),
            detail=wording.short_hash(deposit.transaction_hash),
            url=explorer,
            link=_("In the block explorer") if explorer else "",
            is_elsewhere=True,
        )
        is_counted = deposit.status == DepositStatus.CREDITED and deposit.pk not in aside
        if is_counted and deposit.credited_at is not None:
            yield Line(
                at=deposit.credited_at,
                rank=1,
                title=_("The transfer has its confirmations and counts"),
                amount=_coins(deposit.amount, deposit),
                detail=wording.short_hash(deposit.transaction_hash),
            )


# --- the ledger --------------------------------------------------------------------------------------


def _of_discrepancies(discrepancies: Sequence[Discrepancy]) -> Iterator[Line]:
    for each in discrepancies:
        in_review = each.kind == DiscrepancyKind.REVIEW
        is_open = each.status == DiscrepancyStatus.OPEN and not in_review
        kind = str(DiscrepancyKind(each.kind).label)
        yield Line(
            at=each.created_at,
            rank=3,
            title=_("Confirmed") if in_review else _("Confirmed, and set aside for your decision"),
            amount=_coins(each.amount, each),
            detail=kind,
            url=address_of(each) if is_open else "",
            link=_("Accept or refund it") if is_open else "",
        )
        if each.status == DiscrepancyStatus.ACCEPTED and each.resolved_at is not None:
            yield Line(at=each.resolved_at, rank=2, title=_("Accepted"), amount=_coins(each.amount, each), detail=kind)


_BALANCE = {
    BalanceChangeKind.PAYMENT: gettext_lazy("Added to your balance"),
    BalanceChangeKind.REVERSAL: gettext_lazy("Taken off your balance again: the network undid a transfer"),
    BalanceChangeKind.ACCEPTED: gettext_lazy("Added to your balance, as it was accepted"),
    BalanceChangeKind.REFUND: gettext_lazy("Taken off your balance for a refund"),
    BalanceChangeKind.REFUND_FAILED: gettext_lazy("Back in your balance: a refund was not paid"),
    BalanceChangeKind.SETTLEMENT_FAILED: gettext_lazy("Back in your balance: a settlement was not paid"),
    BalanceChangeKind.SETTLED_AHEAD: gettext_lazy("Settled before your operator restored its database"),
    BalanceChangeKind.MISSING: gettext_lazy("Held back of your balance: its coins are missing on the network"),
    BalanceChangeKind.MISSING_ENDED: gettext_lazy("Held back before, and in your balance again"),
    BalanceChangeKind.LOSS: gettext_lazy("Taken off your balance: its coins are lost on the network"),
    BalanceChangeKind.DEBT_OFFSET: gettext_lazy("Taken off your balance for a debt in another coin"),
    BalanceChangeKind.DEBT_REPAID: gettext_lazy("Debt repaid from another coin"),
    BalanceChangeKind.DEBT_WRITTEN_OFF: gettext_lazy("Debt written off"),
    BalanceChangeKind.DEBT_COLLECTED: gettext_lazy("Debt paid outside"),
    BalanceChangeKind.DEBT_OWED_AGAIN: gettext_lazy("Owed again: the end of a debt was taken back"),
}


def _of_balance(change: BalanceChange) -> Line:
    sign = "+" if change.amount > 0 else "−"
    amount = f"{sign}{_coins(abs(change.amount), change)}"
    return Line(at=change.created_at, rank=5, title=str(_BALANCE[BalanceChangeKind(change.kind)]), amount=amount)


# --- events ------------------------------------------------------------------------------------------


_PAYMENT_WORDS = {
    catalogue.PAYMENT_CREATED: gettext_lazy("Created"),
    catalogue.PAYMENT_PENDING: gettext_lazy("Seen on the network, confirming"),
    catalogue.PAYMENT_UNDERPAID: gettext_lazy("Underpaid: less than was due is confirmed"),
    catalogue.PAYMENT_COMPLETED: gettext_lazy("Completed"),
    catalogue.PAYMENT_OVERPAID: gettext_lazy("Overpaid: more than was due is confirmed"),
    catalogue.PAYMENT_EXPIRED: gettext_lazy("Expired"),
    catalogue.PAYMENT_LATE: gettext_lazy("Money arrived late"),
    catalogue.PAYMENT_CANCELLED: gettext_lazy("Cancelled"),
    catalogue.PAYMENT_REVERSED: gettext_lazy("Reversed: a reorganisation undid a transfer"),
    catalogue.PAYMENT_REFUNDED: gettext_lazy("Refunded"),
    catalogue.PAYMENT_UPDATED: gettext_lazy("Amounts, reasons or details changed"),
    catalogue.PAYMENT_COINS_MISSING: gettext_lazy("Coins are missing on the network"),
    catalogue.PAYMENT_COINS_RESTORED: gettext_lazy("Missing coins are back or covered"),
    catalogue.PAYMENT_COINS_LOST: gettext_lazy("Coins are lost"),
}


def _of_event(event: Event) -> Line:
    kind = event.type.partition(".")[0]
    if kind == "payment":
        title = str(_PAYMENT_WORDS.get(event.type, event.type))
        return Line(at=event.created_at, rank=4, title=title, amount=_so_far(event))
    story = refund_story() if kind == "refund" else settlement_story()
    return Line(
        at=event.created_at,
        rank=4,
        title=str(story.words.get(event.type, event.type)),
        amount=story.amount(event.payload),
        url=reverse(story.page, args=[story.kind.encode(event.object_id)]),
        link=str(story.link),
    )


def _so_far(event: Event) -> str:
    """Amount refunded by then, for events about refunds; else the amount received; empty for nothing.

    Where either may have changed, both.
    """
    received, refunded = (coins_of(event.payload, name) for name in ("amountReceived", "amountRefunded"))
    if event.type == catalogue.PAYMENT_REFUNDED:
        return refunded and _("%(amount)s refunded in all") % {"amount": refunded}
    words = [received and _("%(amount)s received") % {"amount": received}]
    if event.type == catalogue.PAYMENT_UPDATED:
        words.append(refunded and _("%(amount)s refunded or set aside for it") % {"amount": refunded})
    return ", ".join(filter(None, words))


def coins_of(record: Mapping[str, Any], name: str, *, coin: str = "cryptocurrency") -> str:
    """An amount of the record that an event carries, as the rest of the page writes it; empty for nothing."""
    amount = Decimal(str(record.get(name) or 0))
    return f"{wording.number(amount)} {record.get(coin, '')}" if amount else ""


# --- webhooks and people -----------------------------------------------------------------------------


def _of_deliveries(payment: Payment, merchant: Merchant) -> Iterator[Line]:
    own = Delivery.objects.of(merchant, payment.environment).filter(event__object_id=payment.pk)
    found = own.with_last_attempt().select_related("event", "endpoint").defer("event__payload")
    for delivery in found.order_by("-pk")[:MOST_DELIVERIES]:
        values = {"event": delivery.event.type, "host": host_of(delivery.endpoint.url)}
        title = _("Webhook %(event)s to %(host)s") % values
        if delivery.status == DeliveryStatus.DELIVERED:
            title = _("Webhook %(event)s arrived at %(host)s") % values
        count = delivery.attempt_count
        details = [delivery_badge(delivery)[1], ngettext("%d attempt", "%d attempts", count) % count]
        if delivery.last_at is not None:
            code = delivery.last_code
            details.append(_("no reply") if code is None else _("answered %(code)s") % {"code": code})
        yield Line(
            at=delivery.delivered_at or delivery.last_at or delivery.created_at,
            rank=6,
            title=title,
            detail=", ".join(details),
            url=reverse("dashboard_delivery", args=[delivery.public_id]),
            link=_("The delivery"),
        )


def _of_people(
    payment: Payment, member: Member, refunds: Sequence[str], discrepancies: Sequence[Discrepancy]
) -> Iterator[Line]:
    """Actions of people. Their names are only for those who may read the audit log."""
    may_know = member.may[Permission.SEE_AUDIT_LOG]
    records = [payment.public_id, *refunds, *(each.public_id for each in discrepancies)]
    done = LoggedAction.objects.of(member.merchant, payment.environment).filter(record__in=records)
    for logged in done.order_by("-pk")[:MOST_ACTIONS]:
        by = logged.email if may_know else _("a member of your team")
        yield Line(at=logged.created_at, rank=0, title=logged.words, detail=_("by %(person)s") % {"person": by})


def _coins(units: int, of: Deposit | Discrepancy | BalanceChange) -> str:
    return wording.coins(units, of.decimals, of.asset)
