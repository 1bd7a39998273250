"""/v1/statements: the months of a merchant, and the statement of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from django.http import HttpResponseBase, StreamingHttpResponse
from django.urls.converters import StringConverter
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.fields import read_query
from config.errors import InvalidParameter, NotFound
from merchants.access.scopes import Scope
from merchants.access.viewsets import MerchantViewSet
from merchants.models import MerchantSettings
from payments.monitoring.accounting.periods import Days
from settlements.monthly.files import month_json, month_record, month_reply
from settlements.monthly.months import months, name_of
from settlements.monthly.serializers import JSON, MonthListQuery, MonthlyStatementSchema, MonthQuery, MonthSchema
from settlements.monthly.valuation import Valuer


class MonthConverter(StringConverter):
    """A month in an address: `2027-01`."""

    regex = "[0-9]{4}-[0-9]{2}"


class MonthlyStatementViewSet(MerchantViewSet):
    """Statements of the key's merchant in the key's environment."""

    queried = reports = ("list", "retrieve")
    scopes: ClassVar = {"retrieve": Scope.SETTLEMENTS_READ, "list": Scope.SETTLEMENTS_READ}

    @extend_schema(
        operation_id="statements_list",
        summary="List monthly statements",
        description="Every month since the merchant was opened, the one that runs first.",
        parameters=[MonthListQuery],
        responses=MonthSchema(many=True),
    )
    def list(self, request: Request) -> Response:
        query, zone, now = read_query(MonthListQuery, request), self._settings.settlement_timezone, timezone.now()
        found = self._months(zone)
        shown = found
        if (cursor := query.get("starting_after")) is not None:
            names = [name_of(month) for month in found]
            if cursor not in names:
                raise InvalidParameter("Must be the month of a record in this list.", param="starting_after")
            shown = found[names.index(cursor) + 1 :]
        page = shown[: query["limit"]]
        data = [month_record(self.merchant, self.environment, each, timezone=zone, now=now) for each in page]
        more = len(shown) > len(page)
        return Response({"object": "list", "data": data, "hasMore": more, "totalCount": len(found)})

    @extend_schema(
        operation_id="statements_retrieve",
        summary="Get a monthly statement",
        description=(
            "Everything that changed your money in a month, settled or not: for each account and coin opening balance, "
            "entries and closing balance, which is the next month's opening balance. `format` chooses a file instead; "
            "the PDF has 2,000 entries at most."
        ),
        parameters=[MonthQuery],
        responses={
            (200, "application/json"): MonthlyStatementSchema,
            (200, "text/csv"): OpenApiTypes.STR,
            (200, "application/pdf"): OpenApiTypes.BINARY,
        },
    )
    def retrieve(self, request: Request, month: str) -> HttpResponseBase:
        query = read_query(MonthQuery, request)
        chosen = self._settings
        found = next((each for each in self._months(chosen.settlement_timezone) if name_of(each) == month), None)
        if found is None:
            raise NotFound("There is no statement of this month. GET /statements lists them.")
        now = timezone.now()
        zone = chosen.settlement_timezone
        valuer = Valuer.of(chosen, found, fiat=query["currency"], now=now)
        own = self.merchant, self.environment, found, valuer
        if query["format"] == JSON:
            return StreamingHttpResponse(month_json(*own, timezone=zone, now=now), content_type="application/json")
        return month_reply(*own, query["format"], timezone=zone, now=now)

    @property
    def _settings(self) -> MerchantSettings:
        return self.merchant.settings.get(environment=self.environment)

    def _months(self, zone: str) -> Sequence[Days]:
        return months(zone, opened_at=self.merchant.created_at, now=timezone.now())
