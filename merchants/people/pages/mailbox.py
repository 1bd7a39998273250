"""The mailbox of an embedded run without a mail server: every mail of this machine, for whoever reaches it."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from merchants.people.models import Mail

_MOST_SHOWN = 50


@never_cache
@require_safe
def show_mailbox(request: HttpRequest) -> HttpResponse:
    """Mails that would have been sent, the newest first. In production there is no such page."""
    if not settings.MAILBOX_IS_SHOWN or settings.IN_PRODUCTION:
        raise Http404
    return render(request, "account/mailbox.html", {"mails": Mail.objects.order_by("-id")[:_MOST_SHOWN]})
