"""/v1/payments: parse, call a service, render."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import Q
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config import ids
from config.api.fields import EmptySerializer, read_query
from config.api.hints import no_such
from config.api.pagination import KeyRange, ListQuery, page
from config.api.schema import refuses
from config.installation.services import StandsStill
from merchants import counting
from merchants.access.scopes import Scope
from merchants.access.viewsets import MerchantViewSet
from payments import examples
from payments.chains.registry import UnsupportedAsset, UnsupportedNetwork
from payments.claims import claim_record, explain_claim, parse_transaction_hash
from payments.models import PAYMENTS, Discrepancy, Payment
from payments.rates.quoting import RateUnavailable
from payments.records import SHOWN_COLUMNS, Records, discrepancy_record, timeline_entry, transfer_record
from payments.serializers import (
    AcceptanceSerializer,
    ClaimSchema,
    ClaimSerializer,
    DiscrepancySchema,
    NewPaymentSerializer,
    PaymentListQuery,
    PaymentSchema,
    PaymentTransferSchema,
    SimulationSchema,
    SimulationSerializer,
    TimelineEntrySchema,
)
from payments.services import (
    DiscrepancyResolved,
    NetworkUnavailable,
    PaymentNotCancellable,
    WalletNotAllowed,
    accept_discrepancy,
    cancel_payment,
    create_payment,
)
from payments.simulator import SCENARIOS, ScenarioNotPossible, simulate_payment
from webhooks.models import Event


class PaymentViewSet(MerchantViewSet):
    """Payments of the key's merchant in the key's environment."""

    scopes: ClassVar = {
        "create": Scope.PAYMENTS_WRITE,
        "retrieve": Scope.PAYMENTS_READ,
        "list": Scope.PAYMENTS_READ,
        "cancel": Scope.PAYMENTS_WRITE,
        "simulate": Scope.PAYMENTS_WRITE,
        "claim": Scope.PAYMENTS_READ,
        "timeline": Scope.PAYMENTS_READ,
        "transfers": Scope.PAYMENTS_READ,
        "discrepancies": Scope.PAYMENTS_READ,
        "accept_discrepancy": Scope.PAYMENTS_WRITE,
    }
    inquiries: ClassVar = {"claim"}

    @refuses(RateUnavailable, NetworkUnavailable, UnsupportedAsset, WalletNotAllowed, StandsStill)
    @extend_schema(
        summary="Create a payment",
        request=NewPaymentSerializer,
        responses={201: PaymentSchema},
        examples=examples.CREATE,
    )
    def create(self, request: Request) -> Response:
        body = NewPaymentSerializer(data=request.data, context={"environment": self.environment})
        body.is_valid(raise_exception=True)
        _, record = create_payment(merchant=self.merchant, environment=self.environment, request=body.to_request())
        return Response(record, status=201)

    @extend_schema(summary="Get a payment", responses=PaymentSchema, examples=examples.RETRIEVE)
    def retrieve(self, request: Request, payment_id: str) -> Response:
        return Response(_record(self._payment(payment_id)))

    @extend_schema(summary="List payments", parameters=[PaymentListQuery], responses=PaymentSchema(many=True))
    def list(self, request: Request) -> Response:
        query = read_query(PaymentListQuery, request)
        status = query.get("status")
        records = Records()

        def total(keys: KeyRange) -> int:
            return counting.total(
                PAYMENTS,
                merchant_id=self.merchant.pk,
                environment=self.environment,
                statuses=[status] if status else None,
                keys=keys,
            )

        return Response(
            page(
                Payment.objects.of(self.merchant, self.environment).values_list(*SHOWN_COLUMNS),
                query,
                public_id=ids.PAYMENT,
                narrow=Q(status=status) if status else None,
                prepare=records.read_rows,
                render=records.of,
                total=total,
            )
        )

    @refuses(PaymentNotCancellable)
    @extend_schema(
        summary="Cancel a payment", request=EmptySerializer, responses=PaymentSchema, examples=examples.CANCEL
    )
    def cancel(self, request: Request, payment_id: str) -> Response:
        EmptySerializer(data=request.data).is_valid(raise_exception=True)
        return Response(_record(cancel_payment(self._payment(payment_id))))

    @refuses(ScenarioNotPossible)
    @extend_schema(
        summary="Act out a scenario for a sandbox payment", request=SimulationSerializer, responses=SimulationSchema
    )
    def simulate(self, request: Request, payment_id: str) -> Response:
        payment = self._payment(payment_id)
        body = SimulationSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        scenario = body.validated_data["scenario"]
        transaction_hash = simulate_payment(payment, scenario)
        return Response(
            {
                "object": "simulation",
                "scenario": scenario,
                "description": SCENARIOS[scenario].description,
                "transactionHash": transaction_hash,
                "payment": _record(self._payment(payment_id)),
            }
        )

    @refuses(NetworkUnavailable, UnsupportedNetwork)
    @extend_schema(
        summary="Explain an on-chain transaction",
        request=ClaimSerializer,
        responses=ClaimSchema,
        examples=examples.CLAIM,
    )
    def claim(self, request: Request, payment_id: str) -> Response:
        """For a payer who says that they paid: looks the transaction up on the payment's network, and on the other one
        with the same address, and says of every transfer in it why it matched or did not. It credits nothing."""
        payment = self._payment(payment_id)
        body = ClaimSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        transaction_hash = parse_transaction_hash(payment, body.validated_data["transactionHash"])
        return Response(claim_record(payment, transaction_hash, explain_claim(payment, transaction_hash)))

    @extend_schema(
        summary="What happened to a payment", parameters=[ListQuery], responses=TimelineEntrySchema(many=True)
    )
    def timeline(self, request: Request, payment_id: str) -> Response:
        payment = self._payment(payment_id)
        events = Event.objects.of(self.merchant, self.environment).filter(object_id=payment.pk)
        return Response(
            page(
                events,
                read_query(ListQuery, request),
                public_id=ids.EVENT,
                render=timeline_entry,
                total=lambda keys: events.filter(keys.condition).count(),
            )
        )

    @extend_schema(
        summary="Every on-chain transfer seen for a payment",
        parameters=[ListQuery],
        responses=PaymentTransferSchema(many=True),
    )
    def transfers(self, request: Request, payment_id: str) -> Response:
        """Newest first. The payment's own record has the first hundred."""
        payment = self._payment(payment_id)
        return Response(
            page(
                payment.deposits.all(),
                read_query(ListQuery, request),
                public_id=ids.TRANSFER,
                render=transfer_record,
                total=lambda keys: payment.deposits.filter(keys.condition).count(),
            )
        )

    @extend_schema(
        summary="What of a payment's money waits for a decision, or did",
        parameters=[ListQuery],
        responses=DiscrepancySchema(many=True),
    )
    def discrepancies(self, request: Request, payment_id: str) -> Response:
        own = Discrepancy.objects.filter(payment=self._payment(payment_id))
        return Response(
            page(
                own,
                read_query(ListQuery, request),
                public_id=ids.DISCREPANCY,
                render=discrepancy_record,
                total=lambda keys: own.filter(keys.condition).count(),
            )
        )

    @refuses(DiscrepancyResolved)
    @extend_schema(
        summary="Take money in suspense as yours",
        request=AcceptanceSerializer,
        responses=DiscrepancySchema,
        examples=examples.ACCEPT,
    )
    def accept_discrepancy(self, request: Request, payment_id: str, discrepancy_id: str) -> Response:
        """Short and late money then counts for its payment, which it may complete; the rest is extra."""
        discrepancy = self._discrepancy(self._payment(payment_id), discrepancy_id)
        body = AcceptanceSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        note = body.validated_data.get("note", "")
        return Response(discrepancy_record(accept_discrepancy(discrepancy, resolved_by=self.key.name, note=note)))

    def _discrepancy(self, payment: Payment, public_id: str) -> Discrepancy:
        key = ids.DISCREPANCY.decode(public_id)
        discrepancy = key and Discrepancy.objects.filter(payment=payment, pk=key).first()
        if not discrepancy:
            raise no_such(ids.DISCREPANCY, public_id)
        return discrepancy

    def _payment(self, public_id: str) -> Payment:
        key = ids.PAYMENT.decode(public_id)
        if key is None:
            raise no_such(ids.PAYMENT, public_id)
        try:
            return Payment.objects.of(self.merchant, self.environment).get(pk=key)
        except Payment.DoesNotExist:
            raise no_such(ids.PAYMENT, public_id) from None


def _record(payment: Payment) -> dict[str, Any]:
    return Records().of_payment(payment)
