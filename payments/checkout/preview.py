"""Preview of the payer's page: a page of the settings, around the real page with a payment that does not exist."""

from __future__ import annotations

from datetime import timedelta

from csp.constants import SELF
from csp.decorators import csp_replace
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_http_methods, require_safe

from config.errors import DomainError
from config.pages.qr import data_uri, render_png
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.audit.recording import fields_of
from merchants.models import Branding
from merchants.pages.branding import brand_of, change_branding, palette_of, stylesheet
from merchants.pages.branding_forms import BrandingForm, ShownForm
from merchants.roles import Action, Permission
from payments.checkout.payer import PayerView, State
from payments.checkout.paying import HowToPay

_FIELDS = ("name", "accent", "support", "language", "shows_items", "frame_origins", "logo_width", "logo_height")
_NOWHERE = "0x" + 40 * "0"


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@csp_replace({"frame-src": [SELF]})
@member_required(permission=Permission.SEE, action=Action.CHANGE_BRANDING)
def edit_branding(request: MemberRequest) -> HttpResponse:
    """Every member may look, and try what it would look like; only some may save it."""
    branding = brand_of(request.merchant) or Branding(merchant=request.merchant)
    saved = BrandingForm.initial_of(branding)
    if request.method == "POST":
        form = BrandingForm(request.POST, request.FILES)
        if form.is_valid():
            try:
                changed = change_branding(merchant=request.merchant, **form.cleaned_data)
            except DomainError as refusal:
                form.add_refusal(refusal)
            else:
                request.action.done(before=fields_of(branding, *_FIELDS), after=fields_of(changed, *_FIELDS))
                messages.success(request, _("Payers see it from now on."))
                return redirect("dashboard_branding")
    else:
        form = BrandingForm(initial=saved | ShownForm.shown(request.GET))
    for field in form.fields.values():
        field.disabled = not request.member.may[Permission.MANAGE_ACCOUNT]
    shown = ShownForm.shown(request.POST or request.GET)
    accent = shown.get("accent", saved["accent"])
    context = {
        "section": "dashboard_settings",
        "form": form,
        "branding": branding,
        "palette": palette_of(accent) if accent else None,
        "accent": accent,
        "query": urlencode({name: saved[name] for name in ShownForm.base_fields} | shown),
    }
    return render(request, "dashboard/branding.html", context)


@never_cache
@require_safe
@xframe_options_sameorigin
@csp_replace({"frame-ancestors": [SELF]})
@member_required
def show_preview(request: MemberRequest) -> HttpResponse:
    """The payer's page of a payment that does not exist, with the look in the query."""
    shown = ShownForm.shown(request.GET)
    saved = brand_of(request.merchant) or Branding(merchant=request.merchant)
    brand = Branding(merchant=request.merchant, version=saved.version)
    brand.logo_width, brand.logo_height = saved.logo_width, saved.logo_height
    brand.name, brand.support, brand.accent = shown.get("name", ""), shown.get("support", ""), shown.get("accent", "")
    context = {
        "payment": _sample(brand.name or request.merchant.name),
        "brand": brand,
        "preview_query": urlencode({"accent": brand.accent}),
    }
    return render(request, "checkout/payment.html", context)


@never_cache
@require_safe
@member_required
def show_preview_stylesheet(request: MemberRequest) -> HttpResponse:
    shown = ShownForm.shown(request.GET)
    return HttpResponse(stylesheet(shown.get("accent", "")), content_type="text/css; charset=utf-8")


def _sample(payee: str) -> PayerView:
    code = data_uri(render_png(_NOWHERE))
    return PayerView(
        id="pay_preview",
        sandbox=True,
        payee=payee,
        status="created",
        state=State(_("Waiting for your payment"), _("This is a preview: send nothing."), "accent", "clock"),
        notices=(),
        fiat_amount="25.00 EUR",
        amount="27.18",
        coin="USDC",
        coin_name="USD Coin",
        network="Polygon",
        how_to_pay=HowToPay(
            amount="27.18",
            address=_NOWHERE,
            memo="",
            muxed="",
            issuer="",
            exchange_names="Polygon",
            qr=code,
            qr_has_amount=False,
            payment_uri="",
            wallet=None,
        ),
        expires_at=timezone.now() + timedelta(minutes=30),
        seconds_left=1800,
        poll_seconds=0,
        receipt=(),
        details=(),
        redirect_url="",
        redirect_host="",
        purpose="",
        items=(),
        is_paid=False,
        help_url="",
        has_receipt=False,
        choice="",
        again_url="",
    )
