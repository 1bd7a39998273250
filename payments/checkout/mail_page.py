"""The page where a payer leaves an address for mails about the payment, and takes it back. Public like the payment's
page."""

from __future__ import annotations

import hashlib

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, gettext
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from config.environments import Environment
from config.pages import wording
from config.pages.languages import PARAMETER
from merchants.access import attempts
from merchants.access.addresses import client_address, guesser
from merchants.access.log_in.sessions import account_name
from merchants.pages.branding import brand_of, let_frame
from payments.checkout.claim_page import PRIVATE_HEADERS
from payments.checkout.forms import ContactForm
from payments.checkout.mailing import leave_address, offer, take_back
from payments.checkout.page import payment_of
from payments.checkout.payer import look_at
from payments.models import Payment


@csrf_exempt  # it reads no cookie: whoever has the page may leave an address, or take the one there back
@require_http_methods(["GET", "HEAD", "POST"])
def show_mails(request: HttpRequest, payment_id: str) -> HttpResponse:
    """Show the form for an address, or for taking back the one that is there; only a POST does either."""
    payment = payment_of(payment_id, request)
    if request.method == "POST" and "stop" in request.POST:
        take_back(payment)
        return _page(request, payment, ContactForm(), is_stopped=True)
    if offer(payment) is None:
        raise Http404
    form = ContactForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return _page(request, payment, form)
    if wait := _count(request, payment, form.cleaned_data["email"]):
        form.add_error(
            None,
            gettext("You have tried too often. Wait %(time)s, then try again.") % {"time": wording.duration(wait)},
        )
        return _page(request, payment, form, wait=wait)
    leave_address(payment, form.cleaned_data["email"])
    query = {PARAMETER: get_language()} if PARAMETER in request.GET else None
    return HttpResponseRedirect(reverse("checkout", args=[payment.public_id], query=query, fragment="mails"))


def _count(request: HttpRequest, payment: Payment, email: str) -> int:
    """Counts an address that is left and returns 0, or the seconds to wait: nobody has strangers mailed in bulk."""
    digest = hashlib.sha256(account_name(email).encode()).hexdigest()  # the counts outlive an address taken back
    counted = [
        (f"payer's contact from {guesser(client_address(request))}", attempts.SIGN_UPS_FROM_ADDRESS),
        (f"payer's contact {digest}", attempts.MAILS_TO_ADDRESS),
        (f"payer's contact of {payment.public_id}", attempts.CONTACTS_OF_PAYMENT),
    ]
    if payment.environment == Environment.SANDBOX:
        counted.append((f"payer's contact of {payment.merchant.public_id}", attempts.CONTACTS_OF_SANDBOX))
    now = timezone.now()
    return next(filter(None, (attempts.take_attempt(of, patience, now=now) for of, patience in counted)), 0)


def _page(
    request: HttpRequest, payment: Payment, form: ContactForm, *, is_stopped: bool = False, wait: int = 0
) -> HttpResponse:
    context = {
        "payment": look_at(payment, timezone.now()),
        "brand": brand_of(payment.merchant),
        "mails": offer(payment, form),
        "is_stopped": is_stopped,
    }
    headers = PRIVATE_HEADERS | ({"Retry-After": str(wait)} if wait else {})
    page = render_to_string("checkout/mails.html", context, request)
    return let_frame(HttpResponse(page, status=429 if wait else 200, headers=headers), payment.merchant)
