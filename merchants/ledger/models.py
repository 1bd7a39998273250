"""The ledger: accounts, the postings that move money between them, and the runs that check it.

Written by `posting.py` alone. The database itself refuses what is not double entry: see the triggers in
`migrations/0001_tables.py` and `0009_entries_checked_as_written.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import ClassVar, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from config import ids
from config.environments import Environment
from config.fields import UnitsField
from config.pages import wording
from merchants.ledger.chart import AccountKind, Rules
from merchants.ledger.kinds import allows_balance, allows_owner
from merchants.models import Merchant


def kinds_of_accounts() -> list[tuple[str, str]]:
    """The kinds and their labels: a function, so that no migration repeats them."""
    return AccountKind.choices


OF_RECORDS = Q(owner__gt="") & ~Q(kind="payment")
"""Accounts that belong to a record other than a payment, as each payment has one: a query by kind says so to be
answered by the index."""


class Account(models.Model):
    """The money of one kind, asset and owner on one network. `balance` is signed: debits positive, credits negative."""

    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    asset = models.CharField(max_length=8, help_text="Code of the coin.")
    kind = models.CharField(max_length=30, choices=kinds_of_accounts)
    owner = models.CharField(max_length=64, blank=True, help_text="UUID of the record it belongs to, by its kind.")
    balance = UnitsField(default=0, help_text="Sum of the entries, in base units; credits are negative.")

    class Meta:
        constraints: ClassVar = [
            # Owner and kind come early so that this index also finds everything that belongs to one merchant.
            models.UniqueConstraint(fields=["environment", "owner", "kind", "network", "asset"], name="account_once"),
            models.CheckConstraint(condition=Q(environment__in=Environment.values), name="account_environment"),
            models.CheckConstraint(condition=allows_balance(), name="account_balance_not_negative"),
            models.CheckConstraint(condition=allows_owner(), name="account_owner_by_kind"),
        ]
        indexes: ClassVar = [models.Index(fields=["environment", "kind"], name="account_by_kind", condition=OF_RECORDS)]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.asset} on {self.network} ({self.environment})"

    @property
    def rules(self) -> Rules:
        return AccountKind(self.kind).rules

    @property
    def natural_balance(self) -> int:
        """Positive when there is money in the account, whichever side it grows on."""
        return self.rules.natural(self.balance)


class Posting(ids.KeyedByTime, models.Model):
    """One thing that happened to money. Its entries sum to zero per network and asset; it is never changed."""

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    environment = models.CharField(max_length=10, choices=Environment.choices)
    kind = models.CharField(max_length=40, help_text="What happened: deposit_credited, payment_completed, …")
    reference = models.CharField(max_length=200, help_text="Which occurrence of it; posting it again changes nothing.")
    memo = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints: ClassVar = [
            # The reference first, so that this index also finds what is known of one.
            models.UniqueConstraint(fields=["reference", "kind", "environment"], name="posting_once"),
            models.CheckConstraint(condition=Q(environment__in=Environment.values), name="posting_environment"),
            models.CheckConstraint(condition=~Q(kind="") & ~Q(reference=""), name="posting_named"),
        ]
        indexes: ClassVar = [models.Index(fields=["environment", "kind"], name="posting_by_kind")]

    def __str__(self) -> str:
        return self.kind.replace("_", " ").capitalize()


class Entry(models.Model):
    """The change of one account by a posting: a debit when positive, a credit when negative. Never changed."""

    posting = models.ForeignKey(Posting, on_delete=models.PROTECT, related_name="entries")
    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="entries", db_index=False)
    amount = UnitsField(help_text="Base units; debits positive, credits negative.")
    height = models.BigIntegerField(null=True, help_text="Of coins on a network: the block that moved them.")

    class Meta:
        verbose_name_plural = "entries"
        indexes: ClassVar = [
            models.Index(fields=["account", "height"], name="entry_by_height", condition=Q(height__isnull=False)),
        ]
        constraints: ClassVar = [
            # Also the index of an account's statement: the keys of postings sort by time.
            models.UniqueConstraint(fields=["account", "posting"], name="entry_once_per_account"),
            models.CheckConstraint(condition=~Q(amount=0), name="entry_amount_not_zero"),
        ]

    def __str__(self) -> str:
        return str(self.account)


class DaySum(models.Model):
    """Sum of the entries of an account in one day of UTC, by the times of their postings.

    PostgreSQL writes it in the statement that writes the entries (`0001_tables.py`): of accounts that belong to a
    merchant or to nobody. Those of single payments, deposits and payouts have few entries and no sums.
    """

    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="+", db_index=False)
    day = models.DateField()
    amount = UnitsField(help_text="Base units; debits positive, credits negative.")

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["account", "day"], name="day_sum_once")]

    def __str__(self) -> str:
        return f"{self.day}: {self.amount:+,}"


class StopKind(models.TextChoices):
    SWITCH = "switch", "Payouts of an environment"
    BREAKER = "breaker", "Payouts of a network or a coin"
    HALT = "halt", "Reading, crediting and payouts of a network"
    WALLET = "wallet", "Signing for a wallet"
    MERCHANT = "merchant", "Payouts of a merchant"
    SUSPENSION = "suspension", "A merchant as a whole"


class StopQuerySet(models.QuerySet["Stop"]):
    def standing(self) -> Self:
        """Stops that nobody has lifted."""
        return self.filter(lifted_at__isnull=True)

    def halting(self) -> Self:
        """Standing halts of networks. Under the lock of the network's cursor they stay as they are."""
        return self.standing().filter(kind=StopKind.HALT)

    def freezing(self) -> Self:
        """Standing stops of wallets: nothing is signed for such a wallet."""
        return self.standing().filter(kind=StopKind.WALLET)

    def of_network(self, environment: str, network: str) -> Self:
        return self.filter(environment=environment, network=network)

    def concerning(self, environment: str, network: str, coins: Iterable[str] = (), *, address: str = "") -> Self:
        """Stops of a network, of the whole environment, of these coins on it, and of the wallet with this address; none
        of a single merchant."""
        here = self.filter(environment=environment, network__in=["", network], merchant=None)
        return here.filter(asset__in=["", *coins], address__in=["", address])


