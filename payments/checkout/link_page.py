"""The page of a payment link: public, without a log-in. The payer chooses here, and goes on to the payment's page."""

from __future__ import annotations

import secrets

import structlog
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from config import ids
from config.errors import DomainError
from config.money import FIAT_DIGITS, from_units
from merchants.access import attempts
from merchants.access.addresses import client_address, guesser
from merchants.access.errors import TooManyRequests
from merchants.pages.branding import brand_of, let_frame, use_language_of
from payments.checkout.choices.options import CoinOptions, options_of, payable_now
from payments.checkout.claim_page import PRIVATE_HEADERS
from payments.checkout.forms import LinkForm
from payments.checkout.link_view import LinkView, closed_state, view_link
from payments.checkout.payer import State
from payments.links.models import CODE_CHARACTERS, PaymentLink
from payments.links.services import LinkNotActive, begin_payment
from payments.links.uses import patience_with_one_address, payment_under_way
from payments.models import UNPAID_FOR_GOOD, Payment
from payments.services import PaymentNotCancellable
from payments.states import PaymentStatus
from payments.suspense import recipient_checks
from payments.terms import Offer

logger = structlog.get_logger(__name__)


@csrf_exempt  # it reads no cookie: whoever knows the link may pay it. In a frame of a shop there would be none
@require_http_methods(["GET", "HEAD", "POST"])
def show_link(request: HttpRequest, code: str) -> HttpResponse:
    """Show the choices that the link leaves open; a POST makes the payment, and only a POST does."""
    link = _link_of(code)
    use_language_of(link.merchant, request)
    instead_of = _to_be_exchanged(request, link)
    if request.method != "POST":
        if instead_of is None and (under_way := payment_under_way(link)) is not None:
            return redirect("checkout", under_way.public_id)
        return _page(request, link, LinkForm(view=view_link(link, timezone.now())), instead_of)
    form = LinkForm(request.POST, view=view_link(link, timezone.now()))
    if not form.is_valid():
        return _page(request, link, form, instead_of)
    try:
        payment = _begin(request, link, form, instead_of)
    except DomainError as refusal:
        return _refused(request, link, form, refusal, instead_of)
    if payment.status in UNPAID_FOR_GOOD:  # the form of a payment that is over was sent again
        return redirect("link", link.code)
    return redirect("checkout", payment.public_id)


def _begin(request: HttpRequest, link: PaymentLink, form: LinkForm, instead_of: Payment | None) -> Payment:
    _count_payment(request, link, takes_a_use=instead_of is None)
    network, coin = form.cleaned_data["choice"].split(":")
    recipient_checks.query_wallet(link.environment, network, link.wallets[network], merchant_id=link.merchant_id)
    return begin_payment(
        link,
        network=network,
        coin=coin,
        amount=form.cleaned_data.get("amount"),
        form_id=form.cleaned_data["form_id"],
        instead_of=instead_of,
    )


def _refused(
    request: HttpRequest, link: PaymentLink, form: LinkForm, refusal: DomainError, instead_of: Payment | None
) -> HttpResponse:
    """The page, with what the payer can do about the refusal. Nothing was made."""
    match refusal:
        case PaymentNotCancellable() if instead_of is not None:  # money was seen meanwhile
            return redirect("checkout", instead_of.public_id)
        case LinkNotActive():
            return _page(request, link, form, instead_of, closed_by=refusal)
        case _:
            form.add_choice_refusal(refusal, link.merchant.payee)
    return _page(request, link, form, instead_of, status=refusal.status, retry_after=refusal.retry_after_seconds)


def _page(
    request: HttpRequest,
    link: PaymentLink,
    form: LinkForm,
    instead_of: Payment | None,
    *,
    closed_by: LinkNotActive | None = None,
    status: int = 200,
    retry_after: int | None = None,
) -> HttpResponse:
    view: LinkView = form.view
    under_way = payment_under_way(link) if instead_of is None else None
    context = {
        "link": view,
        "brand": brand_of(link.merchant),
        "form": form,
        "coins": _coins(link, view, chosen=form.data.get("choice", "")),
        "closed": closed_state(closed_by.state, view.payee) if closed_by else _closed(view, instead_of),
        "form_id": form.data.get("form_id") or secrets.token_urlsafe(12),
        "instead_of": instead_of and instead_of.public_id,
        "under_way": under_way and under_way.public_id,
        "under_way_state": under_way and _under_way_state(view, under_way),
    }
    headers = PRIVATE_HEADERS | ({} if retry_after is None else {"Retry-After": str(retry_after)})
    page = render_to_string("checkout/link.html", context, request)
    return let_frame(HttpResponse(page, status=status, headers=headers), link.merchant)


def _coins(link: PaymentLink, view: LinkView, *, chosen: str) -> list[CoinOptions]:
    """What can be paid with now, with what the price comes to where the link says one."""
    offers = [Offer(each.network, each.coin, link.wallets[each.network]) for each in view.choices]
    payable = payable_now(link.merchant_id, link.environment, offers)
    return options_of(
        link.environment,
        [each for each in view.choices if (each.network, each.coin) in payable],
        amount=None if link.amount is None else from_units(link.amount, FIAT_DIGITS[link.currency]),
        currency=link.currency,
        now=timezone.now(),
        chosen=chosen,
    )


def _closed(view: LinkView, instead_of: Payment | None) -> object:
    """The payment that is exchanged holds a use: with all of them taken, the choice is still open to its payer."""
    return None if instead_of is not None else view.closed


def _under_way_state(view: LinkView, payment: Payment) -> State:
    """State in a second tab of a link for one payment, whose coin was chosen in the first."""
    chosen = f"{payment.network}:{payment.cryptocurrency}"
    words = next((choice.words for choice in view.choices if choice.value == chosen), payment.cryptocurrency)
    detail = _("It is waiting for %(coin)s. No second payment was created.") % {"coin": words}
    return State(_("You have already started this payment"), detail, "accent", "info")


def _to_be_exchanged(request: HttpRequest, link: PaymentLink) -> Payment | None:
    """The payment of this link that its payer wants to pay with another coin; None once it is over or money came."""
    replaced = request.POST.get("instead_of") or request.GET.get("instead_of") or ""
    waiting = Payment.objects.filter(payment_link=link, status=PaymentStatus.CREATED, deposit_count=0)
    key = ids.PAYMENT.decode(replaced)
    return waiting.filter(pk=key).first() if key else None


def _count_payment(request: HttpRequest, link: PaymentLink, *, takes_a_use: bool) -> None:
    """Raises TooManyRequests after too many payments from this address or of this link, or of its stock from here."""
    now, address = timezone.now(), guesser(client_address(request))
    wait = attempts.take_attempt(f"payment from {address}", attempts.PAYMENTS_FROM_ADDRESS, now=now)
    if not wait and takes_a_use and (patience := patience_with_one_address(link)) is not None:
        wait = attempts.take_attempt(f"use of {link.public_id} from {address}", patience, now=now)
    wait = wait or attempts.take_attempt(f"payment of {link.public_id}", attempts.PAYMENTS_OF_LINK, now=now)
    if wait:
        raise TooManyRequests(retry_after_seconds=wait)


def _link_of(code: str) -> PaymentLink:
    """The link with this code, which may have been typed from a poster; Http404 when there is none."""
    stored = code.lower().replace("-", "").translate(str.maketrans("oil", "011"))
    if len(stored) != CODE_CHARACTERS or not set(stored) <= set(ids.ALPHABET):
        raise Http404
    return get_object_or_404(PaymentLink.objects.select_related("merchant__branding"), code=stored)
