"""The bodies of requests about payment links, and how the reference describes the replies."""

from __future__ import annotations

from typing import Any, cast

from rest_framework import serializers

from config.api.fields import (
    AmountField,
    CoinField,
    HttpUrlField,
    InstantFilterField,
    MetadataField,
    StrictCharField,
    StrictChoiceField,
    StrictIntegerField,
    StrictSerializer,
)
from config.coins import COINS
from config.environments import Environment
from config.money import FIAT_DIGITS
from payments.api.serializers import MAX_EXPIRES_IN, MIN_EXPIRES_IN, WalletsSerializer
from payments.links.services import MAX_USES, LinkChanges, NewLink
from payments.links.states import LinkState
from payments.rates.amounts import MAX_FIAT_AMOUNT
from payments.services import DEFAULT_EXPIRES_IN

MAX_DESCRIPTION, MAX_NOTE = 140, 500


class LinkBooleanField(serializers.BooleanField):
    """`true` or `false`, and no words for them."""

    default_error_messages = {"invalid": "Must be true or false."}  # noqa: RUF012 - as in the base

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid")
        return data


class NewPaymentLinkSerializer(StrictSerializer):
    """The body of a create request."""

    description = StrictCharField(max_length=MAX_DESCRIPTION, help_text="What it is for. Payers see it.")
    currency = StrictChoiceField(choices=sorted(FIAT_DIGITS), help_text="ISO 4217 code of the price's currency.")
    amount = AmountField(
        maximum=MAX_FIAT_AMOUNT, required=False, help_text="In the currency. Left out: the payer enters it."
    )
    minAmount = AmountField(
        maximum=MAX_FIAT_AMOUNT, required=False, help_text="The least a payer may enter, where there is no `amount`."
    )
    maxAmount = AmountField(
        maximum=MAX_FIAT_AMOUNT, required=False, help_text="The most a payer may enter, where there is no `amount`."
    )
    merchantWallets = WalletsSerializer(
        help_text="Where settlements go, by network. The payer chooses among the networks that are named here."
    )
    cryptocurrencies = serializers.ListField(
        child=CoinField(),
        required=False,
        allow_empty=False,
        max_length=len(COINS),
        help_text="The coins that the payer chooses among. Left out: all that the networks take.",
    )
    maxUses = StrictIntegerField(
        minimum=1,
        maximum=MAX_USES,
        required=False,
        help_text="How many payments it is good for. With 1 it is one payment whose coin the payer chooses.",
    )
    expiresAt = InstantFilterField(
        required=False,
        end_of_day=True,
        help_text="Until when payments can be made of it, ISO 8601, UTC; a date means its end.",
    )
    expiresIn = StrictIntegerField(
        minimum=MIN_EXPIRES_IN,
        maximum=MAX_EXPIRES_IN,
        default=DEFAULT_EXPIRES_IN,
        help_text="Seconds a payer has for each payment, once the coin is chosen.",
    )
    redirectUrl = HttpUrlField(required=False, help_text="Where payers may go on after success.")
    note = StrictCharField(max_length=MAX_NOTE, required=False, help_text="For yourself; payers do not see it.")
    metadata = MetadataField(default=dict, help_text="Given to each payment.")

    def to_request(self) -> NewLink:
        """The request for the service, once the data is valid."""
        data = self.validated_data
        return NewLink(
            description=data["description"],
            currency=data["currency"],
            wallets=data["merchantWallets"],
            amount=data.get("amount"),
            min_amount=data.get("minAmount"),
            max_amount=data.get("maxAmount"),
            coins=data.get("cryptocurrencies", ()),
            max_uses=data.get("maxUses"),
            expires_at=data.get("expiresAt"),
            expires_in=data["expiresIn"],
            redirect_url=data.get("redirectUrl", ""),
            note=data.get("note", ""),
            metadata=data["metadata"],
        )


class PaymentLinkChangesSerializer(StrictSerializer):
    """The body of an update: what is left out stays as it is."""

    enabled = LinkBooleanField(required=False, help_text="Whether payments can be made of it.")
    description = StrictCharField(max_length=MAX_DESCRIPTION, required=False)
    note = StrictCharField(max_length=MAX_NOTE, required=False, allow_blank=True)
    maxUses = StrictIntegerField(
        minimum=1, maximum=MAX_USES, required=False, allow_null=True, help_text="Null: any number."
    )
    expiresAt = InstantFilterField(required=False, allow_null=True, end_of_day=True, help_text="Null: never.")
    expiresIn = StrictIntegerField(minimum=MIN_EXPIRES_IN, maximum=MAX_EXPIRES_IN, required=False)
    redirectUrl = HttpUrlField(required=False)
    metadata = MetadataField(required=False)

    _COLUMNS = {  # noqa: RUF012 - a table
        "enabled": "enabled",
        "description": "description",
        "note": "note",
        "maxUses": "max_uses",
        "expiresAt": "expires_at",
        "expiresIn": "expires_in",
        "redirectUrl": "redirect_url",
        "metadata": "metadata",
    }

    def to_changes(self) -> LinkChanges:
        """The changes for the service, once the data is valid."""
        return cast("LinkChanges", {self._COLUMNS[name]: value for name, value in self.validated_data.items()})


class PaymentLinkSchema(serializers.Serializer[Any]):
    """The record of a payment link, for the reference; `links.records.link_record` writes it."""

    id = serializers.CharField()
    object = serializers.ChoiceField(choices=["payment_link"])
    url = serializers.URLField(help_text="The page that payers open.")
    qrCode = serializers.CharField(help_text="PNG of the page's address, as a data URI.")
    status = serializers.ChoiceField(choices=LinkState.choices)
    enabled = serializers.BooleanField()
    description = serializers.CharField()
    note = serializers.CharField(allow_null=True)
    amount = serializers.FloatField(allow_null=True, help_text="Null: the payer enters it.")
    minAmount = serializers.FloatField(allow_null=True)
    maxAmount = serializers.FloatField(allow_null=True)
    currency = serializers.CharField()
    cryptocurrencies = serializers.ListField(
        child=CoinField(), allow_null=True, help_text="Null: all that the networks take."
    )
    merchantWallets = WalletsSerializer()
    maxUses = serializers.IntegerField(allow_null=True, help_text="Null: any number.")
    usesTaken = serializers.IntegerField(
        allow_null=True,
        help_text="Payments that hold a use: all but those that expired or were cancelled unpaid. Null: no limit.",
    )
    expiresAt = serializers.DateTimeField(allow_null=True)
    expiresIn = serializers.IntegerField()
    redirectUrl = serializers.CharField(allow_null=True)
    metadata = MetadataField()
    environment = serializers.ChoiceField(choices=Environment.choices)
    createdAt = serializers.DateTimeField()
