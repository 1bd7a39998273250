"""Payment links: a merchant's repeated request, and the parts of it that the payer decides."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from config import ids
from config.environments import Environment
from config.fields import ExactJSONField
from merchants.models import Merchant, OwnedQuerySet
from payments.links.states import LinkState

CODE_CHARACTERS = 10


def new_code() -> str:
    """Fifty random bits in Crockford's alphabet: short enough to be typed from a poster, too many to be guessed."""
    return "".join(secrets.choice(ids.ALPHABET) for _ in range(CODE_CHARACTERS))


LONGEST_HOLD_SECONDS = 900


class PaymentLink(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """A price, or a range of prices, that payers open a page of. Each use of it makes one ordinary payment.

    What is not fixed (the amount, the coin, the network) is the payer's choice. Payments name their link, so how many
    uses are taken is counted from the payments themselves and nowhere else.
    """

    public_ids: ClassVar = ids.PAYMENT_LINK

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    code = models.CharField(max_length=CODE_CHARACTERS, unique=True, default=new_code, help_text="In its address.")
    enabled = models.BooleanField(default=True)
    description = models.CharField(max_length=140, help_text="What it is for; payers see it.")
    note = models.CharField(max_length=500, blank=True, help_text="For the merchant alone.")

    currency = models.CharField(max_length=3)
    amount = models.BigIntegerField(null=True, blank=True, help_text="In minor units; empty: the payer enters it.")
    least = models.BigIntegerField(null=True, blank=True, help_text="That a payer may enter, in minor units.")
    most = models.BigIntegerField(null=True, blank=True, help_text="That a payer may enter, in minor units.")
    coins = ArrayField(
        models.CharField(max_length=8), default=list, blank=True, help_text="That a payer may choose; none: all."
    )
    wallets = models.JSONField(help_text="Where the money is settled to, by network: those a payer may choose.")

    max_uses = models.PositiveIntegerField(null=True, blank=True, help_text="Empty: any number.")
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Empty: never.")
    expires_in = models.PositiveIntegerField(help_text="Seconds that each of its payments can be paid.")
    redirect_url = models.CharField(max_length=2000, blank=True)
    metadata = ExactJSONField(default=dict, blank=True, help_text="Given to each of its payments.")

    objects: ClassVar[models.Manager[PaymentLink]] = OwnedQuerySet["PaymentLink"].as_manager()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(environment__in=Environment.values), name="payment_link_environment"),
            models.CheckConstraint(
                condition=Q(amount__gt=0, least__isnull=True, most__isnull=True)
                | Q(amount__isnull=True, least__gt=0, most__gte=F("least")),
                name="payment_link_fixed_or_open",
            ),
            models.CheckConstraint(
                condition=Q(max_uses__isnull=True) | Q(max_uses__gt=0), name="payment_link_uses_positive"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["merchant", "environment", "id"], name="payment_link_list"),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def url(self) -> str:
        """The payer's page, the same for everybody."""
        return f"{settings.PUBLIC_URL}/link/{self.code}"

    @property
    def is_for_one_payment(self) -> bool:
        return self.max_uses == 1

    @property
    def seconds_to_pay(self) -> int:
        """Seconds that each of its payments can be paid: of a stock, an unpaid one holds its use for 15 minutes at
        most."""
        has_stock = self.max_uses is not None and not self.is_for_one_payment
        return min(self.expires_in, LONGEST_HOLD_SECONDS) if has_stock else self.expires_in

    def state(self, *, taken: int, now: datetime) -> LinkState:
        """Whether payments can be made of it, when so many of its uses are taken."""
        if not self.enabled or not self.merchant.is_active:
            return LinkState.DISABLED
        if self.expires_at is not None and self.expires_at <= now:
            return LinkState.EXPIRED
        if self.max_uses is not None and taken >= self.max_uses:
            return LinkState.USED_UP
        return LinkState.ACTIVE
