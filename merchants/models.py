"""Merchants, the people who act for them, and the keys their systems use."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, time
from typing import Any, ClassVar, Self, TypeVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.functions import RandomUUID
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from config import ids
from config.environments import Environment
from merchants.preferences import NumberStyle, usual_notices
from merchants.roles import Role, may

Owned = TypeVar("Owned", bound=models.Model)


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
    credentials_reset_at = models.DateTimeField(
        null=True,
        editable=False,
        help_text="When the password was last replaced without the old one, or the second factors were removed.",
    )
    let_in_by_operators_at = models.DateTimeField(
        null=True,
        editable=False,
        help_text="When operators last made this person a member of a merchant, or removed the second factors.",
    )
    is_password_known = models.BooleanField(
        default=False, editable=False, help_text="Another person has chosen the password."
    )

    mails_proposals = models.BooleanField(
        "mail about proposals",
        default=False,
        db_default=False,
        help_text="A mail for each proposal of another operator that this person may agree to.",
    )

    only_proposes = False
    """At a terminal, where one person could enter what two of them know."""

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(Lower("email"), name="user_email_unique")]

    def __str__(self) -> str:
        return self.email


class Plan(models.TextChoices):
    STARTER = "starter", _("Starter")
    BUSINESS = "business", _("Business")
    ENTERPRISE = "enterprise", _("Enterprise")


class Merchant(ids.PublicRecord, models.Model):
    """A company that takes payments. What differs between sandbox and production is in MerchantSettings."""

    public_ids: ClassVar = ids.MERCHANT

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
        permissions: ClassVar = [
            ("change_fee", "Can change a merchant's plan and fee"),
            ("view_as_merchant", "Can look at a merchant's dashboard as one of its viewers"),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(fee_bps__isnull=True) | Q(fee_bps__lt=10_000), name="merchant_fee_bps"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def payee(self) -> str:
        """The merchant's name as payers see it."""
        branding: Branding | None = getattr(self, "branding", None)
        return (branding and branding.name) or self.name


class Branding(models.Model):
    """A merchant's looks for payers. Empty fields are as Ballast has them."""

    MOST_OF_A_NAME: ClassVar = 80
    MOST_OF_SUPPORT: ClassVar = 254

    merchant = models.OneToOneField(Merchant, on_delete=models.PROTECT, primary_key=True, related_name="branding")
    name = models.CharField(max_length=80, blank=True)
    accent = models.CharField(max_length=7, blank=True, help_text="A colour as #rrggbb.")
    support = models.CharField(max_length=254, blank=True, help_text="An e-mail address, or one of the web.")
    language = models.CharField(
        max_length=10,
        blank=True,
        default="",
        db_default="",
        help_text="Of payers whose browser names none that we have.",
    )
    frame_origins = models.TextField(
        blank=True,
        default="",
        db_default="",
        help_text="The websites that may show a payment in a dialog of their own, as https://shop.example, by spaces.",
    )
    shows_items = models.BooleanField(
        default=False, db_default=False, help_text="Whether payers see the description and the items of the metadata."
    )
    logo_width = models.PositiveSmallIntegerField(null=True, blank=True)
    logo_height = models.PositiveSmallIntegerField(null=True, blank=True)
    version = models.CharField(max_length=32, unique=True, help_text="In the addresses of stylesheet and logo.")

    def __str__(self) -> str:
        return f"look of {self.merchant_id}"

    @property
    def support_url(self) -> str:
        return self.support if "://" in self.support else f"mailto:{self.support}"

    def support_url_about(self, reference: str) -> str:
        """The same, with the reference as the subject where it is an e-mail address; empty without support."""
        if not self.support:
            return ""
        return self.support_url if "://" in self.support else f"{self.support_url}?subject={reference}"


class BrandLogo(models.Model):
    """The picture itself, apart from what every page reads."""

    branding = models.OneToOneField(Branding, on_delete=models.PROTECT, primary_key=True, related_name="logo")
    png = models.BinaryField()

    def __str__(self) -> str:
        return f"logo of {self.branding_id}"


class SettlementFrequency(models.TextChoices):
    DAILY = "daily", _("Daily")
    WEEKLY = "weekly", _("Weekly")
    MONTHLY = "monthly", _("Monthly")
    MANUAL = "manual", _("Manual")


class LatePayments(models.TextChoices):
    HOLD = "hold", _("Hold for a decision")
    ACCEPT = "accept", _("Accept within 24 hours when the amount is complete")


class Surplus(models.TextChoices):
    """Automatic handling of money a payer sends beyond the price."""

    ASK = "ask", _("Hold for a decision")
    GIVE_BACK = "give_back", _("Refund it to the payer")
    KEEP = "keep", _("Keep it, up to a percentage of the price")


