"""The page of the policy: automatic handling of money that differs from its request, tried before it is saved."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.models import MerchantSettings
from merchants.pages.dashboard import save_settings
from merchants.pages.forms import PolicyForm
from merchants.roles import Action, Permission
from payments.dashboard.decisions.dry_run import DAYS, EXAMPLES, DryRun, Policy, try_policy
from payments.suspense.surplus_policy import SurplusPolicy


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(permission=Permission.SEE, action=Action.CHANGE_SETTINGS)
def edit_policy(request: MemberRequest) -> HttpResponse:
    """Every member may try a policy, which changes nothing; who may change the settings saves what was tried."""
    chosen = request.merchant.settings.get(environment=request.environment)
    trial = None
    if request.method == "POST":
        form = PolicyForm(request.POST)
        if form.is_valid() and save_settings(request, form):
            messages.success(request, _("The policy is saved. It applies to payments created from now on."))
            return redirect("dashboard_policy")
    elif PolicyForm.base_fields.keys() & request.GET.keys():
        form = PolicyForm(request.GET)
        if form.is_valid():
            trial = _try(request, form)
    else:
        form = PolicyForm(initial=PolicyForm.initial_of(chosen))
    context = {
        "section": "dashboard_settings",
        "form": form,
        "trial": trial,
        "is_changed": trial is not None and _is_changed(form, chosen),
        "days": DAYS,
        "most_examples": EXAMPLES,
    }
    return render(request, "dashboard/policy.html", context, status=400 if form.errors else 200)


def _try(request: MemberRequest, form: PolicyForm) -> DryRun:
    changes = form.changes()
    surplus = SurplusPolicy(changes["surplus"], changes["surplus_kept_bps"])
    policy = Policy(changes["payment_tolerance_bps"], changes["late_payments"], surplus)
    return try_policy(request.merchant, request.environment, policy, now=timezone.now())


def _is_changed(form: PolicyForm, chosen: MerchantSettings) -> bool:
    return any(getattr(chosen, name) != value for name, value in form.changes().items())
