"""The page on which the payer of a payment chooses coin and network, where the merchant has left them open. Public like
the payment's page, which shows the same form until the first choice."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from config.errors import DomainError
from merchants.access import attempts
from merchants.access.addresses import client_address, guesser
from merchants.access.errors import TooManyRequests
from merchants.pages.branding import brand_of, let_frame
from payments.checkout.choices.options import choices_of, coins_of
from payments.checkout.forms import ChoiceForm
from payments.checkout.page import PRIVATE_HEADERS, payment_of
from payments.checkout.payer import look_at
from payments.models import Payment
from payments.services import ChoiceIsOver, choose
from payments.suspense import recipient_checks


@csrf_exempt  # it reads no cookie: whoever has the page of a payment may pay it
@require_http_methods(["GET", "HEAD", "POST"])
def choose_again(request: HttpRequest, payment_id: str) -> HttpResponse:
    """Asks for coin and network; only a POST chooses, and leads to the payment."""
    payment = payment_of(payment_id, request)
    view = look_at(payment, timezone.now())
    back = redirect("checkout", payment.public_id)
    if not view.choice:
        return back
    form = ChoiceForm(request.POST if request.method == "POST" else None, choices=choices_of(payment))
    status = 200
    if form.is_valid():
        try:
            _choose(request, payment, form.cleaned_data["choice"])
        except ChoiceIsOver:
            return back
        except DomainError as refusal:
            form.add_choice_refusal(refusal, payment.merchant.payee)
            status = refusal.status
        else:
            return back
    context: dict[str, Any] = {
        "payment": view,
        "brand": brand_of(payment.merchant),
        "form": form,
        "coins": coins_of(payment),
        "has_chosen": payment.chosen_at is not None,
    }
    page = render_to_string("checkout/choose.html", context, request)
    return let_frame(HttpResponse(page, status=status, headers=PRIVATE_HEADERS), payment.merchant)


def _choose(request: HttpRequest, payment: Payment, choice: str) -> None:
    """TooManyRequests for a payer who changes his mind all the time: each change is an event."""
    now, address = timezone.now(), guesser(client_address(request))
    for counted in (f"choice from {address}", f"choice of {payment.public_id}"):
        if wait := attempts.take_attempt(counted, attempts.PAYMENTS_FROM_ADDRESS, now=now):
            raise TooManyRequests(retry_after_seconds=wait)
    network, coin = choice.split(":")
    wallet = next((each["merchantWallet"] for each in payment.choices if each["network"] == network), "")
    recipient_checks.query_wallet(payment.environment, network, wallet, merchant_id=payment.merchant_id)
    choose(payment, network=network, coin=coin)
