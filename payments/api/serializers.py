"""The bodies and queries of requests about payments, and how the reference describes the replies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, cast

from django.db.models import Q
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config import ids
from config.api.fields import (
    AmountField,
    CoinField,
    HttpUrlField,
    MetadataField,
    MetadataFilterField,
    PublicIdField,
    QueryAmountField,
    StrictCharField,
    StrictChoiceField,
    StrictIntegerField,
    StrictSerializer,
    WordsField,
)
from config.api.pagination import CreatedListQuery
from config.coins import COINS
from config.environments import Environment
from config.errors import InvalidParameter
from config.money import FIAT_DIGITS
from payments.chains.networks import NETWORKS
from payments.checkout.simulator import SCENARIOS
from payments.claims.explanation import WHOLE_ONLY, ClaimCode
from payments.models import MAX_DESCRIPTION, MAX_NOTE
from payments.rates.amounts import MAX_FIAT_AMOUNT, fiat_units
from payments.services import DEFAULT_EXPIRES_IN, Item, NewPayment, PaymentChanges
from payments.states import DepositStatus, DiscrepancyKind, DiscrepancyStatus, PaymentStatus, StatusReason

MIN_EXPIRES_IN, MAX_EXPIRES_IN = 60, 86_400
MAX_HASH_CHARACTERS = 80
MAX_ITEMS, MAX_ITEM_NAME, MAX_QUANTITY = 100, 200, 1_000_000


class NetworkField(StrictChoiceField):
    """The name of a network."""

    def __init__(self, **options: Any) -> None:
        super().__init__(choices=tuple(NETWORKS), **options)

    def words(self) -> Collection[str]:
        return NETWORKS


class WalletsSerializer(StrictSerializer):
    """A wallet for each network that payers may choose."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {
            network: StrictCharField(required=False, max_length=80, help_text=f"Where settlements go on {network}.")
            for network in NETWORKS
        }


FIXED = ("cryptocurrency", "network", "merchantWallet")
"""Fields that fix how a payment is paid. Without all of them its payer chooses."""


class ItemSerializer(StrictSerializer):
    """A line of what is paid for."""

    name = StrictCharField(max_length=MAX_ITEM_NAME, help_text="What it is.")
    quantity = StrictIntegerField(minimum=1, maximum=MAX_QUANTITY, default=1, help_text="How many pieces.")
    amount = AmountField(
        maximum=MAX_FIAT_AMOUNT,
        may_be_negative=True,
        required=False,
        help_text="Of all its pieces, in the payment's currency; below 0 for a discount. With an amount for each item "
        "they add up to the payment's.",
    )


