"""The merchant's pages about key pairs: making one, replacing it, letting it end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from config import ids
from config.errors import DomainError
from merchants import wording
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.access.log_in.single_use import close_form, open_form
from merchants.access.scopes import DESCRIPTIONS, GROUPS, may_give
from merchants.audit.recording import fields_of
from merchants.models import ApiKey
from merchants.pages.dashboard import reporting
from merchants.pages.key_forms import KeyPairForm, RotationForm
from merchants.roles import Action
from merchants.rotation import KeyEnded, KeyRetiring, keep_api_key, rotate_api_key
from merchants.services import IssuedKey, MayNotGive, issue_api_key, revoke_api_key

SECTION = "dashboard_keys"
ROTATION_REMINDER = timedelta(days=90)

KEY_FIELDS = ("name", "public_key", "scopes", "expires_at", "allowed_networks", "require_signature")
"""Fields of a pair in the audit log."""

KEY_COLUMNS = (
    {"label": gettext_lazy("Name")},
    {"label": gettext_lazy("May do")},
    {"label": gettext_lazy("Created")},
    {"label": gettext_lazy("Last used")},
    {"label": gettext_lazy("Ends")},
    {"label": gettext_lazy("Actions")},
)


@dataclass(frozen=True)
class KeyRow:
    """A key pair as the list shows it to a person of some role."""

    key: ApiKey
    now: datetime
    role: str

    @property
    def public_id(self) -> str:
        return self.key.public_id

    @property
    def has_ended(self) -> bool:
        return self.key.ends_at is not None and self.key.ends_at <= self.now

    @property
    def is_retiring(self) -> bool:
        """True if it was replaced, and still works."""
        return self.key.retires_at is not None and not self.has_ended

    @property
    def due_for_rotation(self) -> bool:
        in_use = not self.has_ended and not self.is_retiring
        return in_use and self.key.created_at <= self.now - ROTATION_REMINDER

    @property
    def may_be_rotated(self) -> bool:
        return not self.has_ended and not self.is_retiring and may_give(self.role, self.key.scopes)

    @property
    def why_not_rotated(self) -> str:
        """For a pair that may not be rotated by this person."""
        if self.has_ended:
            return KeyEnded.message
        return KeyRetiring.message if self.is_retiring else MayNotGive.message

    @property
    def may_be_kept(self) -> bool:
        return self.is_retiring and may_give(self.role, self.key.scopes)

    @property
    def access(self) -> Sequence[tuple[str, Sequence[str]]]:
        """Its access in words, by subject; empty for full access."""
        given = self.key.scopes
        groups = [
            (str(title), [str(DESCRIPTIONS[each]) for each in scopes if each in given]) for title, scopes in GROUPS
        ]
        return [(title, words) for title, words in groups if words]

    @property
    def age(self) -> str:
        return wording.from_now(self.key.created_at, self.now)

    @property
    def last_used(self) -> str:
        used = self.key.last_used_at
        return wording.from_now(used, self.now) if used else ""

    @property
    def ends(self) -> str:
        """Time until its end, in words."""
        return wording.from_now(self.key.ends_at, self.now) if self.key.ends_at else ""


@never_cache
@require_safe
@member_required
def list_keys(request: MemberRequest) -> HttpResponse:
    now = timezone.now()
    keys = ApiKey.objects.of(request.merchant, request.environment).live().select_related("replaced_by").order_by("-id")
    rows = [KeyRow(key, now, request.member.role) for key in keys]
    context = {
        "section": SECTION,
        "columns": KEY_COLUMNS,
        "rows": rows,
        "due_for_rotation": [row.key.name for row in rows if row.due_for_rotation],
    }
    return render(request, "dashboard/keys/list.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.MAKE_KEY)
def generate_key(request: MemberRequest) -> HttpResponse:
    """Makes a pair and shows its secret, once.

    Each form makes one pair: sending it again, by reloading the page, makes and shows nothing.
    """
    form = KeyPairForm(request.POST or None, role=request.member.role)
    if request.method == "POST" and form.is_valid():
        if not close_form(request):
            return _used_form(request)
        if (issued := _issue_key(request, form)) is not None:
            request.action.done(issued.key, after=fields_of(issued.key, *KEY_FIELDS))
            return _show_secret(request, issued)
    context = {"section": SECTION, "form": form, "form_id": open_form(request)}
    return render(request, "dashboard/keys/generate.html", context)


def _issue_key(request: MemberRequest, form: KeyPairForm) -> IssuedKey | None:
    try:
        return issue_api_key(
            merchant=request.merchant,
            environment=request.environment,
            name=form.cleaned_data["name"],
            scopes=form.given(),
            expires_at=form.expires_at(),
            allowed_networks=form.cleaned_data["allowed_networks"],
            require_signature=form.cleaned_data["require_signature"],
            created_by=request.user,
            role=request.member.role,
        )
    except DomainError as refusal:
        form.add_refusal(refusal)
        return None


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.ROTATE_KEY)
def rotate_key(request: MemberRequest, key_id: str) -> HttpResponse:
    """Show the choice of the old pair's end, and then the secret of the new one, once."""
    key = _own_key(request, key_id)
    form = RotationForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        if not close_form(request):
            return _used_form(request)
        try:
            issued = rotate_api_key(
                key=key, overlap=form.overlap_time(), created_by=request.user, role=request.member.role
            )
        except DomainError as refusal:
            form.add_error(None, refusal.message)
        else:
            old = ApiKey.objects.get(pk=key.pk)
            request.action.done(
                key,
                before=fields_of(key, "retires_at"),
                after={**fields_of(old, "retires_at"), "replaced_by": issued.key.public_id},
            )
            return _show_secret(request, issued, old=old)
    row = KeyRow(key, timezone.now(), request.member.role)
    context = {"section": SECTION, "item": row, "key": key, "form": form, "form_id": open_form(request)}
    return render(request, "dashboard/keys/rotate.html", context)


