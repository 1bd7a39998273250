"""/v1/requests: the merchant's own requests, as its dashboard lists them."""

from __future__ import annotations

from typing import ClassVar

from django.db.models import Q
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config import ids
from config.api.fields import read_query
from config.api.pagination import Envelope, KeyRange
from merchants.access.scopes import Scope
from merchants.access.viewsets import MerchantViewSet
from merchants.request_log.filters import MOST_LOOKED_THROUGH, STATUSES, scanned
from merchants.request_log.models import LoggedRequest
from merchants.request_log.serializers import RequestListQuery, RequestLogEntrySchema, request_record


class RequestEnvelope(Envelope):
    total_meaning = f"How many requests match: exact up to {MOST_LOOKED_THROUGH:,}, and never more."


class LoggedRequestViewSet(MerchantViewSet):
    """Requests with keys of the key's merchant in the key's environment."""

    scopes: ClassVar = {"list": Scope.REQUESTS_READ}
    pagination_class = RequestEnvelope

    @extend_schema(
        summary="List requests",
        description=(
            "The requests that your keys made, newest first, without their bodies. They appear within a second and "
            "are kept for as long as the service's operator chooses. With `path`, `method`, `key` or `status=2xx` the "
            f"newest {MOST_LOOKED_THROUGH:,} requests before `created_lte` are looked through. Reading this list is "
            "logged only where it is refused."
        ),
        parameters=[RequestListQuery],
        responses=RequestLogEntrySchema(many=True),
    )
    def list(self, request: Request) -> Response:
        query = read_query(RequestListQuery, request)
        own = LoggedRequest.objects.of(self.merchant, self.environment).defer("body", "reply")
        narrow = Q(request_id=query["request_id"]) if "request_id" in query else Q()
        rest = scanned(query)
        if (status := query.get("status")) == "2xx":
            rest &= STATUSES[status]
        elif status:  # errors have an index
            narrow &= STATUSES[status]
        if rest:
            keys = KeyRange.between(query.get("created_gte"), query.get("created_lte"))
            newest = own.filter(keys.condition, narrow).order_by("-pk").values_list("pk", flat=True)
            end = newest[MOST_LOOKED_THROUGH - 1 : MOST_LOOKED_THROUGH].first()
            narrow &= rest & (Q(pk__gte=end) if end else Q())
        return self.listed(
            own,
            query,
            kind=ids.LOGGED_REQUEST,
            narrow=narrow,
            render=request_record,
            most_counted=MOST_LOOKED_THROUGH,
        )
