"""The hosted payment page: public, without a log-in. It shows only what payments.checkout.payer provides."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.http import require_safe

from config import ids
from config.database.prepared import KeptQuery
from merchants.pages.branding import brand_of, let_frame, use_language_of
from payments.checkout import mailing
from payments.checkout.choices.options import choices_of, coins_of
from payments.checkout.forms import ChoiceForm
from payments.checkout.payer import look_at
from payments.checkout.simulator import payer_scenarios
from payments.models import Payment

PRIVATE_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}


@require_safe
def show_payment(request: HttpRequest, payment_id: str) -> HttpResponse:
    payment = payment_of(payment_id, request)
    context: dict[str, Any] = {
        "payment": look_at(payment, timezone.now()),
        "brand": brand_of(payment.merchant),
        "scenarios": payer_scenarios(payment),
        "mails": mailing.offer(payment),
    }
    if context["payment"].choice == "open":
        context |= {"coins": coins_of(payment), "form": ChoiceForm(choices=choices_of(payment))}
    page = render_to_string("checkout/payment.html", context, request)
    return let_frame(HttpResponse(page, headers=PRIVATE_HEADERS), payment.merchant)


@require_safe
def show_status(request: HttpRequest, payment_id: str) -> HttpResponse:
    """The status that the page polls every few seconds, to see whether it has changed."""
    view = look_at(payment_of(payment_id, request), timezone.now())
    body = {
        "id": view.id,
        "status": view.status,
        "revision": view.revision,
        "confirmations": view.state.confirmations,
        "requiredConfirmations": view.state.required or None,
        "secondsLeft": view.seconds_left,
    }
    return JsonResponse(body, headers=PRIVATE_HEADERS)


@require_safe
def show_file_for_shops(request: HttpRequest, name: str) -> HttpResponse:
    """A file that pages of others may load: the script that opens the page as a dialog, the style of a link to it."""
    headers = {"Cache-Control": "public, max-age=3600", "Cross-Origin-Resource-Policy": "cross-origin"}
    kind = {"js": "text/javascript", "css": "text/css"}[name.rpartition(".")[2]]
    text = (settings.BASE_DIR / "static" / name).read_bytes()
    return HttpResponse(text, content_type=f"{kind}; charset=utf-8", headers=headers)


def payment_of(payment_id: str, request: HttpRequest) -> Payment:
    """The payment whose page this is, from here on in the payer's language; Http404 when there is none."""
    found = _PAYMENT.found(ids.PAYMENT.decode(payment_id))
    if not found:
        raise Http404
    use_language_of(found[0].merchant, request)
    return found[0]


_PAYMENT = KeptQuery(
    lambda key: Payment.objects.select_related("merchant__branding", "payment_link").filter(pk=key),
    ids.FIRST_KEY,
    is_planned_once=True,
)
