"""The whole route table."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from config.environments import Environment
from payments.viewsets import PaymentViewSet

api_routes = [
    path("payments", PaymentViewSet.as_view({"get": "list", "post": "create"})),
    path("payments/<str:payment_id>", PaymentViewSet.as_view({"get": "retrieve"})),
    path("payments/<str:payment_id>/cancel", PaymentViewSet.as_view({"post": "cancel"})),
    path("payments/<str:payment_id>/simulate", PaymentViewSet.as_view({"post": "simulate"})),
    path("payments/<str:payment_id>/timeline", PaymentViewSet.as_view({"get": "timeline"})),
]

urlpatterns = [
    path("v1/", include(api_routes), {"environment": Environment.PRODUCTION}),
    path("sandbox/v1/", include(api_routes), {"environment": Environment.SANDBOX}),
    path("admin/", admin.site.urls),
]
