"""The page of claims, for payers who have paid and see nothing. Public like the payment's page; it changes nothing."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from config.errors import DomainError
from config.pages import wording
from merchants.access import attempts
from merchants.access.addresses import client_address, guesser
from merchants.access.errors import TooManyRequests
from merchants.pages.branding import brand_of, let_frame
from payments.checkout.claims import ClaimAnswer, answer_payer
from payments.checkout.forms import ClaimForm
from payments.checkout.page import payment_of
from payments.checkout.payer import look_at
from payments.claims.claims import explain_claim
from payments.models import Payment

# `same-origin` keeps the link from other sites; with `no-referrer` a browser would send no origin with the form.
PRIVATE_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Robots-Tag": "noindex, nofollow",
}


@csrf_exempt  # it reads no cookie and changes nothing; in a frame of a shop there would be none
@require_http_methods(["GET", "HEAD", "POST"])
def show_claim(request: HttpRequest, payment_id: str) -> HttpResponse:
    """Show the form for a transaction hash, and below it the explanation."""
    payment = payment_of(payment_id, request)
    form = ClaimForm(request.POST or None, payment=payment)
    if request.method != "POST" or not form.is_valid():
        return _page(request, payment, form)
    try:
        _count_claim(request, payment)
        explanation = explain_claim(payment, form.cleaned_data["hash"])
    except TooManyRequests as refusal:
        wait = refusal.retry_after_seconds
        form.add_error(
            None,
            gettext("You have looked this up too often. Wait %(time)s, then try again.")
            % {"time": wording.duration(wait or 0)},
        )
        return _page(request, payment, form, status=refusal.status, retry_after=wait)
    except DomainError as refusal:
        form.add_error(
            None, gettext("We cannot reach the network right now. Your money is not lost. Try again in a minute.")
        )
        return _page(request, payment, form, retry_after=refusal.retry_after_seconds)
    payment = payment_of(payment_id, request)  # the watcher may have gone on meanwhile
    return _page(request, payment, form, answer=answer_payer(payment, explanation))


def _count_claim(request: HttpRequest, payment: Payment) -> None:
    """Raises TooManyRequests after too many claims about this payment or from this address: each costs requests."""
    now = timezone.now()
    address = f"claim from {guesser(client_address(request))}"
    wait = attempts.take_attempt(address, attempts.CLAIMS_FROM_ADDRESS, now=now)
    wait = wait or attempts.take_attempt(f"claim of {payment.public_id}", attempts.CLAIMS_OF_PAYMENT, now=now)
    if wait:
        raise TooManyRequests(retry_after_seconds=wait)


def _page(
    request: HttpRequest,
    payment: Payment,
    form: ClaimForm,
    *,
    answer: ClaimAnswer | None = None,
    status: int = 200,
    retry_after: int | None = None,
) -> HttpResponse:
    context: dict[str, object] = {"payment": look_at(payment, timezone.now()), "form": form, "answer": answer}
    context["brand"] = brand_of(payment.merchant)
    page = render_to_string("checkout/claim.html", context, request)
    headers = PRIVATE_HEADERS | ({} if retry_after is None else {"Retry-After": str(retry_after)})
    return let_frame(HttpResponse(page, status=status, headers=headers), payment.merchant)
