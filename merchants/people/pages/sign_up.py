"""Pages for people on their way in: sign-up, and the link that confirms an address."""

from __future__ import annotations

from typing import Any, cast

from allauth.account.internal.flows.signup import complete_signup, prevent_enumeration
from allauth.account.models import EmailConfirmationHMAC
from allauth.account.views import ConfirmEmailView
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from config.errors import DomainError
from config.pages.refusals import too_many
from merchants.access.log_in.own_actions import log_own_action
from merchants.people import services
from merchants.people.adapter import AccountAdapter
from merchants.people.pages.forms import SignUpForm
from merchants.people.pages.mail_limits import seconds_to_wait
from merchants.roles import Action


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_up(request: HttpRequest) -> HttpResponse:
    """The same page follows for an address that is known and for one that is not, and the same work is done."""
    if request.user.is_authenticated:
        return redirect("dashboard")
    if not AccountAdapter(request).is_open_for_signup(request):
        return render(request, "account/sign_up_closed.html", status=403 if request.method == "POST" else 200)
    form = SignUpForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        if wait := seconds_to_wait(request):
            return too_many(request, wait)
        entered = form.cleaned_data
        password_hash = make_password(entered["password"])  # the longest step, taken for known addresses too
        try:
            user = services.sign_up(
                email=entered["email"],
                password_hash=password_hash,
                name=entered["name"],
                merchant_name=entered["merchant_name"],
            )
        except services.AddressTaken:
            return cast("HttpResponse", prevent_enumeration(request, email=entered["email"].lower()))
        except DomainError as refusal:
            form.add_refusal(refusal)
        else:
            return cast("HttpResponse", complete_signup(request, user=user))
    context = {"form": form, "needs_approval": settings.SIGN_UP == "approval"}
    return render(request, "account/sign_up.html", context, status=400 if form.errors else 200)


@never_cache
@require_safe
def show_mail_sent(request: HttpRequest) -> HttpResponse:
    return render(request, "account/mail_sent.html", {"mailbox_is_shown": settings.MAILBOX_IS_SHOWN})


@method_decorator(never_cache, name="dispatch")
class ConfirmAddressPage(ConfirmEmailView):
    """The page of a mail's link. It requires a click, because mail servers open links to look at them."""

    template_name = "account/confirm_address.html"
    object: EmailConfirmationHMAC | None

    def get(self, *args: Any, **kwargs: Any) -> HttpResponse:
        reply = cast("HttpResponse", super().get(*args, **kwargs))
        if self.object is None:
            reply.status_code = 404
        return reply

    def post(self, *args: Any, **kwargs: Any) -> HttpResponse:
        reply = cast("HttpResponse", super().post(*args, **kwargs))
        if self.object is not None:
            user = self.object.email_address.user
            with transaction.atomic():
                if services.open_requested_merchant(user=user) is not None:
                    log_own_action(self.request, user, Action.OPEN_MERCHANT)
        return reply

    def get_context_data(self, **facts: Any) -> dict[str, Any]:
        return {**super().get_context_data(**facts), "is_new": self.object and self.object.email_address.primary}
