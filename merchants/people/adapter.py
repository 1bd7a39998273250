"""The seams of django-allauth: starting a session, sending a mail, and building a link."""

from __future__ import annotations

from typing import Any, ClassVar, cast
from urllib.parse import quote

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.account.stages import EmailVerificationStage
from allauth.core import context
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from config.errors import DomainError
from merchants.access import attempts
from merchants.access.addresses import client_address
from merchants.access.log_in import sessions
from merchants.access.log_in.devices import remember_device
from merchants.access.log_in.own_actions import log_own_action
from merchants.access.log_in.step_up import confirmed_recently
from merchants.models import Member, User
from merchants.people import log_ins, services
from merchants.people.mailing import write_mail
from merchants.roles import Action

_REQUESTED_BY_ANYBODY = {
    "account/email/email_confirmation",
    "account/email/email_confirmation_signup",
    "account/email/account_already_exists",
    "account/email/unknown_account",
    "account/email/password_reset_key",
}
"""Mails that a stranger can have sent: only so many go to one address."""


class AddressConfirmedStage(EmailVerificationStage):
    """The step of a log-in that requires a confirmed address. People whom an operator has added need no mail."""

    def handle(self) -> tuple[HttpResponse | None, bool]:
        if self.login.user is not None:
            services.confirm_added_person(user=self.login.user)
        return cast("tuple[HttpResponse | None, bool]", super().handle())


class AccountAdapter(DefaultAccountAdapter):
    notices: ClassVar[dict[str, Promise]] = {
        "account/messages/email_confirmed.txt": _("Your e-mail address is confirmed."),
        "account/messages/email_confirmation_failed.txt": _("This address cannot be used."),
        "mfa/messages/totp_activated.txt": _("From now on you need a code from your app to log in."),
        "mfa/messages/totp_deactivated.txt": _("The app is removed."),
        "mfa/messages/webauthn_added.txt": _("The passkey is added. You can log in with it from now on."),
        "mfa/messages/webauthn_removed.txt": _("The passkey is removed."),
        "account/messages/password_changed.txt": _("Your password is changed."),
    }
    """Messages after an action, by the name that allauth has for it. Anything else shows by itself."""

    ways: ClassVar[dict[str, Promise]] = {
        "mfa_reauthenticate": _("Use a code instead"),
        "mfa_reauthenticate:webauthn": _("Use a passkey instead"),
    }
    """Labels of the links to the other ways of confirming."""

    def get_login_stages(self) -> list[str]:
        return ["merchants.people.adapter.AddressConfirmedStage", "allauth.mfa.stages.AuthenticateStage"]

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return settings.SIGN_UP != "invitation"

    def login(self, request: HttpRequest, user: User) -> None:
        sessions.begin_session(request, user)
        log_ins.note(request, user)
        with transaction.atomic():
            merchant = services.open_requested_merchant(user=user)
            if merchant is not None:
                sessions.choose_merchant(request, merchant)
                log_own_action(request, user, Action.OPEN_MERCHANT)

    def post_login(self, request: HttpRequest, user: User, **facts: Any) -> HttpResponse:
        response = cast("HttpResponse", super().post_login(request, user, **facts))
        remember_device(request, response, sessions.account_name(user.email))
        return response

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        """The dashboard; operators without a merchant see the admin, people who have none yet their account."""
        person = cast("User", request.user)
        if person.is_staff and not Member.objects.filter(user=person).exists():
            return reverse("admin:index")
        is_waiting = hasattr(person, "sign_up")
        return reverse("account" if is_waiting else settings.LOGIN_REDIRECT_URL)

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        messages.error(request, sessions.LogInRefused.message)
        return redirect("login")

    def is_reauthentication_required(self, *, app: str, **facts: Any) -> bool:
        return not confirmed_recently(context.request)

    def get_reauthentication_methods(self, user: User) -> list[dict[str, Any]]:
        """The ways of confirming. With a second factor it is required: a password alone may be one that was seen."""
        methods: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        for method in methods:
            method["description"] = self.ways.get(method["id"], method["description"])
        factors = [method for method in methods if method["id"] != "reauthenticate"]
        return factors or methods

    def reauthenticate(self, user: User, password: str) -> bool:
        """True if it is the person's password; counted like a log-in."""
        try:
            found = sessions.check_password(context.request, email=user.email, password=password)
        except DomainError as refusal:
            raise ValidationError(refusal.message) from None
        return found.pk == user.pk

    def confirm_email(self, request: HttpRequest, email_address: EmailAddress) -> bool:
        """Confirm the address as the person's own; False if it does not count from now on."""
        user = email_address.user
        services.free_address(email=email_address.email, of=user)
        with transaction.atomic():
            before = User.objects.get(pk=user.pk).email
            is_confirmed = bool(super().confirm_email(request, email_address))
            now = User.objects.get(pk=user.pk).email
            if now != before:
                log_own_action(request, user, Action.CHANGE_ADDRESS, before={"email": before}, after={"email": now})
        return is_confirmed

    def get_client_ip(self, request: HttpRequest) -> str:
        return str(client_address(request) or "an unknown address")

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        words = message or self.notices.get(message_template or "")
        if words:
            messages.add_message(request, level, str(words), extra_tags=extra_tags)

    # --- mails ---------------------------------------------------------------------------------------

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """The first line of the template is the subject, the rest the text."""
        if template_prefix in _REQUESTED_BY_ANYBODY:
            counted = f"mail to {sessions.account_name(email)}"
            if attempts.take_attempt(counted, attempts.MAILS_TO_ADDRESS, now=timezone.now()):
                return
        written = render_to_string(f"{template_prefix}.txt", {"url": settings.PUBLIC_URL, "email": email, **context})
        subject, _separator, text = written.strip().partition("\n")
        write_mail(to=email, subject=subject.strip(), text=f"{text.strip()}\n")

    def send_account_already_exists_mail(self, email: str) -> None:
        """For an address that signs up again. While the first time is not confirmed, its link is sent again."""
        waiting = EmailAddress.objects.filter(email=email, verified=False, user__sign_up__isnull=False).first()
        if waiting is not None and not services.is_confirmed(waiting.user):
            waiting.send_confirmation(context.request, signup=True)
        else:
            reset = f"{settings.PUBLIC_URL}{reverse('account_reset_password')}"
            self.send_mail("account/email/account_already_exists", email, {"password_reset_url": reset})

    def send_password_reset_mail(self, user: User, email: str, context: dict[str, Any]) -> None:
        """To the address that we know, never to what was typed."""
        self.send_mail("account/email/password_reset_key", user.email, context)

    def get_email_confirmation_url(self, request: HttpRequest, emailconfirmation: Any) -> str:
        return f"{settings.PUBLIC_URL}{reverse('account_confirm_email', args=[emailconfirmation.key])}"

    def get_reset_password_from_key_url(self, key: str) -> str:
        path = reverse("account_reset_password_from_key", kwargs={"uidb36": "UID", "key": "KEY"})
        return f"{settings.PUBLIC_URL}{path.replace('UID-KEY', quote(key))}"
