"""The treasury's tables: sweeps, what they did at each deposit address, and the native coin found there."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from config import ids
from config.environments import Environment
from config.fields import UnitsField
from config.pages import wording
from merchants.ledger.models import Posting
from payments.chains import registry
from payments.models import Payment
from payments.states import UnsweptReason
from payments.transfers.models import Transfer


class ColdWallet(models.Model):
    """A wallet of ours whose key no server has, from when it was first used. Its coins are in the ledger, its native
    coins are not: they pay the fees of what its keepers send."""

    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    address = models.CharField(max_length=80)
    first_height = models.BigIntegerField(help_text="The final block from which on what leaves it is read.")
    read_to = models.BigIntegerField(help_text="The final block up to which what has left it is in the ledger.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["environment", "network", "address"], name="cold_wallet_once"),
        ]

    def __str__(self) -> str:
        return f"cold wallet {self.address} on {self.network} ({self.environment})"


class ColdMove(models.Model):
    """Coins that have left a cold wallet, in a final block: to the hot wallet, to the house, or to nobody we know."""

    class Kind(models.TextChoices):
        REFILL = "refill", "To the hot wallet"
        MOVED = "moved", "To another cold wallet"
        TAKEN = "taken", "The house took it"
        LOST = "lost", "Lost"
        UNKNOWN = "unknown", "Nobody has said what it was"

    wallet = models.ForeignKey(ColdWallet, on_delete=models.PROTECT, related_name="moves")
    transaction_hash = models.CharField(max_length=80)
    ordinal = models.PositiveIntegerField()
    height = models.BigIntegerField()
    asset = models.CharField(max_length=8, help_text="Code of the coin.")
    decimals = models.PositiveSmallIntegerField()
    amount = UnitsField()
    recipient = models.CharField(max_length=80)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    of_stock = UnitsField(default=0, help_text="Of what the house took: what came out of the treasury's stock.")
    note = models.TextField(blank=True, help_text="What those have said who know what it was, and who they are.")
    posting = models.OneToOneField(Posting, null=True, on_delete=models.PROTECT, related_name="cold_move")
    seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["wallet", "transaction_hash", "ordinal"], name="cold_move_once"),
            models.CheckConstraint(condition=Q(amount__gt=0), name="cold_move_amount_positive"),
            models.CheckConstraint(
                condition=Q(kind__in=["moved", "unknown"], posting__isnull=True)
                | Q(kind__in=["refill", "taken", "lost"], posting__isnull=False),
                name="cold_move_booked_when_known",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["wallet"], name="cold_move_unknown", condition=Q(kind="unknown")),
        ]

    def __str__(self) -> str:
        return f"{self.coins} from {self.wallet} to {self.recipient}"

    @property
    def coins(self) -> str:
        """`12.50 USDC`."""
        return wording.coins(self.amount, self.decimals, self.asset)


class Sweep(models.Model):
    """One on-chain transaction that brings a coin from deposit addresses to the hot or the cold wallet."""

    transfer = models.OneToOneField(Transfer, on_delete=models.PROTECT, related_name="sweep")
    asset = models.CharField(max_length=8, help_text="Code of the coin.")
    expected = UnitsField(help_text="What the deposits in it amount to.")
    moved = UnitsField(null=True, help_text="What arrived at the treasury, by the chain; empty until it is booked.")
    cold_wallet = models.ForeignKey(
        ColdWallet,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Where it brought them, by the chain; empty: to the hot wallet.",
    )
    booked_at = models.DateTimeField(null=True, help_text="When it was booked, or found to have moved nothing.")
    is_itemised = models.BooleanField(
        default=False, help_text="What it did at each address is written down, as its receipt shows."
    )
    last_error = models.TextField(blank=True, help_text="Why it could not be booked when that was last tried.")

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(expected__gt=0), name="sweep_expected_positive"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["id"], name="sweep_not_booked", condition=Q(booked_at__isnull=True)),
            models.Index(
                fields=["id"], name="sweep_not_itemised", condition=Q(booked_at__isnull=False, is_itemised=False)
            ),
        ]

    def __str__(self) -> str:
        return f"sweep of {self.coins(self.expected)}"

    def coins(self, units: int) -> str:
        """`1,212.50 USDC` of base units of its coin."""
        return wording.coins(units, self.decimals, self.asset)

    @property
    def decimals(self) -> int:
        """Of its coin, which may be the network's native coin."""
        profile = registry.known_profile(self.transfer.environment, self.transfer.network)
        return profile.native.decimals if self.asset == profile.native.code else profile.decimals[self.asset]


