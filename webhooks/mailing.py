"""Mails to merchants about endpoints that Ballast has disabled."""

from __future__ import annotations

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.environments import Environment
from config.periodic.containment import contained
from merchants.people.mailing import write_mail
from webhooks.models import Endpoint
from webhooks.states import DisabledReason, EndpointStatus

_WHY = {
    DisabledReason.GONE: _("It answered 410 Gone, which means that it wants no more events."),
    DisabledReason.FAILING: _("No request to it has succeeded for five days."),
}


def mail_disabled() -> int:
    """Write the mails to merchants about their endpoints that were disabled; returns how many."""
    due = Endpoint.objects.filter(is_mail_due=True, status=EndpointStatus.DISABLED)
    written = 0
    for pk in due.order_by("pk").values_list("pk", flat=True):
        with contained("webhook_mail_not_made", endpoint=str(pk)), transaction.atomic():
            endpoint = (
                due.select_for_update(skip_locked=True, of=["self"]).select_related("merchant").filter(pk=pk).first()
            )
            if endpoint is None:
                continue  # another worker has it
            subject = gettext("A webhook was disabled: %(url)s") % {"url": endpoint.url[:100]}
            write_mail(to=endpoint.merchant.email, subject=subject, text=_text(endpoint))
            Endpoint.objects.filter(pk=pk).update(is_mail_due=False)
            written += 1
    return written


def _text(endpoint: Endpoint) -> str:
    nothing = gettext("Ballast no longer sends anything to the webhook %(url)s (%(environment)s).")
    nothing %= {"url": endpoint.url, "environment": Environment(endpoint.environment).label}
    then = gettext(
        "Events are still recorded. When the webhook works again, enable it and replay the events that it missed:"
    )
    why = _WHY[DisabledReason(endpoint.disabled_reason)]
    return f"{nothing}\n{why}\n\n{then}\n{settings.PUBLIC_URL}/dashboard/\n"
