"""/v1/payments: parse, call a service, render."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config import ids
from config.api.fields import EmptySerializer, read_body, read_query
from config.api.hints import no_such
from config.api.pagination import MAX_LIMIT, ListQuery
from config.api.schema import refuses
from config.installation.services import StandsStill
from merchants.access.permissions import require_scope
from merchants.access.scopes import Scope, allows
from merchants.access.viewsets import MerchantViewSet
from payments.api import examples
from payments.api.quotes import quote_record
from payments.api.serializers import (
    AcceptanceSerializer,
    ClaimSchema,
    ClaimSerializer,
    DiscrepancyListQuery,
    DiscrepancySchema,
    ExpandSerializer,
    NewPaymentSerializer,
    PaymentChangesSerializer,
    PaymentListQuery,
    PaymentSchema,
    PaymentTransferSchema,
    QuoteQuery,
    QuoteSchema,
    SimulationSchema,
    SimulationSerializer,
    TimelineEntrySchema,
    conditions_of,
)
from payments.chains.errors import NetworkUnavailable
from payments.chains.registry import UnsupportedAsset, UnsupportedNetwork
from payments.checkout.simulator import SCENARIOS, ScenarioNotPossible, simulate_payment
from payments.claims.claims import claim_record, explain_claim, parse_transaction_hash
from payments.groups import COLUMNS, Groups
from payments.links.known_wallets import own_wallets
from payments.models import PAYMENTS, Discrepancy, Payment
from payments.rates.quoting import RateUnavailable
from payments.record_rows import page_rows, payment_row
from payments.records import (
    discrepancy_record,
    newest_refunds,
    record_of,
    shown_record,
    timeline_entry,
    transfer_record,
)
from payments.services import (
    PaymentNotCancellable,
    PaymentNotClosable,
    cancel_payment,
    close_payment,
    create_payment,
    update_payment,
)
from payments.suspense import recipient_checks
from payments.suspense.acceptance import DiscrepancyResolved, accept_discrepancy
from payments.terms import WalletNotAllowed
from webhooks.models import Event


class PaymentViewSet(MerchantViewSet):
    """Payments of the key's merchant in the key's environment."""

    queried: ClassVar = ("list", "retrieve", "timeline", "transfers", "discrepancies")
    reports: ClassVar = ("list", "timeline", "transfers", "discrepancies")
    scopes: ClassVar = {
        "create": Scope.PAYMENTS_WRITE,
        "retrieve": Scope.PAYMENTS_READ,
        "list": Scope.PAYMENTS_READ,
        "update": Scope.PAYMENTS_WRITE,
        "cancel": Scope.PAYMENTS_WRITE,
        "close": Scope.DECISIONS_WRITE,
        "simulate": Scope.PAYMENTS_WRITE,
        "claim": Scope.PAYMENTS_READ,
        "timeline": Scope.PAYMENTS_READ,
        "transfers": Scope.PAYMENTS_READ,
        "discrepancies": Scope.PAYMENTS_READ,
        "accept_discrepancy": Scope.DECISIONS_WRITE,
    }
    inquiries: ClassVar = {"claim"}
    single_statements: ClassVar = {"create"}

    @refuses(RateUnavailable, NetworkUnavailable, UnsupportedAsset, WalletNotAllowed, StandsStill)
    @extend_schema(
        summary="Create a payment",
        description=(
            "Quotes the price in the coin, reserves an address that belongs to this payment alone, and "
            "replies with a page for the payer at `url`. Without `cryptocurrency`, `network` and `merchantWallet` the "
            "payer chooses coin and network there. Send an `Idempotency-Key`, so that a request sent "
            "twice makes one payment."
        ),
        request=NewPaymentSerializer,
        responses={201: PaymentSchema},
        examples=examples.CREATE,
    )
    def create(self, request: Request) -> Response:
        body = read_body(NewPaymentSerializer, request, environment=self.environment)
        new = body.to_request(partial(own_wallets, self.merchant, self.environment))
        _, record = create_payment(merchant=self.merchant, environment=self.environment, request=new)
        return Response(record, status=201)

    def before_transaction(self) -> Callable[[], None] | None:
        """Query of a wallet that nothing is known of yet, before its payment is created."""
        body = self.request.data
        if self.action != "create" or not isinstance(body, dict):
            return None
        several = body.get("merchantWallets")
        named = [*several.items()] if isinstance(several, dict) else [(body.get("network"), body.get("merchantWallet"))]
        texts = [(network, wallet) for network, wallet in named if isinstance(network, str) and isinstance(wallet, str)]
        unknown = [each for each in texts if recipient_checks.needs_a_query(self.environment, *each)]
        if not unknown:
            return None

        def query() -> None:
            for network, wallet in unknown:
                recipient_checks.query_wallet(self.environment, network, wallet, merchant_id=self.merchant.pk)

        return query

    @extend_schema(
        summary="Get a payment",
        description="The payment as it is now. Deliver goods when `status` is `completed`.",
        parameters=[ExpandSerializer],
        responses=PaymentSchema,
        examples=examples.RETRIEVE,
    )
    def retrieve(self, request: Request, payment_id: str) -> Response:
        wanted = read_query(ExpandSerializer, request).get("expand")
        if not wanted:
            return Response(self._shown(payment_id))
        payment = self._payment(payment_id)
        record = record_of(payment)
        if "discrepancies" in wanted:
            newest = payment.discrepancies.order_by("-pk")[:MAX_LIMIT]
            record["discrepancies"] = [discrepancy_record(each) for each in newest]
        if "refunds" in wanted:
            require_scope(self.key, Scope.REFUNDS_READ)
            record["refunds"] = newest_refunds(payment, MAX_LIMIT, allows(self.key.scopes, Scope.REFUNDS_WRITE))
        return Response(record)

    @extend_schema(
        summary="List payments",
        description="Newest first.",
        parameters=[PaymentListQuery],
        responses=PaymentSchema(many=True),
    )
    def list(self, request: Request) -> Response:
        query = read_query(PaymentListQuery, request)
        narrow = conditions_of(query)
        groups = None if narrow or "paymentLink" in query else self._groups(query)
        return self.listed(
            Payment.objects.of(self.merchant, self.environment),
            query,
            kind=ids.PAYMENT,
            filters={
                "status": "status",
                "network": "network",
                "cryptocurrency": "cryptocurrency",
                "currency": "currency",
                "paymentLink": "payment_link",
            },
            narrow=narrow,
            read=partial(page_rows, groups=groups),
            render=shown_record,
            counted=PAYMENTS,
            count=groups.count if groups else None,
        )

    @extend_schema(
        summary="Update a payment",
        description=(
            "Changes the description, the note and single names of the metadata, at any time, also once the payment "
            "is over. A change is told by `payment.updated`. Price, coin and wallet stay."
        ),
        request=PaymentChangesSerializer,
        responses=PaymentSchema,
        examples=examples.UPDATE,
    )
    def update(self, request: Request, payment_id: str) -> Response:
        payment = self._payment(payment_id)
        body = read_body(PaymentChangesSerializer, request)
        return Response(record_of(update_payment(payment, body.to_changes())))

    @refuses(PaymentNotCancellable)
    @extend_schema(
        summary="Cancel a payment",
        description="Ends a payment that nothing was sent for yet. Money that comes later waits for a decision.",
        request=EmptySerializer,
        responses=PaymentSchema,
        examples=examples.CANCEL,
    )
    def cancel(self, request: Request, payment_id: str) -> Response:
        read_body(EmptySerializer, request)
        return Response(record_of(cancel_payment(self._payment(payment_id))))

    @refuses(PaymentNotClosable, NetworkUnavailable)
    @extend_schema(
        summary="Close an underpaid payment early",
        description=(
            "Ends the time of a payment that has received too little. What came waits as a discrepancy, which you "
            "accept or refund; what is sent later is late. Refused while more has been seen and is not confirmed."
        ),
        request=EmptySerializer,
        responses=PaymentSchema,
        examples=examples.CLOSE,
    )
    def close(self, request: Request, payment_id: str) -> Response:
        read_body(EmptySerializer, request)
        return Response(record_of(close_payment(self._payment(payment_id))))

    @refuses(ScenarioNotPossible)
    @extend_schema(
        summary="Simulate a payment",
        description=(
            "Plays a payer on the simulated network of the sandbox: one who pays exactly, too little, late "
            "or otherwise. In production there is nothing to act out."
        ),
        request=SimulationSerializer,
        responses=SimulationSchema,
        examples=examples.SIMULATE,
    )
    def simulate(self, request: Request, payment_id: str) -> Response:
        payment = self._payment(payment_id)
        body = read_body(SimulationSerializer, request)
        scenario = body.validated_data["scenario"]
        expected = str(SCENARIOS[scenario].description)
        if payment.completed_at is not None:
            expected += " This payment is paid already: what comes now is a surplus, and waits for a decision."
        transaction_hash = simulate_payment(payment, scenario)
        return Response(
            {
                "object": "simulation",
                "scenario": scenario,
                "description": expected,
                "transactionHash": transaction_hash,
                "payment": record_of(self._payment(payment_id)),
            }
        )

    @refuses(NetworkUnavailable, UnsupportedNetwork)
    @extend_schema(
        summary="Explain an on-chain transaction",
        description=(
            "For a payer who says that they paid: looks the transaction up on the payment's network, and "
            "says of every transfer in it why it counts for the payment or does not. It credits nothing."
        ),
        request=ClaimSerializer,
        responses=ClaimSchema,
        examples=examples.CLAIM,
    )
    def claim(self, request: Request, payment_id: str) -> Response:
        """For a payer who says that they paid: looks the transaction up on the payment's network, and on the other one
        with the same address, and says of every transfer in it why it matched or did not. It credits nothing."""
        payment = self._payment(payment_id)
        body = read_body(ClaimSerializer, request)
        transaction_hash = parse_transaction_hash(payment, body.validated_data["transactionHash"])
        return Response(claim_record(payment, transaction_hash, explain_claim(payment, transaction_hash)))

    @extend_schema(
        summary="Get the timeline of a payment",
        description="Its events, each with the status and the amount received as they were then.",
        parameters=[ListQuery],
        responses=TimelineEntrySchema(many=True),
    )
    def timeline(self, request: Request, payment_id: str) -> Response:
        payment = self._payment(payment_id)
        events = Event.objects.of(self.merchant, self.environment).filter(object_id=payment.pk)
        return self.listed(events, read_query(ListQuery, request), kind=ids.EVENT, render=timeline_entry)

    @extend_schema(
        summary="List a payment's transfers",
        description="Whether they count or not, newest first. The payment's own record has the first hundred.",
        parameters=[ListQuery],
        responses=PaymentTransferSchema(many=True),
    )
    def transfers(self, request: Request, payment_id: str) -> Response:
        """Newest first. The payment's own record has the first hundred."""
        payment = self._payment(payment_id)
        query = read_query(ListQuery, request)
        return self.listed(payment.deposits.all(), query, kind=ids.TRANSFER, render=transfer_record)

    @extend_schema(
        summary="List a payment's discrepancies",
        description="Money that came late, short, in surplus or on the wrong network.",
        parameters=[ListQuery],
        responses=DiscrepancySchema(many=True),
    )
    def discrepancies(self, request: Request, payment_id: str) -> Response:
        own = Discrepancy.objects.filter(payment=self._payment(payment_id))
        return self.listed(own, read_query(ListQuery, request), kind=ids.DISCREPANCY, render=discrepancy_record)

    @refuses(DiscrepancyResolved)
    @extend_schema(
        summary="Accept a discrepancy",
        description=(
            "Accepts the money of one discrepancy. Short and late money then counts for its payment, which "
            "it may complete; the rest is extra. To give it back instead, create a refund."
        ),
        request=AcceptanceSerializer,
        responses=DiscrepancySchema,
        examples=examples.ACCEPT,
    )
    def accept_discrepancy(self, request: Request, payment_id: str, discrepancy_id: str) -> Response:
        """Short and late money then counts for its payment, which it may complete; the rest is extra."""
        own = Discrepancy.objects.filter(payment=self._payment(payment_id))
        discrepancy = self.find(ids.DISCREPANCY, discrepancy_id, own)
        body = read_body(AcceptanceSerializer, request)
        note = body.validated_data.get("note", "")
        return Response(discrepancy_record(accept_discrepancy(discrepancy, resolved_by=self.key.name, note=note)))

    def _shown(self, public_id: str) -> dict[str, Any]:
        """The record of a payment of which no more than that is needed."""
        key = ids.PAYMENT.decode(public_id)
        found = payment_row(self.merchant, self.environment, key) if key else None
        if found is None:
            raise no_such(ids.PAYMENT, public_id)
        return shown_record(found)

    def _groups(self, query: Mapping[str, Any]) -> Groups | None:
        """Those that a query asks for; None where another index has its payments one after the other."""
        asked = {name: query[name] for name in COLUMNS if name in query}
        chosen = {name: value if isinstance(value, list) else [value] for name, value in asked.items()}
        if not chosen.keys() - {"status"} and len(chosen.get("status", ())) < 2:
            return None
        return Groups(self.merchant, self.environment, chosen)

    def _payment(self, public_id: str) -> Payment:
        return self.find(ids.PAYMENT, public_id, Payment.objects.of(self.merchant, self.environment))


