"""The product's routes and the twins'. The budget of the sandbox is lifted: the limiter runs, but never refuses."""

from __future__ import annotations

from django.conf import settings
from django.urls import include, path

from config.urls import handler400, handler403, handler404, handler500
from tests.bench.twins import OneTwinPayment, TwinPayments

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]

settings.SANDBOX_REQUESTS_PER_MINUTE = 10_000_000

urlpatterns = [
    path("twin/payments", TwinPayments.as_view()),
    path("twin/payments/<str:payment_id>", OneTwinPayment.as_view()),
    path("", include("config.urls")),
]
