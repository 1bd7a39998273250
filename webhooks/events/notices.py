"""Mails to members about what they have chosen, gathered from the events of a few minutes into one mail each.

A round reads the events since the last one and the news of upper apps, writes the mails as rows and moves on, in one
database transaction: nothing is sent twice, and nothing is skipped. Sending is the affair of
`merchants.people.mailing`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import Count, QuerySet
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from config.environments import Environment
from config.hooks import Hook
from config.ids import first_uuid_at
from config.periodic.containment import contained
from merchants.models import Member
from merchants.people.mailing import write_mail
from merchants.preferences import Notice
from webhooks.events import catalogue
from webhooks.models import Event, NoticeRound

GATHERED_FOR: Final = timedelta(minutes=5)
"""A member gets at most one mail for each merchant and environment in this time."""
SETTLES_AFTER: Final = timedelta(minutes=1)
"""An event gets its key before its database transaction ends: so much later all that are older can be read."""
NEVER_OLDER_THAN: Final = timedelta(days=1)
"""Older events, from a time when no worker was running, are not sent any more."""
MOST_NAMED: Final = 5
"""Most records of a kind in a mail; the others are only counted."""

ABOUT: Final[Mapping[str, Notice]] = {
    catalogue.PAYMENT_COMPLETED: Notice.PAID,
    catalogue.PAYMENT_EXPIRED: Notice.UNPAID,
    catalogue.PAYMENT_REVERSED: Notice.UNPAID,
    catalogue.PAYMENT_UNDERPAID: Notice.DECISION,
    catalogue.PAYMENT_OVERPAID: Notice.DECISION,
    catalogue.PAYMENT_LATE: Notice.DECISION,
    catalogue.SETTLEMENT_COMPLETED: Notice.SETTLED,
    catalogue.SETTLEMENT_FAILED: Notice.HELD,
}


@dataclass(frozen=True, slots=True)
class News:
    """One record in a mail: its amount with its currency, its public id, the path of its page, and more."""

    amount: str
    public_id: str
    path: str
    words: str = ""


About = tuple[Any, str, Notice]
"""The key of a merchant, its environment, and the kind of notice for its members."""

further_news: Hook[[datetime, datetime], Mapping[About, list[News]]] = Hook("further_news")
"""News besides events between two instants, the newest first; settlements provide it. Each is in one such time
alone."""

_PAGES: Final = {
    "payment": ("dashboard_payment", "currency"),
    "settlement": ("dashboard_settlement", "settlementCurrency"),
}
"""By kind of record its page, and where the currency of its amount stands."""


def write_notices(*, now: datetime) -> int:
    """Writes the mails of a round, if one is due; returns how many."""
    with transaction.atomic():
        NoticeRound.objects.get_or_create(defaults={"told_until": now})
        last = NoticeRound.objects.select_for_update(skip_locked=True).first()
        until = now - SETTLES_AFTER
        if last is None or until - last.told_until < GATHERED_FOR:
            return 0
        since = max(last.told_until, now - NEVER_OLDER_THAN)
        written = _write_mails(since, until)
        last.told_until = until
        last.save(update_fields=["told_until"])
    return written


def _write_mails(since: datetime, until: datetime) -> int:
    found = Event.objects.filter(id__gte=first_uuid_at(since), id__lt=first_uuid_at(until), type__in=ABOUT)
    counted = found.order_by().values_list("merchant_id", "environment", "type").annotate(Count("id"))
    numbers: dict[tuple[Any, str], dict[Notice, int]] = defaultdict(lambda: defaultdict(int))
    for merchant_id, environment, kind, number in counted:
        numbers[merchant_id, environment][ABOUT[kind]] += number
    further = further_news(since, until)
    for (merchant_id, environment, notice), news in further.items():
        numbers[merchant_id, environment][notice] += len(news)
    members = defaultdict(list)
    concerned = {merchant_id for merchant_id, _environment in numbers}
    for member in Member.objects.filter(merchant__in=concerned, user__is_active=True).select_related(
        "merchant", "user"
    ):
        members[member.merchant_id].append(member)
    written = 0
    for (merchant_id, environment), kinds in numbers.items():
        newest: dict[Notice, list[News]] = {}
        for member in members[merchant_id]:
            wanted = [notice for notice in Notice if notice in kinds and notice in member.notices]
            for notice in wanted:
                if notice not in newest:
                    types = [name for name, about in ABOUT.items() if about == notice]
                    own = found.filter(merchant_id=merchant_id, environment=environment, type__in=types)
                    noted = [*further.get((merchant_id, environment, notice), ()), *_news_of(own)]
                    newest[notice] = noted[:MOST_NAMED]
            if wanted:
                with translation.override(member.language):
                    _write(member, environment, {notice: (kinds[notice], newest[notice]) for notice in wanted})
                written += 1
    return written


def _news_of(events: QuerySet[Event]) -> Iterator[News]:
    """The newest. One whose record cannot be named is counted in the mail and not named: the others are."""
    for event in events.order_by("-id")[:MOST_NAMED]:
        with contained("event could not be named in a mail", event_id=event.public_id):
            record = event.payload
            page, currency = _PAGES[record["object"]]
            amount = f"{record['amount']} {record[currency]}"
            yield News(amount, record["id"], reverse(page, args=[record["id"]]))


def _write(member: Member, environment: str, noted: Mapping[Notice, tuple[int, list[News]]]) -> None:
    names = {
        "merchant": member.merchant.name,
        "what": ", ".join(f"{notice.label} ({number})" for notice, (number, _newest) in noted.items()),
    }
    subject = _("%(merchant)s: %(what)s") % names
    if environment == Environment.SANDBOX:
        subject = _("Sandbox: %(subject)s") % {"subject": subject}
    parts = [_part(notice, number, newest) for notice, (number, newest) in noted.items()]
    parts.append(
        _("You get at most one such e-mail every five minutes. Choose your notifications here:\n%(link)s")
        % {"link": f"{settings.PUBLIC_URL}{reverse('dashboard_preferences')}"}
    )
    write_mail(to=member.user.email, subject=subject, text="\n\n".join(parts) + "\n")


def _part(notice: Notice, number: int, newest: list[News]) -> str:
    """The section of one notice: amount, reference and a link for each record, the newest first."""
    lines = [f"{notice.label} ({number}):"]
    for news in newest:
        lines.append(f"- {news.amount}, {news.public_id}\n  {settings.PUBLIC_URL}{news.path}")
        if news.words:
            lines.append(f"  {news.words}")
    if number > len(newest):
        more = number - len(newest)
        lines.append(ngettext("and %(more)d more.", "and %(more)d more.", more) % {"more": more})
    return "\n".join(lines)
