"""Resources of the clients. Generated from docs/openapi.json by sdk/generator."""

from __future__ import annotations

from ballast._transport import AsyncTransport, Transport
from ballast.resources.balance import (
    AsyncBalanceResource,
    AsyncBalanceWithRawResponse,
    BalanceResource,
    BalanceWithRawResponse,
)
from ballast.resources.deliveries import (
    AsyncDeliveriesResource,
    AsyncDeliveriesWithRawResponse,
    DeliveriesResource,
    DeliveriesWithRawResponse,
)
from ballast.resources.discrepancies import (
    AsyncDiscrepanciesResource,
    AsyncDiscrepanciesWithRawResponse,
    DiscrepanciesResource,
    DiscrepanciesWithRawResponse,
)
from ballast.resources.events import (
    AsyncEventsResource,
    AsyncEventsWithRawResponse,
    EventsResource,
    EventsWithRawResponse,
)
from ballast.resources.invoices import (
    AsyncInvoicesResource,
    AsyncInvoicesWithRawResponse,
    InvoicesResource,
    InvoicesWithRawResponse,
)
from ballast.resources.merchant import (
    AsyncMerchantResource,
    AsyncMerchantWithRawResponse,
    MerchantResource,
    MerchantWithRawResponse,
)
from ballast.resources.payment_links import (
    AsyncPaymentLinksResource,
    AsyncPaymentLinksWithRawResponse,
    PaymentLinksResource,
    PaymentLinksWithRawResponse,
)
from ballast.resources.payments import (
    AsyncPaymentsResource,
    AsyncPaymentsWithRawResponse,
    PaymentsResource,
    PaymentsWithRawResponse,
)
from ballast.resources.quote import AsyncQuoteResource, AsyncQuoteWithRawResponse, QuoteResource, QuoteWithRawResponse
from ballast.resources.refunds import (
    AsyncRefundsResource,
    AsyncRefundsWithRawResponse,
    RefundsResource,
    RefundsWithRawResponse,
)
from ballast.resources.requests import (
    AsyncRequestsResource,
    AsyncRequestsWithRawResponse,
    RequestsResource,
    RequestsWithRawResponse,
)
from ballast.resources.settlements import (
    AsyncSettlementsResource,
    AsyncSettlementsWithRawResponse,
    SettlementsResource,
    SettlementsWithRawResponse,
)
from ballast.resources.statements import (
    AsyncStatementsResource,
    AsyncStatementsWithRawResponse,
    StatementsResource,
    StatementsWithRawResponse,
)
from ballast.resources.webhooks import (
    AsyncWebhooksResource,
    AsyncWebhooksWithRawResponse,
    WebhooksResource,
    WebhooksWithRawResponse,
)

__all__ = [
    "AsyncBalanceResource",
    "AsyncBalanceWithRawResponse",
    "AsyncDeliveriesResource",
    "AsyncDeliveriesWithRawResponse",
    "AsyncDiscrepanciesResource",
    "AsyncDiscrepanciesWithRawResponse",
    "AsyncEventsResource",
    "AsyncEventsWithRawResponse",
    "AsyncInvoicesResource",
    "AsyncInvoicesWithRawResponse",
    "AsyncMerchantResource",
    "AsyncMerchantWithRawResponse",
    "AsyncPaymentLinksResource",
    "AsyncPaymentLinksWithRawResponse",
    "AsyncPaymentsResource",
    "AsyncPaymentsWithRawResponse",
    "AsyncQuoteResource",
    "AsyncQuoteWithRawResponse",
    "AsyncRefundsResource",
    "AsyncRefundsWithRawResponse",
    "AsyncRequestsResource",
    "AsyncRequestsWithRawResponse",
    "AsyncResources",
    "AsyncSettlementsResource",
    "AsyncSettlementsWithRawResponse",
    "AsyncStatementsResource",
    "AsyncStatementsWithRawResponse",
    "AsyncWebhooksResource",
    "AsyncWebhooksWithRawResponse",
    "BalanceResource",
    "BalanceWithRawResponse",
    "DeliveriesResource",
    "DeliveriesWithRawResponse",
    "DiscrepanciesResource",
    "DiscrepanciesWithRawResponse",
    "EventsResource",
    "EventsWithRawResponse",
    "InvoicesResource",
    "InvoicesWithRawResponse",
    "MerchantResource",
    "MerchantWithRawResponse",
    "PaymentLinksResource",
    "PaymentLinksWithRawResponse",
    "PaymentsResource",
    "PaymentsWithRawResponse",
    "QuoteResource",
    "QuoteWithRawResponse",
    "RefundsResource",
    "RefundsWithRawResponse",
    "RequestsResource",
    "RequestsWithRawResponse",
    "Resources",
    "SettlementsResource",
    "SettlementsWithRawResponse",
    "StatementsResource",
    "StatementsWithRawResponse",
    "WebhooksResource",
    "WebhooksWithRawResponse",
]


class Resources:
    """All of them."""

    def __init__(self, transport: Transport) -> None:
        self.payments = PaymentsResource(transport)
        self.discrepancies = DiscrepanciesResource(transport)
        self.quote = QuoteResource(transport)
        self.payment_links = PaymentLinksResource(transport)
        self.refunds = RefundsResource(transport)
        self.settlements = SettlementsResource(transport)
        self.statements = StatementsResource(transport)
        self.invoices = InvoicesResource(transport)
        self.webhooks = WebhooksResource(transport)
        self.events = EventsResource(transport)
        self.deliveries = DeliveriesResource(transport)
        self.requests = RequestsResource(transport)
        self.merchant = MerchantResource(transport)
        self.balance = BalanceResource(transport)


class AsyncResources:
    """All of them."""

    def __init__(self, transport: AsyncTransport) -> None:
        self.payments = AsyncPaymentsResource(transport)
        self.discrepancies = AsyncDiscrepanciesResource(transport)
        self.quote = AsyncQuoteResource(transport)
        self.payment_links = AsyncPaymentLinksResource(transport)
        self.refunds = AsyncRefundsResource(transport)
        self.settlements = AsyncSettlementsResource(transport)
        self.statements = AsyncStatementsResource(transport)
        self.invoices = AsyncInvoicesResource(transport)
        self.webhooks = AsyncWebhooksResource(transport)
        self.events = AsyncEventsResource(transport)
        self.deliveries = AsyncDeliveriesResource(transport)
        self.requests = AsyncRequestsResource(transport)
        self.merchant = AsyncMerchantResource(transport)
        self.balance = AsyncBalanceResource(transport)