class SweptAddress(models.Model):
    """The result of one sweep at the deposit address of one payment, by its receipt.

    One that moved nothing there has passed the address over: its deposits are free for another sweep, and are tried
    again at `try_again_at`, which is empty once that is over.
    """

    sweep = models.ForeignKey(Sweep, on_delete=models.PROTECT, related_name="addresses")
    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, related_name="+")
    expected = UnitsField(help_text="What the deposits amount to that it was signed for.")
    left = UnitsField(help_text="What left the address.")
    arrived = UnitsField(help_text="What the treasury got of it.")
    was_refused = models.BooleanField(default=False, help_text="The factory says so by a SweepFailed event.")
    reason = models.CharField(max_length=20, choices=UnsweptReason.choices, blank=True)
    said = models.CharField(max_length=200, blank=True, help_text="What the coin's contract says.")
    tries = models.PositiveIntegerField(default=0, help_text="In a row that moved nothing; without sending, too.")
    try_again_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["sweep", "payment"], name="swept_address_once"),
            models.CheckConstraint(condition=Q(left__gte=0, arrived__lte=F("left")), name="swept_address_amounts"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["payment"], name="swept_address_passed_over", condition=Q(try_again_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.sweep.asset} at {self.payment.address_on(self.sweep.transfer.network)}"

    @property
    def amount(self) -> int:
        """Amount waiting there, if the query has it (`waiting`); else the amount the sweep was signed for."""
        return int(vars(self).get("waiting", self.expected))


class SweepRequest(models.Model):
    """An operator wants a coin swept before as much of it waits as usual."""

    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    asset = models.CharField(max_length=8, help_text="Code of the coin.")
    requested_by = models.CharField(max_length=120)
    requested_at = models.DateTimeField(default=timezone.now)
    done_at = models.DateTimeField(null=True, help_text="When it was signed, or nothing worth it was left.")
    sweep = models.ForeignKey(Sweep, null=True, on_delete=models.PROTECT, related_name="requests")
    outcome = models.TextField(blank=True, help_text="What was taken, and what was not and why.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["environment", "network", "asset"],
                name="sweep_requested_once",
                condition=Q(done_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.asset} on {self.network} ({self.environment})"


class NativeCoin(models.Model):
    """Native coins that somebody sent to a payment's deposit address. The network reports no event for them: `held` is
    the balance when it was last read. They are not money of the payment: an operator may bring them in."""

    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, related_name="native_coins")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20, help_text="Where it is, which may not be where the payment was expected.")
    held = UnitsField(help_text="Base units at the deposit address when it was last looked for.")
    height = models.BigIntegerField(help_text="The newest block then.")
    found_at = models.DateTimeField(default=timezone.now)
    asked_at = models.DateTimeField(null=True, help_text="When an operator asked for it to be brought in.")
    asked_by = models.CharField(max_length=120, blank=True)
    sweep = models.ForeignKey(Sweep, null=True, on_delete=models.PROTECT, related_name="native_coins")
    brought = UnitsField(default=0, help_text="Base units that came to the hot wallet, in all sweeps of it.")
    note = models.TextField(blank=True, help_text="What became of it: agreed with the payer, given back, and how.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["payment", "network"], name="native_coin_once"),
            models.CheckConstraint(condition=Q(held__gte=0, brought__gte=0), name="native_coin_not_negative"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["environment", "network"], name="native_coin_held", condition=Q(held__gt=0)),
        ]

    def __str__(self) -> str:
        return f"native coin of {self.network} at {ids.PAYMENT.encode(self.payment_id)}"
