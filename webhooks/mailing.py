"""Mails to merchants about endpoints that Ballast has disabled: a step of its own, for which nothing else waits."""

from __future__ import annotations

import structlog
from django.conf import settings
from django.core.mail import send_mail

from config.containment import contained
from config.environments import Environment
from config.turns import turn
from webhooks.models import Endpoint
from webhooks.states import DisabledReason, EndpointStatus

logger = structlog.get_logger(__name__)

LOCK = (0x77686B, 0)
"""The advisory lock of the one sweep that mails; dispatchers have numbers from 1 on."""

_WHY = {
    DisabledReason.GONE: "It answered 410 Gone, which means that it wants no more events.",
    DisabledReason.FAILING: "No request to it has succeeded for five days.",
}


def mail_disabled() -> int:
    """Tell merchants which of their endpoints were disabled; answers how many mails were handed over.

    One sweep mails at a time. What the mail server refuses, or a crash leaves, stays due: better told twice than never.
    """
    with turn(*LOCK) as is_ours:
        if not is_ours:
            return 0
        due = Endpoint.objects.filter(is_mail_due=True, status=EndpointStatus.DISABLED)
        mailed = 0
        for endpoint in due.select_related("merchant").order_by("pk"):
            with contained("webhook_mail_not_made", endpoint=endpoint.public_id):
                mailed += _mail(endpoint)
        return mailed


def _mail(endpoint: Endpoint) -> bool:
    try:
        send_mail(f"A webhook was disabled: {endpoint.url[:100]}", _text(endpoint), None, [endpoint.merchant.email])
    except Exception as error:  # whatever a mail server does, the others are told
        logger.warning("webhook_mail_not_sent", endpoint=endpoint.public_id, error=str(error))
        return False
    # Enabled and disabled again meanwhile: that is another thing to be told.
    Endpoint.objects.filter(pk=endpoint.pk, disabled_at=endpoint.disabled_at).update(is_mail_due=False)
    return True


def _text(endpoint: Endpoint) -> str:
    return (
        f"Ballast sends nothing any more to the webhook {endpoint.url} ({Environment(endpoint.environment).label}).\n"
        f"{_WHY[DisabledReason(endpoint.disabled_reason)]}\n\n"
        "What happens is still recorded. When the webhook works again, enable it and replay what it missed:\n"
        f"{settings.PUBLIC_URL}/dashboard/\n"
    )
