"""Receipts of payments as page and files, their public keys, and the page and the script that check one.

Public, without a log-in and without a cookie.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from config.api.renderers import render_json
from config.environments import Environment
from config.pages.files import file_headers
from config.pages.refusals import too_many
from merchants.access import attempts
from merchants.access.addresses import client_address, guesser
from merchants.models import Merchant
from merchants.pages.branding import brand_of
from merchants.pages.forms import LookMixin
from payments.checkout.page import PRIVATE_HEADERS, payment_of
from payments.checkout.payer import State
from payments.receipts import verify
from payments.receipts.documents import (
    VERIFY_PATH,
    Payload,
    lines_of,
    payment_payload,
    price_of,
    sign,
    signed_by,
    title_of,
)
from payments.receipts.keys import published_keys, verifies
from payments.receipts.paper import receipt_pdf

KEYS_PATH = "/.well-known/ballast-receipts.json"
_SCRIPT = Path(verify.__file__)
_PUBLIC = {"Cache-Control": "public, max-age=300", "Access-Control-Allow-Origin": "*"}


@require_safe
def show_payment_receipt(request: HttpRequest, payment_id: str, form: str = "") -> HttpResponse:
    """The receipt of a paid payment: a page, or a file of the requested form."""
    payment = payment_of(payment_id, request)
    payload = payment_payload(payment, timezone.now())
    if payload is None:
        raise Http404
    return receipt_reply(request, payload, payment.merchant, form)


def receipt_reply(request: HttpRequest, payload: Payload, merchant: Merchant, form: str) -> HttpResponse:
    """The receipt as the page (""), `json` or `pdf`; Http404 for another form."""
    if form not in ("", "json", "pdf"):
        raise Http404
    if form == "pdf" and (wait := _wait(request, "receipt")):
        return too_many(request, wait)
    receipt = sign(payload)
    if not form:
        context = {**_shown(payload), "brand": brand_of(merchant), "signed": signed_by(receipt), "path": request.path}
        return HttpResponse(render_to_string("receipts/receipt.html", context, request), headers=PRIVATE_HEADERS)
    content = receipt_pdf(receipt) if form == "pdf" else render_json(receipt, indented=True)
    headers = PRIVATE_HEADERS | file_headers(f"receipt-{payload['reference']}.{form}")
    return HttpResponse(content, headers=headers)


@require_safe
def show_keys(request: HttpRequest) -> HttpResponse:
    keys = {"issuer": settings.PUBLIC_URL, "keys": published_keys(timezone.now())}
    return JsonResponse(keys, json_dumps_params={"indent": 2}, headers=_PUBLIC)


@require_safe
def download_script(request: HttpRequest) -> HttpResponse:
    """The script, which loads the keys of this installation."""
    address = json.dumps(f"{settings.PUBLIC_URL}{KEYS_PATH}")
    script = _SCRIPT.read_text().replace('\nKEYS = ""', f"\nKEYS = {address}", 1)
    headers = _PUBLIC | {"Content-Disposition": 'attachment; filename="verify.py"'}
    return HttpResponse(script, content_type="text/x-python; charset=utf-8", headers=headers)


# --- checking one --------------------------------------------------------------------------------------


class ReceiptForm(LookMixin):
    """A receipt to check: a file, or its text."""

    file = forms.FileField(
        label=_("JSON file of the receipt"),
        required=False,
        widget=forms.FileInput(attrs={"accept": "application/json,.json"}),
    )
    text = forms.CharField(
        label=_("Or paste its text"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "autocomplete": "off"}),
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors and not (cleaned.get("file") or cleaned.get("text")):
            self.add_error(None, gettext("Choose a file, or paste the text of a receipt."))
        return cleaned

    def content(self) -> bytes:
        """The bytes to check, at most one more than a receipt may have."""
        if file := self.cleaned_data["file"]:
            read: bytes = file.read(verify.MOST_BYTES + 1)
            return read
        return str(self.cleaned_data["text"]).encode(errors="surrogatepass")


@csrf_exempt  # it reads no cookie, and changes nothing
@require_http_methods(["GET", "HEAD", "POST"])
def check_receipt(request: HttpRequest) -> HttpResponse:
    """Check whether a receipt is genuine and unchanged, and show its content only if it is."""
    form = ReceiptForm(request.POST, request.FILES) if request.method == "POST" else ReceiptForm()
    if form.is_bound and (wait := _wait(request, "check of a receipt")):
        return too_many(request, wait)
    context: dict[str, Any] = {"form": form, "script": f"{VERIFY_PATH}.py", "keys": KEYS_PATH}
    if form.is_valid():
        context |= _verdict(form.content())
    return render(request, "receipts/verify.html", context, status=400 if form.errors else 200)


def _verdict(content: bytes) -> dict[str, Any]:
    """The state that the page shows; with the content of the receipt where it is genuine."""
    try:
        receipt = verify.read_receipt(content)
        payload = verify.verified(receipt, published_keys(timezone.now()), verifies)
    except verify.Unreadable:
        words = gettext("Choose the JSON file as it was downloaded, whole and unchanged.")
        return {"state": State(gettext("This cannot be read as a receipt"), words, "warn", "warning")}
    except verify.NotGenuine as refusal:
        return {"state": State(gettext("This receipt is not genuine"), str(_WHY[refusal.why]), "warn", "cross")}
    title = gettext("This receipt is genuine")
    if payload["environment"] == Environment.SANDBOX:
        title = gettext("This is the genuine receipt of a test: no real money")
    words = gettext("It was issued here, and nothing in it was changed.")
    return {"state": State(title, words, "good", "check"), **_shown(payload)}


_WHY = {
    "changed": _("Something in it was changed, or it was not signed here. Do not rely on what it says."),
    "unknown_key": _("It was signed with a key that this service never had. Do not rely on what it says."),
    "out_of_time": _("Its key was not in use at the time that it gives. Do not rely on what it says."),
}


def _shown(payload: Payload) -> dict[str, Any]:
    return {
        "title": title_of(payload),
        "merchant": payload["merchant"],
        "price": price_of(payload),
        "lines": lines_of(payload),
        "is_test": payload["environment"] == Environment.SANDBOX,
    }


def _wait(request: HttpRequest, what: str) -> int:
    """Counts one request from this address, or returns the seconds to wait."""
    subject = f"{what} from {guesser(client_address(request))}"
    return attempts.take_attempt(subject, attempts.RECEIPTS_FROM_ADDRESS, now=timezone.now())
