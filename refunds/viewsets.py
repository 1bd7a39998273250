"""/v1/refunds: parse, call a service, render."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import Q
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config import ids
from config.api.fields import EmptySerializer, read_query
from config.api.hints import about_id, no_such
from config.api.pagination import KeyRange, page
from config.api.schema import refuses
from config.errors import InvalidParameter, NotFound
from merchants import counting
from merchants.access.scopes import Scope, allows
from merchants.access.viewsets import MerchantViewSet
from payments.chains.registry import UnsupportedNetwork
from payments.models import Discrepancy, Payment
from payments.refunding import InsufficientBalance, RefundExceedsPayment
from payments.services import DiscrepancyResolved
from refunds import examples
from refunds.models import REFUNDS, Refund
from refunds.records import refund_record
from refunds.serializers import DestinationSerializer, NewRefundSerializer, RefundListQuery, RefundSchema
from refunds.services import (
    DiscrepancyRequired,
    NewRefund,
    PaymentNotRefundable,
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
        request=NewRefundSerializer,
        responses={201: RefundSchema},
        examples=examples.CREATE,
    )
    def create(self, request: Request) -> Response:
        body = NewRefundSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        data = body.validated_data
        payment = self._payment(data["paymentId"])
        refund = create_refund(
            payment=payment,
            request=NewRefund(
                amount=data.get("amount"),
                discrepancy=self._discrepancy(payment, data["discrepancyId"]) if "discrepancyId" in data else None,
                destination=data.get("destination", ""),
                memo=data.get("memo", ""),
                reason=data.get("reason", ""),
                metadata=data["metadata"],
            ),
            requested_by=self.key.public_key,
        )
        return Response(self._record(refund), status=201)

    @extend_schema(summary="Get a refund", responses=RefundSchema, examples=examples.RETRIEVE)
    def retrieve(self, request: Request, refund_id: str) -> Response:
        return Response(self._record(self._refund(refund_id)))

    @extend_schema(summary="List refunds", parameters=[RefundListQuery], responses=RefundSchema(many=True))
    def list(self, request: Request) -> Response:
        query = read_query(RefundListQuery, request)
        own = (
            Refund.objects.of(self.merchant, self.environment)
            .select_related("payment", "payout")
            .defer("payment__qr_png")
        )
        status, narrow = query.get("status"), Q()
        if status:
            narrow &= Q(status=status)
        if "paymentId" in query:
            narrow &= Q(payment_id=query["paymentId"])

        def total(keys: KeyRange) -> int:
            if "paymentId" in query:  # a payment has few
                return own.filter(narrow & keys.condition).count()
            return counting.total(
                REFUNDS,
                merchant_id=self.merchant.pk,
                environment=self.environment,
                statuses=[status] if status else None,
                keys=keys,
            )

        return Response(page(own, query, public_id=ids.REFUND, narrow=narrow, render=self._record, total=total))

    @refuses(RefundNotCancellable)
    @extend_schema(summary="Cancel a refund", request=EmptySerializer, responses=RefundSchema, examples=examples.CANCEL)
    def cancel(self, request: Request, refund_id: str) -> Response:
        EmptySerializer(data=request.data).is_valid(raise_exception=True)
        return Response(self._record(cancel_refund(self._refund(refund_id))))

    @refuses(RefundHasDestination, UnsupportedNetwork)
    @extend_schema(
        summary="Name the address of a refund that needs one",
        request=DestinationSerializer,
        responses=RefundSchema,
        examples=examples.GIVE_DESTINATION,
    )
    def give_destination(self, request: Request, refund_id: str) -> Response:
        refund = self._refund(refund_id)
        body = DestinationSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        refund = give_destination(
            refund,
            address=body.validated_data["destination"],
            memo=body.validated_data.get("memo", ""),
            named_by=NamedBy.MERCHANT,
        )
        return Response(self._record(refund))

    def _record(self, refund: Refund) -> dict[str, Any]:
        return refund_record(refund, with_claim_url=allows(self.key.scopes, Scope.REFUNDS_WRITE))

    def _payment(self, public_id: str) -> Payment:
        key = ids.PAYMENT.decode(public_id)
        payment = key and Payment.objects.of(self.merchant, self.environment).filter(pk=key).first()
        if not payment:
            raise no_such(ids.PAYMENT, public_id, param="paymentId")
        return payment

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
        key = ids.REFUND.decode(public_id)
        own = Refund.objects.of(self.merchant, self.environment).select_related("payment", "payout")
        refund = key and own.filter(pk=key).first()
        if not refund:
            raise no_such(ids.REFUND, public_id)
        return refund
