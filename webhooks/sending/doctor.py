"""What `manage.py doctor` looks at here: can webhooks be signed, and do they leave?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from django.utils import timezone

from config.doctor.registry import Asked, Finding, ask_elsewhere, fail, ok, register, warn, without
from webhooks.endpoints.secrets import SecretUnreadable, owner_of, reencrypt
from webhooks.models import Attempt, Endpoint, SigningSecret

LOOKED_AT: Final = timedelta(days=1)
MOST_ATTEMPTS: Final = 500
ENOUGH_HOSTS: Final = 3
"""So many hosts do not fail at once for reasons of their own."""


@register("webhook secrets")
def check_secrets(asked: Asked) -> Iterator[Finding]:
    if missing := without("WEBHOOK_ENCRYPTION_KEY"):
        yield ask_elsewhere("webhook secrets", missing)
        return
    count = unreadable = earlier = 0
    for holder in _holders():
        stored = (
            (holder.secret_encrypted, holder.previous_secret_encrypted)
            if isinstance(holder, Endpoint)
            else (holder.encrypted, holder.previous_encrypted)
        )
        for blob in filter(None, stored):
            count += 1
            try:
                earlier += reencrypt(bytes(blob), owner=owner_of(holder)) != bytes(blob)
            except SecretUnreadable:
                unreadable += 1
    if unreadable:
        yield fail(
            "webhook secrets",
            f"{unreadable} of {count} are encrypted under another key: their webhooks are not sent.",
            "Add the earlier key to WEBHOOK_ENCRYPTION_KEY_FALLBACKS, restart web and webhooks worker, and run "
            "manage.py reencrypt_webhook_secrets. If it is lost, merchants must rotate these secrets.",
        )
    elif earlier:
        yield warn(
            "webhook secrets",
            f"{earlier} of {count} are still under a key of WEBHOOK_ENCRYPTION_KEY_FALLBACKS.",
            "Run manage.py reencrypt_webhook_secrets before you remove that key.",
        )
    else:
        yield ok("webhook secrets", f"{count} are stored, and each decrypts with WEBHOOK_ENCRYPTION_KEY.")


@register("webhook egress")
def check_egress(asked: Asked) -> Iterator[Finding]:
    """By the last attempts of the dispatcher itself: this process may be where other rules of a firewall hold."""
    recent = Attempt.objects.filter(started_at__gt=timezone.now() - LOOKED_AT).order_by("-started_at")
    rows = recent.values_list("delivery__endpoint__url", "status_code")[:MOST_ATTEMPTS]
    hosts = dict[str, bool]()
    for url, status in rows:
        host = urlsplit(url or "").hostname or ""
        hosts[host] = hosts.get(host, False) or status is not None
    reached = sum(hosts.values())
    advice = (
        "Let the machine of the webhooks worker out to port 443 of any address, and see that it resolves names. "
        "Nothing is lost: each delivery is tried for days. Admin → Deliveries shows what each host answered."
    )
    if hosts and not reached:
        grade = fail if len(hosts) >= ENOUGH_HOSTS else warn
        yield grade("webhook egress", f"None of the {len(hosts)} hosts called within a day has answered.", advice)
    elif hosts:
        yield ok("webhook egress", f"{reached} of the {len(hosts)} hosts called within a day have answered.")
    else:
        yield ok("webhook egress", "No webhook was sent within a day.")


def _holders() -> Iterator[Endpoint | SigningSecret]:
    yield from Endpoint.objects.filter(deleted_at__isnull=True).iterator()
    yield from SigningSecret.objects.iterator()
