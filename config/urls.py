"""The whole route table."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path, re_path, register_converter
from django.views.generic import RedirectView

from config import health
from config.api.reference.views import show_reference
from config.api.views import show_openapi
from config.docs.views import search_docs, show_docs
from config.environments import Environment
from merchants.access.log_in.sessions import operators_log_in
from merchants.pages import audit_log as audit_pages
from merchants.pages import brand_files
from merchants.pages import dashboard as merchant_pages
from merchants.pages import keys as key_pages
from merchants.pages import quick_start as quick_start_pages
from merchants.pages import requests as request_pages
from merchants.people.pages import (
    account,
    invitations,
    mailbox,
    members,
    operator_account,
    preferences,
    resets,
    second_factors,
    sign_up,
)
from merchants.request_log.viewsets import LoggedRequestViewSet
from merchants.viewsets import BalanceViewSet, MerchantRecordViewSet
from payments.api.link_viewsets import PaymentLinkViewSet
from payments.api.viewsets import DiscrepancyViewSet, PaymentViewSet, QuoteViewSet
from payments.checkout import claim_page, link_page, mail_page, page, preview, simulator_page, wallet_page
from payments.checkout.choices.page import choose_again
from payments.dashboard import links as link_pages
from payments.dashboard import listing as payment_list
from payments.dashboard import payment_page as payment_pages
from payments.dashboard import wallets as wallet_pages
from payments.dashboard.decisions import early as early_pages
from payments.dashboard.decisions import pages as decision_pages
from payments.dashboard.decisions import policy as policy_pages
from payments.dashboard.decisions import several as several_pages
from payments.dashboard.overview import first_steps
from payments.dashboard.overview import home as home_page
from payments.dashboard.search import operators as operators_search
from payments.monitoring.accounting import pages as accounting_pages
from payments.monitoring.today.page import show_today
from payments.receipts import pages as receipt_pages
from refunds.pages import batches as batch_pages
from refunds.pages import refund_from_suspense as giving_back_pages
from refunds.pages import refunds as refund_pages
from refunds.pages.destination import show_destination
from refunds.pages.receipt import show_refund_receipt
from refunds.pages.sender_return import show_return
from refunds.viewsets import RefundViewSet
from settlements.invoices import dashboard as invoice_pages
from settlements.invoices.viewsets import InvoiceViewSet
from settlements.monthly.viewsets import MonthConverter, MonthlyStatementViewSet
from settlements.pages import lost_wallets as lost_wallet_pages
from settlements.pages import months as month_pages
from settlements.pages import views as settlement_pages
from settlements.viewsets import SettlementViewSet
from webhooks.pages import bench as bench_pages
from webhooks.pages import connect as connect_pages
from webhooks.pages import deliveries as delivery_pages
from webhooks.pages import endpoints as webhook_pages
from webhooks.pages import resend_missed as recovery_pages
from webhooks.viewsets import DeliveryViewSet, EventViewSet, WebhookViewSet

register_converter(MonthConverter, "month")

api_routes = [
    path("payments", PaymentViewSet.as_view({"get": "list", "post": "create"})),
    path("payments/<str:payment_id>", PaymentViewSet.as_view({"get": "retrieve", "patch": "update"})),
    path("payments/<str:payment_id>/cancel", PaymentViewSet.as_view({"post": "cancel"})),
    path("payments/<str:payment_id>/close", PaymentViewSet.as_view({"post": "close"})),
    path("payments/<str:payment_id>/claim", PaymentViewSet.as_view({"post": "claim"})),
    path("payments/<str:payment_id>/simulate", PaymentViewSet.as_view({"post": "simulate"})),
    path("payments/<str:payment_id>/timeline", PaymentViewSet.as_view({"get": "timeline"})),
    path("payments/<str:payment_id>/transfers", PaymentViewSet.as_view({"get": "transfers"})),
    path("payments/<str:payment_id>/discrepancies", PaymentViewSet.as_view({"get": "discrepancies"})),
    path(
        "payments/<str:payment_id>/discrepancies/<str:discrepancy_id>/accept",
        PaymentViewSet.as_view({"post": "accept_discrepancy"}),
    ),
    path("discrepancies", DiscrepancyViewSet.as_view({"get": "list"})),
    path("quote", QuoteViewSet.as_view({"get": "retrieve"})),
    path("payment-links", PaymentLinkViewSet.as_view({"get": "list", "post": "create"})),
    path("payment-links/<str:link_id>", PaymentLinkViewSet.as_view({"get": "retrieve", "patch": "update"})),
    path("refunds", RefundViewSet.as_view({"get": "list", "post": "create"})),
    path("refunds/<str:refund_id>", RefundViewSet.as_view({"get": "retrieve"})),
    path("refunds/<str:refund_id>/cancel", RefundViewSet.as_view({"post": "cancel"})),
    path("refunds/<str:refund_id>/destination", RefundViewSet.as_view({"post": "give_destination"})),
    path("settlements", SettlementViewSet.as_view({"get": "list"})),
    path("settlements/next", SettlementViewSet.as_view({"get": "upcoming"})),
    path("settlements/<str:settlement_id>", SettlementViewSet.as_view({"get": "retrieve"})),
    path("settlements/<str:settlement_id>/statement", SettlementViewSet.as_view({"get": "statement"})),
    path("statements", MonthlyStatementViewSet.as_view({"get": "list"})),
    path("statements/<month:month>", MonthlyStatementViewSet.as_view({"get": "retrieve"})),
    path("invoices", InvoiceViewSet.as_view({"get": "list"})),
    path("invoices/<str:invoice_id>", InvoiceViewSet.as_view({"get": "retrieve"})),
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
    path("requests", LoggedRequestViewSet.as_view({"get": "list"})),
    path("merchant", MerchantRecordViewSet.as_view({"get": "retrieve"})),
    path("merchant/settings", MerchantRecordViewSet.as_view({"patch": "update_settings"})),
    path("balance", BalanceViewSet.as_view({"get": "retrieve"})),
    path("openapi.json", show_openapi),
]

# The names are those that allauth looks for.
people_routes = [
    path("login", merchant_pages.show_log_in, name="account_login"),
    path("signup", sign_up.sign_up, name="account_signup"),
    path("signup/sent", sign_up.show_mail_sent, name="account_email_verification_sent"),
    path("signup/confirm/<str:key>", sign_up.ConfirmAddressPage.as_view(), name="account_confirm_email"),
    path("password", resets.ForgottenPasswordPage.as_view(), name="account_reset_password"),
    path("password/sent", resets.show_reset_sent, name="account_reset_password_done"),
    re_path(
        r"^password/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)$",
        resets.ResetPasswordPage.as_view(),
        name="account_reset_password_from_key",
    ),
    path("account", account.show_account, name="account"),
    path("account/password", account.change_password, name="account_change_password"),
    path("account/email", account.change_address, name="account_email"),
    path("account/sessions/others", account.end_other_sessions, name="end_other_sessions"),
    path("account/sessions/<int:log_in_id>", account.end_session, name="end_session"),
    path("account/confirm", second_factors.PasswordAgainPage.as_view(), name="account_reauthenticate"),
    path("account/confirm/code", second_factors.CodeAgainPage.as_view(), name="mfa_reauthenticate"),
    path("account/app", second_factors.AddAppPage.as_view(), name="mfa_activate_totp"),
    path("account/app/remove", second_factors.RemoveAppPage.as_view(), name="mfa_deactivate_totp"),
    path("account/codes", second_factors.RecoveryCodesPage.as_view(), name="mfa_view_recovery_codes"),
    path("account/codes/new", second_factors.NewCodesPage.as_view(), name="mfa_generate_recovery_codes"),
    path("account/factors", RedirectView.as_view(pattern_name="account"), name="mfa_index"),
    path("account/passkeys", RedirectView.as_view(pattern_name="account"), name="mfa_list_webauthn"),
    path("account/passkeys/new", second_factors.AddPasskeyPage.as_view(), name="mfa_add_webauthn"),
    path("account/passkeys/<int:pk>/remove", second_factors.RemovePasskeyPage.as_view(), name="mfa_remove_webauthn"),
    path("account/confirm/passkey", second_factors.PasskeyAgainPage.as_view(), name="mfa_reauthenticate_webauthn"),
    path("login/passkey", second_factors.PasskeyLogInPage.as_view(), name="mfa_login_webauthn"),
    path("login/code", second_factors.SecondStepPage.as_view(), name="mfa_authenticate"),
    path("invitation/<str:token>", invitations.accept_invitation, name="invitation"),
    path("mailbox", mailbox.show_mailbox, name="mailbox"),
]

page_routes = [
    path("docs/api", show_reference, name="api_reference"),
    path("docs/api/<slug:page>", show_reference, name="api_reference_page"),
    path("docs", show_docs, name="docs"),
    path("docs/", RedirectView.as_view(pattern_name="docs")),
    path("docs/search", search_docs, name="docs_search"),
    path("docs/<path:path>", show_docs, name="docs_page"),
    path("llms.txt", show_docs, {"path": "llms.txt"}),
    path("", RedirectView.as_view(pattern_name="dashboard")),
    path("login", merchant_pages.show_log_in, name="login"),
    path("logout", merchant_pages.leave, name="logout"),
    path("dashboard", home_page.home, name="dashboard"),
    path("dashboard/stop-looking", merchant_pages.stop_viewing, name="stop_viewing"),
    path("dashboard/", RedirectView.as_view(pattern_name="dashboard")),
    path("dashboard/environment", merchant_pages.switch_environment, name="switch_environment"),
    path("dashboard/merchant", members.switch_merchant, name="switch_merchant"),
    path("dashboard/developers", quick_start_pages.show_quick_start, name="dashboard_developers"),
    path("dashboard/first-steps", first_steps.show_first_steps, name="dashboard_first_steps"),
    path("dashboard/first-steps/hide", first_steps.hide, name="dashboard_hide_first_steps"),
    path("dashboard/find", payment_list.find, name="dashboard_find"),
    path("dashboard/payments", payment_list.list_payments, name="dashboard_payments"),
    path("dashboard/payments/views", payment_list.save, name="dashboard_save_view"),
    path("dashboard/payments/views/delete", payment_list.forget, name="dashboard_delete_view"),
    path("dashboard/payments/exports", payment_list.export, name="dashboard_export_payments"),
    path("dashboard/payments/exports/<str:export_id>", payment_list.show_export, name="dashboard_export"),
    path("dashboard/payments/exports/<str:export_id>/file", payment_list.download, name="dashboard_export_file"),
    path("dashboard/payments/new", link_pages.take_payment, name="dashboard_take_payment"),
    path("dashboard/payments/<str:payment_id>", payment_pages.show_payment, name="dashboard_payment"),
    path("dashboard/payments/<str:payment_id>/close", early_pages.close, name="dashboard_close_payment"),
    path("dashboard/payments/<str:payment_id>/cancel", payment_pages.cancel, name="dashboard_cancel_payment"),
    path("dashboard/payments/<str:payment_id>/note", payment_pages.change_note, name="dashboard_payment_note"),
    path(
        "dashboard/payments/<str:payment_id>/transaction",
        payment_pages.name_transaction,
        name="dashboard_name_transaction",
    ),
    path("dashboard/payments/<str:payment_id>/simulate", payment_pages.simulate, name="dashboard_simulate_payment"),
    path("dashboard/payments/<str:payment_id>/refund", refund_pages.refund_payment, name="dashboard_refund_payment"),
    path("dashboard/decisions", decision_pages.list_decisions, name="dashboard_decisions"),
    path("dashboard/decisions/accept", several_pages.accept_several, name="dashboard_accept_several"),
    path("dashboard/decisions/give-back", giving_back_pages.give_several_back, name="dashboard_give_several_back"),
    path("dashboard/decisions/<str:discrepancy_id>/accept", decision_pages.accept, name="dashboard_accept"),
    path("dashboard/decisions/<str:discrepancy_id>/give-back", giving_back_pages.give_back, name="dashboard_give_back"),
    path("dashboard/payments/<str:payment_id>/show", link_pages.show_to_payer, name="dashboard_show_to_payer"),
    path("dashboard/links", link_pages.list_links, name="dashboard_links"),
    path("dashboard/links/new", link_pages.make_link, name="dashboard_make_link"),
    path("dashboard/links/<str:link_id>", link_pages.show_link, name="dashboard_link"),
    path("dashboard/links/<str:link_id>/edit", link_pages.edit_link, name="dashboard_edit_link"),
    path("dashboard/links/<str:link_id>/poster", link_pages.show_poster, name="dashboard_link_poster"),
    path("dashboard/links/<str:link_id>/enable", link_pages.enable_link, name="dashboard_enable_link"),
    path("dashboard/links/<str:link_id>/disable", link_pages.disable_link, name="dashboard_disable_link"),
    path("dashboard/refunds", refund_pages.list_refunds, name="dashboard_refunds"),
    path("dashboard/refunds/file", batch_pages.upload, name="dashboard_upload_refunds"),
    path("dashboard/refunds/file/<str:batch_id>", batch_pages.show_batch, name="dashboard_refund_batch"),
    path("dashboard/refunds/file/<str:batch_id>/result", batch_pages.download_result, name="dashboard_refund_result"),
    path("dashboard/refunds/<str:refund_id>", refund_pages.show_refund, name="dashboard_refund"),
    path("dashboard/refunds/<str:refund_id>/cancel", refund_pages.cancel, name="dashboard_cancel_refund"),
    path(
        "dashboard/refunds/<str:refund_id>/destination",
        refund_pages.name_destination,
        name="dashboard_refund_destination",
    ),
    path("dashboard/settlements", settlement_pages.list_settlements, name="dashboard_settlements"),
    path("dashboard/settlements/now", settlement_pages.settle_now, name="dashboard_settle_now"),
    path("dashboard/invoices", invoice_pages.list_invoices, name="dashboard_invoices"),
    path("dashboard/invoices/billing", invoice_pages.change_billing, name="dashboard_billing"),
    path("dashboard/invoices/<str:invoice_id>", invoice_pages.show_invoice, name="dashboard_invoice"),
    path("dashboard/invoices/<str:invoice_id>/file", invoice_pages.download_invoice, name="dashboard_invoice_file"),
    path("dashboard/statements", month_pages.list_months, name="dashboard_months"),
    path("dashboard/statements/month", month_pages.show_month, name="dashboard_month"),
    path("dashboard/statements/file", month_pages.download_month, name="dashboard_month_file"),
    path("dashboard/settlements/<str:settlement_id>", settlement_pages.show_settlement, name="dashboard_settlement"),
    path(
        "dashboard/settlements/<str:settlement_id>/statement",
        settlement_pages.download_statement,
        name="dashboard_statement",
    ),
    path(
        "dashboard/settlements/<str:settlement_id>/print",
        settlement_pages.print_statement,
        name="dashboard_print_statement",
    ),
    path("dashboard/settlements/<str:settlement_id>/retry", settlement_pages.retry, name="dashboard_retry_settlement"),
    path(
        "dashboard/settlements/<str:settlement_id>/wallet",
        settlement_pages.pay_elsewhere,
        name="dashboard_redirect_settlement",
    ),
    path("dashboard/preferences", preferences.edit_preferences, name="dashboard_preferences"),
    path("dashboard/members", members.list_members, name="dashboard_members"),
    path("dashboard/members/leave", members.leave, name="dashboard_leave"),
    path("dashboard/members/invite", invitations.invite_member, name="dashboard_invite_member"),
    path("dashboard/members/withdraw", invitations.withdraw_invitation, name="dashboard_withdraw_invitation"),
    path("dashboard/members/<str:member_id>/role", members.change_role, name="dashboard_change_role"),
    path("dashboard/members/<str:member_id>/remove", members.remove_member, name="dashboard_remove_member"),
    path("dashboard/members/<str:member_id>/hand-over", members.hand_over, name="dashboard_hand_over"),
    path("dashboard/keys", key_pages.list_keys, name="dashboard_keys"),
    path("dashboard/keys/new", key_pages.generate_key, name="dashboard_generate_key"),
    path("dashboard/keys/<str:key_id>/rotate", key_pages.rotate_key, name="dashboard_rotate_key"),
    path("dashboard/keys/<str:key_id>/keep", key_pages.keep_key, name="dashboard_keep_key"),
    path("dashboard/keys/<str:key_id>/delete", key_pages.delete_key, name="dashboard_delete_key"),
    path("dashboard/wallets", wallet_pages.list_wallets, name="dashboard_wallets"),
    path("dashboard/wallets/set", wallet_pages.name_wallet, name="dashboard_set_wallet"),
    path("dashboard/wallets/lost", lost_wallet_pages.lose_wallet, name="dashboard_lose_wallet"),
    path("dashboard/wallets/<str:wallet_id>/prove", wallet_pages.prove, name="dashboard_prove_wallet"),
    path("dashboard/wallets/<str:wallet_id>/cancel", wallet_pages.cancel, name="dashboard_cancel_wallet"),
    path("dashboard/webhooks", webhook_pages.list_endpoints, name="dashboard_webhooks"),
    path("dashboard/webhooks/bench", bench_pages.show_bench, name="dashboard_webhook_bench"),
    path("dashboard/webhooks/bench/send", bench_pages.send_sample_event, name="dashboard_send_sample"),
    path("dashboard/webhooks/bench/check", bench_pages.check_signature, name="dashboard_check_signature"),
    path("dashboard/webhooks/new", webhook_pages.add_endpoint, name="dashboard_add_webhook"),
    path("dashboard/webhooks/signing-secret", webhook_pages.rotate_for_payments, name="dashboard_signing_secret"),
    path("dashboard/webhooks/<str:webhook_id>", webhook_pages.show_endpoint, name="dashboard_webhook"),
    path("dashboard/webhooks/<str:webhook_id>/edit", webhook_pages.edit_endpoint, name="dashboard_edit_webhook"),
    path("dashboard/webhooks/<str:webhook_id>/rotate", webhook_pages.rotate, name="dashboard_rotate_webhook"),
    path(
        "dashboard/webhooks/<str:webhook_id>/recover",
        recovery_pages.recover_endpoint,
        name="dashboard_recover_webhook",
    ),
    path("dashboard/webhooks/<str:webhook_id>/test", webhook_pages.test, name="dashboard_test_webhook"),
    path("dashboard/webhooks/<str:webhook_id>/enable", webhook_pages.enable, name="dashboard_enable_webhook"),
    path("dashboard/webhooks/<str:webhook_id>/disable", webhook_pages.disable, name="dashboard_disable_webhook"),
    path("dashboard/webhooks/<str:webhook_id>/delete", webhook_pages.delete, name="dashboard_delete_webhook"),
    path("dashboard/connect", connect_pages.connect, name="dashboard_connect"),
    path("connect/exchange", connect_pages.Exchange.as_view(), name="connect_exchange"),
    path("dashboard/deliveries", delivery_pages.list_deliveries, name="dashboard_deliveries"),
    path("dashboard/deliveries/rows", delivery_pages.show_rows, name="dashboard_delivery_rows"),
    path("dashboard/deliveries/<str:delivery_id>", delivery_pages.show_delivery, name="dashboard_delivery"),
    path("dashboard/deliveries/<str:delivery_id>/redeliver", delivery_pages.send_again, name="dashboard_redeliver"),
    path("dashboard/settings", merchant_pages.edit_settings, name="dashboard_settings"),
    path("dashboard/settings/branding", preview.edit_branding, name="dashboard_branding"),
    path("dashboard/settings/branding/preview", preview.show_preview, name="dashboard_branding_preview"),
    path("dashboard/settings/branding/style", preview.show_preview_stylesheet, name="dashboard_branding_stylesheet"),
    path("dashboard/settings/policy", policy_pages.edit_policy, name="dashboard_policy"),
    path("dashboard/requests", request_pages.list_requests, name="dashboard_requests"),
    path("dashboard/requests/<str:logged_id>", request_pages.show_request, name="dashboard_request"),
    path("dashboard/audit", audit_pages.list_actions, name="dashboard_audit"),
    path("dashboard/audit/export", audit_pages.export_actions, name="dashboard_export_audit"),
    path("brand/<str:version>/style.css", brand_files.show_stylesheet, name="brand_stylesheet"),
    path("brand/<str:version>/logo.png", brand_files.show_logo, name="brand_logo"),
    path("pay.js", page.show_file_for_shops, {"name": "js/pay.js"}, name="pay_script"),
    path("button.css", page.show_file_for_shops, {"name": "css/button.css"}, name="button_style"),
    path("pay/<str:payment_id>", page.show_payment, name="checkout"),
    path("pay/<str:payment_id>/choose", choose_again, name="checkout_choose"),
    path("pay/<str:payment_id>/status", page.show_status, name="checkout_status"),
    path("pay/<str:payment_id>/simulate", simulator_page.simulate, name="checkout_simulate"),
    path("pay/<str:payment_id>/wallet", wallet_page.ask_wallet, name="checkout_ask_wallet"),
    path("pay/<str:payment_id>/wallet/signed", wallet_page.hand_in_signed, name="checkout_hand_in"),
    path("pay/<str:payment_id>/claim", claim_page.show_claim, name="claim"),
    path("pay/<str:payment_id>/receipt", receipt_pages.show_payment_receipt, name="receipt"),
    path("pay/<str:payment_id>/receipt.<str:form>", receipt_pages.show_payment_receipt),
    path("receipts/verify", receipt_pages.check_receipt, name="check_receipt"),
    path("receipts/verify.py", receipt_pages.download_script),
    path(".well-known/ballast-receipts.json", receipt_pages.show_keys),
    path("pay/<str:payment_id>/mail", mail_page.show_mails, name="checkout_mails"),
    path("link/<str:code>", link_page.show_link, name="link"),
    path("refund/<str:token>", show_destination, name="claim_refund"),
    path("refund/<str:token>/receipt", show_refund_receipt, name="refund_receipt"),
    path("refund/<str:token>/receipt.<str:form>", show_refund_receipt, name="refund_receipt_file"),
    path("return/<str:token>", show_return, name="return"),
]

urlpatterns = [
    path("health/live", health.live),
    path("health/ready", health.ready),
    path("health/work", health.show_work),
    # Before the pages: routes are tried one after the other, and programs send most requests.
    path("v1/", include(api_routes), {"environment": Environment.PRODUCTION}),
    path("sandbox/v1/", include(api_routes), {"environment": Environment.SANDBOX}),
    *page_routes,
    *people_routes,
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/login/", operators_log_in),
    path("admin/", show_today),
    path("admin/account", operator_account.show_own_account, name="operators_account"),
    path("admin/search", operators_search.search, name="operators_search"),
    path("admin/accounting", accounting_pages.show_accounting, name="operators_accounting"),
    path("admin/accounting/result", accounting_pages.show_result, name="operators_result"),
    path("admin/accounting/ledger", accounting_pages.download_ledger, name="operators_ledger"),
    path("admin/", admin.site.urls),
]

# Errors outside any view: JSON under the API, a page elsewhere.
handler400 = "config.api.views.bad_request"
handler403 = "config.api.views.forbidden"
handler404 = "config.api.views.not_found"
handler500 = "config.api.views.server_error"
