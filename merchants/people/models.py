"""People who are on their way in, and the mails to them."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from merchants.models import Merchant
from merchants.people.sealing import MAILS
from merchants.roles import Role


class SignUp(models.Model):
    """Somebody who has signed up and has no merchant yet; the row goes when the merchant is opened."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="sign_up")
    merchant_name = models.CharField(max_length=120)
    needs_approval = models.BooleanField(default=False, help_text="Whether an operator has yet to agree.")
    requested_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["requested_at"], name="sign_up_by_age")]

    def __str__(self) -> str:
        return self.merchant_name


class Invitation(models.Model):
    """A mail that lets somebody in: as a member of a merchant, or with a merchant of their own."""

    merchant = models.ForeignKey(
        Merchant,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="invitations",
        help_text="Empty: a new one.",
    )
    email = models.EmailField()
    role = models.CharField(max_length=12, choices=Role.choices, default=Role.OWNER)
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    sent_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["merchant", "email"], name="invited_once", nulls_distinct=False),
        ]

    def __str__(self) -> str:
        return self.email


class LogIn(models.Model):
    """The person of a session, by the digest of its key; device, address and times are in the session itself."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="log_ins")
    session_key = models.CharField(max_length=40, unique=True)
    began_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"{self.user}, {self.began_at:%Y-%m-%d %H:%M}"


class Mail(models.Model):
    """A mail to a person: written with the change it reports, and deleted once the mail server has it.

    Its text can hold a link that lets somebody in, so it is sealed; only a process without the key, which can make no
    such link, leaves it as it is. In an embedded run without a mail server the rows stay for a while, and the page
    /mailbox shows them.
    """

    to = models.EmailField()
    subject = models.CharField(max_length=200)
    stored_text = models.TextField(db_column="text")
    is_sealed = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    next_attempt_at = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveSmallIntegerField(default=0)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["next_attempt_at"], name="mail_due")]

    def __str__(self) -> str:
        return f"{self.subject} (to {self.to})"

    @property
    def text(self) -> str:
        return MAILS.unseal(self.stored_text) if self.is_sealed else self.stored_text
