"""The page where a member chooses which mails to get, and how pages show times."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from config.errors import DomainError
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.audit.recording import fields_of
from merchants.members import prefer
from merchants.people.pages.forms import PreferencesForm
from merchants.roles import Action

_FIELDS = ("notices", "timezone", "number_style", "language")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.CHANGE_PREFERENCES)
def edit_preferences(request: MemberRequest) -> HttpResponse:
    """For the merchant in view: at another one the person may want to know of other things."""
    member = request.member
    form = PreferencesForm(request.POST or None, initial=dict(fields_of(member, *_FIELDS)))
    if request.method == "POST" and form.is_valid():
        try:
            before = prefer(member=member, **form.cleaned_data)
        except DomainError as refusal:
            form.add_refusal(refusal)
        else:
            request.action.done(member, before=fields_of(before, *_FIELDS), after=fields_of(member, *_FIELDS))
            messages.success(request, _("Your preferences are saved."))
            return redirect("dashboard_preferences")
    context = {"section": "dashboard_preferences", "form": form}
    return render(request, "dashboard/preferences.html", context, status=400 if form.errors else 200)
