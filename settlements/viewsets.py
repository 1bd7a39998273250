"""/v1/settlements: parse, read, render. Nothing here moves money: that is the schedule's and the dashboard's."""

from __future__ import annotations

from typing import ClassVar

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config import ids
from config.api.fields import read_query
from merchants.access.scopes import Scope
from merchants.access.viewsets import MerchantViewSet
from settlements import examples
from settlements.exports.bookkeeping import statement_reply
from settlements.exports.formats import statement_record
from settlements.models import SETTLEMENTS, Settlement
from settlements.plans.reading import next_period_start, statement_of
from settlements.records import preview_record, settlement_record
from settlements.serializers import (
    CSV,
    NextSettlementsSchema,
    SettlementListQuery,
    SettlementSchema,
    StatementQuery,
    StatementSchema,
)
from settlements.services import preview


class SettlementViewSet(MerchantViewSet):
    """Settlements of the key's merchant in the key's environment."""

    queried = reports = ("list", "statement")
    scopes: ClassVar = {
        "retrieve": Scope.SETTLEMENTS_READ,
        "list": Scope.SETTLEMENTS_READ,
        "upcoming": Scope.SETTLEMENTS_READ,
        "statement": Scope.SETTLEMENTS_READ,
    }

    @extend_schema(
        summary="List settlements",
        description="Newest first.",
        parameters=[SettlementListQuery],
        responses=SettlementSchema(many=True),
    )
    def list(self, request: Request) -> Response:
        query = read_query(SettlementListQuery, request)
        return self.listed(
            Settlement.objects.of(self.merchant, self.environment),
            {**query, "created_gte": query.get("startDate"), "created_lte": query.get("endDate")},
            kind=ids.SETTLEMENT,
            filters={"status": "status"},
            render=settlement_record,
            counted=SETTLEMENTS,
        )

    @extend_schema(
        summary="Get a settlement",
        description="The settlement as it is now.",
        responses=SettlementSchema,
        examples=examples.RETRIEVE,
    )
    def retrieve(self, request: Request, settlement_id: str) -> Response:
        return Response(settlement_record(self._settlement(settlement_id)))

    @extend_schema(
        summary="Preview the next settlements",
        description="What would be settled if the next run were now, and what would be left for a later one.",
        responses=NextSettlementsSchema,
        examples=examples.NEXT,
    )
    def upcoming(self, request: Request) -> Response:
        chosen = self.merchant.settings.get(environment=self.environment)
        found = preview(self.merchant, chosen, timezone.now())
        period_start = next_period_start(self.merchant, self.environment)
        return Response(preview_record(found, period_start=period_start, environment=self.environment))

    @extend_schema(
        summary="Get the statement of a settlement",
        description=(
            "Every payment, refund and fee that the settlement is made of; they add up to its amount. "
            "`format` chooses a file for bookkeeping instead."
        ),
        parameters=[StatementQuery],
        responses={(200, "application/json"): StatementSchema, (200, "text/csv"): OpenApiTypes.STR},
        examples=examples.STATEMENT,
    )
    def statement(self, request: Request, settlement_id: str) -> Response | HttpResponse:
        query = read_query(StatementQuery, request)
        statement = statement_of(self._settlement(settlement_id))
        return statement_reply(statement, CSV) if query["format"] == CSV else Response(statement_record(statement))

    def _settlement(self, public_id: str) -> Settlement:
        return self.find(ids.SETTLEMENT, public_id, Settlement.objects.of(self.merchant, self.environment))
