"""/v1/merchant and /v1/balance: parse, call a service, render."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.fields import read_body, read_query
from merchants.access.scopes import Scope
from merchants.access.viewsets import MerchantViewSet
from merchants.models import MerchantSettings
from merchants.serializers import (
    BalanceQuery,
    BalanceSchema,
    MerchantSchema,
    SettingsSerializer,
    balance_records,
    merchant_record,
)
from merchants.services import update_settings


class MerchantRecordViewSet(MerchantViewSet):
    """The key's own merchant."""

    scopes: ClassVar = {"retrieve": Scope.MERCHANT_READ, "update_settings": Scope.MERCHANT_WRITE}

    @extend_schema(
        summary="Get the merchant",
        description="The account that the keys belong to, and its settings.",
        responses=MerchantSchema,
    )
    def retrieve(self, request: Request) -> Response:
        chosen = MerchantSettings.objects.get(merchant=self.merchant, environment=self.environment)
        return self._record(chosen)

    @extend_schema(
        summary="Update settings",
        description="Changes what is given, and leaves the rest.",
        request=SettingsSerializer,
        examples=[OpenApiExample("Take what is a little short", value={"paymentTolerance": "0.5"}, request_only=True)],
        responses=MerchantSchema,
    )
    def update_settings(self, request: Request) -> Response:
        body = read_body(SettingsSerializer, request)
        chosen = update_settings(merchant=self.merchant, environment=self.environment, changes=body.to_changes())
        return self._record(chosen)

    def _record(self, chosen: MerchantSettings) -> Response:
        return Response(merchant_record(self.merchant, chosen))


class BalanceViewSet(MerchantViewSet):
    """The merchant's balances by network and coin."""

    queried: ClassVar = ("retrieve",)
    scopes: ClassVar = {"retrieve": Scope.MERCHANT_READ}

    @extend_schema(
        summary="Get the balance",
        description="By coin and network, as it is now or as it was at an instant.",
        parameters=[BalanceQuery],
        responses=BalanceSchema,
    )
    def retrieve(self, request: Request) -> Response:
        at = read_query(BalanceQuery, request).get("at")
        return Response(
            {
                "object": "balance",
                "environment": self.environment,
                "at": at,
                "balances": balance_records(self.merchant, self.environment, at=at),
            }
        )
