"""Pages of invitations: who sends them, and where their links lead."""

from __future__ import annotations

from typing import cast

from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import Login
from django.contrib import messages
from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from config.errors import DomainError
from merchants.access.log_in.own_actions import origin_of
from merchants.access.log_in.sessions import MemberRequest, choose_merchant, member_required
from merchants.audit.recording import fields_of, log_action
from merchants.members import roles_to_give
from merchants.models import Member, Merchant, User
from merchants.people import invitations
from merchants.people.models import Invitation
from merchants.people.pages.forms import AcceptForm, InvitationForm
from merchants.roles import Action


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.INVITE_MEMBER)
def invite_member(request: MemberRequest) -> HttpResponse:
    form = InvitationForm(request.POST or None, roles=roles_to_give(request.member))
    if request.method == "POST" and form.is_valid():
        try:
            invitation = invitations.invite_member(by=request.member, **form.cleaned_data)
        except DomainError as refusal:
            form.add_refusal(refusal)
        else:
            request.action.done(after=fields_of(invitation, "email", "role"))
            messages.success(request, _("%(email)s is invited.") % {"email": invitation.email})
            return redirect("dashboard_members")
    context = {"section": "dashboard_members", "form": form}
    return render(request, "dashboard/members/invite.html", context, status=400 if form.errors else 200)


@require_POST
@member_required(action=Action.WITHDRAW_INVITATION)
def withdraw_invitation(request: MemberRequest) -> HttpResponse:
    named = request.POST.get("invitation", "")
    number = int(named[:18]) if named.isdecimal() else 0
    invitation = Invitation.objects.filter(merchant=request.merchant, pk=number).first()
    if invitation is not None and invitations.withdraw(merchant=request.merchant, invitation_id=number):
        request.action.done(before=fields_of(invitation, "email", "role"))
        messages.success(request, _("The invitation is withdrawn."))
    else:
        messages.warning(request, _("This invitation no longer exists."))
        request.action.refused()
    return redirect("dashboard_members")


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def accept_invitation(request: HttpRequest, token: str) -> HttpResponse:
    """For the person of the address alone: whoever has an account logs in first, anybody else makes one here."""
    invitation = invitations.invitation_of(token)
    if invitation is None:
        return render(request, "account/invitation.html", status=404)
    person = invitations.person_invited(invitation)
    is_theirs = person is not None and request.user == person
    needs_form = (person is None and not request.user.is_authenticated) or (is_theirs and invitation.merchant is None)
    form = AcceptForm(request.POST or None, invitation=invitation) if needs_form else None
    if is_theirs and form is not None:
        for name in ("name", "password"):
            del form.fields[name]
    if request.method == "POST" and (form.is_valid() if form is not None else is_theirs):
        entered = form.cleaned_data if form is not None else {}
        try:
            if is_theirs:
                return _join(cast("MemberRequest", request), invitation, entered.get("merchant_name", ""))
            return _make_account(request, invitation, entered)
        except DomainError as refusal:
            if form is None:
                return render(request, "account/invitation.html", status=404)
            form.add_refusal(refusal)
    context = {"invitation": invitation, "form": form, "is_theirs": is_theirs}
    return render(request, "account/invitation.html", context, status=400 if form is not None and form.errors else 200)


def _join(request: MemberRequest, invitation: Invitation, merchant_name: str) -> HttpResponse:
    with transaction.atomic():
        merchant = invitations.accept(invitation=invitation, user=request.user, merchant_name=merchant_name)
        _log_joining(request, merchant, request.user)
    choose_merchant(request, merchant)
    return redirect("dashboard")


def _log_joining(request: HttpRequest, merchant: Merchant, user: User) -> None:
    """For the merchant that the person has joined alone: it is no affair of their others."""
    member = Member.objects.select_related("user").get(merchant=merchant, user=user)
    role = {"role": member.role}
    log_action(Action.ACCEPT_INVITATION, member=member, environment="", origin=origin_of(request), after=role)


def _make_account(request: HttpRequest, invitation: Invitation, entered: dict[str, str]) -> HttpResponse:
    password_hash = make_password(entered["password"])
    with transaction.atomic():
        user = invitations.accept_as_new_person(
            invitation=invitation,
            password_hash=password_hash,
            name=entered["name"],
            merchant_name=entered.get("merchant_name", ""),
        )
        _log_joining(request, user.memberships.get().merchant, user)
    return cast("HttpResponse", perform_password_login(request, {"email": user.email}, Login(user=user)))
