"""Pages of the people of a merchant: who they are, their roles, removing them, leaving, handing the ownership over."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from config import ids
from config.errors import DomainError
from merchants.access.log_in.sessions import MERCHANT, MemberRequest, choose_merchant, member_required
from merchants.members import LastOwner, may_manage, roles_to_give
from merchants.models import ApiKey, Member
from merchants.people import memberships, second_factors
from merchants.people.invitations import open_invitations
from merchants.people.pages.forms import ROLES_IN_WORDS, HandOverForm, RoleForm
from merchants.roles import Action, Permission, Role

SECTION = "dashboard_members"

_COLUMNS = (
    {"label": gettext_lazy("Member")},
    {"label": gettext_lazy("Role")},
    {"label": gettext_lazy("Joined")},
    {"label": gettext_lazy("Second factor")},
    {"label": gettext_lazy("Actions")},
)
_COLUMNS_OF_COLLEAGUES = _COLUMNS[:3]


@dataclass(frozen=True)
class MemberRow:
    """A member as the list shows it to another one."""

    member: Member
    has_factor: bool
    is_you: bool
    can_be_managed: bool
    can_take_over: bool

    @property
    def role_in_words(self) -> str:
        return str(ROLES_IN_WORDS[Role(self.member.role)])


@never_cache
@require_safe
@member_required
def list_members(request: MemberRequest) -> HttpResponse:
    """Every member sees the colleagues; who manages them sees second factors and invitations as well."""
    you = request.member
    found = list(Member.objects.filter(merchant=request.merchant).select_related("user").order_by("id"))
    manages = you.may[Permission.MANAGE_MEMBERS]
    with_factor = second_factors.who_has_any(each.user for each in found) if manages else set()
    rows = [
        MemberRow(
            member=each,
            has_factor=each.user_id in with_factor,
            is_you=each.pk == you.pk,
            can_be_managed=may_manage(you, each),
            can_take_over=you.may[Permission.MANAGE_OWNERS] and each.role != Role.OWNER,
        )
        for each in found
    ]
    context = {
        "section": SECTION,
        "columns": _COLUMNS if manages else _COLUMNS_OF_COLLEAGUES,
        "rows": rows,
        "invitations": open_invitations(request.merchant) if manages else (),
    }
    return render(request, "dashboard/members/list.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.CHANGE_ROLE)
def change_role(request: MemberRequest, member_id: str) -> HttpResponse:
    member = _managed(request, member_id)
    form = RoleForm(request.POST or None, roles=roles_to_give(request.member), initial={"role": member.role})
    if request.method == "POST" and form.is_valid():
        try:
            changed = memberships.change_role(member=member, role=form.cleaned_data["role"], by=request.member)
        except DomainError as refusal:
            form.add_refusal(refusal)
        else:
            after = {"role": member.role, "person": member.user.email, **_fallen(changed.withdrawn)}
            request.action.done(member, before={"role": changed.before.role}, after=after)
            names = {"email": member.user.email, "role": member.get_role_display()}
            messages.success(request, _("%(email)s is now %(role)s.") % names)
            return redirect(SECTION)
    context = {"section": SECTION, "member": member, "form": form, "is_you": member.pk == request.member.pk}
    return render(request, "dashboard/members/role.html", context, status=400 if form.errors else 200)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.REMOVE_MEMBER)
def remove_member(request: MemberRequest, member_id: str) -> HttpResponse:
    member = _managed(request, member_id)
    if member.pk == request.member.pk:
        request.action.refused()
        return redirect("dashboard_leave")
    if request.method == "POST":
        try:
            changed = memberships.remove_member(member=member, by=request.member)
        except DomainError as refusal:
            messages.error(request, refusal.message)
            request.action.refused()
        else:
            gone = changed.before
            was = {"person": gone.user.email, "role": gone.role}
            request.action.done(gone, before=was, after=_fallen(changed.withdrawn))
            messages.success(request, _("%(email)s is no longer a member.") % {"email": gone.user.email})
        return redirect(SECTION)
    context = {"section": SECTION, "member": member, "keys_made": _keys_made_by(member)}
    return render(request, "dashboard/members/remove.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.HAND_OVER)
def hand_over(request: MemberRequest, member_id: str) -> HttpResponse:
    member = _member(request, member_id)
    form = HandOverForm(request.POST or None, initial={"become": Role.ADMIN})
    if request.method == "POST" and form.is_valid():
        become, before = form.cleaned_data["become"], member.role
        try:
            withdrawn = memberships.hand_over(by=request.member, to=member, become=become)
        except DomainError as refusal:
            form.add_refusal(refusal)
        else:
            after = {"role": member.role, "own_role": become, "person": member.user.email, **_fallen(withdrawn)}
            request.action.done(member, before={"role": before, "own_role": Role.OWNER.value}, after=after)
            messages.success(request, _("%(email)s is now an owner.") % {"email": member.user.email})
            return redirect(SECTION)
    context = {"section": SECTION, "member": member, "form": form}
    return render(request, "dashboard/members/hand_over.html", context, status=400 if form.errors else 200)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.LEAVE)
def leave(request: MemberRequest) -> HttpResponse:
    """Ends the own membership. The session goes on: at another merchant of the person, or on their account."""
    if request.method == "POST":
        try:
            changed = memberships.leave(member=request.member, session_key=request.session.session_key)
        except DomainError as refusal:
            messages.error(request, refusal.message)
            request.action.refused()
            return redirect(SECTION)
        gone = changed.before
        request.action.done(gone, before={"role": gone.role}, after=_fallen(changed.withdrawn))
        messages.success(request, _("You have left %(merchant)s.") % {"merchant": gone.merchant.name})
        others = [each.merchant for each in request.memberships if each.pk != request.member.pk]
        if not others:
            request.session.pop(MERCHANT, None)
            return redirect("account")
        choose_merchant(request, others[0])
        return redirect("dashboard")
    context = {"section": SECTION, "is_last_owner": _is_last_owner(request.member), "last_owner": _(LastOwner.message)}
    return render(request, "dashboard/members/leave.html", context)


@require_POST
@member_required(only_session=True)
def switch_merchant(request: MemberRequest) -> HttpResponse:
    """Shows another merchant of the person, from its start page on: it has other records."""
    chosen = request.POST.get("merchant", "")
    for each in request.memberships:
        if each.merchant.public_id == chosen:
            choose_merchant(request, each.merchant)
            return redirect("dashboard")
    raise Http404


def _member(request: MemberRequest, member_id: str) -> Member:
    own = Member.objects.filter(merchant=request.merchant).select_related("merchant", "user")
    return get_object_or_404(own, uid=ids.MEMBER.decode(member_id))


def _managed(request: MemberRequest, member_id: str) -> Member:
    """A member whom this one may manage; 403 for owners, unless an owner requests it."""
    member = _member(request, member_id)
    if not may_manage(request.member, member):
        raise PermissionDenied
    return member


def _is_last_owner(member: Member) -> bool:
    owners = Member.objects.filter(merchant=member.merchant_id, role=Role.OWNER)
    return member.role == Role.OWNER and owners.count() == 1


def _fallen(withdrawn: list[str]) -> dict[str, list[str]]:
    """Invitations that fell with a membership, for the audit log; empty when none did."""
    return {"withdrawn_invitations": withdrawn} if withdrawn else {}


def _keys_made_by(member: Member) -> int:
    """Number of API keys of the merchant, in both environments, the person has made that still work."""
    made = ApiKey.objects.filter(merchant=member.merchant_id, created_by=member.user_id)
    return made.filter(revoked_at__isnull=True).count()
