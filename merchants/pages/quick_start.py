"""The page for developers: from a test key to a verified webhook, as programs that run."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.environments import Environment
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.models import ApiKey
from merchants.pages.programs import LANGUAGES, program


@never_cache
@require_safe
@member_required
def show_quick_start(request: MemberRequest) -> HttpResponse:
    """Everything that is not filled in is the secret key, which we do not know."""
    slug = request.GET.get("language")
    language = next((each for each in LANGUAGES if each.slug == slug), LANGUAGES[0])
    is_sandbox = request.environment == Environment.SANDBOX
    key = _test_key(request) if is_sandbox else None
    public_key = key.public_key if key else None
    context = {
        "section": "dashboard_developers",
        "language": language,
        "languages": LANGUAGES,
        "is_sandbox": is_sandbox,
        "public_key": public_key,
        "create": program(language, "create_payment", public_key=public_key),
        "receive": program(language, "receive_webhook"),
        "read": program(language, "read_payment", public_key=public_key),
        "can_listen_here": is_sandbox and settings.WEBHOOK_ALLOW_LOOPBACK,
    }
    return render(request, "dashboard/developers/quick_start.html", context)


def _test_key(request: MemberRequest) -> ApiKey | None:
    """The newest pair that may make payments from anywhere."""
    own = ApiKey.objects.of(request.merchant, request.environment).live()
    now = timezone.now()
    usable = own.filter(
        Q(expires_at__isnull=True) | Q(expires_at__gt=now), allowed_networks=[], require_signature=False
    )
    return usable.filter(Q(scopes=[]) | Q(scopes__contains=["payments:write"])).order_by("-pk").first()