class DiscrepancyViewSet(MerchantViewSet):
    """All money of a merchant that is or was in suspense."""

    scopes: ClassVar = {"list": Scope.PAYMENTS_READ}

    @extend_schema(
        summary="List all discrepancies",
        description="Money that came late, short, in surplus, in another coin or on the wrong network, over all "
        "payments, newest first. With `status=open` it is what waits for your decision.",
        parameters=[DiscrepancyListQuery],
        responses=DiscrepancySchema(many=True),
    )
    def list(self, request: Request) -> Response:
        return self.listed(
            Discrepancy.objects.filter(merchant=self.merchant, environment=self.environment),
            read_query(DiscrepancyListQuery, request),
            kind=ids.DISCREPANCY,
            filters={"status": "status", "kind": "kind"},
            render=discrepancy_record,
        )


class QuoteViewSet(MerchantViewSet):
    """What a price comes to now."""

    queried: ClassVar = ("retrieve",)
    scopes: ClassVar = {"retrieve": Scope.PAYMENTS_READ}

    @refuses(RateUnavailable, NetworkUnavailable, UnsupportedAsset, StandsStill)
    @extend_schema(
        summary="Get a quote",
        description=(
            "What a price comes to in each coin on each network now, with about what the payer's wallet pays the "
            "network and how long it takes. Nothing is stored or held: a payment is quoted when it is created."
        ),
        parameters=[QuoteQuery],
        responses=QuoteSchema,
        examples=examples.QUOTE,
    )
    def retrieve(self, request: Request) -> Response:
        query = read_query(QuoteQuery, request)
        return Response(quote_record(self.merchant, self.environment, query))
