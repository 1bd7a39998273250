"""Every address of the merchant's pages, so that what must be true of all of them is asked of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.test import override_settings

from config import ids
from config.environments import Environment
from merchants.models import ApiKey, Member, Merchant, MerchantSettings
from merchants.request_log.models import LoggedRequest
from merchants.request_log.recording import RECORDER
from merchants.roles import Role
from merchants.services import IssuedKey
from payments.chains.simulated.networks import address_named
from payments.dashboard.exports.models import Export
from payments.dashboard.exports.services import request_export, write_exports
from payments.dashboard.models import SavedView
from payments.dashboard.search.filters import PaymentFilter
from payments.links.models import PaymentLink
from payments.merchant_wallets.models import MerchantWallet
from payments.models import Discrepancy, Payment
from refunds.models import Refund, RefundBatch
from settlements.invoices.models import BillingDetails, Invoice
from settlements.models import Settlement, SettlementRun
from tests.factories import api_client, make_key, make_member, make_user
from tests.merchant_wallets.scenes import name
from tests.networks import ETHEREUM
from tests.payments.linking import make_link
from tests.payments.scenes import POLYGON, STELLAR, WALLETS, discrepancy, make_payment
from tests.refunds.filing import preview
from tests.refunds.scenes import ask, paid, paid_by_two, wallet
from tests.settlements.page_scenes import earn_and_settle, make_invoice
from webhooks.models import Delivery, Endpoint, SigningSecret
from webhooks.services import register_endpoint, send_test

READS = (
    "/dashboard",
    "/dashboard/first-steps",
    "/dashboard/find",
    "/dashboard/payments",
    "/dashboard/payments/exports/{export}",
    "/dashboard/payments/exports/{export}/file",
    "/dashboard/payments/new",
    "/dashboard/payments/{payment}",
    "/dashboard/payments/{payment}/close",
    "/dashboard/payments/{payment}/refund",
    "/dashboard/decisions",
    "/dashboard/decisions/accept",
    "/dashboard/decisions/give-back",
    "/dashboard/decisions/{discrepancy}/accept",
    "/dashboard/decisions/{discrepancy}/give-back",
    "/dashboard/payments/{payment}/show",
    "/dashboard/links",
    "/dashboard/links/new",
    "/dashboard/links/{link}",
    "/dashboard/links/{link}/edit",
    "/dashboard/links/{link}/poster",
    "/dashboard/refunds",
    "/dashboard/refunds/{refund}",
    "/dashboard/refunds/file",
    "/dashboard/refunds/file/{batch}",
    "/dashboard/refunds/file/{batch}/result",
    "/dashboard/settlements",
    "/dashboard/settlements/now",
    "/dashboard/settlements/{settlement}",
    "/dashboard/settlements/{settlement}/statement",
    "/dashboard/settlements/{settlement}/print",
    "/dashboard/statements",
    "/dashboard/invoices",
    "/dashboard/invoices/billing",
    "/dashboard/invoices/{invoice}",
    "/dashboard/invoices/{invoice}/file",
    "/dashboard/statements/month",
    "/dashboard/statements/file",
    "/dashboard/preferences",
    "/dashboard/members",
    "/dashboard/members/invite",
    "/dashboard/members/leave",
    "/dashboard/members/{member}/role",
    "/dashboard/members/{member}/remove",
    "/dashboard/members/{member}/hand-over",
    "/dashboard/wallets",
    "/dashboard/wallets/set",
    "/dashboard/wallets/lost",
    "/dashboard/wallets/{wallet}/prove",
    "/dashboard/keys",
    "/dashboard/keys/new",
    "/dashboard/keys/{key}/rotate",
    "/dashboard/keys/{key}/delete",
    "/dashboard/settings",
    "/dashboard/settings/policy",
    "/dashboard/requests",
    "/dashboard/requests/{logged}",
    "/dashboard/settings/branding",
    "/dashboard/settings/branding/preview",
    "/dashboard/settings/branding/style",
    "/dashboard/audit",
    "/dashboard/audit/export",
    "/dashboard/webhooks",
    "/dashboard/developers",
    "/dashboard/webhooks/bench",
    "/dashboard/webhooks/new",
    "/dashboard/webhooks/signing-secret",
    "/dashboard/webhooks/{webhook}",
    "/dashboard/webhooks/{webhook}/edit",
    "/dashboard/webhooks/{webhook}/rotate",
    "/dashboard/webhooks/{webhook}/recover",
    "/dashboard/webhooks/{webhook}/disable",
    "/dashboard/webhooks/{webhook}/delete",
    "/dashboard/connect",
    "/dashboard/deliveries",
    "/dashboard/deliveries/rows",
    "/dashboard/deliveries/{delivery}",
)
WRITES = (
    "/dashboard/environment",
    "/dashboard/first-steps/hide",
    "/dashboard/merchant",
    "/dashboard/payments/exports",
    "/dashboard/payments/views",
    "/dashboard/payments/views/delete",
    "/dashboard/payments/new",
    "/dashboard/payments/{payment}/cancel",
    "/dashboard/payments/{payment}/note",
    "/dashboard/payments/{payment}/close",
    "/dashboard/payments/{payment}/transaction",
    "/dashboard/payments/{payment}/simulate",
    "/dashboard/payments/{payment}/refund",
    "/dashboard/decisions/accept",
    "/dashboard/decisions/give-back",
    "/dashboard/decisions/{discrepancy}/accept",
    "/dashboard/decisions/{discrepancy}/give-back",
    "/dashboard/links/new",
    "/dashboard/links/{link}/edit",
    "/dashboard/links/{link}/enable",
    "/dashboard/links/{link}/disable",
    "/dashboard/refunds/{refund}/cancel",
    "/dashboard/refunds/file",
    "/dashboard/refunds/file/{batch}",
    "/dashboard/refunds/{refund}/destination",
    "/dashboard/settlements/now",
    "/dashboard/invoices/billing",
    "/dashboard/settlements/{settlement}/retry",
    "/dashboard/settlements/{settlement}/wallet",
    "/dashboard/members/invite",
    "/dashboard/preferences",
    "/dashboard/members/withdraw",
    "/dashboard/members/leave",
    "/dashboard/members/{member}/role",
    "/dashboard/members/{member}/remove",
    "/dashboard/members/{member}/hand-over",
    "/dashboard/wallets/set",
    "/dashboard/wallets/lost",
    "/dashboard/wallets/{wallet}/prove",
    "/dashboard/wallets/{wallet}/cancel",
    "/dashboard/keys/new",
    "/dashboard/keys/{key}/rotate",
    "/dashboard/keys/{key}/keep",
    "/dashboard/keys/{key}/delete",
    "/dashboard/settings",
    "/dashboard/settings/policy",
    "/dashboard/settings/branding",
    "/dashboard/webhooks/bench/check",
    "/dashboard/webhooks/bench/send",
    "/dashboard/webhooks/new",
    "/dashboard/webhooks/signing-secret",
    "/dashboard/webhooks/{webhook}/edit",
    "/dashboard/webhooks/{webhook}/rotate",
    "/dashboard/webhooks/{webhook}/recover",
    "/dashboard/webhooks/{webhook}/test",
    "/dashboard/webhooks/{webhook}/enable",
    "/dashboard/webhooks/{webhook}/disable",
    "/dashboard/webhooks/{webhook}/delete",
    "/dashboard/connect",
    "/dashboard/deliveries/{delivery}/redeliver",
)

DOWNLOADS = (
    "/dashboard/settings/branding/style",
    "/dashboard/settings/branding/preview",
    "/dashboard/find",
    "/dashboard/deliveries/rows",
    "/dashboard/payments/exports/{export}/file",
    "/dashboard/settlements/{settlement}/statement",
    "/dashboard/statements/file",
    "/dashboard/invoices/{invoice}/file",
    "/dashboard/refunds/file/{batch}/result",
    "/dashboard/audit/export",
)
"""Those of READS that are files or data, not pages."""

REPORTS = (
    "/dashboard",
    "/dashboard/find",
    "/dashboard/payments",
    "/dashboard/payments/exports/{export}/file",
    "/dashboard/links",
    "/dashboard/refunds",
    "/dashboard/settlements",
    "/dashboard/settlements/{settlement}/statement",
    "/dashboard/settlements/{settlement}/print",
    "/dashboard/invoices",
    "/dashboard/statements/month",
    "/dashboard/statements/file",
    "/dashboard/requests",
    "/dashboard/audit",
    "/dashboard/audit/export",
    "/dashboard/deliveries",
    "/dashboard/deliveries/rows",
)
"""Those of READS that are lists, reports or files of them, and come from a replica."""

FIELDS = {
    "scenario": "exact",
    "name": "Mine",
    "description": "Mine",
    "amount": "5",
    "currency": "EUR",
    "address": "Mine 1",
    "country": "DE",
    "expires_in": "900",
    "wallet_polygon": WALLETS[POLYGON],
    "url": "https://mine.example/",
    "events": "*",
    "form_id": "mine",
    "environment": "sandbox",
    "access": "restricted",
    "scopes": "payments:read",
    "lifetime": "0",
    "overlap": "24",
    "since": "2026-01-01T00:00",
    "source": "payment",
    "destination": wallet(),
    "reason": "It is mine.",
    "shown": "mine",
}
"""What the form of some page asks for; every page takes what it knows."""

UNKNOWN = {
    "payment": ids.PAYMENT,
    "discrepancy": ids.DISCREPANCY,
    "export": ids.EXPORT,
    "link": ids.PAYMENT_LINK,
    "refund": ids.REFUND,
    "batch": ids.REFUND_BATCH,
    "settlement": ids.SETTLEMENT,
    "invoice": ids.INVOICE,
    "wallet": ids.MERCHANT_WALLET,
    "key": ids.KEY,
    "webhook": ids.WEBHOOK,
    "delivery": ids.DELIVERY,
    "logged": ids.LOGGED_REQUEST,
    "member": ids.MEMBER,
}
"""What the braces stand for."""

IN_BOTH_ENVIRONMENTS = [path for path in (*READS, *WRITES) if "{member}" in path]
"""What names a record that belongs to no environment."""

ONLY_OF_THE_SESSION = {"/dashboard/environment", "/dashboard/merchant", "/dashboard/webhooks/bench/check"}
"""Those of WRITES that change what is in view and nothing else."""


@dataclass(frozen=True)
class Records:
    """One record of each kind that an address can name."""

    payment: Payment
    discrepancy: Discrepancy
    export: Export
    link: PaymentLink
    refund: Refund
    batch: RefundBatch
    settlement: Settlement
    invoice: Invoice
    wallet: MerchantWallet
    key: ApiKey
    webhook: Endpoint
    delivery: Delivery
    logged: LoggedRequest
    member: Member

    def in_path(self, path: str) -> str:
        return path.format(**{name: getattr(self, name).public_id for name in UNKNOWN})


def make_records(merchant: Merchant) -> Records:
    settlement = earn_and_settle(merchant, network=STELLAR)  # first: it takes all there is
    payment, issued = make_payment(merchant=merchant), make_key(merchant, scopes=["payments:read"])
    url = "https://harbourcoffee.example/ballast"
    webhook, _ = register_endpoint(merchant=merchant, environment=Environment.SANDBOX, url=url)
    filters = PaymentFilter(status="created")
    export = request_export(
        merchant=merchant, environment=Environment.SANDBOX, requested_by=make_user(), filters=filters
    )
    write_exports()
    return Records(
        payment=payment,
        batch=preview(paid(merchant=merchant)),
        discrepancy=discrepancy(paid(received=["125"], merchant=merchant)),
        export=export,
        link=make_link(merchant),
        refund=ask(paid_by_two(merchant=merchant)),  # it needs an address
        settlement=settlement,
        invoice=make_invoice(merchant),
        wallet=waiting_wallet(merchant),
        key=issued.key,
        webhook=webhook,
        delivery=send_test(endpoint=webhook),
        logged=log_a_request(issued),
        member=make_member(merchant, role=Role.SUPPORT),
    )


def waiting_wallet(merchant: Merchant) -> MerchantWallet:
    """One that waits to be paid, asked for by somebody who has left since."""
    asking = Member(merchant=merchant, user=make_user())
    with override_settings(SANDBOX_WALLET_CHANGE_WAIT_HOURS=24):
        name(asking, address_named(ETHEREUM, "the first wallet"), network=ETHEREUM)
        return name(asking, address_named(ETHEREUM, "the second wallet"), network=ETHEREUM)


def log_a_request(issued: IssuedKey) -> LoggedRequest:
    """A request with this key, as the log has it."""
    api_client(issued).get("/sandbox/v1/payments")
    RECORDER.flush()
    return LoggedRequest.objects.of(issued.key.merchant, issued.key.environment).latest("pk")


def unknown(path: str) -> str:
    """The address of a record that never was."""
    return path.format(**{name: kind.encode(ids.new_uuid()) for name, kind in UNKNOWN.items()})


def malformed(path: str) -> str:
    return path.format(**{name: f"{kind.prefix}_1" for name, kind in UNKNOWN.items()})


def everything() -> list[Any]:
    """All rows that a refused request must leave as they are."""
    money = (Payment, PaymentLink, Discrepancy, Refund, RefundBatch, Settlement, SettlementRun, MerchantWallet)
    models = (*money, Invoice, BillingDetails, Export, SavedView, ApiKey, Endpoint, Delivery, SigningSecret)
    every = (*models, MerchantSettings, Member)
    return [list(model._default_manager.order_by("pk").values()) for model in every]
