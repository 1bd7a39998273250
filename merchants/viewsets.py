"""/v1/merchant and /v1/balance: parse, call a service, render."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from merchants.access.scopes import Scope
from merchants.access.viewsets import MerchantViewSet
from merchants.ledger.balances import merchant_balances
from merchants.models import MerchantSettings
from merchants.serializers import (
    BalanceSchema,
    DecimalsOf,
    MerchantSchema,
    SettingsSerializer,
    SuspenseOf,
    balance_records,
    merchant_record,
)
from merchants.services import update_settings


class _ShowsBalances(MerchantViewSet):
    """What this app does not know is given in the route table: scales of coins, and what payments keep in suspense."""

    decimals_of: DecimalsOf | None = None
    suspense_of: SuspenseOf | None = None

    def balances(self) -> list[dict[str, Any]]:
        if self.decimals_of is None or self.suspense_of is None:
            raise RuntimeError("the route table did not say how coins are scaled, or what is in suspense")
        held = merchant_balances(self.merchant, self.environment)
        suspense = self.suspense_of(self.merchant, self.environment)
        return balance_records(self.environment, held, suspense, self.decimals_of)


class MerchantRecordViewSet(_ShowsBalances):
    """The key's own merchant."""

    scopes: ClassVar = {"retrieve": Scope.MERCHANT_READ, "update_settings": Scope.MERCHANT_WRITE}

    @extend_schema(summary="Get the merchant", responses=MerchantSchema)
    def retrieve(self, request: Request) -> Response:
        chosen = MerchantSettings.objects.get(merchant=self.merchant, environment=self.environment)
        return self._record(chosen)

    @extend_schema(summary="Update settings", request=SettingsSerializer, responses=MerchantSchema)
    def update_settings(self, request: Request) -> Response:
        body = SettingsSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        chosen = update_settings(merchant=self.merchant, environment=self.environment, changes=body.to_changes())
        return self._record(chosen)

    def _record(self, chosen: MerchantSettings) -> Response:
        return Response(merchant_record(self.merchant, chosen, self.balances()))


class BalanceViewSet(_ShowsBalances):
    """What the merchant has, per network and coin."""

    scopes: ClassVar = {"retrieve": Scope.MERCHANT_READ}

    @extend_schema(summary="Get the balance", responses=BalanceSchema)
    def retrieve(self, request: Request) -> Response:
        return Response({"object": "balance", "environment": self.environment, "balances": self.balances()})
