"""The story of a merchant: its health, terms, people, wallets, balances and latest payments."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Final

from django.apps import apps
from django.db.models import Model
from django.utils import timezone
from django.utils.html import format_html

from config import ids
from config.admin.story import Section
from config.admin.values import YES_NO, Shown, ago, instant, link, list_of, money, network_name, related
from config.environments import Environment
from config.pages import wording
from merchants.access.throttling import requests_per_minute
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Account, Stop, StopKind
from merchants.models import Member, Merchant
from merchants.people import second_factors
from merchants.services import fee_bps_of
from payments.deposits.turnover.models import Span
from payments.deposits.turnover.reading import turnover_between
from payments.merchant_wallets.models import MerchantWallet
from payments.merchant_wallets.states import WalletStatus
from payments.models import Payment
from payments.monitoring.today.waiting import MOST_COUNTED, what_waits
from payments.stories import sections
from payments.stories.sections import MOST, linked
from webhooks.models import Delivery
from webhooks.states import DeliveryStatus

COMPARED: Final = timedelta(days=30)
"""The period of the success rate, which is shown beside that of the same period before."""
GIVEN_UP_WITHIN: Final = timedelta(days=7)

Row = tuple[Shown, Shown, Shown, Shown]


def of_merchant(merchant: Merchant) -> Iterator[Section]:
    yield Section(
        title="Health", headings=("", "Environment", "Now", "More"), rows=list(_health(merchant, timezone.now()))
    )
    yield Section(title="Terms", headings=("", ""), rows=list(_terms(merchant)))
    yield _people(merchant)
    yield _wallets(merchant)
    yield sections.balances_of(Environment.values, merchant.pk)
    for environment in Environment:
        found = Payment.objects.of(merchant, environment).defer("qr_png").order_by("-id")[:10]
        yield Section(
            title=f"Latest payments ({environment.label})",
            headings=("Payment", "State", "Price", "Created"),
            rows=[
                (
                    linked(each, wording.short_id(each.public_id)),
                    each.get_status_display(),
                    wording.fiat(each.fiat_amount, each.currency),
                    instant(each.created_at),
                )
                for each in found
            ],
        )


# --- health ------------------------------------------------------------------------------------------


def _health(merchant: Merchant, now: datetime) -> Iterator[Row]:
    """Rows of facts, each with a link to its list: the success rates always, others only where there are any."""
    for stop in Stop.objects.standing().filter(merchant=merchant).order_by("environment"):
        what = "Suspended" if stop.kind == StopKind.SUSPENSION else "Payouts stopped"
        yield linked(stop, what), stop.get_environment_display() or "Both", instant(stop.since), stop.reason
    for environment in (Environment.PRODUCTION, Environment.SANDBOX):
        yield _success(merchant, environment, now)
    for each in what_waits(lambda _: True, merchant):
        more = f"the oldest {ago(each.oldest)}" + (f", worth {each.worth}" if each.worth else "")
        yield each.title, str(Environment(each.environment).label), link(each.url, each.count), more
    yield from _debts(merchant)
    yield from _given_up(merchant, now)


def _success(merchant: Merchant, environment: Environment, now: datetime) -> Row:
    end = datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), time.min, tzinfo=UTC)
    first = end - 2 * COMPARED
    sums = {each: [0, 0] for each in (first, first + COMPARED)}
    for came in turnover_between(merchant, environment, Span.DAY, first, end, bar=COMPARED):
        sums[came.at][0] += came.paid
        sums[came.at][1] += came.paid + came.unpaid
    (paid_before, ended_before), (paid, ended) = sums.values()
    more = f"{wording.whole(paid)} of {wording.whole(ended)}; " if ended else ""
    more += f"{_share(paid_before, ended_before)} in the {COMPARED.days} days before"
    shown = _list(Payment, _share(paid, ended), merchant, environment=environment)
    return f"Payments paid, of those that ended in {COMPARED.days} days", str(environment.label), shown, more


def _share(part: int, whole: int) -> str:
    return wording.percent(Decimal(part * 100) / whole) if whole else "none"


def _debts(merchant: Merchant) -> Iterator[Row]:
    owed = Account.objects.filter(
        environment__in=Environment.values, owner=str(merchant.pk), kind=AccountKind.MERCHANT_RECEIVABLE, balance__gt=0
    )
    for each in owed.order_by("environment", "pk")[:MOST]:
        place = each.environment, each.network
        debts = list_of(apps.get_model("settlements.Debt"), {"owner__exact": str(merchant.pk)})
        shown = link(debts, money(each.natural_balance, place, each.asset))
        yield "Owed by the merchant", each.get_environment_display(), shown, f"on {network_name(*place)}"


def _given_up(merchant: Merchant, now: datetime) -> Iterator[Row]:
    since = ids.first_uuid_at(now - GIVEN_UP_WITHIN)
    for environment in Environment:
        failed = Delivery.objects.of(merchant, environment).filter(status=DeliveryStatus.FAILED, pk__gte=since)
        if number := failed.order_by()[: MOST_COUNTED + 1].count():
            count = f"{MOST_COUNTED}+" if number > MOST_COUNTED else wording.whole(number)
            shown = _list(Delivery, count, merchant, environment=environment, status=DeliveryStatus.FAILED)
            yield "Webhook deliveries given up", str(environment.label), shown, f"in {GIVEN_UP_WITHIN.days} days"


# --- terms, people and wallets -----------------------------------------------------------------------


def _terms(merchant: Merchant) -> Iterator[tuple[str, Shown]]:
    yield "Plan", merchant.get_plan_display()
    whose = "that of its plan" if merchant.fee_bps is None else "its own"
    yield "Fee", f"{wording.percent(Decimal(fee_bps_of(merchant)) / 100, 2)} of what is settled, {whose}"
    limits = (f"{wording.whole(requests_per_minute(merchant, each))} in {each.label}" for each in Environment)
    yield "Requests a minute", ", ".join(limits)
    yield "Operational mail", merchant.email
    yield "Open since", instant(merchant.created_at)


def _people(merchant: Merchant) -> Section:
    members = list(Member.objects.filter(merchant=merchant).select_related("user").order_by("pk")[:MOST])
    with_factor = second_factors.who_has_any(each.user for each in members)
    return Section(
        title="People",
        headings=("Who", "Role", "Second factor", "Last logged in", "Member since"),
        rows=[
            (
                related(each.user, is_page=False),
                each.get_role_display(),
                YES_NO[each.user_id in with_factor],
                instant(each.user.last_login, is_page=False) if each.user.last_login else "never",
                instant(each.joined_at, is_page=False),
            )
            for each in members
        ],
        empty="Nobody can log in for this merchant: add an owner below.",
    )


def _wallets(merchant: Merchant) -> Section:
    kept = (WalletStatus.IN_USE, WalletStatus.WAITING, WalletStatus.LOST)
    found = MerchantWallet.objects.filter(merchant=merchant, environment__in=Environment.values, status__in=kept)
    return Section(
        title="Wallets",
        headings=("Network", "Environment", "Address", "State", "Proof"),
        rows=[
            (
                network_name(each.environment, each.network),
                each.get_environment_display(),
                linked(each, wording.short_hash(each.address)),
                _state(each),
                each.get_proof_display() or "not proven",
            )
            for each in found.order_by("environment", "network", "pk")[:MOST]
        ],
        empty="None: nothing can be settled until a member names one on the dashboard.",
    )


def _state(wallet: MerchantWallet) -> Shown:
    words = wallet.get_status_display()
    if wallet.status == WalletStatus.IN_USE:
        return words
    return format_html("{}, {}", words, instant(wallet.takes_effect_at, is_page=False))


# --- links -------------------------------------------------------------------------------------------


def _list(model: type[Model], words: str, merchant: Merchant, **exactly: str) -> Shown:
    """A link to a list in the admin with the rows of this merchant."""
    filters = {f"{name}__exact": value for name, value in exactly.items()}
    return link(list_of(model, {"merchant__id__exact": str(merchant.pk), **filters}), words)