class NewPaymentSerializer(StrictSerializer):
    """The body of a create request."""

    amount = AmountField(
        maximum=MAX_FIAT_AMOUNT,
        help_text="In the currency, with at most its minor digits; worth at most 1,000,000 USD at the current rate.",
    )
    currency = StrictChoiceField(choices=sorted(FIAT_DIGITS), help_text="ISO 4217 code of the price's currency.")
    cryptocurrency = CoinField(
        required=False,
        help_text="The coin the payer sends. Left out with `network` and `merchantWallet`: the payer chooses.",
    )
    network = NetworkField(required=False, help_text="The network it is sent on.")
    merchantWallet = StrictCharField(
        required=False,
        max_length=80,
        help_text="Where settlements of this payment go. On stellar an M address is taken as well; a G address whose "
        "account asks for memos, as those of exchanges do, is refused.",
    )
    merchantWallets = WalletsSerializer(
        required=False,
        help_text="Instead of `network` and `merchantWallet`: where settlements go, by network. The payer chooses "
        "among these networks. Left out: those of your wallets in use.",
    )
    cryptocurrencies = serializers.ListField(
        child=CoinField(),
        required=False,
        allow_empty=False,
        max_length=len(COINS),
        help_text="Instead of `cryptocurrency`: the coins that the payer chooses among. Left out: all of the networks.",
    )
    description = StrictCharField(
        required=False, max_length=MAX_DESCRIPTION, help_text="What it is for. Payers see it, and receipts name it."
    )
    items = serializers.ListField(
        child=ItemSerializer(),
        required=False,
        max_length=MAX_ITEMS,
        help_text="Lines of what is paid for. Payers see them.",
    )
    note = StrictCharField(required=False, max_length=MAX_NOTE, help_text="For yourself; payers do not see it.")
    redirectUrl = HttpUrlField(required=False, help_text="Where the payer may go on after success.")
    cancelUrl = HttpUrlField(
        required=False,
        help_text="Where a payer who has not paid may go back to, once the payment expired or was cancelled. Left out: "
        "the first page of the site of `redirectUrl`.",
    )
    webhookUrl = HttpUrlField(required=False, help_text="Told of this payment's events as well.")
    expiresIn = StrictIntegerField(
        minimum=MIN_EXPIRES_IN,
        maximum=MAX_EXPIRES_IN,
        default=DEFAULT_EXPIRES_IN,
        help_text="Seconds the payer has.",
    )
    metadata = MetadataField(default=dict, help_text="Any JSON object of yours, up to 16 KiB; given back as sent.")

    def to_internal_value(self, data: Any) -> Any:
        """Either all fields that fix how it is paid, or the choices of its payer."""
        if isinstance(data, Mapping) and any(data.get(name) is not None for name in FIXED):
            for name in FIXED:
                self.fields[name].required = True
            for name in ("merchantWallets", "cryptocurrencies"):
                if data.get(name) is not None:
                    raise InvalidParameter(
                        f"Leave it out, or leave out {', '.join(FIXED)}: either you say how it is paid, or the payer "
                        "chooses.",
                        param=name,
                    )
        return super().to_internal_value(data)

    def to_request(self, own_wallets: Callable[[], Mapping[str, str]]) -> NewPayment:
        """The request for the service, once the data is valid; `own_wallets` are named where it names none."""
        data = self.validated_data
        if "network" in data:
            wallets: Mapping[str, str] = {}
        else:
            wallets = data["merchantWallets"] if "merchantWallets" in data else own_wallets()
        items = data.get("items", ())
        return NewPayment(
            amount=data["amount"],
            currency=data["currency"],
            cryptocurrency=data.get("cryptocurrency", ""),
            network=data.get("network", ""),
            merchant_wallet=data.get("merchantWallet", ""),
            wallets=wallets,
            coins=data.get("cryptocurrencies", ()),
            redirect_url=data.get("redirectUrl", ""),
            cancel_url=data.get("cancelUrl", ""),
            webhook_url=data.get("webhookUrl", ""),
            expires_in=data["expiresIn"],
            metadata=data["metadata"],
            description=data.get("description", ""),
            items=[Item(name=each["name"], quantity=each["quantity"], amount=each.get("amount")) for each in items],
            note=data.get("note", ""),
        )


class PaymentChangesSerializer(StrictSerializer):
    """The body of an update: what is left out stays as it is, and an empty text empties a field."""

    description = StrictCharField(
        required=False, allow_blank=True, max_length=MAX_DESCRIPTION, help_text="What it is for. Payers see it."
    )
    note = StrictCharField(
        required=False, allow_blank=True, max_length=MAX_NOTE, help_text="For yourself; payers do not see it."
    )
    metadata = MetadataField(
        required=False,
        help_text="Names that are set; a name with `null` is removed, and all others stay. At most 16 KiB in all.",
    )

    def to_changes(self) -> PaymentChanges:
        """The changes for the service, once the data is valid."""
        return cast("PaymentChanges", self.validated_data)  # fields are named as the columns


