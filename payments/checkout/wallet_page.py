"""Request of a signature from a wallet in the payer's browser, where wallets neither build nor send, and its result.

For anybody who has the page. Nothing here is believed: the watcher reports what was paid.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

import structlog
from django.core import signing
from django.http import Http404, HttpRequest, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from config.errors import DomainError
from config.pages import wording
from merchants.access import attempts
from merchants.access.addresses import client_address, guesser
from merchants.access.errors import TooManyRequests
from payments.chains import registry
from payments.chains.errors import ChainUnavailable, PayerRefused, TransferRefused
from payments.chains.protocol.addresses import DepositAddress
from payments.chains.protocol.wallets import BuildsPayments, PaymentToSign
from payments.checkout.page import PRIVATE_HEADERS, payment_of
from payments.checkout.payer import look_at
from payments.models import Payment

logger = structlog.get_logger(__name__)

_SALT = "payments.wallets"
_SECONDS_TO_SIGN = 600
MOST_BYTES = 4_000
"""Of a signed envelope in base64: one payment and 20 signatures."""


@csrf_exempt  # it reads no cookie, and whoever sends it elsewhere gets nothing that the page would not give
@require_POST
def ask_wallet(request: HttpRequest, payment_id: str) -> JsonResponse:
    """The payment of this account, for its wallet to sign: `account` and `units`, the missing amount on the page."""
    payment = payment_of(payment_id, request)
    payments = _payments_of(payment)
    if (refused := _count(request, payment)) is not None:
        return refused
    how = look_at(payment, timezone.now()).how_to_pay
    if how is None or how.wallet is None or how.wallet.units != request.POST.get("units"):
        return _refusal(409, _("The payment has changed in the meantime. Check it again before you pay."))
    to = DepositAddress(payment.deposit_address, payment.memo or None, payment.muxed_address or None)
    asset = registry.asset(payment.environment, payment.network, payment.cryptocurrency)
    try:
        to_sign = payments.payment_to_sign(
            request.POST.get("account", ""), to=to, asset=asset, amount=int(how.wallet.units)
        )
    except PayerRefused as error:
        return _refusal(400, str(error))
    except ChainUnavailable as error:
        logger.warning("wallet could not be asked", payment=payment.public_id, error=str(error))
        return _refusal(503, _("We cannot reach the network right now. Nothing was sent. Try again in a minute."))
    envelope = base64.b64encode(to_sign.raw).decode()
    token = signing.dumps([payment.public_id, envelope, to_sign.transaction_hash], salt=_SALT)
    return _reply({"envelope": envelope, "token": token})


@csrf_exempt
@require_POST
def hand_in_signed(request: HttpRequest, payment_id: str) -> JsonResponse:
    """Hand what a wallet has signed to the network: `token` of its request, `envelope` as it is signed.

    `isKnown` is False when the network did not answer: it may have arrived all the same.
    """
    payment = payment_of(payment_id, request)
    payments = _payments_of(payment)
    if (refused := _count(request, payment)) is not None:
        return refused
    to_sign = _to_sign(payment, request.POST.get("token", ""))
    text = request.POST.get("envelope", "")
    if to_sign is None or len(text) > MOST_BYTES:
        return _refusal(400, _("That took too long. Nothing was sent. Try again."))
    try:
        payments.hand_in(to_sign, base64.b64decode(text, validate=True))
    except (ValueError, binascii.Error):
        return _refusal(400, _("Your wallet signed something different. Nothing was sent."))
    except TransferRefused as error:
        return _refusal(400, f"{error} {_('Nothing was sent.')}")
    except ChainUnavailable as error:
        logger.warning("signed payment not handed in", payment=payment.public_id, error=str(error))
        return _reply({"hash": to_sign.transaction_hash, "isKnown": False})
    return _reply({"hash": to_sign.transaction_hash, "isKnown": True})


def _payments_of(payment: Payment) -> BuildsPayments:
    try:
        chain = registry.chain(payment.environment, payment.network)
    except DomainError:
        raise Http404 from None
    if chain.wallet_payments is None:
        raise Http404
    return chain.wallet_payments


def _to_sign(payment: Payment, token: str) -> PaymentToSign | None:
    try:
        content = signing.loads(token, salt=_SALT, max_age=_SECONDS_TO_SIGN)
    except signing.BadSignature:
        return None
    match content:
        case [payment.public_id, str(envelope), str(transaction_hash)]:
            return PaymentToSign(base64.b64decode(envelope), transaction_hash)
    return None


def _count(request: HttpRequest, payment: Payment) -> JsonResponse | None:
    """The refusal after too many requests about this payment or from this address: each costs requests to providers."""
    now = timezone.now()
    address = f"wallet from {guesser(client_address(request))}"
    wait = attempts.take_attempt(address, attempts.CLAIMS_FROM_ADDRESS, now=now)
    wait = wait or attempts.take_attempt(f"wallet of {payment.public_id}", attempts.CLAIMS_OF_PAYMENT, now=now)
    if not wait:
        return None
    reply = _refusal(
        TooManyRequests.status,
        _("You have tried too often. Wait %(time)s, then try again.") % {"time": wording.duration(wait)},
    )
    reply.headers["Retry-After"] = str(wait)
    return reply


def _refusal(status: int, message: str) -> JsonResponse:
    return _reply({"message": message}, status=status)


def _reply(body: dict[str, Any], status: int = 200) -> JsonResponse:
    return JsonResponse(body, status=status, headers=PRIVATE_HEADERS)
