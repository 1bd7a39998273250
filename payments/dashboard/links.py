"""The merchant's pages for requests of money: take a payment, and payment links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from config import ids
from config.database.replica import reads_from_replica
from config.errors import DomainError
from config.pages import wording
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.access.log_in.single_use import close_form, open_form
from merchants.access.log_in.step_up import waits
from merchants.audit.recording import fields_of
from merchants.pages.forms import LookMixin
from merchants.pages.listing import list_context
from merchants.roles import Action, Permission
from merchants.wording import exact
from payments.chains import registry
from payments.choices import choices_among
from payments.dashboard.link_forms import (
    LinkChangesForm,
    LinkFilterForm,
    LinkForm,
    PaymentsOfLinkForm,
    PriceForm,
    TakePaymentForm,
    new_link,
)
from payments.dashboard.rows import RECENT_COLUMNS, PaymentRow
from payments.links.known_wallets import known_wallets
from payments.links.models import PaymentLink
from payments.links.records import qr_code
from payments.links.services import create_link, update_link
from payments.links.states import LinkState
from payments.links.uses import uses_taken
from payments.models import Payment
from payments.services import NewPayment, create_payment
from payments.states import PaymentStatus
from payments.suspense import recipient_checks

Made = TypeVar("Made")

LINK_FIELDS = (
    "description",
    "note",
    "currency",
    "amount",
    "least",
    "most",
    "coins",
    "wallets",
    "max_uses",
    "expires_at",
    "expires_in",
    "redirect_url",
    "metadata",
)
"""Fields of a link in the audit log; amounts are in minor units."""

LINK_COLUMNS = (
    {"label": gettext_lazy("For")},
    {"label": gettext_lazy("State")},
    {"label": gettext_lazy("Amount")},
    {"label": gettext_lazy("Uses")},
    {"label": gettext_lazy("Created")},
)


@dataclass(frozen=True)
class LinkRow:
    """A payment link as pages show it; `taken` is None where it has no limit."""

    link: PaymentLink
    taken: int | None
    now: datetime

    @property
    def state(self) -> LinkState:
        return self.link.state(taken=self.taken or 0, now=self.now)

    @property
    def tone(self) -> str:
        return "good" if self.state is LinkState.ACTIVE else "calm"

    @property
    def price(self) -> str:
        """The amount, or the limits of what a payer may enter."""
        link = self.link
        if link.least is None or link.most is None:
            return wording.fiat(link.amount or 0, link.currency)
        least, most = wording.fiat(link.least, link.currency), wording.fiat(link.most, link.currency)
        return _("%(least)s to %(most)s") % {"least": least.removesuffix(f" {link.currency}"), "most": most}

    @property
    def uses(self) -> str:
        if self.link.max_uses is None:
            return _("No limit")
        numbers = {"taken": wording.whole(self.taken or 0), "all": wording.whole(self.link.max_uses)}
        return _("%(taken)s of %(all)s") % numbers


def _form_options(request: MemberRequest) -> dict[str, Any]:
    return {
        "environment": request.environment,
        "known": known_wallets(request.merchant, request.environment),
        "may_name_wallets": request.member.may[Permission.MANAGE_SETTINGS]
        and not waits(request.member.user, request.environment),
    }


def _query_wallets(form_of: type[PriceForm], request: MemberRequest) -> None:
    """Query the networks about wallets that nothing is known of yet."""
    form = form_of(request.POST, **_form_options(request))
    if form.is_valid():
        for network, wallet in form.cleaned_data["wallets"].items():
            recipient_checks.query_wallet(request.environment, network, wallet, merchant_id=request.merchant.pk)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.TAKE_PAYMENT, before_transaction=partial(_query_wallets, TakePaymentForm))
def take_payment(request: MemberRequest) -> HttpResponse:
    """Make one payment. Where coin or network are left to the payer, it becomes a link for one payment."""
    form = TakePaymentForm(request.POST or None, **_form_options(request))
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        is_fixed = data["coin"] and len(data["wallets"]) == 1
        if not close_form(request):
            messages.warning(
                request,
                _("This form was already submitted. Find its payment in the list of payments or payment links."),
            )
            request.action.refused()
            return redirect("dashboard_payments")
        if is_fixed and (payment := _made(form, lambda: _create_payment(request, form))) is not None:
            with wording.numbers_as("comma"):
                price = PaymentRow(payment).price
            taken = {"price": price, **fields_of(payment, "cryptocurrency", "network")}
            request.action.done(payment, after=taken | {"wallet": payment.merchant_wallet})
            return redirect("dashboard_show_to_payer", payment.public_id)
        if not is_fixed and (link := _made(form, lambda: _create_link(request, form, max_uses=1))) is not None:
            request.action.done(link, after=fields_of(link, *LINK_FIELDS))
            return redirect("dashboard_link", link.public_id)
    context = {"section": "dashboard_payments", "form": form, "form_id": open_form(request)}
    return render(request, "dashboard/links/take.html", context)


@never_cache
@require_safe
@member_required
def show_to_payer(request: MemberRequest, payment_id: str) -> HttpResponse:
    """The payment's page as a QR code and an address, to be shown to the payer or sent."""
    own = Payment.objects.of(request.merchant, request.environment)
    payment = get_object_or_404(own, pk=ids.PAYMENT.decode(payment_id))
    context = {
        "section": "dashboard_payments",
        "payment": payment,
        "row": PaymentRow(payment),
        "address": payment.page_url,
        "qr": qr_code(payment.page_url),
        "is_open": payment.status == PaymentStatus.CREATED,
        "expires": exact(payment.expires_at),
    }
    return render(request, "dashboard/links/show_to_payer.html", context)


