"""The whole route table."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from config import health
from config.api.views import show_openapi, show_reference
from config.environments import Environment
from merchants import dashboard as merchant_pages
from merchants.access.sessions import operators_log_in
from merchants.viewsets import BalanceViewSet, MerchantRecordViewSet
from payments import dashboard as payment_pages
from payments.chains.registry import decimals
from payments.checkout import claim_page, page
from payments.operations.admin import show_start
from payments.overview import in_suspense
from payments.viewsets import PaymentViewSet
from refunds import dashboard as refund_pages
from refunds.claim_page import show_claim
from refunds.viewsets import RefundViewSet
from settlements import dashboard as settlement_pages
from settlements.viewsets import SettlementViewSet
from webhooks import dashboard as webhook_pages
from webhooks import dashboard_deliveries as delivery_pages
from webhooks.viewsets import DeliveryViewSet, EventViewSet, WebhookViewSet

balance_sources: dict[str, Any] = {"decimals_of": decimals, "suspense_of": in_suspense}

api_routes = [
    path("payments", PaymentViewSet.as_view({"get": "list", "post": "create"})),
    path("payments/<str:payment_id>", PaymentViewSet.as_view({"get": "retrieve"})),
    path("payments/<str:payment_id>/cancel", PaymentViewSet.as_view({"post": "cancel"})),
    path("payments/<str:payment_id>/claim", PaymentViewSet.as_view({"post": "claim"})),
    path("payments/<str:payment_id>/simulate", PaymentViewSet.as_view({"post": "simulate"})),
    path("payments/<str:payment_id>/timeline", PaymentViewSet.as_view({"get": "timeline"})),
    path("payments/<str:payment_id>/transfers", PaymentViewSet.as_view({"get": "transfers"})),
    path("payments/<str:payment_id>/discrepancies", PaymentViewSet.as_view({"get": "discrepancies"})),
    path(
        "payments/<str:payment_id>/discrepancies/<str:discrepancy_id>/accept",
        PaymentViewSet.as_view({"post": "accept_discrepancy"}),
    ),
    path("refunds", RefundViewSet.as_view({"get": "list", "post": "create"})),
    path("refunds/<str:refund_id>", RefundViewSet.as_view({"get": "retrieve"})),
    path("refunds/<str:refund_id>/cancel", RefundViewSet.as_view({"post": "cancel"})),
    path("refunds/<str:refund_id>/destination", RefundViewSet.as_view({"post": "give_destination"})),
    path("settlements", SettlementViewSet.as_view({"get": "list"})),
    path("settlements/next", SettlementViewSet.as_view({"get": "upcoming"})),
    path("settlements/<str:settlement_id>", SettlementViewSet.as_view({"get": "retrieve"})),
    path("settlements/<str:settlement_id>/statement", SettlementViewSet.as_view({"get": "statement"})),
    path("webhooks", WebhookViewSet.as_view({"get": "list", "post": "create"})),
    path("webhooks/signing-secret/rotate", WebhookViewSet.as_view({"post": "rotate_account_secret"})),
    path(
        "webhooks/<str:webhook_id>",
        WebhookViewSet.as_view({"get": "retrieve", "patch": "update", "delete": "destroy"}),
    ),
    path("webhooks/<str:webhook_id>/test", WebhookViewSet.as_view({"post": "test"})),
    path("webhooks/<str:webhook_id>/rotate", WebhookViewSet.as_view({"post": "rotate"})),
    path("webhooks/<str:webhook_id>/replay", WebhookViewSet.as_view({"post": "replay"})),
    path("events", EventViewSet.as_view({"get": "list"})),
    path("events/<str:event_id>", EventViewSet.as_view({"get": "retrieve"})),
    path("deliveries", DeliveryViewSet.as_view({"get": "list"})),
    path("deliveries/<str:delivery_id>", DeliveryViewSet.as_view({"get": "retrieve"})),
    path("deliveries/<str:delivery_id>/redeliver", DeliveryViewSet.as_view({"post": "redeliver"})),
    path("merchant", MerchantRecordViewSet.as_view({"get": "retrieve"}, **balance_sources)),
    path("merchant/settings", MerchantRecordViewSet.as_view({"patch": "update_settings"}, **balance_sources)),
    path("balance", BalanceViewSet.as_view({"get": "retrieve"}, **balance_sources)),
    path("openapi.json", show_openapi),
]

page_routes = [
    path("docs/api", show_reference, name="api_reference"),
    path("", RedirectView.as_view(pattern_name="dashboard")),
    path("login", merchant_pages.show_log_in, name="login"),
    path("logout", merchant_pages.leave, name="logout"),
    path("dashboard", payment_pages.home, name="dashboard"),
    path("dashboard/", RedirectView.as_view(pattern_name="dashboard")),
    path("dashboard/environment", merchant_pages.switch_environment, name="switch_environment"),
    path("dashboard/payments", payment_pages.list_payments, name="dashboard_payments"),
    path(
        "dashboard/payments/<str:payment_id>",
        payment_pages.show_payment,
        {"refunds_of": refund_pages.refunds_of},
        name="dashboard_payment",
    ),
    path("dashboard/payments/<str:payment_id>/cancel", payment_pages.cancel, name="dashboard_cancel_payment"),
    path("dashboard/payments/<str:payment_id>/simulate", payment_pages.simulate, name="dashboard_simulate_payment"),
    path("dashboard/payments/<str:payment_id>/refund", refund_pages.refund_payment, name="dashboard_refund_payment"),
    path("dashboard/refunds", refund_pages.list_refunds, name="dashboard_refunds"),
    path("dashboard/refunds/<str:refund_id>", refund_pages.show_refund, name="dashboard_refund"),
    path("dashboard/refunds/<str:refund_id>/cancel", refund_pages.cancel, name="dashboard_cancel_refund"),
    path(
        "dashboard/refunds/<str:refund_id>/destination",
        refund_pages.name_destination,
        name="dashboard_refund_destination",
    ),
    path("dashboard/settlements", settlement_pages.list_settlements, name="dashboard_settlements"),
    path("dashboard/settlements/now", settlement_pages.settle_now, name="dashboard_settle_now"),
    path("dashboard/settlements/<str:settlement_id>", settlement_pages.show_settlement, name="dashboard_settlement"),
    path(
        "dashboard/settlements/<str:settlement_id>/statement",
        settlement_pages.download_statement,
        name="dashboard_statement",
    ),
    path("dashboard/settlements/<str:settlement_id>/retry", settlement_pages.retry, name="dashboard_retry_settlement"),
    path(
        "dashboard/settlements/<str:settlement_id>/wallet",
        settlement_pages.pay_elsewhere,
        name="dashboard_redirect_settlement",
    ),
    path("dashboard/keys", merchant_pages.list_keys, name="dashboard_keys"),
    path("dashboard/keys/new", merchant_pages.generate_key, name="dashboard_generate_key"),
    path("dashboard/keys/<str:key_id>/delete", merchant_pages.delete_key, name="dashboard_delete_key"),
    path("dashboard/webhooks", webhook_pages.list_endpoints, name="dashboard_webhooks"),
    path("dashboard/webhooks/new", webhook_pages.add_endpoint, name="dashboard_add_webhook"),
    path("dashboard/webhooks/signing-secret", webhook_pages.rotate_for_payments, name="dashboard_signing_secret"),
    path("dashboard/webhooks/<str:webhook_id>", webhook_pages.show_endpoint, name="dashboard_webhook"),
    path("dashboard/webhooks/<str:webhook_id>/edit", webhook_pages.edit_endpoint, name="dashboard_edit_webhook"),
    path("dashboard/webhooks/<str:webhook_id>/rotate", webhook_pages.rotate, name="dashboard_rotate_webhook"),
    path("dashboard/webhooks/<str:webhook_id>/test", webhook_pages.test, name="dashboard_test_webhook"),
    path("dashboard/webhooks/<str:webhook_id>/enable", webhook_pages.enable, name="dashboard_enable_webhook"),
    path("dashboard/webhooks/<str:webhook_id>/disable", webhook_pages.disable, name="dashboard_disable_webhook"),
    path("dashboard/webhooks/<str:webhook_id>/delete", webhook_pages.delete, name="dashboard_delete_webhook"),
    path("dashboard/deliveries", delivery_pages.list_deliveries, name="dashboard_deliveries"),
    path("dashboard/deliveries/<str:delivery_id>", delivery_pages.show_delivery, name="dashboard_delivery"),
    path("dashboard/deliveries/<str:delivery_id>/redeliver", delivery_pages.send_again, name="dashboard_redeliver"),
    path(
        "dashboard/settings",
        merchant_pages.edit_settings,
        {"outlook_of": settlement_pages.outlook_of},
        name="dashboard_settings",
    ),
    path("pay/<str:payment_id>", page.show_payment, name="checkout"),
    path("pay/<str:payment_id>/status", page.show_status, name="checkout_status"),
    path("pay/<str:payment_id>/claim", claim_page.show_claim, name="claim"),
    path("refund/<str:token>", show_claim, name="claim_refund"),
]

urlpatterns = [
    path("health/live", health.live),
    path("health/ready", health.ready),
    path("health/work", health.show_work),
    *page_routes,
    path("v1/", include(api_routes), {"environment": Environment.PRODUCTION}),
    path("sandbox/v1/", include(api_routes), {"environment": Environment.SANDBOX}),
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/login/", operators_log_in),
    path("admin/", show_start),
    path("admin/", admin.site.urls),
]

# Errors outside any view: JSON under the API, a page elsewhere.
handler400 = "config.api.views.bad_request"
handler403 = "config.api.views.forbidden"
handler404 = "config.api.views.not_found"
handler500 = "config.api.views.server_error"
