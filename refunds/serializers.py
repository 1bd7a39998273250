"""The bodies and queries of requests about refunds, and how the reference describes the replies."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from config import ids
from config.api.fields import (
    AmountField,
    CoinField,
    MetadataField,
    PublicIdField,
    StrictCharField,
    StrictChoiceField,
    StrictSerializer,
)
from config.api.pagination import CreatedListQuery
from config.environments import Environment
from payments.api.serializers import NetworkField
from payments.rates.amounts import MAX_FIAT_AMOUNT
from payments.transfers.states import HoldReason, MemoType
from refunds.states import RefundStatus

MAX_ID_CHARACTERS = 64
MAX_ADDRESS_CHARACTERS = 80
MAX_MEMO_CHARACTERS = 30
MAX_REASON_CHARACTERS = 500
MEMO_TYPE_HELP = (
    "`text` where the recipient wants a memo of digits as text, as some exchanges do. Left out: a number is an id, "
    "anything else text."
)


class DestinationSerializer(StrictSerializer):
    """The body that names the destination of a refund."""

    destination = StrictCharField(max_length=MAX_ADDRESS_CHARACTERS, help_text="An address on the refund's network.")
    memo = StrictCharField(
        max_length=MAX_MEMO_CHARACTERS,
        required=False,
        help_text="On stellar, where the account asks for one, as those of exchanges do.",
    )
    memoType = StrictChoiceField(choices=MemoType.values, required=False, help_text=MEMO_TYPE_HELP)


class NewRefundSerializer(StrictSerializer):
    """The body of a create request."""

    paymentId = StrictCharField(max_length=MAX_ID_CHARACTERS, help_text="The payment to refund.")
    amount = AmountField(
        maximum=MAX_FIAT_AMOUNT,
        required=False,
        help_text="In the payment's currency. Its original quote says how many coins that is, whatever they are worth "
        "by now. Left out: all that is left.",
    )
    reason = StrictCharField(max_length=MAX_REASON_CHARACTERS, required=False, help_text="A note of yours.")
    destination = StrictCharField(
        max_length=MAX_ADDRESS_CHARACTERS,
        required=False,
        help_text="Where the money goes. Left out: back to the sender, when that is an ordinary account.",
    )
    memo = StrictCharField(
        max_length=MAX_MEMO_CHARACTERS, required=False, help_text="On stellar, where the destination asks for one."
    )
    memoType = StrictChoiceField(choices=MemoType.values, required=False, help_text=MEMO_TYPE_HELP)
    discrepancyId = StrictCharField(
        max_length=MAX_ID_CHARACTERS,
        required=False,
        help_text="The discrepancy to refund. It is refunded in full, so leave out the amount.",
    )
    metadata = MetadataField(default=dict, help_text="Any JSON object of yours, up to 16 KiB; given back as sent.")


class RefundListQuery(CreatedListQuery):
    """The filters of the refund list."""

    paymentId = PublicIdField(ids.PAYMENT, required=False, help_text="Only refunds of this payment.")
    status = StrictChoiceField(choices=RefundStatus.values, required=False, help_text="Only refunds in this status.")


class RefundSchema(serializers.Serializer[Any]):
    """The refund record, for the reference; `records.refund_record` writes it."""

    id = serializers.CharField()
    object = serializers.ChoiceField(choices=["refund"])
    paymentId = serializers.CharField()
    discrepancyId = serializers.CharField(allow_null=True, help_text="The discrepancy that is refunded.")
    amount = serializers.FloatField(
        allow_null=True,
        help_text="In the currency, at the original quote: an exact decimal number. Null for a coin nobody quoted.",
    )
    currency = serializers.CharField(help_text="The payment's.")
    cryptoAmount = serializers.CharField(
        help_text="What is sent: decimal, six fractional digits; more where all that is left is sent."
    )
    tokenFee = serializers.CharField(
        help_text="What the token itself kept of it on the way, as some may; zero until it is completed."
    )
    receivedAmount = serializers.CharField(
        allow_null=True, help_text="What arrived, by the receipt of the on-chain transaction; null until then."
    )
    returnsFee = serializers.BooleanField(
        help_text=(
            "Whether your next settlement returns the fee on the refunded amount, by the operator's policy when "
            "the refund was created. False for a discrepancy, on which no fee is taken."
        )
    )
    cryptocurrency = CoinField()
    network = NetworkField()
    destination = serializers.CharField(allow_null=True, help_text="Null while nobody has named one.")
    memo = serializers.CharField(allow_null=True)
    memoType = serializers.ChoiceField(
        choices=MemoType.choices, allow_null=True, help_text="How the memo is sent; null without one."
    )
    status = serializers.ChoiceField(choices=RefundStatus.choices)
    claimUrl = serializers.URLField(
        allow_null=True,
        help_text=(
            "While an address is needed: the page on which the payer gives one. Good for 30 days and one address. "
            "Shown to keys that may write refunds, and in no event: whoever opens it says where the money goes."
        ),
    )
    reason = serializers.CharField(allow_null=True)
    transactionHash = serializers.CharField(allow_null=True, help_text="Of the on-chain transaction, once it is final.")
    claimableBalanceId = serializers.CharField(
        allow_null=True,
        help_text=(
            "On stellar, where the account could not take the coin for days and the operator sets money aside then: "
            "the claimable balance that the recipient has to claim. Null for a refund that was paid."
        ),
    )
    holdReason = serializers.ChoiceField(
        choices=HoldReason.choices, allow_null=True, help_text="Why it has not left yet, while something holds it."
    )
    failureCode = serializers.CharField(allow_null=True)
    failureMessage = serializers.CharField(allow_null=True)
    metadata = MetadataField()
    environment = serializers.ChoiceField(choices=Environment.choices)
    createdAt = serializers.DateTimeField()
    completedAt = serializers.DateTimeField(allow_null=True)
    version = serializers.IntegerField(help_text="Grows with every change that an event tells of.")
