"""The page on which a payer says where a refund goes: public, for whoever has its signed link, and without a log-in."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.views.decorators.http import require_http_methods

from config.errors import DomainError
from refunds import wording
from refunds.claims import Claim, ClaimInvalid, read_claim
from refunds.destinations import Destination, parse_destination
from refunds.forms import ClaimForm
from refunds.models import Refund
from refunds.payer import ClaimView, look_at
from refunds.services import give_destination
from refunds.states import NamedBy

# `same-origin` keeps the link from other sites; with `no-referrer` a browser would not say where the form comes from.
PRIVATE_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Robots-Tag": "noindex, nofollow",
}


@require_http_methods(["GET", "HEAD", "POST"])
def show_claim(request: HttpRequest, token: str) -> HttpResponse:
    """Asks for the address, shows it once more to be confirmed, and from then on shows how far the money is."""
    refund, claim = _refund_of(token)
    view = look_at(refund, claim)
    if not view.is_open:
        return redirect(request.path) if request.method == "POST" else _page(request, view)
    form = ClaimForm(request.POST or None, network=view.network, takes_memo=view.takes_memo)
    if request.method != "POST" or not form.is_valid():
        return _page(request, view, form)
    try:
        destination = parse_destination(
            environment=refund.environment,
            network=refund.network,
            address=form.cleaned_data["destination"],
            memo=form.cleaned_data.get("memo", ""),
        )
        if "confirm" not in request.POST or not form.cleaned_data["confirmed"]:
            if "confirm" in request.POST:
                form.add_error("confirmed", "Compare the address, then tick the box.")
            return _page(request, view, form, destination)
        give_destination(refund, address=destination.address, memo=destination.memo, named_by=NamedBy.PAYER)
    except DomainError as refusal:
        if refusal.param is None:  # somebody was faster: the page says what has become of it
            return redirect(request.path)
        form.add_refusal(refusal)
        return _page(request, view, form)
    return redirect(request.path)


def _refund_of(token: str) -> tuple[Refund, Claim]:
    try:
        claim = read_claim(token)
    except ClaimInvalid:
        raise Http404 from None
    refund = Refund.objects.select_related("payment", "merchant").filter(pk=claim.refund_id).first()
    if refund is None:
        raise Http404
    return refund, claim


def _page(
    request: HttpRequest, view: ClaimView, form: ClaimForm | None = None, chosen: Destination | None = None
) -> HttpResponse:
    context = {
        "refund": view,
        "form": form,
        "chosen": chosen,
        "chosen_in_fours": wording.in_fours(chosen.address) if chosen else (),
    }
    return HttpResponse(render_to_string("refunds/claim.html", context, request), headers=PRIVATE_HEADERS)
