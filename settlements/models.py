"""Money out to merchants: each run of a merchant's schedule, and a settlement for each wallet it paid."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar, Final, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from config import ids
from config.database.database_time import has_come
from config.environments import Environment
from config.fields import UnitsField
from config.pages import wording
from merchants.counting import Counted
from merchants.ledger.models import Account
from merchants.models import Merchant, OwnedQuerySet
from payments.chains import registry
from payments.transfers.models import Payout
from payments.transfers.states import ENDED_PAYOUTS, HoldReason, PayoutStatus
from settlements.states import RateMoment, SettlementProblem, SettlementStatus, Trigger

LONGEST_WAIT: Final = timedelta(hours=1)
"""A settlement that waits is looked at again after so long at most."""


class SettlementRun(ids.KeyedByTime, models.Model):
    """One period of one merchant, run once: the worker that inserts this row makes its settlements."""

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    period_key = models.CharField(
        max_length=40, help_text="The local date, week or month; or the instant it was asked."
    )
    trigger = models.CharField(max_length=10, choices=Trigger.choices, default=Trigger.SCHEDULE)
    requested_by = models.CharField(max_length=120, blank=True)
    period_start = models.DateTimeField()
    period_end = models.DateTimeField(help_text="What happened up to then is settled.")
    scheduled_for = models.DateTimeField()
    carried_over = models.JSONField(default=list, help_text="What was not settled, and why, by network and wallet.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["merchant", "environment", "period_key"], name="settlement_run_once"),
        ]
        indexes: ClassVar = [models.Index(fields=["merchant", "environment", "-id"], name="settlement_run_latest")]

    def __str__(self) -> str:
        return f"{self.get_trigger_display()}, until {wording.moment(self.period_end)} ({self.environment})"


class SettlementQuerySet(OwnedQuerySet["Settlement"]):
    def due(self, now: datetime) -> Self:
        """Settlements that are due: not handed over for payment yet, or handed over and not ended."""
        return self.filter(status=SettlementStatus.PENDING).filter(has_come("next_step_at", now, longest=LONGEST_WAIT))

    def to_follow(self) -> Self:
        """Settlements whose payout has ended, is held for another reason than noted, or is no longer held."""
        held = Q(payout__status=PayoutStatus.HELD)
        news = Q(payout__status__in=ENDED_PAYOUTS) | (~held & ~Q(failure_code=""))
        for reason in HoldReason:
            is_noted = Q(failure_message=reason.label)
            if reason == HoldReason.NO_TRUSTLINE:
                is_noted = Q(failure_code=SettlementProblem.NO_TRUSTLINE)  # its message names the coin
            news |= held & Q(payout__hold_reason=reason) & ~is_noted
        return self.filter(news, status=SettlementStatus.PENDING, payout__isnull=False)

    def waiting_for_trustline(self) -> Self:
        """Settlements whose wallet does not hold the coin yet."""
        return self.filter(status=SettlementStatus.PENDING, failure_code=SettlementProblem.NO_TRUSTLINE)


class Settlement(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """Money paid to one wallet of a merchant for one period, in one coin.

    `gross - fee - refund = amount`, in base units of the settlement currency, exactly. Until other coins are converted
    these are estimates at the rate of the run; once `converted_at` is set they are exact.
    """

    public_ids: ClassVar = ids.SETTLEMENT

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    run = models.ForeignKey(SettlementRun, on_delete=models.PROTECT, related_name="settlements")
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    period_key = models.CharField(max_length=40)
    status = models.CharField(max_length=10, choices=SettlementStatus.choices, default=SettlementStatus.PENDING)
    version = models.PositiveIntegerField(default=1)

    network = models.CharField(max_length=20)
    destination = models.CharField(max_length=80)
    currency = models.CharField(max_length=8, help_text="The coin it is paid in.")
    decimals = models.PositiveSmallIntegerField(help_text="Of that coin on this network.")
    gross = UnitsField()
    fee = UnitsField(help_text="Below zero when the fee of what was undone is given back.")
    refund = UnitsField(help_text="Refunds and whatever else came off.")
    debt_offset = UnitsField(
        db_default=0, default=0, help_text="Of `refund`: what repaid debts in other coins or on other networks."
    )
    amount = UnitsField()
    token_fee = UnitsField(
        db_default=0, default=0, help_text="What the token kept of the amount: so much less arrived."
    )
    claimable_balance = models.CharField(
        default="",
        db_default="",
        max_length=80,
        blank=True,
        help_text="The id of what it was set aside as for the wallet.",
    )
    fee_bps = models.PositiveSmallIntegerField(default=0)
    payment_count = models.PositiveIntegerField(default=0)
    coins = models.JSONField(
        default=list,
        help_text="By coin: gross, fee, refund, the part of it that repaid debts elsewhere (offset) and net, in base "
        "units of that coin, as text; its rate, source, quotedAt and what it is or became in the settlement currency; "
        "marketRate is that of the moment it was converted, where it is another one.",
    )
    converted_at = models.DateTimeField(null=True, blank=True)
    rate_moment = models.CharField(
        max_length=10,
        choices=RateMoment.choices,
        default=RateMoment.WHEN_PAID,
        db_default=RateMoment.WHEN_PAID,
        help_text="Of which moment the rate is at which other coins are converted.",
    )

    period_start = models.DateTimeField()
    period_end = models.DateTimeField()
    scheduled_for = models.DateTimeField()
    next_step_at = models.DateTimeField(null=True, default=timezone.now, help_text="Empty once it has ended.")
    payout = models.OneToOneField(Payout, null=True, on_delete=models.PROTECT, related_name="settlement")
    transaction_hash = models.CharField(max_length=80, blank=True)
    failure_code = models.CharField(max_length=40, choices=SettlementProblem.choices, blank=True)
    failure_message = models.CharField(max_length=300, blank=True)
    waits_since = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Since when something keeps it back, without a pause; empty while nothing does.",
    )
    may_retry = models.BooleanField(
        default=False, help_text="Somebody says that the wallet it failed for can be paid now, or named another one."
    )
    completed_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager[Settlement]] = SettlementQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["merchant", "environment", "network", "destination", "period_key"],
                name="settlement_once_per_period",
            ),
            models.CheckConstraint(condition=Q(environment__in=Environment.values), name="settlement_environment"),
            models.CheckConstraint(condition=Q(status__in=SettlementStatus.values), name="settlement_status"),
            models.CheckConstraint(
                condition=Q(amount__gt=0, refund__gte=0)
                & Q(gross=models.F("amount") + models.F("fee") + models.F("refund")),
                name="settlement_adds_up",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["merchant", "environment", "id"], name="settlement_list"),
            models.Index(fields=["merchant", "environment", "status", "id"], name="settlement_list_by_status"),
            models.Index(fields=["next_step_at"], name="settlement_due", condition=Q(status=SettlementStatus.PENDING)),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def waits_for_trustline(self) -> bool:
        return (self.status, self.failure_code) == (SettlementStatus.PENDING, SettlementProblem.NO_TRUSTLINE)

    @property
    def is_estimate(self) -> bool:
        """True if the amount can still change with a rate."""
        is_agreed = self.converted_at is not None or self.rate_moment == RateMoment.WHEN_MADE
        return not is_agreed and any(part["coin"] != self.currency for part in self.coins)

    @property
    def received(self) -> int:
        """Amount that arrives at the wallet, in base units."""
        return int(self.amount) - int(self.token_fee)


class DebtOffset(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """Money a run took from a merchant in one coin to repay a debt in another coin or on another network.

    It stays, whatever becomes of the settlements of its run: what is repaid is repaid.
    """

    public_ids: ClassVar = ids.DEBT_OFFSET

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    run = models.ForeignKey(SettlementRun, on_delete=models.PROTECT, related_name="offsets")
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    asset = models.CharField(max_length=8, help_text="The coin that was taken.")
    decimals = models.PositiveSmallIntegerField(help_text="Of that coin on this network.")
    wallet = models.CharField(max_length=80, help_text="Where what was taken would have been settled to.")
    amount = UnitsField(help_text="What was taken, in base units.")
    debt_network = models.CharField(max_length=20)
    debt_asset = models.CharField(max_length=8, help_text="The coin that was owed.")
    debt_decimals = models.PositiveSmallIntegerField(help_text="Of that coin on its network.")
    debt_wallet = models.CharField(max_length=80, help_text="The wallet whose money had left the debt.")
    repaid = UnitsField(help_text="What was repaid, in base units of the coin that was owed.")
    rounding = UnitsField(default=0, help_text="What was taken was worth so many base units more: account `rounding`.")
    rate = models.DecimalField(
        max_digits=40, decimal_places=12, help_text="Of the coin owed for one of the coin taken."
    )
    rate_source = models.CharField(max_length=200, blank=True, help_text="Empty for the same coin, at par.")
    quoted_at = models.DateTimeField(null=True, help_text="Of the rate; empty for the same coin, at par.")

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(environment__in=Environment.values), name="debt_offset_environment"),
            models.CheckConstraint(
                condition=Q(amount__gt=0, repaid__gt=0, rounding__gte=0, rate__gt=0), name="debt_offset_amounts"
            ),
            models.CheckConstraint(
                condition=~Q(network=models.F("debt_network"), asset=models.F("debt_asset")),
                name="debt_offset_elsewhere",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["merchant", "environment", "-id"], name="debt_offset_latest")]

    def __str__(self) -> str:
        return self.public_id


class DebtEnding(models.TextChoices):
    WRITTEN_OFF = "written_off", "Written off"
    COLLECTED = "collected", "Collected outside"


class Debt(Account):
    """The debt of a merchant in a coin on a network, for operators: the ledger's own account."""

    class Meta:
        proxy = True

    def __str__(self) -> str:
        return f"{self.coins} on {self.network} ({self.environment})"

    @property
    def coins(self) -> str:
        decimals = registry.decimals(self.environment, self.network, self.asset)
        return wording.coins(self.natural_balance, decimals, self.asset)


