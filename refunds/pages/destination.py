"""The page on which a payer names the destination of a refund: for anybody with its signed link, without a log-in."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from config.errors import DomainError
from merchants.pages.branding import brand_of, use_language_of
from payments.suspense.destinations import Destination, parse_destination
from refunds import wording
from refunds.destination_links import DestinationLink, DestinationLinkInvalid, read_destination_link
from refunds.models import Refund
from refunds.pages.forms import PayerDestinationForm
from refunds.pages.payer import RefundView, view_of
from refunds.services import give_destination
from refunds.states import NamedBy

# `same-origin` keeps the link from other sites; with `no-referrer` a browser would send no origin with the form.
PRIVATE_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Robots-Tag": "noindex, nofollow",
}


@require_http_methods(["GET", "HEAD", "POST"])
def show_destination(request: HttpRequest, token: str) -> HttpResponse:
    """Show the form for the address, then its confirmation, and after that the progress of the refund."""
    refund, link = refund_of(token)
    use_language_of(refund.merchant, request)
    view = view_of(refund, link)
    if not view.is_open:
        return redirect(request.path) if request.method == "POST" else _page(request, refund, view)
    form = PayerDestinationForm(request.POST or None, network=view.network, families=[view.family])
    if request.method != "POST" or not form.is_valid():
        return _page(request, refund, view, form)
    try:
        destination = parse_destination(
            environment=refund.environment,
            network=refund.network,
            address=form.cleaned_data["destination"],
            memo=form.cleaned_data.get("memo", ""),
            memo_type=form.memo_type,
        )
        if "confirm" not in request.POST or not form.cleaned_data["confirmed"]:
            if "confirm" in request.POST:
                form.add_error("confirmed", gettext("Compare the address, then tick the box."))
            return _page(request, refund, view, form, destination)
        give_destination(
            refund,
            address=destination.address,
            memo=destination.memo,
            memo_type=destination.memo_type,
            named_by=NamedBy.PAYER,
        )
    except DomainError as refusal:
        if refusal.param is None:  # another request was faster: the page shows the refund as it is now
            return redirect(request.path)
        form.add_refusal(refusal)
        return _page(request, refund, view, form)
    return redirect(request.path)


def refund_of(token: str) -> tuple[Refund, DestinationLink]:
    """The refund of a link, and the link's content; Http404 when the link is none of ours."""
    try:
        link = read_destination_link(token)
    except DestinationLinkInvalid:
        raise Http404 from None
    refund = Refund.objects.select_related("payment", "merchant__branding").filter(pk=link.refund_id).first()
    if refund is None:
        raise Http404
    return refund, link


def _page(
    request: HttpRequest,
    refund: Refund,
    view: RefundView,
    form: PayerDestinationForm | None = None,
    chosen: Destination | None = None,
) -> HttpResponse:
    context = {
        "refund": view,
        "brand": brand_of(refund.merchant),
        "form": form,
        "chosen": chosen,
        "chosen_in_fours": wording.in_fours(chosen.address) if chosen else (),
    }
    return HttpResponse(render_to_string("refunds/destination.html", context, request), headers=PRIVATE_HEADERS)