class Stop(models.Model):
    """Payouts of an environment, a network, a coin or a merchant are stopped until a person lifts it. Deposits are
    still recorded.

    That of a coin stops its sweeps and new payments in it as well, a halt of a network its deposits and new payments.
    A wallet that is stopped is frozen: nothing is signed for it, and what is signed is followed to its end.
    """

    kind = models.CharField(
        max_length=10, choices=StopKind.choices, default=StopKind.BREAKER, db_default=StopKind.BREAKER.value
    )
    environment = models.CharField(
        max_length=10, choices=Environment.choices, blank=True, help_text="Empty: both, of a suspended merchant."
    )
    network = models.CharField(max_length=20, blank=True, help_text="Empty: all networks.")
    asset = models.CharField(max_length=8, blank=True, default="", db_default="", help_text="Empty: all coins.")
    address = models.CharField(
        max_length=80, blank=True, default="", db_default="", help_text="Empty: every wallet of the network."
    )
    merchant = models.ForeignKey(
        Merchant,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Only the payouts of this merchant: settlements, refunds and returns. Empty: everybody's.",
    )
    reason = models.TextField()
    since = models.DateTimeField(default=timezone.now, db_column="opened_at")
    lifted_at = models.DateTimeField(null=True, blank=True, db_column="closed_at")
    lifted_by = models.CharField(max_length=120, blank=True, db_column="closed_by")

    objects = StopQuerySet.as_manager()

    class Meta:
        db_table = "ledger_breaker"  # as the release before knows it
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["environment", "network", "asset", "address", "kind"],
                name="stop_stands_once",
                condition=Q(lifted_at__isnull=True, merchant__isnull=True),
            ),
            models.UniqueConstraint(
                fields=["environment", "merchant"],
                name="stop_of_a_merchant_stands_once",
                condition=Q(lifted_at__isnull=True, merchant__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.what} ({self.environment})" if self.environment else self.what

    @property
    def what(self) -> str:
        """`all payouts`, `payouts of Shop`, `Shop, suspended`, `polygon`, `USDC on polygon`, `reading of polygon`,
        `wallet polygon 0x`."""
        if self.kind == StopKind.SUSPENSION:
            return f"{self.merchant}, suspended"
        if self.merchant is not None:
            return f"payouts of {self.merchant}"
        where = self.network or "all payouts"
        if self.kind == StopKind.HALT:
            return f"reading of {where}"
        if self.kind == StopKind.WALLET:
            return f"wallet {where} {self.address}"
        return f"{self.asset} on {where}" if self.asset else where


class ReconcileOutcome(models.TextChoices):
    RUNNING = "running", "Running, or ended without a word"
    CLEAN = "clean", "Clean"
    WARNINGS = "warnings", "Warnings"
    DISCREPANCY = "discrepancy", "Discrepancy"
    UNFINISHED = "unfinished", "Could not finish"


class ReconcileRun(models.Model):
    """One run of `manage.py reconcile` and what it found."""

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    options = models.JSONField(default=dict)
    outcome = models.CharField(max_length=12, choices=ReconcileOutcome.choices, default=ReconcileOutcome.RUNNING)
    finished_at = models.DateTimeField(null=True)
    checks = models.JSONField(default=list, help_text="Each check with its findings counted, and its seconds.")
    findings = models.JSONField(default=list, help_text="The first findings; all of them are in the JSON output.")
    summary = models.JSONField(default=dict, help_text="How much of the coins in the ledger is explained.")
    breakers = models.JSONField(default=list, help_text="Where it stopped payouts, and why.")
    explained_count = models.PositiveBigIntegerField(default=0, help_text="Findings that an operator has explained.")
    warning_count = models.PositiveBigIntegerField(default=0)
    error_count = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.get_outcome_display()}, {wording.moment(self.started_at)}"

    @property
    def started_at(self) -> datetime:
        return ids.created_at_of(self.id)


class ExplainedFinding(models.Model):
    """An operator has explained a finding: until an instant nothing reacts to it, unless it changes."""

    finding = models.CharField(max_length=12, help_text="The id that reconcile shows beside it.")
    check_code = models.CharField("check", max_length=10)
    environment = models.CharField(max_length=10, blank=True)
    network = models.CharField(max_length=20, blank=True)
    subject = models.TextField()
    figure = models.TextField(help_text="The difference or, without one, what was found. Another is another finding.")
    asset = models.CharField(max_length=8, blank=True, default="", db_default="", help_text="The coin of the figure.")
    note = models.TextField(help_text="What it is.")
    until = models.DateTimeField(help_text="From then on it counts again.")
    explained_by = models.CharField(max_length=150)
    explained_at = models.DateTimeField(default=timezone.now)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.CharField(max_length=150, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["finding"], name="finding_explained_once", condition=Q(withdrawn_at__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.check_code} {self.subject}"