@never_cache
@require_safe
@member_required
@reads_from_replica
def list_links(request: MemberRequest) -> HttpResponse:
    own = PaymentLink.objects.of(request.merchant, request.environment).select_related("merchant")
    form = LinkFilterForm(request.GET)
    context: dict[str, Any] = {"section": "dashboard_links", "form": form, "columns": LINK_COLUMNS, "rows": []}
    if form.is_valid():
        if searched := form.cleaned_data["q"]:
            own = own.filter(description__icontains=searched)
        if shown := form.cleaned_data["show"]:
            own = own.filter(enabled=shown == "enabled")
        context |= list_context(request, form, own, kind=ids.PAYMENT_LINK, view="dashboard_links", row=_as_it_is)
        context["rows"] = _rows(context["rows"])
    return render(request, "dashboard/links/list.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.MAKE_LINK, before_transaction=partial(_query_wallets, LinkForm))
def make_link(request: MemberRequest) -> HttpResponse:
    form = LinkForm(request.POST or None, **_form_options(request))
    if request.method == "POST" and form.is_valid():
        if not close_form(request):
            messages.warning(request, _("This form was already submitted. Its payment link is in this list."))
            request.action.refused()
            return redirect("dashboard_links")
        if (link := _made(form, lambda: _create_link(request, form))) is not None:
            request.action.done(link, after=fields_of(link, *LINK_FIELDS))
            messages.success(request, _("The payment link is created. Show it, send it, or print its poster."))
            if left_out := form.networks_left_out:
                words = _("Payers cannot choose these networks, as you entered no wallet for them: %s.")
                messages.info(request, words % ", ".join(left_out))
            return redirect("dashboard_link", link.public_id)
    context = {"section": "dashboard_links", "form": form, "form_id": open_form(request)}
    return render(request, "dashboard/links/new.html", context)


@never_cache
@require_safe
@member_required
def show_link(request: MemberRequest, link_id: str) -> HttpResponse:
    link = _own_link(request, link_id)
    form = PaymentsOfLinkForm(request.GET)
    context: dict[str, Any] = _link_context(link) | {
        "form": form,
        "columns": RECENT_COLUMNS,
        "rows": [],
        "facts": _facts(link),
        "button": _button(link),
    }
    if form.is_valid():
        context |= list_context(
            request,
            form,
            Payment.objects.of(request.merchant, request.environment).filter(payment_link=link).for_lists(),
            kind=ids.PAYMENT,
            view="dashboard_link",
            of=link.public_id,
            row=PaymentRow,
        )
    return render(request, "dashboard/links/detail.html", context)


@never_cache
@require_safe
@member_required
def show_poster(request: MemberRequest, link_id: str) -> HttpResponse:
    """A page for paper: who is paid, what for, and the QR code."""
    link = _own_link(request, link_id)
    choices = choices_among(link.environment, link.wallets, link.coins)
    context = _link_context(link) | {
        "coins": ", ".join(dict.fromkeys(choice.coin for choice in choices)),
        "networks": ", ".join(dict.fromkeys(choice.network_name for choice in choices)),
        "short_address": link.url.partition("://")[2],
    }
    return render(request, "dashboard/links/poster.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.CHANGE_LINK)
def edit_link(request: MemberRequest, link_id: str) -> HttpResponse:
    link = _own_link(request, link_id)
    form = LinkChangesForm(request.POST or None, link=link)
    is_valid = request.method == "POST" and form.is_valid()
    before = fields_of(link, *LINK_FIELDS)
    if is_valid and (changed := _made(form, lambda: update_link(link, form.to_changes()))) is not None:
        request.action.done(link, before=before, after=fields_of(changed, *LINK_FIELDS))
        messages.success(request, _("The payment link is changed. Its earlier payments stay as they are."))
        return redirect("dashboard_link", link.public_id)
    return render(request, "dashboard/links/edit.html", _link_context(link) | {"form": form})


@never_cache
@require_POST
@member_required(action=Action.ENABLE_LINK)
def enable_link(request: MemberRequest, link_id: str) -> HttpResponse:
    before = _own_link(request, link_id)
    link = update_link(before, {"enabled": True})
    request.action.done(link, before=fields_of(before, "enabled"), after=fields_of(link, "enabled"))
    messages.success(request, _("The payment link takes payments again."))
    return redirect("dashboard_link", link.public_id)


@never_cache
@require_POST
@member_required(action=Action.DISABLE_LINK)
def disable_link(request: MemberRequest, link_id: str) -> HttpResponse:
    before = _own_link(request, link_id)
    link = update_link(before, {"enabled": False})
    request.action.done(link, before=fields_of(before, "enabled"), after=fields_of(link, "enabled"))
    messages.success(request, _("The payment link takes no new payments. Payments that have begun can still be paid."))
    return redirect("dashboard_link", link.public_id)


def _own_link(request: MemberRequest, link_id: str) -> PaymentLink:
    own = PaymentLink.objects.of(request.merchant, request.environment).select_related("merchant")
    return get_object_or_404(own, pk=ids.PAYMENT_LINK.decode(link_id))


def _as_it_is(link: PaymentLink) -> PaymentLink:
    """Rows of links are made for the whole page at once."""
    return link


def _rows(links: list[PaymentLink]) -> list[LinkRow]:
    taken, now = uses_taken(links), timezone.now()
    return [LinkRow(link, taken.get(link.pk), now) for link in links]


def _link_context(link: PaymentLink) -> dict[str, object]:
    [row] = _rows([link])
    return {"section": "dashboard_links", "link": link, "row": row, "address": link.url, "qr": qr_code(link.url)}


def _button(link: PaymentLink) -> str:
    """The HTML of a button that leads to the link, for any website: text, not to be shown as HTML. It has no script."""
    style = f"{settings.PUBLIC_URL}{reverse('button_style')}"
    label = escape(_("Pay with stablecoins"))
    return f'<link rel="stylesheet" href="{style}"><a class="ballast-button" href="{link.url}">{label}</a>'


def _facts(link: PaymentLink) -> list[tuple[str, str]]:
    return [
        (_("Coins"), ", ".join(link.coins) or _("The payer chooses")),
        *((_("Settled to"), _wallet_words(link, network)) for network in link.wallets),
        (_("Time to pay"), wording.about(link.expires_in).removeprefix("about ")),
        (_("Ends"), exact(link.expires_at)),
        (_("Afterwards"), link.redirect_url),
        (_("Note"), link.note),
        *wording.metadata_rows(link.metadata),
        (_("Created"), exact(link.created_at)),
        (_("Id"), link.public_id),
    ]


def _wallet_words(link: PaymentLink, network: str) -> str:
    name = registry.known_profile(link.environment, network).name
    return _("%(wallet)s on %(network)s") % {"wallet": link.wallets[network], "network": name}


def _create_payment(request: MemberRequest, form: PriceForm) -> Payment:
    data = form.cleaned_data
    [(network, wallet)] = data["wallets"].items()
    new = NewPayment(
        amount=data["amount"],
        currency=data["currency"],
        cryptocurrency=data["coin"],
        network=network,
        merchant_wallet=wallet,
        redirect_url=data["redirect_url"],
        expires_in=data["expires_in"],
        metadata=data["metadata"],
        description=data["description"],
        note=data["note"],
    )
    with transaction.atomic():
        payment, _record = create_payment(merchant=request.merchant, environment=request.environment, request=new)
    return payment


def _create_link(request: MemberRequest, form: PriceForm, *, max_uses: int | None = None) -> PaymentLink:
    new = new_link(form.cleaned_data, max_uses=max_uses)
    return create_link(merchant=request.merchant, environment=request.environment, request=new)


def _made(form: LookMixin, make: Callable[[], Made]) -> Made | None:
    """Result of a service; None when it refused, with the reason in the form."""
    try:
        return make()
    except DomainError as refusal:
        form.add_refusal(refusal)
        return None