class DebtDecision(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """Operators have decided that a merchant need not repay so much of a debt here: the house bears it, or was paid
    elsewhere. Taken back, the merchant owes it again."""

    public_ids: ClassVar = ids.DEBT_DECISION

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    asset = models.CharField(max_length=8, help_text="The coin that was owed.")
    decimals = models.PositiveSmallIntegerField(help_text="Of that coin on this network.")
    amount = UnitsField(help_text="How much of the debt ended, in base units.")
    ending = models.CharField(max_length=12, choices=DebtEnding.choices)
    reason = models.TextField()
    decided_by = models.TextField(help_text="Who proposed it and who agreed.")
    taken_back_at = models.DateTimeField(null=True, blank=True)
    taken_back_by = models.TextField(blank=True)
    taken_back_reason = models.TextField(blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(environment__in=Environment.values, ending__in=DebtEnding.values, amount__gt=0),
                name="debt_decision_amount",
            ),
            models.CheckConstraint(condition=~Q(reason="") & ~Q(decided_by=""), name="debt_decision_by_whom"),
            models.CheckConstraint(
                condition=Q(taken_back_at__isnull=True, taken_back_by="", taken_back_reason="")
                | (Q(taken_back_at__isnull=False) & ~Q(taken_back_by="") & ~Q(taken_back_reason="")),
                name="debt_decision_taken_back_by_whom",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["merchant", "environment", "-id"], name="debt_decision_latest")]

    def __str__(self) -> str:
        return f"{self.public_id}: {self.coins} on {self.network}, {self.get_ending_display().lower()}"

    @property
    def coins(self) -> str:
        return wording.coins(self.amount, self.decimals, self.asset)


class FeeRemainder(models.Model):
    """Rounding remainder of a merchant's fees in one coin on a network: the next settlement takes it with its own.

    So over any history the fees taken are the rate times what was kept, less than a millionth of a coin apart.
    """

    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    asset = models.CharField(max_length=8)
    remainder = UnitsField(default=0, help_text="In ten-thousandths of a base unit.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["merchant", "environment", "network", "asset"], name="fee_remainder_once_per_coin"
            ),
            models.CheckConstraint(condition=Q(remainder__gte=0), name="fee_remainder_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.merchant_id} {self.environment} {self.network} {self.asset}: {self.remainder}"


SETTLEMENTS = Counted("settlement", Settlement)
"""The counter behind `totalCount` of settlements."""
