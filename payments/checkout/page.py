"""The hosted payment page: public, without a log-in, showing what payments.checkout.payer lets out and nothing else."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.http import require_safe

from config import ids
from payments.checkout.payer import PayerView, look_at
from payments.models import Payment

PRIVATE_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}


@require_safe
def show_payment(request: HttpRequest, payment_id: str) -> HttpResponse:
    page = render_to_string("checkout/payment.html", {"payment": _view_of(payment_id)}, request)
    return HttpResponse(page, headers=PRIVATE_HEADERS)


@require_safe
def show_status(request: HttpRequest, payment_id: str) -> HttpResponse:
    """What the page asks every few seconds: whether it would read differently now."""
    view = _view_of(payment_id)
    body = {
        "id": view.id,
        "status": view.status,
        "revision": view.revision,
        "confirmations": view.state.confirmations,
        "requiredConfirmations": view.state.required or None,
        "secondsLeft": view.seconds_left,
    }
    return JsonResponse(body, headers=PRIVATE_HEADERS)


def payment_of(payment_id: str) -> Payment:
    """The payment whose page this is; Http404 when there is none."""
    return get_object_or_404(Payment.objects.select_related("merchant"), pk=ids.PAYMENT.decode(payment_id))


def _view_of(payment_id: str) -> PayerView:
    return look_at(payment_of(payment_id), timezone.now())
