"""The buttons of a simulated payment's page by which whoever has the page plays its payer."""

from __future__ import annotations

from contextlib import suppress

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from config.pages.refusals import too_many
from merchants.access import attempts
from merchants.access.addresses import client_address, guesser
from payments.checkout.page import payment_of
from payments.checkout.simulator import ScenarioNotPossible, payer_scenarios, simulate_payment


@csrf_exempt  # it reads no cookie, and there is no real money to move
@require_POST
def simulate(request: HttpRequest, payment_id: str) -> HttpResponse:
    """Let what the payer chose happen, and show the payment again; Http404 for a payment that is not simulated."""
    payment = payment_of(payment_id, request)
    offered = payer_scenarios(payment)
    if not offered:
        raise Http404
    address = f"simulated payer from {guesser(client_address(request))}"
    if wait := attempts.take_attempt(address, attempts.PAYMENTS_FROM_ADDRESS, now=timezone.now()):
        return too_many(request, wait)
    if (scenario := request.POST.get("scenario", "")) in offered:  # else it ended meanwhile: the page shows how
        with suppress(ScenarioNotPossible), transaction.atomic():
            simulate_payment(payment, scenario)
    return redirect("checkout", payment.public_id)
