"""Mails merchants about endpoints that Ballast has disabled, in a task of its own that delays nothing else."""

from __future__ import annotations

import structlog
from django.conf import settings
from django.core.mail import send_mail
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.database.advisory_locks import LockClass, advisory_lock
from config.environments import Environment
from config.work.containment import contained
from webhooks.models import Endpoint
from webhooks.states import DisabledReason, EndpointStatus

logger = structlog.get_logger(__name__)

LOCK = (LockClass.WEBHOOK_MAILS, 0)
"""The advisory lock of the task that mails."""

_WHY = {
    DisabledReason.GONE: _("It answered 410 Gone, which means that it wants no more events."),
    DisabledReason.FAILING: _("No request to it has succeeded for five days."),
}


def mail_disabled() -> int:
    """Mail merchants which of their endpoints were disabled; returns how many mails the server accepted.

    One task mails at a time. A mail that is refused, or lost in a crash, stays due: two mails are better than none.
    """
    with advisory_lock(*LOCK) as is_ours:
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
        send_mail(
            gettext("A webhook was disabled: %(url)s") % {"url": endpoint.url[:100]},
            _text(endpoint),
            None,
            [endpoint.merchant.email],
        )
    except Exception as error:  # however the mail server fails, the other mails are sent
        logger.warning("webhook_mail_not_sent", endpoint=endpoint.public_id, error=str(error))
        return False
    # Enabled and disabled again meanwhile: that needs another mail.
    Endpoint.objects.filter(pk=endpoint.pk, disabled_at=endpoint.disabled_at).update(is_mail_due=False)
    return True


def _text(endpoint: Endpoint) -> str:
    nothing = gettext("Ballast sends nothing any more to the webhook %(url)s (%(environment)s).")
    nothing %= {"url": endpoint.url, "environment": Environment(endpoint.environment).label}
    then = gettext("What happens is still recorded. When the webhook works again, enable it and replay what it missed:")
    why = _WHY[DisabledReason(endpoint.disabled_reason)]
    return f"{nothing}\n{why}\n\n{then}\n{settings.PUBLIC_URL}/dashboard/\n"
