"""Bare twins: what the framework and the database cost alone, without anything that Ballast adds.

Stock Django REST framework, the key looked up by the ORM, and one row written or read: behind the product's middleware
of pages, and as thin twins behind none.
"""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from merchants.access.keys import secret_matches
from merchants.models import ApiKey
from tests.bench.models import TwinPayment


class TwinAuthentication(BaseAuthentication):
    """One query for the key with its merchant, one digest, one comparison."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, ApiKey]:
        public_key = request.META.get("HTTP_AUTHORIZATION", "").removeprefix("Bearer ")
        key = ApiKey.objects.select_related("merchant").get(public_key=public_key)
        if not secret_matches(key, request.META.get("HTTP_X_API_SECRET", "")):
            raise AuthenticationFailed
        return AnonymousUser(), key


class TwinView(APIView):
    authentication_classes = (TwinAuthentication,)
    permission_classes = ()
    throttle_classes = ()
    parser_classes = (JSONParser,)
    renderer_classes = (JSONRenderer,)
    content_negotiation_class = DefaultContentNegotiation


class TwinPayments(TwinView):
    """DRF + key lookup + one insert in a database transaction."""

    def post(self, request: Request) -> Response:
        body = cast("dict[str, Any]", request.data)
        with transaction.atomic():
            payment = TwinPayment.objects.create(
                merchant=cast("ApiKey", request.auth).merchant,
                amount=str(body["amount"]),
                currency=body["currency"],
                cryptocurrency=body["cryptocurrency"],
                network=body["network"],
                merchant_wallet=body["merchantWallet"],
            )
        return Response(_shown(payment), status=201)


class OneTwinPayment(TwinView):
    """DRF + key lookup + primary-key select."""

    def get(self, request: Request, payment_id: str) -> Response:
        return Response(_shown(TwinPayment.objects.get(pk=payment_id)))


def _shown(payment: TwinPayment) -> dict[str, Any]:
    return {
        "id": str(payment.id),
        "status": payment.status,
        "amount": str(payment.amount),
        "currency": payment.currency,
        "cryptocurrency": payment.cryptocurrency,
        "network": payment.network,
        "merchantWallet": payment.merchant_wallet,
    }
