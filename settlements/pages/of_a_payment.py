"""The settlements on the page of a payment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from config import ids
from payments.dashboard.timeline import Story, coins_of
from webhooks.events import catalogue as catalogue


def settlement_story() -> Story:
    """The timeline entries for events of a payment's settlements."""
    words = {
        catalogue.SETTLEMENT_CREATED: _("Part of a settlement to your wallet"),
        catalogue.SETTLEMENT_COMPLETED: _("The settlement is final on its network"),
        catalogue.SETTLEMENT_FAILED: _("The settlement could not be paid: its money will be in a later one"),
    }
    return Story(words, _amount_of, ids.SETTLEMENT, "dashboard_settlement", _("The settlement"))


def _amount_of(record: Mapping[str, Any]) -> str:
    return _("%(amount)s in all") % {"amount": coins_of(record, "amount", coin="settlementCurrency")}
