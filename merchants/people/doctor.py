"""What `manage.py doctor` looks at here: mail, operators, and what people's secrets are sealed under."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.mail import EmailMessage, get_connection
from django.db.models import Min
from django.utils import timezone

from config.doctor.registry import Asked, Finding, ask_elsewhere, fail, ok, register, warn, without
from config.pages.wording import duration
from merchants.access.keys import pepper_names
from merchants.models import ApiKey, User
from merchants.people import second_factors
from merchants.people.models import Mail
from merchants.people.sealing import MAILS

MAIL_IS_LATE_AFTER: Final = timedelta(minutes=15)


@register("mail server", reads_database=False)
def check_mail_server(asked: Asked) -> Iterator[Finding]:
    """Connects and logs in; sends a mail only where that was asked for."""
    name = "mail server"
    if settings.IN_PRODUCTION and not settings.OPERATOR_EMAILS:
        yield warn(name, "OPERATOR_EMAILS is empty: alarms are mailed to nobody.", "Set it, and restart the workers.")
    if missing := without("EMAIL_URL"):
        yield ask_elsewhere(name, missing)
        return
    if settings.MAILBOX_IS_SHOWN and not asked.mail_to:
        yield ok(name, "None is set: mails are shown at /mailbox.")
        return
    if settings.EMAIL_BACKEND.endswith(".console.EmailBackend"):
        text = "EMAIL_URL is not set: mails are written to the log of the workers, and nobody gets them."
        yield warn(name, text, "Set EMAIL_URL like smtp+tls://user:password@host:587, and DEFAULT_FROM_EMAIL.")
        return
    try:
        server = get_connection(timeout=settings.EMAIL_TIMEOUT)
        server.open()
        try:
            for to in asked.mail_to:
                text = f"This mail was sent by manage.py doctor of {settings.PUBLIC_URL}. Mails arrive."
                EmailMessage("[Ballast] A mail of doctor", text, to=[to], connection=server).send()
        finally:
            server.close()
    except Exception as error:  # however the mail server fails
        first = (str(error).splitlines() or [""])[0]
        yield fail(
            name,
            f"It takes no mail: {type(error).__name__}: {first}",
            "Correct EMAIL_URL: host, port, password. Alarms, invitations and confirmations wait in the database, and "
            "are sent for seven days.",
        )
        return
    sent = f" A mail to {', '.join(asked.mail_to)} was taken: see that it arrives." if asked.mail_to else ""
    yield ok(name, f"It can be reached.{sent or ' doctor --mail sends a mail to OPERATOR_EMAILS.'}")


@register("mails")
def check_mails(asked: Asked) -> Iterator[Finding]:
    if settings.MAILBOX_IS_SHOWN:
        return
    late = Mail.objects.filter(created_at__lt=timezone.now() - MAIL_IS_LATE_AFTER)
    if number := late.count():
        oldest = late.aggregate(first=Min("created_at"))["first"]
        waited = duration((timezone.now() - oldest).total_seconds())
        yield warn(
            "mails",
            f"{number} wait to be sent, the oldest for {waited}.",
            "Look at the line of the mail server, and at the logs of the webhooks and reports workers (mail_not_sent).",
        )
    else:
        yield ok("mails", "None waits.")


@register("operators")
def check_operators(asked: Asked) -> Iterator[Finding]:
    active = User.objects.filter(is_staff=True, is_active=True)
    needed, number = int(settings.OPERATORS_TO_DECIDE), active.count()
    if not number and not settings.IN_PRODUCTION:
        yield ok("operators", "None yet, which is enough to try Ballast out.")
        return
    if number < needed:
        yield warn(
            "operators",
            f"{number} of the {needed} operators who must agree have an account.",
            "Run manage.py createsuperuser for each person, or set OPERATORS_TO_DECIDE=1 where there is only one.",
        )
        return
    without_any = number - len(second_factors.who_has_any(active))
    if without_any and settings.IN_PRODUCTION and settings.OPERATOR_SECOND_FACTOR:
        yield ok("operators", f"{number}, {without_any} of them still to set a second factor, as the log-in asks.")
    else:
        yield ok("operators", f"{number}; {needed} must agree.")


@register("second factors")
def check_second_factors(asked: Asked) -> Iterator[Finding]:
    if missing := without("SECRET_KEY"):
        yield ask_elsewhere("second factors", missing)
        return
    unreadable = {
        str(user)
        for user, data in Authenticator.objects.values_list("user__email", "data").iterator()
        if not second_factors.can_unseal(data)
    }
    if unreadable:
        yield fail(
            "second factors",
            f"Those of {len(unreadable)} people are sealed under another SECRET_KEY: they cannot log in.",
            "Add the earlier key to SECRET_KEY_FALLBACKS, restart the web, and run manage.py reseal_second_factors. If "
            "it is lost, remove_second_factors lets each person set another.",
        )
    else:
        yield ok("second factors", f"{Authenticator.objects.count()} are stored, and each unseals under SECRET_KEY.")


@register("sealed mails")
def check_sealed_mails(asked: Asked) -> Iterator[Finding]:
    if missing := without("WEBHOOK_ENCRYPTION_KEY"):
        yield ask_elsewhere("sealed mails", missing)
        return
    unreadable = 0
    for stored in Mail.objects.filter(is_sealed=True).values_list("stored_text", flat=True).iterator():
        try:
            MAILS.unseal(stored)
        except ImproperlyConfigured:
            unreadable += 1
    if unreadable:
        yield fail(
            "sealed mails",
            f"{unreadable} mails that wait are sealed under another WEBHOOK_ENCRYPTION_KEY: they are never sent.",
            "Add the earlier key to WEBHOOK_ENCRYPTION_KEY_FALLBACKS, and restart the webhooks worker.",
        )
    else:
        yield ok("sealed mails", "Each that waits unseals.")


@register("API keys")
def check_api_keys(asked: Asked) -> Iterator[Finding]:
    if missing := without("API_KEY_PEPPER"):
        yield ask_elsewhere("API keys", missing)
        return
    usable = ApiKey.objects.usable(timezone.now())
    present, *earlier = pepper_names()
    dead = usable.exclude(pepper__in=["", present, *earlier]).count()  # empty: not known of which
    if dead:
        yield fail(
            "API keys",
            f"{dead} pairs are under none of these peppers: the API refuses them, and shops cannot take payments.",
            "Put the earlier pepper into API_KEY_PEPPER_FALLBACKS, and restart the web processes.",
        )
    elif waiting := usable.filter(pepper__in=earlier).count():
        yield ok("API keys", f"Each can be used; {waiting} still need a pepper of API_KEY_PEPPER_FALLBACKS.")
    else:
        yield ok("API keys", f"{usable.count()} pairs can be used, each under API_KEY_PEPPER.")
