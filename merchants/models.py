"""Who we serve: merchants, the people who act for them, and the keys their systems use."""

from __future__ import annotations

from datetime import time
from typing import Any, ClassVar, Self

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone

from config import ids
from config.environments import Environment


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        user = self.model(email=self.normalize_email(email).strip(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email__iexact=username)


class User(AbstractBaseUser, PermissionsMixin):
    """A person who logs in by e-mail: a merchant's member, or an operator (`is_staff`)."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=120, blank=True)
    is_staff = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    joined_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(Lower("email"), name="user_email_unique")]

    def __str__(self) -> str:
        return self.email


class Plan(models.TextChoices):
    STARTER = "starter", "Starter"
    BUSINESS = "business", "Business"
    ENTERPRISE = "enterprise", "Enterprise"


class Merchant(models.Model):
    """A company that takes payments. What differs between sandbox and production is in MerchantSettings."""

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    name = models.CharField(max_length=120)
    email = models.EmailField(help_text="Where operational mail goes.")
    plan = models.CharField(max_length=20, choices=Plan.choices, default=Plan.STARTER)
    requests_per_minute = models.PositiveIntegerField(
        null=True, blank=True, help_text="Production request budget of an enterprise merchant; empty: the plan's own."
    )
    fee_bps = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="Of what is settled, in hundredths of a percent; empty: the plan's own."
    )
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(fee_bps__isnull=True) | Q(fee_bps__lt=10_000), name="merchant_fee_bps"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def public_id(self) -> str:
        return ids.MERCHANT.encode(self.id)


class SettlementFrequency(models.TextChoices):
    DAILY = "daily", "Daily"
    WEEKLY = "weekly", "Weekly"
    MONTHLY = "monthly", "Monthly"
    MANUAL = "manual", "Manual"


class LatePayments(models.TextChoices):
    HOLD = "hold", "Hold for a decision"
    ACCEPT = "accept", "Accept within 24 hours when the amount is complete"


class MerchantSettings(models.Model):
    """What a merchant chose, once for each environment, so that trying something out changes nothing live."""

    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="settings")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    settlement_currency = models.CharField(max_length=8, default="USDC")
    settlement_frequency = models.CharField(
        max_length=10, choices=SettlementFrequency.choices, default=SettlementFrequency.DAILY
    )
    settlement_time = models.TimeField(default=time(0, 0))
    settlement_timezone = models.CharField(max_length=64, default="UTC")
    settlement_weekday = models.PositiveSmallIntegerField(null=True, blank=True, help_text="1 Monday to 7 Sunday.")
    settlement_monthday = models.PositiveSmallIntegerField(null=True, blank=True, help_text="1 to 31.")
    settlement_minimum = models.DecimalField(max_digits=20, decimal_places=6, default=0)
    payment_tolerance_bps = models.PositiveSmallIntegerField(
        default=0, help_text="How far short a payment may fall and still complete, in hundredths of a percent."
    )
    late_payments = models.CharField(max_length=10, choices=LatePayments.choices, default=LatePayments.HOLD)
    wallet_allow_list = ArrayField(models.CharField(max_length=80), default=list, blank=True)
    wallets_allowed_at = models.JSONField(
        default=dict, blank=True, help_text="When each wallet came onto the allow list, as ISO 8601: it must cool off."
    )

    class Meta:
        verbose_name_plural = "merchant settings"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["merchant", "environment"], name="settings_once_per_environment"),
            models.CheckConstraint(condition=Q(environment__in=Environment.values), name="settings_environment"),
            models.CheckConstraint(
                condition=Q(payment_tolerance_bps__lte=50), name="settings_tolerance_at_most_half_percent"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.merchant} ({self.environment})"


class Role(models.TextChoices):
    OWNER = "owner", "Owner"
    DEVELOPER = "developer", "Developer"
    VIEWER = "viewer", "Viewer"


class Member(models.Model):
    """A person's role at a merchant."""

    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="members")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=12, choices=Role.choices, default=Role.OWNER)
    joined_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["merchant", "user"], name="member_once")]

    def __str__(self) -> str:
        return f"{self.user} at {self.merchant}"


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def of(self, merchant: Merchant, environment: str) -> Self:
        return self.filter(merchant=merchant, environment=environment)

    def live(self) -> Self:
        """Not deleted; it may have expired, which its owner still wants to see."""
        return self.filter(revoked_at__isnull=True)


class ApiKey(models.Model):
    """A pair `pk_…`/`sk_…`. Only a digest of the secret is kept."""

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="api_keys")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    name = models.CharField(max_length=80)
    public_key = models.CharField(max_length=64, unique=True)
    secret_digest = models.BinaryField(max_length=32)
    scopes = ArrayField(models.CharField(max_length=30), default=list, blank=True, help_text="Empty: full access.")
    allowed_networks = ArrayField(
        models.CharField(max_length=50), default=list, blank=True, help_text="IP networks; empty: from anywhere."
    )
    require_signature = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager[ApiKey]] = ApiKeyQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(environment__in=Environment.values), name="api_key_environment"),
        ]
        indexes: ClassVar = [models.Index(fields=["merchant", "environment"], name="api_key_of")]

    def __str__(self) -> str:
        return f"{self.name} ({self.public_key[:16]}…)"

    @property
    def public_id(self) -> str:
        return ids.KEY.encode(self.id)


class IdempotencyRecord(models.Model):
    """The stored reply of a POST that carried an Idempotency-Key; committed with the work it answers for."""

    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    key = models.CharField(max_length=255)
    request_digest = models.BinaryField(max_length=32)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.BinaryField(null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["merchant", "environment", "key"], name="idempotency_key_once"),
        ]
        indexes: ClassVar = [models.Index(fields=["created_at"], name="idempotency_by_age")]

    def __str__(self) -> str:
        return f"{self.merchant_id} {self.environment} {self.key}"


class SeenSignature(models.Model):
    """A signature that was accepted once, kept as long as its timestamp could be accepted again."""

    signature = models.BinaryField(max_length=32, primary_key=True)
    seen_at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["seen_at"], name="seen_signature_by_age")]

    def __str__(self) -> str:
        return bytes(self.signature).hex()


class AttemptCount(models.Model):
    """How often somebody guessed wrong: one row for each address, key or account, `subject` says which."""

    subject = models.CharField(max_length=330, primary_key=True)
    failures = models.PositiveIntegerField(default=0)
    last_attempt_at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["last_attempt_at"], name="attempt_count_by_age")]

    def __str__(self) -> str:
        return f"{self.subject}: {self.failures}"


class RecordCountDelta(models.Model):
    """One change of how many records a merchant has, written beside the record itself.

    Appending never waits for another writer; a task folds the deltas into RecordCount every few seconds.
    """

    merchant_id = models.UUIDField()
    environment = models.CharField(max_length=10)
    kind = models.CharField(max_length=20)
    status = models.CharField(max_length=20)
    day = models.DateField(help_text="The UTC day on which the counted record was created.")
    change = models.SmallIntegerField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["merchant_id", "environment", "kind"], name="count_delta_of")]


class RecordCount(models.Model):
    """How many records of a kind and status a merchant created on a day, deltas not yet folded left out."""

    merchant_id = models.UUIDField()
    environment = models.CharField(max_length=10)
    kind = models.CharField(max_length=20)
    status = models.CharField(max_length=20)
    day = models.DateField()
    total = models.BigIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["merchant_id", "environment", "kind", "status", "day"], name="count_once_per_day"
            ),
        ]
