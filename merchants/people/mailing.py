"""Every mail: a row first, in the database transaction of what it is about, and then the mail."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.conf import settings
from django.core.mail import EmailMessage, send_mail
from django.core.mail.backends.base import BaseEmailBackend

from config.admin.values import page_of
from config.database.leases import lease_one
from config.database.purging import delete_in_batches
from merchants.four_eyes.models import Proposal
from merchants.models import User
from merchants.people.models import Mail
from merchants.people.sealing import MAILS

logger = structlog.get_logger(__name__)

KEPT_FOR: Final = timedelta(days=7)
"""Time the mailbox shows a mail, and a mail that no server takes is tried."""
_SENDING_TAKES_AT_MOST: Final = timedelta(minutes=2)
_FIRST_WAIT, _LONGEST_WAIT = timedelta(seconds=30), timedelta(hours=1)
_BATCH: Final = 50


def write_mail(*, to: str, subject: str, text: str) -> Mail:
    """A mail that leaves with one of the next rounds of `send_due`."""
    is_sealed = MAILS.is_at_hand
    stored = MAILS.seal(text) if is_sealed else text
    return Mail.objects.create(to=to, subject=subject[:200], stored_text=stored, is_sealed=is_sealed)


def mail_proposal(proposal: Proposal, person: User) -> None:
    """Write a mail to an operator about a proposal that waits for another's agreement."""
    text = (
        f"{proposal.proposed_by} has proposed:\n\n{proposal}\n\nIt is done once another operator agrees. Open it by "
        f"this link, and compare what it says with what you know before you do:\n"
        f"{settings.PUBLIC_URL}{page_of(Proposal, proposal.pk)}\n"
    )
    write_mail(to=person.email, subject=f"[Ballast] A proposal waits: {proposal.get_kind_display()}", text=text)


def send_due(*, now: datetime, is_sealed: bool | None = None) -> int:
    """Sends the mails that are due, sealed ones or others alone where it is given; returns how many the server took.

    A mail is leased while it is sent, so that two workers do not send it, and deleted after. One that is lost in a
    crash between the two is sent again: two mails are better than none.
    """
    if settings.MAILBOX_IS_SHOWN:
        return 0
    sent = 0
    waiting = Mail.objects.filter(next_attempt_at__lte=now)
    if is_sealed is not None:
        waiting = waiting.filter(is_sealed=is_sealed)
    until = now + _SENDING_TAKES_AT_MOST
    for _ in range(_BATCH):
        mail = lease_one(waiting.order_by("id"), "next_attempt_at", until=until, takes="attempts")
        if mail is None:
            break
        try:
            send_mail(mail.subject, mail.text, None, [mail.to])
        except Exception as error:  # however the mail server fails, the other mails are sent
            reason = str(error).replace(mail.to, "the recipient")
            logger.warning("mail_not_sent", mail=mail.pk, attempts=mail.attempts, error=reason)
            again_at = max(until, now + min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(mail.attempts - 1, 10)))
            Mail.objects.filter(pk=mail.pk).update(next_attempt_at=again_at)
            continue
        mail.delete()
        sent += 1
    return sent


def purge(*, now: datetime) -> int:
    """Deletes mails that are too old to be of use; returns how many."""
    return delete_in_batches(Mail.objects.filter(created_at__lt=now - KEPT_FOR))


class MailboxBackend(BaseEmailBackend):
    """Django's mails of an embedded run without a mail server: they go to the mailbox."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        for message in email_messages:
            for to in message.recipients():
                write_mail(to=to, subject=str(message.subject), text=str(message.body))
        return len(email_messages)
