"""The months for which a merchant has a statement, in the time zone of its settlements. Pure."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from config.environments import Environment
from merchants.models import Merchant
from payments.monitoring.accounting.periods import Days


def month_named(name: str, timezone: str, *, opened_at: datetime, now: datetime) -> Days | None:
    """`2027-01`, whole, if it has begun and the merchant was there before its end; None for any other.

    The month that runs when no name is given.
    """
    found = months(timezone, opened_at=opened_at, now=now)
    return next((month for month in found if not name or name_of(month) == name), None)


def months(timezone: str, *, opened_at: datetime, now: datetime) -> list[Days]:
    """Every month from the one a merchant was opened in to the one that runs, the newest first."""
    zone = ZoneInfo(timezone)
    first, found = opened_at.astimezone(zone).date().replace(day=1), []
    month = now.astimezone(zone).date().replace(day=1)
    while month >= first:
        found.append(Days(month, _last_day(month), zone))
        month = (month - timedelta(days=1)).replace(day=1)
    return found


def name_of(month: Days) -> str:
    return f"{month.first:%Y-%m}"


def number_of(merchant: Merchant, environment: str, month: Days) -> str:
    """The number of a statement, as its page and files have it: `2027-01-7Q2W8X1C`, `TEST-2027-01-…` in the sandbox."""
    number = f"{name_of(month)}-{merchant.public_id[-8:].upper()}"
    return f"TEST-{number}" if environment == Environment.SANDBOX else number


def _last_day(first: date) -> date:
    return (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
