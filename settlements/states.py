"""Statuses of settlements, and the moves between them. Pure."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from config.states import Transitions


class SettlementStatus(models.TextChoices):
    PENDING = "pending", _("Pending")
    COMPLETED = "completed", _("Completed")
    FAILED = "failed", _("Failed")


SETTLEMENT_MOVES = Transitions(
    {
        SettlementStatus.PENDING: [SettlementStatus.COMPLETED, SettlementStatus.FAILED],
        SettlementStatus.COMPLETED: [],
        SettlementStatus.FAILED: [],
    }
)


class SettlementProblem(models.TextChoices):
    """Reasons for a settlement that waits, or has failed. The first group waits and goes on by itself."""

    INSUFFICIENT_LIQUIDITY = "insufficient_liquidity", _("There is not enough of the settlement currency yet")
    OVER_LIMIT = "over_limit", _("It is above a limit, and waits for operators")
    RATE_UNAVAILABLE = "rate_unavailable", _("There is no exchange rate to convert at")
    CURRENCY_UNAVAILABLE = "currency_unavailable", _("The settlement currency is not in use on this network")
    NETWORK_UNAVAILABLE = "network_unavailable", _("The network cannot be reached, or payouts are stopped on it")
    COIN_PAUSED = "coin_paused", _("The issuer of the coin has stopped all transfers of it for now")
    HOT_WALLET_BLOCKED = "hot_wallet_blocked", _("The issuer of the coin has blocked the wallet that pays")
    DESTINATION_INVALID = "destination_invalid", _("The wallet cannot be paid")
    NO_TRUSTLINE = "no_trustline", _("The wallet does not hold this coin yet")
    MEMO_REQUIRED = "memo_required", _("The wallet needs a memo")
    DESTINATION_REFUSED = "destination_refused", _("The issuer of the coin does not allow this wallet")
    TRANSFER_FAILED = "transfer_failed", _("The network refused the transfer")
    REJECTED = "rejected", _("An operator refused it")
    WALLET_LOST = "wallet_lost", _("The key of the wallet is lost")


WAITS = frozenset(
    {
        SettlementProblem.INSUFFICIENT_LIQUIDITY,
        SettlementProblem.OVER_LIMIT,
        SettlementProblem.RATE_UNAVAILABLE,
        SettlementProblem.CURRENCY_UNAVAILABLE,
        SettlementProblem.NETWORK_UNAVAILABLE,
        SettlementProblem.COIN_PAUSED,
        SettlementProblem.HOT_WALLET_BLOCKED,
        SettlementProblem.NO_TRUSTLINE,
    }
)
"""The settlement stays `pending` and goes on as soon as it can."""

BLOCKING = frozenset(
    {
        SettlementProblem.DESTINATION_INVALID,
        SettlementProblem.NO_TRUSTLINE,
        SettlementProblem.MEMO_REQUIRED,
        SettlementProblem.DESTINATION_REFUSED,
        SettlementProblem.REJECTED,
    }
)
"""Trying again would fail again: the wallet is left out of every run until the merchant decides. A trustline is waited
for, and the settlement fails only when the merchant names another wallet instead."""


class RateMoment(models.TextChoices):
    """Of which moment the rate is at which other coins are converted."""

    WHEN_PAID = "when_paid", _("When it is paid")
    WHEN_MADE = "when_made", _("When it is created")


class Trigger(models.TextChoices):
    SCHEDULE = "schedule", _("The merchant's schedule")
    PERSON = "person", _("On request")