class PaymentListQuery(CreatedListQuery):
    """The filters of the payment list."""

    status = WordsField(
        choices=PaymentStatus.values,
        required=False,
        help_text="Only payments in this status, or in one of several, separated by commas: "
        f"{', '.join(f'`{status}`' for status in PaymentStatus.values)}.",
    )
    network = NetworkField(required=False, help_text="Only payments that are asked for on this network.")
    cryptocurrency = CoinField(required=False, help_text="Only payments that are asked for in this coin.")
    currency = StrictChoiceField(
        choices=sorted(FIAT_DIGITS), required=False, help_text="Only payments priced in this currency."
    )
    amount_gte = QueryAmountField(required=False, help_text="Priced at least so much of `currency`.")
    amount_lte = QueryAmountField(required=False, help_text="Priced at most so much of `currency`.")
    metadata = MetadataFilterField(
        required=False,
        help_text="Only payments whose metadata has this value, as `metadata[order]=1007`: how to find a payment by "
        "your order's number. Several names must all fit.",
    )
    paymentLink = PublicIdField(ids.PAYMENT_LINK, required=False, help_text="Only payments made by this payment link.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "currency" not in attrs:
            for name in ("amount_gte", "amount_lte"):
                if name in attrs:
                    raise InvalidParameter("Name the currency of this amount too.", param="currency")
        return attrs


def conditions_of(query: Mapping[str, Any]) -> Q:
    """What a valid query of the payment list asks for beside single columns."""
    found: Q = query.get("metadata", Q())
    for name in ("amount_gte", "amount_lte"):
        if name in query:
            found &= Q(**{f"fiat_{name.replace('_', '__')}": fiat_units(query[name], query["currency"], param=name)})
    return found


class ExpandSerializer(StrictSerializer):
    """What a payment's record is to have beside itself."""

    expand = WordsField(
        choices=("discrepancies", "refunds"),
        required=False,
        help_text="What the record has then too, the newest 100 of each: `discrepancies`, `refunds`, or both "
        "separated by a comma.",
    )


class DiscrepancyListQuery(CreatedListQuery):
    """The filters of the list of all discrepancies."""

    status = StrictChoiceField(
        choices=DiscrepancyStatus.values, required=False, help_text="Only those in this status; `open` waits for you."
    )
    kind = StrictChoiceField(choices=DiscrepancyKind.values, required=False, help_text="Only those of this kind.")


class QuoteQuery(StrictSerializer):
    """The price that is quoted."""

    amount = QueryAmountField(maximum=MAX_FIAT_AMOUNT, help_text="The price, in the currency.")
    currency = StrictChoiceField(choices=sorted(FIAT_DIGITS), help_text="ISO 4217 code of the price's currency.")
    cryptocurrency = CoinField(required=False, help_text="Only this coin.")
    network = NetworkField(required=False, help_text="Only this network.")


class SimulationSerializer(StrictSerializer):
    """The scenario to simulate for a sandbox payment."""

    scenario = StrictChoiceField(choices=list(SCENARIOS), help_text="What happens to the payment.")


class AcceptanceSerializer(StrictSerializer):
    """The body that accepts money in suspense."""

    note = StrictCharField(required=False, max_length=500, help_text="Why, for your own records.")


class ClaimSerializer(StrictSerializer):
    """The on-chain transaction of a claim."""

    transactionHash = StrictCharField(
        max_length=MAX_HASH_CHARACTERS,
        help_text="0x and 64 hexadecimal digits on ethereum and polygon, 64 hexadecimal digits on stellar.",
    )


class ExchangeRateSchema(serializers.Serializer[Any]):
    rate = serializers.CharField(help_text="Price of one coin in the currency, decimal.")
    source = serializers.CharField(help_text="Where the rate is from.")  # type: ignore[assignment]  # on the wire
    quotedAt = serializers.DateTimeField()


class PaymentTransferSchema(serializers.Serializer[Any]):
    id = serializers.CharField()
    object = serializers.ChoiceField(choices=["transfer"])
    hash = serializers.CharField(help_text="Of the on-chain transaction.")
    amount = serializers.CharField(help_text="Decimal, with every digit that was sent: six or more.")
    cryptocurrency = serializers.CharField()
    network = serializers.CharField()
    status = serializers.ChoiceField(choices=DepositStatus.choices)
    block = serializers.IntegerField(help_text="Height of its block, or number of its ledger.")
    missing = serializers.CharField(
        allow_null=True, help_text="How much of it has vanished from the network since, as when an issuer destroys it."
    )
    conflictingMemo = serializers.CharField(
        allow_null=True,
        help_text="On stellar: the memo of the on-chain transaction, where the muxed address it was sent to says "
        "otherwise. The muxed address counts; ask the payer for which payment it was meant.",
    )
    seenAt = serializers.DateTimeField()


class PaymentChoiceSchema(serializers.Serializer[Any]):
    cryptocurrency = CoinField()
    network = NetworkField()
    merchantWallet = serializers.CharField(help_text="Where settlements go if the payer chooses it.")


class ItemSchema(serializers.Serializer[Any]):
    name = serializers.CharField()
    quantity = serializers.IntegerField()
    amount = serializers.FloatField(allow_null=True, help_text="Of all its pieces, in the currency; null without one.")


class DiscrepancySchema(serializers.Serializer[Any]):
    """The record of money in suspense; `records.discrepancy_record` writes it."""

    id = serializers.CharField()
    object = serializers.ChoiceField(choices=["discrepancy"])
    paymentId = serializers.CharField()
    kind = serializers.ChoiceField(choices=DiscrepancyKind.choices)
    status = serializers.ChoiceField(choices=DiscrepancyStatus.choices)
    amount = serializers.CharField(help_text="Decimal, six fractional digits or more.")
    cryptocurrency = CoinField(help_text="The coin that came.")
    network = NetworkField(help_text="Where it came.")
    note = serializers.CharField(allow_null=True)
    createdAt = serializers.DateTimeField()
    resolvedAt = serializers.DateTimeField(allow_null=True, help_text="When somebody decided, or a reorganisation did.")


@extend_schema_field({"type": "array", "items": {"$ref": "#/components/schemas/Refund"}})
class RefundsField(serializers.JSONField):
    """Records of refunds, which are described in an upper app."""


class PaymentSchema(serializers.Serializer[Any]):
    """The payment record, for the reference; `records.payment_record` writes it."""

    id = serializers.CharField()
    object = serializers.ChoiceField(choices=["payment"])
    status = serializers.ChoiceField(choices=PaymentStatus.choices)
    amount = serializers.FloatField(help_text="In the currency: an exact decimal number.")
    currency = serializers.CharField()
    cryptoAmount = serializers.CharField(help_text="What the payer is asked for: decimal, six fractional digits.")
    cryptocurrency = CoinField()
    network = NetworkField()
    url = serializers.URLField(help_text="The hosted payment page.")
    qrCode = serializers.CharField(help_text="PNG as a data URI: the address, or on stellar `paymentUri`.")
    expiresAt = serializers.DateTimeField()
    createdAt = serializers.DateTimeField()
    amountDue = serializers.CharField(
        help_text="What is left to be sent, in the coin: less all that was seen, confirmed or not. 0 once it is "
        "paid or cannot be paid any more."
    )
    amountReceived = serializers.CharField(help_text="Confirmed and in time, in the coin.")
    amountRefunded = serializers.CharField(help_text="In the coin.")
    exchangeRate = ExchangeRateSchema()
    depositAddress = serializers.CharField()
    memo = serializers.CharField(allow_null=True, help_text="Needed with the address on stellar; else null.")
    muxedAddress = serializers.CharField(
        allow_null=True, help_text="On stellar address and memo as one, for wallets with a single field; else null."
    )
    paymentUri = serializers.CharField(
        help_text="EIP-681 or SEP-7 link with everything filled in; it asks for `amountDue`."
    )
    confirmations = serializers.IntegerField()
    requiredConfirmations = serializers.IntegerField()
    statusReasons = serializers.ListField(child=serializers.ChoiceField(choices=StatusReason.choices))
    transfers = PaymentTransferSchema(many=True, help_text="The first 100 that were seen.")
    transferCount = serializers.IntegerField(help_text="How many there are: `/payments/:id/transfers` lists them all.")
    merchantWallet = serializers.CharField()
    redirectUrl = serializers.CharField(allow_null=True)
    cancelUrl = serializers.CharField(allow_null=True)
    webhookUrl = serializers.CharField(allow_null=True)
    expiresIn = serializers.IntegerField()
    metadata = MetadataField()
    description = serializers.CharField(allow_null=True)
    items = ItemSchema(many=True)
    note = serializers.CharField(allow_null=True)
    paymentLink = serializers.CharField(allow_null=True, help_text="Id of the payment link that it was made by.")
    choices = PaymentChoiceSchema(
        many=True, help_text="What its payer chooses among; empty where the request has said it."
    )
    chosenAt = serializers.DateTimeField(
        allow_null=True, help_text="When the payer last chose. Null: the coin and network are those offered first."
    )
    environment = serializers.ChoiceField(choices=Environment.choices)
    completedAt = serializers.DateTimeField(allow_null=True)
    cancelledAt = serializers.DateTimeField(allow_null=True)
    closedAt = serializers.DateTimeField(
        allow_null=True,
        help_text="When the time of an underpaid payment ended: no more is awaited. Null while it is.",
    )
    version = serializers.IntegerField(help_text="Grows with every change that an event tells of.")
    discrepancies = DiscrepancySchema(many=True, required=False, help_text="The newest 100, with `expand`.")
    refunds = RefundsField(required=False, help_text="The newest 100, with `expand`.")


class QuoteOptionSchema(serializers.Serializer[Any]):
    cryptocurrency = CoinField()
    network = NetworkField()
    cryptoAmount = serializers.CharField(help_text="What the payer would be asked for: decimal, six digits.")
    exchangeRate = ExchangeRateSchema()
    networkFee = serializers.FloatField(help_text="About what the payer's wallet pays the network, in USD.")
    seconds = serializers.IntegerField(help_text="About how long it takes to be confirmed.")


class QuoteSchema(serializers.Serializer[Any]):
    """The reply to a query of a price; `quotes.quote_record` writes it."""

    object = serializers.ChoiceField(choices=["quote"])
    amount = serializers.FloatField(help_text="In the currency.")
    currency = serializers.CharField()
    options = QuoteOptionSchema(
        many=True, help_text="Each coin on each network that can be paid with now, the cheapest and fastest first."
    )
    environment = serializers.ChoiceField(choices=Environment.choices)


class SimulationSchema(serializers.Serializer[Any]):
    object = serializers.ChoiceField(choices=["simulation"])
    scenario = serializers.ChoiceField(choices=list(SCENARIOS))
    description = serializers.CharField(help_text="What to expect.")
    transactionHash = serializers.CharField()
    payment = PaymentSchema()


class ClaimTransferSchema(serializers.Serializer[Any]):
    """One transfer of the claimed on-chain transaction, and what became of it."""

    network = NetworkField()
    cryptocurrency = serializers.CharField(
        allow_null=True, help_text="The coin, the network's own one included; null for a token that is not accepted."
    )
    tokenContract = serializers.CharField(allow_null=True, help_text="Null for the native coin.")
    amount = serializers.CharField(
        allow_null=True, help_text="Decimal, six fractional digits or more; null for a token that is not accepted."
    )
    memo = serializers.CharField(allow_null=True)
    payment = serializers.CharField(allow_null=True, help_text="The payment of yours that it was sent for.")
    matched = serializers.BooleanField(help_text="It is what this payment asked for: its coin, network and address.")
    code = serializers.ChoiceField(choices=[code.value for code in ClaimCode if code not in WHOLE_ONLY])
    message = serializers.CharField(help_text="The same as a sentence for people.")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Adds `from`, which is a keyword of Python and cannot be an attribute."""
        fields = super().get_fields()
        fields["from"] = serializers.CharField(help_text="Who sent it.")
        fields["to"] = serializers.CharField(help_text="Where it went.")
        return fields


class ClaimSchema(serializers.Serializer[Any]):
    """The reply to a claim; `claims.claim_record` writes it."""

    object = serializers.ChoiceField(choices=["claim"])
    payment = serializers.CharField(help_text="Id of the payment.")
    transactionHash = serializers.CharField()
    network = NetworkField(allow_null=True, help_text="Where it was found; else null.")
    status = serializers.ChoiceField(
        choices=[code.value for code in ClaimCode], help_text="The code of its most telling transfer, or of the whole."
    )
    message = serializers.CharField(help_text="The same as a sentence for people.")
    block = serializers.IntegerField(allow_null=True)
    confirmations = serializers.IntegerField(allow_null=True, help_text="Null unless it came to the payment's address.")
    requiredConfirmations = serializers.IntegerField()
    transferCount = serializers.IntegerField(help_text="How many transfers it has; at most 100 of them are listed.")
    transfers = ClaimTransferSchema(many=True)


class TimelineEntrySchema(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="Of the event.")
    object = serializers.ChoiceField(choices=["event"])
    type = serializers.CharField()
    version = serializers.IntegerField()
    status = serializers.ChoiceField(choices=PaymentStatus.choices)
    amountReceived = serializers.CharField()
    createdAt = serializers.DateTimeField()