@never_cache
@require_POST
@member_required(action=Action.KEEP_KEY)
def keep_key(request: MemberRequest, key_id: str) -> HttpResponse:
    key = _own_key(request, key_id)
    with reporting(request, _("“%(name)s” keeps working alongside the new pair.") % {"name": key.name}):
        keep_api_key(key=key, role=request.member.role)
        request.action.done(key, before=fields_of(key, "retires_at"), after={"retires_at": None})
    return redirect("dashboard_keys")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.DELETE_KEY)
def delete_key(request: MemberRequest, key_id: str) -> HttpResponse:
    key = _own_key(request, key_id)
    if request.method == "POST":
        revoke_api_key(key=key)
        request.action.done(key, before=fields_of(key, *KEY_FIELDS))
        words = _("“%(name)s” is deleted. Requests with it are refused from now on.") % {"name": key.name}
        messages.success(request, words)
        return redirect("dashboard_keys")
    row = KeyRow(key, timezone.now(), request.member.role)
    return render(request, "dashboard/keys/delete.html", {"section": SECTION, "key": key, "item": row})


def _used_form(request: MemberRequest) -> HttpResponse:
    messages.warning(
        request, _("This form was already submitted. A secret key is shown only once, when its pair is created.")
    )
    request.action.refused()
    return redirect("dashboard_keys")


def _show_secret(request: MemberRequest, issued: IssuedKey, *, old: ApiKey | None = None) -> HttpResponse:
    context = {"section": SECTION, "key": issued.key, "secret": issued.secret, "old": old}
    return render(request, "dashboard/keys/issued.html", context)


def _own_key(request: MemberRequest, key_id: str) -> ApiKey:
    own = ApiKey.objects.of(request.merchant, request.environment).live()
    return get_object_or_404(own, pk=ids.KEY.decode(key_id))
