"""/v1/refunds: parse, call a service, render."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config import ids
from config.api.fields import EmptySerializer, read_body, read_query
from config.api.hints import about_id
from config.api.schema import refuses
from config.errors import InvalidParameter, NotFound
from merchants.access.scopes import Scope, allows
from merchants.access.viewsets import MerchantViewSet
from payments.chains.registry import UnsupportedNetwork
from payments.models import Discrepancy, Payment
from payments.suspense.acceptance import DiscrepancyResolved
from payments.suspense.refund_accounting import InsufficientBalance, RefundExceedsPayment
from refunds import examples
from refunds.models import REFUNDS, Refund
from refunds.plans.planning import DiscrepancyRequired, NewRefund, PaymentNotRefundable
from refunds.records import refund_record
from refunds.serializers import DestinationSerializer, NewRefundSerializer, RefundListQuery, RefundSchema
from refunds.services import (
    RefundHasDestination,
    RefundNotCancellable,
    cancel_refund,
    create_refund,
    give_destination,
)
from refunds.states import NamedBy


class RefundViewSet(MerchantViewSet):
    """Refunds of the key's merchant in the key's environment."""

    scopes: ClassVar = {
        "create": Scope.REFUNDS_WRITE,
        "retrieve": Scope.REFUNDS_READ,
        "list": Scope.REFUNDS_READ,
        "cancel": Scope.REFUNDS_WRITE,
        "give_destination": Scope.REFUNDS_WRITE,
    }

    @refuses(
        NotFound,
        PaymentNotRefundable,
        RefundExceedsPayment,
        InsufficientBalance,
        DiscrepancyRequired,
        DiscrepancyResolved,
        UnsupportedNetwork,
    )
    @extend_schema(
        summary="Create a refund",
        description=(
            "Gives money of a payment back, in full or in part. The money is reserved at once and sent as "
            "soon as the refund has an address. Send an `Idempotency-Key`, so that a request sent twice "
            "refunds once."
        ),
        request=NewRefundSerializer,
        responses={201: RefundSchema},
        examples=examples.CREATE,
    )
    def create(self, request: Request) -> Response:
        body = read_body(NewRefundSerializer, request)
        data = body.validated_data
        payment = self._payment(data["paymentId"])
        refund = create_refund(
            payment=payment,
            request=NewRefund(
                amount=data.get("amount"),
                discrepancy=self._discrepancy(payment, data["discrepancyId"]) if "discrepancyId" in data else None,
                destination=data.get("destination", ""),
                memo=data.get("memo", ""),
                memo_type=data.get("memoType", ""),
                reason=data.get("reason", ""),
                metadata=data["metadata"],
            ),
            requested_by=self.key.public_key,
        )
        return Response(self._record(refund), status=201)

    @extend_schema(
        summary="Get a refund",
        description="The refund as it is now.",
        responses=RefundSchema,
        examples=examples.RETRIEVE,
    )
    def retrieve(self, request: Request, refund_id: str) -> Response:
        return Response(self._record(self._refund(refund_id)))

    @extend_schema(
        summary="List refunds",
        description="Newest first.",
        parameters=[RefundListQuery],
        responses=RefundSchema(many=True),
    )
    def list(self, request: Request) -> Response:
        own = Refund.objects.of(self.merchant, self.environment)
        return self.listed(
            own.select_related("payment", "payout").defer("payment__qr_png"),
            read_query(RefundListQuery, request),
            kind=ids.REFUND,
            filters={"status": "status", "paymentId": "payment_id"},
            render=self._record,
            counted=REFUNDS,
        )

    @refuses(RefundNotCancellable)
    @extend_schema(
        summary="Cancel a refund",
        description="Possible until the refund is signed. Its money goes back where it was.",
        request=EmptySerializer,
        responses=RefundSchema,
        examples=examples.CANCEL,
    )
    def cancel(self, request: Request, refund_id: str) -> Response:
        read_body(EmptySerializer, request)
        return Response(self._record(cancel_refund(self._refund(refund_id))))

    @refuses(RefundHasDestination, UnsupportedNetwork)
    @extend_schema(
        summary="Give a refund its address",
        description=(
            "For a refund whose status is `requires_action`: nobody can tell from the incoming transfer "
            "where the money is to go."
        ),
        request=DestinationSerializer,
        responses=RefundSchema,
        examples=examples.GIVE_DESTINATION,
    )
    def give_destination(self, request: Request, refund_id: str) -> Response:
        refund = self._refund(refund_id)
        body = read_body(DestinationSerializer, request)
        refund = give_destination(
            refund,
            address=body.validated_data["destination"],
            memo=body.validated_data.get("memo", ""),
            memo_type=body.validated_data.get("memoType", ""),
            named_by=NamedBy.MERCHANT,
        )
        return Response(self._record(refund))

    def _record(self, refund: Refund) -> dict[str, Any]:
        return refund_record(refund, with_link=allows(self.key.scopes, Scope.REFUNDS_WRITE))

    def _payment(self, public_id: str) -> Payment:
        own = Payment.objects.of(self.merchant, self.environment)
        return self.find(ids.PAYMENT, public_id, own, param="paymentId")

    def _discrepancy(self, payment: Payment, public_id: str) -> Discrepancy:
        key = ids.DISCREPANCY.decode(public_id)
        discrepancy = key and Discrepancy.objects.filter(payment=payment, pk=key).first()
        if not discrepancy:
            hint = about_id(ids.DISCREPANCY, public_id)
            raise InvalidParameter(
                f"No money of this payment is in suspense under this id.{hint}", param="discrepancyId"
            )
        return discrepancy

    def _refund(self, public_id: str) -> Refund:
        own = Refund.objects.of(self.merchant, self.environment).select_related("payment", "payout")
        return self.find(ids.REFUND, public_id, own)