class MerchantSettings(models.Model):
    """Choices of a merchant, once for each environment, so that trying something out changes nothing live."""

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
    surplus = models.CharField(max_length=10, choices=Surplus.choices, default=Surplus.ASK)
    surplus_kept_bps = models.PositiveSmallIntegerField(
        default=0, help_text="Of the price, in hundredths of a percent: so much of a surplus is kept, where it is."
    )
    surplus_since = models.DateTimeField(null=True, help_text="Payments made before wait for a decision.")
    one_reason_below = models.PositiveIntegerField(
        default=0,
        db_default=0,
        help_text="In dollars: what is worth less shares one reason with others that are accepted together.",
    )
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
            models.CheckConstraint(
                condition=Q(surplus__in=Surplus.values, surplus_kept_bps__lte=100), name="settings_surplus"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.merchant} ({self.environment})"


class Member(ids.PublicRecord, models.Model):
    """A person's role at a merchant. PostgreSQL lets nobody take the last owner away."""

    public_ids: ClassVar = ids.MEMBER

    uid = models.UUIDField(unique=True, default=ids.new_uuid, db_default=RandomUUID(), editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="members")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=12, choices=Role.choices, default=Role.OWNER)
    joined_at = models.DateTimeField(default=timezone.now)
    language = models.CharField(max_length=10, default="en", db_default="en")
    timezone = models.CharField(max_length=64, default="UTC", db_default="UTC")
    number_style = models.CharField(
        max_length=12, choices=NumberStyle.choices, default=NumberStyle.COMMA, db_default="comma"
    )
    chosen_notices = ArrayField(
        models.CharField(max_length=20), null=True, blank=True, help_text="Empty: what is usual for the role."
    )
    hides_first_steps = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["merchant", "user"], name="member_once"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="member_role"),
        ]

    def __str__(self) -> str:
        return f"{self.user} at {self.merchant}"

    @property
    def public_id(self) -> str:
        return self.public_ids.encode(self.uid)

    @property
    def notices(self) -> list[str]:
        """Notices the member gets by mail."""
        return usual_notices(self.role) if self.chosen_notices is None else self.chosen_notices

    @property
    def may(self) -> Mapping[str, bool]:
        """Every permission of `merchants.roles`, and whether this member has it."""
        return may(self.role)


class OwnedQuerySet(models.QuerySet[Owned]):
    """Rows that belong to a merchant in one environment."""

    def of(self, merchant: Merchant, environment: str) -> Self:
        return self.filter(merchant=merchant, environment=environment)


class ApiKeyQuerySet(OwnedQuerySet["ApiKey"]):
    def live(self) -> Self:
        """Keys that are not deleted; expired ones too, which their owner still wants to see."""
        return self.filter(revoked_at__isnull=True)

    def usable(self, now: datetime) -> Self:
        """Keys that somebody may still be using."""
        ended = Q(expires_at__lte=now) | Q(retires_at__lte=now)
        return self.live().exclude(ended)


class ApiKey(ids.PublicRecord, models.Model):
    """A pair `pk_…`/`sk_…`. Only a digest of the secret is kept."""

    public_ids: ClassVar = ids.KEY

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="api_keys")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    name = models.CharField(max_length=80)
    public_key = models.CharField(max_length=64, unique=True)
    secret_digest = models.BinaryField(max_length=32)
    pepper = models.CharField(
        max_length=16, blank=True, help_text="Name of the pepper that the digest is under; empty: of the first one."
    )
    scopes = ArrayField(models.CharField(max_length=30), default=list, blank=True, help_text="Empty: full access.")
    allowed_networks = ArrayField(
        models.CharField(max_length=50), default=list, blank=True, help_text="IP networks; empty: from anywhere."
    )
    require_signature = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    last_used_from = models.GenericIPAddressField(null=True, blank=True, help_text="The address of that request.")
    replaced_by = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    retires_at = models.DateTimeField(
        null=True, blank=True, help_text="When a pair that was replaced ends; both work until then."
    )
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager[ApiKey]] = ApiKeyQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(environment__in=Environment.values), name="api_key_environment"),
            models.CheckConstraint(
                condition=Q(retires_at__isnull=True) | Q(replaced_by__isnull=False), name="api_key_retires_replaced"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["merchant", "environment"], name="api_key_of")]

    def __str__(self) -> str:
        return f"{self.name} ({self.public_key[:16]}…)"

    @property
    def ends_at(self) -> datetime | None:
        """Time when the pair stops working by itself: it expires, or it was replaced; None for never."""
        return min(filter(None, (self.expires_at, self.retires_at)), default=None)


class IdempotencyRecord(models.Model):
    """The stored reply of a POST that carried an Idempotency-Key; committed together with the work."""

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
    """Wrong guesses: one row for each address, key or account, named by `subject`."""

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
    """Number of records of a kind and status a merchant created on a day, deltas not yet folded left out."""

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
