"""Pages for people who have lost their password."""

from __future__ import annotations

from typing import Any, cast

from allauth.account import views
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_safe

from config.pages.refusals import too_many
from merchants.access.log_in.own_actions import log_own_action
from merchants.four_eyes.people import note_reset
from merchants.people.pages.forms import ForgottenPasswordForm, NewPasswordForm
from merchants.people.pages.mail_limits import seconds_to_wait
from merchants.roles import Action


@method_decorator(never_cache, name="dispatch")
class ForgottenPasswordPage(views.PasswordResetView):
    """Sends a link. The page that follows is the same whether or not there is such a person."""

    form_class = ForgottenPasswordForm
    template_name = "account/forgotten_password.html"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if wait := seconds_to_wait(request):
            return too_many(request, wait)
        return cast("HttpResponse", super().post(request, *args, **kwargs))


@never_cache
@require_safe
def show_reset_sent(request: HttpRequest) -> HttpResponse:
    return render(request, "account/reset_sent.html", {"mailbox_is_shown": settings.MAILBOX_IS_SHOWN})


@method_decorator([never_cache, sensitive_post_parameters("password")], name="dispatch")
class ResetPasswordPage(views.PasswordResetFromKeyView):
    """The page of the link: a new password, which ends every session of the person."""

    form_class = NewPasswordForm
    template_name = "account/reset_password.html"
    success_url = reverse_lazy("login")

    def form_valid(self, form: NewPasswordForm) -> HttpResponse:
        with transaction.atomic():
            reply = cast("HttpResponse", super().form_valid(form))
            log_own_action(self.request, form.user, Action.RESET_PASSWORD)
            note_reset(form.user, is_password_known=False)
        return reply

    def render_to_response(self, context: dict[str, Any], **options: Any) -> HttpResponse:
        status = 404 if context.get("token_fail") else 400 if context["form"].errors else 200
        return cast("HttpResponse", super().render_to_response(context, status=status, **options))

    def get_context_data(self, **facts: Any) -> dict[str, Any]:
        if facts.get("token_fail"):
            return {"token_fail": True}
        return cast("dict[str, Any]", super().get_context_data(**facts))
