"""A small API on the real base class: what access does to any view, without the rest of the product."""

from __future__ import annotations

from typing import Any, ClassVar

from django.urls import include, path
from rest_framework.request import Request
from rest_framework.response import Response

from config.environments import Environment
from config.errors import InvalidParameter
from merchants.access.scopes import Scope
from merchants.access.viewsets import MerchantViewSet
from merchants.models import ApiKey
from merchants.services import issue_api_key


class ProbeViewSet(MerchantViewSet):
    """Each POST has one effect that can be counted: a key named as the body says."""

    queried: ClassVar = ("list", "create")  # of it, a parameter that changes nothing
    scopes: ClassVar = {
        "list": Scope.PAYMENTS_READ,
        "create": Scope.PAYMENTS_WRITE,
        "partial_update": Scope.PAYMENTS_WRITE,
    }

    def list(self, request: Request) -> Response:
        return Response({"merchant": self.merchant.public_id, "environment": self.environment, "key": self.key.name})

    def create(self, request: Request) -> Response:
        body: dict[str, Any] = dict(request.data)
        name = body.get("name", "")
        made = issue_api_key(merchant=self.merchant, environment=self.environment, name=name)
        if body.get("fail") == "refuse":
            raise InvalidParameter("Refused after the work was done.", param="fail")
        if body.get("fail") == "crash":
            raise RuntimeError("a bug")
        answer: Any = object() if body.get("fail") == "render" else made.key.public_id
        return Response({"made": answer}, status=201)

    def partial_update(self, request: Request) -> Response:
        return self.create(request)

    def undeclared(self, request: Request) -> Response:
        return Response({"never": "seen"})


def effects(name: str) -> int:
    return ApiKey.objects.filter(name=name).count()


routes = [
    path("probe", ProbeViewSet.as_view({"get": "list", "post": "create", "patch": "partial_update"})),
    path("probe/undeclared", ProbeViewSet.as_view({"get": "undeclared"})),
]
urlpatterns = [
    path("v1/", include(routes), {"environment": Environment.PRODUCTION}),
    path("sandbox/v1/", include(routes), {"environment": Environment.SANDBOX}),
]
