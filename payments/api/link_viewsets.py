"""/v1/payment-links: parse, call a service, render."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config import ids
from config.api.fields import read_body, read_query
from config.api.pagination import CreatedListQuery
from config.api.schema import refuses
from merchants.access.scopes import Scope
from merchants.access.viewsets import MerchantViewSet
from payments.api import examples
from payments.api.link_serializers import NewPaymentLinkSerializer, PaymentLinkChangesSerializer, PaymentLinkSchema
from payments.links.models import PaymentLink
from payments.links.records import LinkRecords
from payments.links.services import create_link, update_link
from payments.suspense import recipient_checks
from payments.terms import WalletNotAllowed


class PaymentLinkViewSet(MerchantViewSet):
    """Payment links of the key's merchant in the key's environment."""

    scopes: ClassVar = {
        "create": Scope.PAYMENTS_WRITE,
        "list": Scope.PAYMENTS_READ,
        "retrieve": Scope.PAYMENTS_READ,
        "update": Scope.PAYMENTS_WRITE,
    }

    @refuses(WalletNotAllowed)
    @extend_schema(
        summary="Create a payment link",
        description="Makes a page on which payers choose the coin and the network, and pay as often as you allow.",
        request=NewPaymentLinkSerializer,
        responses={201: PaymentLinkSchema},
        examples=examples.CREATE_LINK,
    )
    def create(self, request: Request) -> Response:
        """A page on which payers make payments, as often as you allow. The payer chooses what you leave open: the
        amount, the coin, the network."""
        body = read_body(NewPaymentLinkSerializer, request, environment=self.environment)
        link = create_link(merchant=self.merchant, environment=self.environment, request=body.to_request())
        return Response(LinkRecords().of_link(link), status=201)

    def before_transaction(self) -> Callable[[], None] | None:
        """Query of the wallets that nothing is known of yet, before a link names them."""
        body = self.request.data
        wallets = body.get("merchantWallets") if self.action == "create" and isinstance(body, dict) else None
        unknown = [
            (network, wallet)
            for network, wallet in (wallets.items() if isinstance(wallets, dict) else ())
            if isinstance(wallet, str) and recipient_checks.needs_a_query(self.environment, network, wallet)
        ]
        return (lambda: self._query_wallet(unknown)) if unknown else None

    def _query_wallet(self, wallets: Sequence[tuple[str, str]]) -> None:
        for network, wallet in wallets:
            recipient_checks.query_wallet(self.environment, network, wallet, merchant_id=self.merchant.pk)

    @extend_schema(
        summary="List payment links",
        description="Newest first.",
        parameters=[CreatedListQuery],
        responses=PaymentLinkSchema(many=True),
    )
    def list(self, request: Request) -> Response:
        records = LinkRecords()
        return self.listed(
            PaymentLink.objects.of(self.merchant, self.environment).select_related("merchant"),
            read_query(CreatedListQuery, request),
            kind=ids.PAYMENT_LINK,
            prepare=records.read,
            render=records.of,
        )

    @extend_schema(
        summary="Get a payment link",
        description="The link, with how many of its uses are taken.",
        responses=PaymentLinkSchema,
        examples=examples.RETRIEVE_LINK,
    )
    def retrieve(self, request: Request, link_id: str) -> Response:
        return Response(LinkRecords().of_link(self._link(link_id)))

    @extend_schema(
        summary="Update a payment link",
        description=(
            "Changes what is given, and leaves the rest. Prices, coins and wallets stay: the link may be printed."
        ),
        request=PaymentLinkChangesSerializer,
        responses=PaymentLinkSchema,
        examples=examples.UPDATE_LINK,
    )
    def update(self, request: Request, link_id: str) -> Response:
        """Payments that were made of it stay as they are. Prices, coins and wallets cannot be changed: make another
        link, and disable this one."""
        link = self._link(link_id)
        body = read_body(PaymentLinkChangesSerializer, request, environment=self.environment)
        return Response(LinkRecords().of_link(update_link(link, body.to_changes())))

    def _link(self, public_id: str) -> PaymentLink:
        own = PaymentLink.objects.of(self.merchant, self.environment).select_related("merchant")
        return self.find(ids.PAYMENT_LINK, public_id, own)
