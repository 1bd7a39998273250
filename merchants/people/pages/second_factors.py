"""Pages of second factors: adding and removing them, the second step of a log-in, and confirming who one is."""

from __future__ import annotations

import json
from typing import Any, ClassVar, cast

from allauth.account.views import BaseReauthenticateView
from allauth.account.views import ReauthenticateView as PasswordView
from allauth.mfa.base.views import AuthenticateView
from allauth.mfa.base.views import ReauthenticateView as CodeView
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.internal.auth import begin_authentication, begin_registration
from allauth.mfa.webauthn.views import (
    AddWebAuthnView,
    LoginWebAuthnView,
    ReauthenticateWebAuthnView,
    RemoveWebAuthnView,
)
from django.contrib.auth.decorators import login_required
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic.edit import FormView

from merchants.access.log_in.own_actions import log_own_action
from merchants.models import User
from merchants.people import second_factors
from merchants.people.pages.forms import AddAppForm, AddPasskeyForm, CodeAgainForm, PasswordAgainForm, SecondStepForm
from merchants.people.second_factors import qr_code_of
from merchants.roles import Action


def written(options: Any) -> str:
    """Options of WebAuthn as JSON, for the attribute of a form."""
    return json.dumps(options, cls=DjangoJSONEncoder)


class WrongIsBadRequest:
    """A form that is sent back replies 400, as everywhere."""

    def form_invalid(self, form: Any) -> HttpResponse:
        reply = cast("HttpResponse", super().form_invalid(form))  # type: ignore[misc]  # of the view it is mixed into
        reply.status_code = 400
        return reply


class LogsItsAction:
    """Puts the form's change and its rows in the audit logs into one database transaction."""

    action: ClassVar[Action]
    request: HttpRequest

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic():
            reply = cast("HttpResponse", super().form_valid(form))  # type: ignore[misc]  # of the view it is mixed into
            log_own_action(self.request, cast("User", self.request.user), self.action)
        return reply


class SecondStepPage(WrongIsBadRequest, AuthenticateView):
    """After the password of somebody who has a second factor."""

    form_class = SecondStepForm
    template_name = "account/second_step.html"

    def get_context_data(self, **facts: Any) -> dict[str, Any]:
        context = cast("dict[str, Any]", super().get_context_data(**facts))
        factors = second_factors.of(self.stage.login.user)
        return {**context, "factors": factors, "options": written(context["js_data"]["request_options"])}


@method_decorator([never_cache, login_required, sensitive_post_parameters("password")], name="dispatch")
class PasswordAgainPage(WrongIsBadRequest, PasswordView):
    form_class = PasswordAgainForm
    template_name = "account/confirm_yourself.html"


@method_decorator([never_cache, login_required], name="dispatch")
class CodeAgainPage(WrongIsBadRequest, CodeView):
    form_class = CodeAgainForm
    template_name = "account/confirm_yourself.html"


@method_decorator([never_cache, login_required], name="dispatch")
class AddAppPage(WrongIsBadRequest, LogsItsAction, ActivateTOTPView):
    """Shows the secret as a QR code, and keeps it once a code made from it has come back."""

    action = Action.ADD_APP
    form_class = AddAppForm
    template_name = "account/add_app.html"

    def get_context_data(self, **facts: Any) -> dict[str, Any]:
        context = cast("dict[str, Any]", super().get_context_data(**facts))
        return {**context, "qr_code": qr_code_of(context["totp_url"]), "secret": context["form"].secret}

    def form_valid(self, form: Any) -> HttpResponse:
        reply = super().form_valid(form)
        # This uses the code up: allauth itself takes it once more within its half minute.
        app = Authenticator.objects.get(user=self.request.user, type=Authenticator.Type.TOTP)
        app.wrap().validate_code(form.cleaned_data["code"])
        return reply


@method_decorator([never_cache, login_required], name="dispatch")
class RemoveAppPage(LogsItsAction, DeactivateTOTPView):
    action = Action.REMOVE_APP
    template_name = "account/remove_app.html"


@method_decorator([never_cache, login_required], name="dispatch")
class RecoveryCodesPage(ViewRecoveryCodesView):
    """Shows the codes once, when they are new."""

    template_name = "account/recovery_codes.html"


@method_decorator([never_cache, login_required], name="dispatch")
class NewCodesPage(LogsItsAction, GenerateRecoveryCodesView):
    action = Action.MAKE_RECOVERY_CODES
    template_name = "account/new_codes.html"


@method_decorator([never_cache, login_required], name="dispatch")
class AddPasskeyPage(WrongIsBadRequest, LogsItsAction, AddWebAuthnView):
    """Adding a passkey. Each logs in by itself: its device keeps it, and requires a finger, a face or a PIN."""

    action = Action.ADD_PASSKEY
    form_class = AddPasskeyForm
    template_name = "account/add_passkey.html"

    def get_form_class(self) -> type[AddPasskeyForm]:
        return AddPasskeyForm

    def get_context_data(self, **facts: Any) -> dict[str, Any]:
        options = begin_registration(self.request.user, passwordless=True)
        return {**FormView.get_context_data(self, **facts), "options": written(options)}


@method_decorator([never_cache, login_required], name="dispatch")
class RemovePasskeyPage(LogsItsAction, RemoveWebAuthnView):
    action = Action.REMOVE_PASSKEY
    template_name = "account/remove_passkey.html"
    success_url = reverse_lazy("account")


@method_decorator(never_cache, name="dispatch")
class PasskeyLogInPage(LoginWebAuthnView):
    """GET replies with the browser's request for a passkey, POST logs in with it."""


@method_decorator([never_cache, login_required], name="dispatch")
class PasskeyAgainPage(ReauthenticateWebAuthnView):
    template_name = "account/confirm_by_passkey.html"

    def form_invalid(self, form: Any) -> HttpResponse:
        reply = cast("HttpResponse", self.render_to_response(self.get_context_data(form=form)))
        reply.status_code = 400
        return reply

    def get_context_data(self, **facts: Any) -> dict[str, Any]:
        context = {**BaseReauthenticateView.get_context_data(self, **facts)}
        return {**context, "options": written(begin_authentication(self.request.user))}
