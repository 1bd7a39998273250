"""A person's own pages: address, password, sessions."""

from __future__ import annotations

from typing import cast

from allauth.account.internal.flows.password_change import finalize_password_change
from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from merchants.access.log_in.own_actions import log_own_action
from merchants.access.log_in.step_up import recently_confirmed
from merchants.models import User
from merchants.people import log_ins, second_factors
from merchants.people.models import LogIn, SignUp
from merchants.people.pages.forms import NewAddressForm, PasswordChangeForm
from merchants.roles import Action


class PersonRequest(HttpRequest):
    """A request of somebody who is logged in."""

    user: User


@never_cache
@require_safe
@login_required
def show_account(request: HttpRequest) -> HttpResponse:
    user = cast("PersonRequest", request).user
    context = {
        "waiting": SignUp.objects.filter(user=user).first(),
        "new_address": EmailAddress.objects.filter(user=user, verified=False).first(),
        "has_merchant": user.memberships.exists(),
        "log_ins": log_ins.of(user, request.session.session_key),
        "factors": second_factors.of(user),
    }
    return render(request, "account/account.html", context)


@never_cache
@sensitive_post_parameters("current", "password")
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def change_password(request: HttpRequest) -> HttpResponse:
    """A new password ends every other session of the person."""
    user = cast("PersonRequest", request).user
    form = PasswordChangeForm(request.POST or None, user=user, request=request)
    if request.method == "POST" and form.is_valid():
        before = request.session.session_key
        with transaction.atomic():
            form.save()
            finalize_password_change(request, user)
            log_ins.end_others(user, before)
            log_own_action(request, user, Action.CHANGE_PASSWORD)
        log_ins.follow(before, request.session.session_key)
        return redirect("account")
    return render(request, "account/change_password.html", {"form": form}, status=400 if form.errors else 200)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@recently_confirmed
def change_address(request: HttpRequest) -> HttpResponse:
    """Request another address. It counts once it is confirmed; the old one gets notice."""
    user = cast("PersonRequest", request).user
    form = NewAddressForm(request.POST or None, user=user)
    if request.method == "POST" and form.is_valid():
        email = form.cleaned_data["email"]
        with transaction.atomic():
            EmailAddress.objects.add_new_email(request, user, email)
            log_own_action(request, user, Action.REQUEST_ADDRESS, after={"email": email})
        messages.success(
            request, _("We have sent an e-mail to the new address. Open its link to start using this address.")
        )
        return redirect("account")
    context = {"form": form, "mailbox_is_shown": settings.MAILBOX_IS_SHOWN}
    return render(request, "account/change_address.html", context, status=400 if form.errors else 200)


@require_POST
@login_required
def end_session(request: HttpRequest, log_in_id: int) -> HttpResponse:
    user = cast("PersonRequest", request).user
    with transaction.atomic():
        log_ins.end(get_object_or_404(LogIn, pk=log_in_id, user=user))
        log_own_action(request, user, Action.END_SESSION)
    messages.success(request, _("The session is ended."))
    return redirect(_page_of_sessions(request))


@require_POST
@login_required
def end_other_sessions(request: HttpRequest) -> HttpResponse:
    user = cast("PersonRequest", request).user
    with transaction.atomic():
        log_ins.end_others(user, request.session.session_key)
        log_own_action(request, user, Action.END_OTHER_SESSIONS)
    messages.success(request, _("You are logged out everywhere else."))
    return redirect(_page_of_sessions(request))


def _page_of_sessions(request: HttpRequest) -> str:
    """The name of the page on which somebody ended a session: their account, or an operator's own page in the admin."""
    return "operators_account" if request.POST.get("from") == "operators" else "account"
