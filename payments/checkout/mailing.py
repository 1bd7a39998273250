"""Mails to the payer who left an address: payment seen, paid with its receipt, refund on its way; each at most once.

What changes a payment makes its `PayerContact` due, in the same database transaction; a task writes the mails from the
payment as it is then, so a change that was rolled back is not mailed, and none waits for a mail.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation

from config.database.database_time import has_come
from config.database.purging import delete_in_batches
from config.hooks import Hook
from config.pages.languages import PARAMETER
from config.periodic.containment import contained
from merchants.pages.branding import brand_of
from merchants.people.mailing import write_mail
from merchants.people.models import Mail
from payments.checkout.forms import ContactForm
from payments.checkout.payer import look_at
from payments.models import PayerContact, Payment
from payments.states import PaymentStatus

KEPT_FOR: Final = timedelta(days=30)
_WRITING_TAKES_AT_MOST: Final = timedelta(minutes=1)
_BATCH: Final = 50

refund_sent: Hook[[Payment], str] = Hook("refund_sent")
"""The amount of the newest refund of a payment that is on its way or there; empty where there is none."""


class PayerMail(StrEnum):
    """The subject of a mail; also the name of its text."""

    SEEN = "seen"
    PAID = "paid"
    REFUND = "refund"


@dataclass(frozen=True, slots=True)
class MailOffer:
    """State of mails on the page: whether an address is there, and never which."""

    is_left: bool
    form: ContactForm


def offer(payment: Payment, form: ContactForm | None = None) -> MailOffer | None:
    """None where mails of this installation reach nobody."""
    if not settings.PAYERS_ARE_MAILED:
        return None
    is_left = PayerContact.objects.filter(payment=payment).exclude(email="").exists()
    return MailOffer(is_left, form or ContactForm())


def leave_address(payment: Payment, email: str) -> None:
    """Mail the payer there from now on, in the language of this request. While an address is there it stays."""
    with transaction.atomic():
        Payment.objects.select_for_update(no_key=True).get(pk=payment.pk)  # a change of it is mailed before or after
        now = timezone.now()
        contact, _ = PayerContact.objects.select_for_update().get_or_create(payment_id=payment.pk)
        if not contact.email:
            contact.email, contact.left_at, contact.due_at = email, now, now
            contact.language = translation.get_language() or settings.LANGUAGE_CODE
            contact.save()


def take_back(payment: Payment) -> None:
    """Delete the address, and the mails to it that wait to be sent."""
    with transaction.atomic():
        contact = PayerContact.objects.select_for_update().filter(payment=payment).first()
        if contact is not None:
            Mail.objects.filter(pk__in=contact.mails.values()).delete()
            contact.email, contact.due_at = "", None
            contact.save(update_fields=["email", "due_at"])


def due(now: datetime) -> QuerySet[PayerContact]:
    """Contacts whose payment has changed since their mails were written."""
    return PayerContact.objects.filter(has_come("due_at", now, longest=_WRITING_TAKES_AT_MOST))


def mail_due(*, now: datetime) -> int:
    """Write the mails that are due; returns how many.

    A row is put off before its mails are written, as `send_due` does, so that two workers do not write them.
    """
    if not settings.PAYERS_ARE_MAILED:
        return 0
    written = 0
    found = due(now).select_related("payment__merchant__branding", "payment__payment_link").defer("payment__qr_png")
    for contact in found.order_by("due_at")[:_BATCH]:
        later = now + _WRITING_TAKES_AT_MOST
        if due(now).filter(pk=contact.pk, due_at=contact.due_at).update(due_at=later):
            contact.due_at = later
            with contained("payer not mailed", payment=contact.payment.public_id):
                written += _mail(contact, now)
    return written


def purge(*, now: datetime) -> int:
    """Delete the addresses that were left longer than 30 days ago; returns how many."""
    return delete_in_batches(PayerContact.objects.filter(left_at__lt=now - KEPT_FOR))


def _mail(contact: PayerContact, now: datetime) -> int:
    with translation.override(contact.language):
        texts = dict(_texts(contact, now))
    with transaction.atomic():
        # Not where the payment has changed meanwhile, which made it due again, or the address was taken back.
        held = PayerContact.objects.select_for_update().filter(pk=contact.pk, due_at=contact.due_at).first()
        if held is None:
            return 0
        for kind, text in texts.items():
            subject, _separator, body = text.partition("\n")
            held.mails[kind] = write_mail(to=held.email, subject=subject, text=f"{body.strip()}\n").pk
        held.due_at = None
        held.save(update_fields=["mails", "due_at"])
    return len(texts)


def _texts(contact: PayerContact, now: datetime) -> Iterator[tuple[PayerMail, str]]:
    """The mails that are still to be written, each with its subject as first line."""
    payment = contact.payment
    link = f"{settings.PUBLIC_URL}{reverse('checkout_mails', args=[payment.public_id])}"
    facts: dict[str, object] = {
        "payment": look_at(payment, now),
        "support": brand.support if (brand := brand_of(payment.merchant)) else "",
        "link": f"{payment.page_url}?{PARAMETER}={contact.language}",
        "stop_link": f"{link}?{PARAMETER}={contact.language}",
    }
    for kind in PayerMail:
        if kind in contact.mails:
            continue
        match kind:
            case PayerMail.SEEN:
                is_due = payment.status == PaymentStatus.PENDING and PayerMail.PAID not in contact.mails
            case PayerMail.PAID:
                is_due = payment.completed_at is not None
            case PayerMail.REFUND:
                facts["refund"] = refund_sent(payment)
                is_due = bool(facts["refund"])
        if is_due:
            yield kind, render_to_string(f"checkout/email/{kind}.txt", facts).strip()
