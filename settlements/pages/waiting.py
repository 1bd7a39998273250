"""The settlements that wait, or that wait for their merchant to decide, as the page of decisions shows them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from django.db.models import Q, Sum
from django.urls import reverse
from django.utils.translation import gettext as _

from config.money import format_crypto, from_units
from config.pages import wording
from merchants.models import Merchant
from merchants.preferences import Notice
from payments.chains import registry
from payments.dashboard.decisions.rows import RecordRow, Waiting
from payments.dashboard.overview.figures import Coming
from payments.monitoring.today.waiting import Kind
from settlements.models import Settlement
from settlements.states import BLOCKING, SettlementProblem, SettlementStatus
from settlements.wording import what_next
from webhooks.events.notices import About, News

COMING_SHOWN = 3
MAIL_AFTER: Final = timedelta(minutes=15)
"""Members get a mail about a settlement that waits for so long: most of what keeps one back is over sooner."""


_HELD = Q(status=SettlementStatus.PENDING) & ~Q(failure_code="")
_BLOCKED = Q(status=SettlementStatus.FAILED, failure_code__in=BLOCKING, may_retry=False)


def settlements_waiting(merchant: Merchant, environment: str) -> Waiting:
    """Settlements that are held, and failed ones whose wallet is paid nothing until the merchant decides."""
    return Waiting(Settlement.objects.of(merchant, environment).filter(_HELD | _BLOCKED), _row)


def settlements_to_see() -> list[Kind]:
    """The same of all merchants, for operators."""
    pending, failed = ({"status__exact": each.value} for each in (SettlementStatus.PENDING, SettlementStatus.FAILED))
    return [
        Kind("Settlements held", Settlement.objects.filter(_HELD), coin="currency", shown=pending),
        Kind(
            "Settlements whose merchant has to decide",
            Settlement.objects.filter(_BLOCKED),
            coin="currency",
            shown=failed,
        ),
    ]


def waiting_news(since: datetime, until: datetime) -> Mapping[About, list[News]]:
    """The settlements that have waited for MAIL_AFTER from some time since `since` and before `until`, and still do."""
    waiting = Settlement.objects.filter(
        status=SettlementStatus.PENDING, waits_since__gte=since - MAIL_AFTER, waits_since__lt=until - MAIL_AFTER
    )
    found: defaultdict[About, list[News]] = defaultdict(list)
    for each in waiting.order_by("-id").iterator():
        news = News(
            amount=f"{format_crypto(each.amount, each.decimals)} {each.currency}",
            public_id=each.public_id,
            path=reverse("dashboard_settlement", args=[each.public_id]),
            words=_what_next(each),
        )
        found[each.merchant_id, each.environment, Notice.WAITS].append(news)
    return found


def _what_next(settlement: Settlement) -> str:
    return settlement.failure_message if settlement.waits_for_trustline else what_next(settlement.failure_code)


def settlements_coming(merchant: Merchant, environment: str) -> list[Coming]:
    """The newest settlements that are on their way to the merchant's wallets, and nothing keeps back."""
    sent = Settlement.objects.of(merchant, environment).filter(status=SettlementStatus.PENDING, failure_code="")
    return [
        Coming(
            amount=wording.coins(each.amount, each.decimals, each.currency),
            words=_("Settlement to %(wallet)s, with the next on-chain transactions")
            % {"wallet": wording.short_hash(each.destination)},
            url=reverse("dashboard_settlement", args=[each.public_id]),
        )
        for each in sent.order_by("-pk")[:COMING_SHOWN]
    ]


def settled_so_far(merchant: Merchant, environment: str) -> str:
    """Gross and paid amounts of the completed settlements, by coin; empty where there are none."""
    done = Settlement.objects.of(merchant, environment).filter(status=SettlementStatus.COMPLETED)
    rows = done.order_by().values_list("currency", "decimals").annotate(Sum("gross"), Sum("amount"))
    earned, settled = defaultdict[str, Decimal](Decimal), defaultdict[str, Decimal](Decimal)
    for currency, decimals, gross, amount in rows:
        earned[currency] += from_units(int(gross), decimals)
        settled[currency] += from_units(int(amount), decimals)
    words = _("%(earned)s came in, and %(settled)s was paid to your wallets after fees and refunds.")
    return " ".join(
        words % {"earned": f"{wording.number(each)} {coin}", "settled": f"{wording.number(settled[coin])} {coin}"}
        for coin, each in sorted(earned.items())
    )


def _row(settlement: Settlement) -> RecordRow:
    is_held = settlement.status == SettlementStatus.PENDING
    where = registry.known_profile(settlement.environment, settlement.network).name
    return RecordRow(
        key=settlement.pk,
        label=_("Settlement that waits") if is_held else _("Settlement that failed"),
        title=wording.coins(settlement.amount, settlement.decimals, settlement.currency),
        happened=_("To %(wallet)s on %(network)s. %(problem)s.")
        % {
            "wallet": wording.short_hash(settlement.destination),
            "network": where,
            "problem": SettlementProblem(settlement.failure_code).label,
        },
        what_next=_what_next(settlement),
        url=reverse("dashboard_settlement", args=[settlement.public_id]),
        action=_("Open the settlement"),
        created_at=settlement.created_at,
    )
