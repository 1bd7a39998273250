"""What requests about refunds must look like, and how the reference describes the replies."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from config import ids
from config.api.fields import (
    AmountField,
    MetadataField,
    PublicIdField,
    StrictCharField,
    StrictChoiceField,
    StrictSerializer,
)
from config.api.pagination import CreatedListQuery
from config.environments import Environment
from payments.chains.networks import COINS, NETWORKS
from payments.services import MAX_FIAT_AMOUNT
from payments.transfers.states import HoldReason
from refunds.states import RefundStatus

MAX_ID_CHARACTERS = 64
MAX_ADDRESS_CHARACTERS = 80
MAX_MEMO_CHARACTERS = 30
MAX_REASON_CHARACTERS = 500


class DestinationSerializer(StrictSerializer):
    """Where a refund is to go."""

    destination = StrictCharField(max_length=MAX_ADDRESS_CHARACTERS, help_text="An address on the refund's network.")
    memo = StrictCharField(
        max_length=MAX_MEMO_CHARACTERS,
        required=False,
        help_text="On stellar, where the account asks for one, as those of exchanges do.",
    )


class NewRefundSerializer(StrictSerializer):
    """The body of a create request."""

    paymentId = StrictCharField(max_length=MAX_ID_CHARACTERS, help_text="The payment whose money is given back.")
    amount = AmountField(
        maximum=MAX_FIAT_AMOUNT,
        required=False,
        help_text="In the payment's currency, at its original quote. Left out: all that is left.",
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
    discrepancyId = StrictCharField(
        max_length=MAX_ID_CHARACTERS,
        required=False,
        help_text="Money of the payment that is in suspense; it is given back whole, so without an amount.",
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
    discrepancyId = serializers.CharField(allow_null=True, help_text="The money in suspense that is given back.")
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
    cryptocurrency = serializers.ChoiceField(choices=COINS)
    network = serializers.ChoiceField(choices=NETWORKS)
    destination = serializers.CharField(allow_null=True, help_text="Null while nobody has named one.")
    memo = serializers.CharField(allow_null=True)
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
