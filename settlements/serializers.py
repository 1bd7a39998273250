"""The queries of requests about settlements, and how the reference describes the replies."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from config.api.fields import CoinField, InstantFilterField, StrictChoiceField, StrictSerializer
from config.api.pagination import ListQuery
from config.environments import Environment
from payments.api.serializers import ExchangeRateSchema, NetworkField
from payments.states import BalanceChangeKind
from settlements.exports.formats import VERSION
from settlements.plans.statements import LineType
from settlements.states import RateMoment, SettlementProblem, SettlementStatus

JSON, CSV = "json", "csv"

_RATE_MOMENT = (
    "The operator's policy: other coins are converted at the rate of the moment the settlement is paid, so that a move "
    "of the rate until then is yours, or of the moment it is made, so that it is the operator's."
)
_MOVED_BY_THE_SETTLEMENT = (LineType.FEE, LineType.CONVERSION, LineType.SETTLEMENT)


class SettlementListQuery(ListQuery):
    """The filters of the settlement list."""

    status = StrictChoiceField(
        choices=SettlementStatus.values, required=False, help_text="Only settlements in this status."
    )
    startDate = InstantFilterField(
        required=False, help_text="Created at or after this ISO 8601 date or time, UTC; a date means its beginning."
    )
    endDate = InstantFilterField(
        required=False,
        end_of_day=True,
        help_text="Created at or before this ISO 8601 date or time, UTC; a date means its end.",
    )


class StatementQuery(StrictSerializer):
    """The query parameters of a statement."""

    format = StrictChoiceField(choices=(JSON, CSV), default=JSON, help_text="`json`, or `csv` to be downloaded.")


class SettlementSchema(serializers.Serializer[Any]):
    """The settlement record, for the reference; `records.settlement_record` writes it."""

    id = serializers.CharField()
    object = serializers.ChoiceField(choices=["settlement"])
    status = serializers.ChoiceField(choices=SettlementStatus.choices)
    settlementCurrency = CoinField(help_text="The coin it is paid in.")
    network = NetworkField()
    destination = serializers.CharField(help_text="The wallet it is paid to.")
    grossAmount = serializers.CharField(
        help_text="What came in and no reorganisation undid, in the settlement currency; an estimate until everything "
        "is converted."
    )
    feeAmount = serializers.CharField(help_text="Below zero when the fee of what was undone is given back.")
    refundAmount = serializers.CharField(help_text="Refunds and whatever else came off, `debtAmount` included.")
    debtAmount = serializers.CharField(
        help_text="The part of `refundAmount` that repaid what you owed in other coins or on other networks."
    )
    amount = serializers.CharField(help_text="What is paid: gross less fee less refunds, exactly. Six digits or more.")
    tokenFee = serializers.CharField(
        help_text="What the token itself kept of it on the way, as some may; zero until it is completed."
    )
    receivedAmount = serializers.CharField(
        allow_null=True, help_text="What arrived, by the receipt of the on-chain transaction; null until then."
    )
    paymentCount = serializers.IntegerField()
    exchangeRate = serializers.DictField(
        child=ExchangeRateSchema(),
        allow_null=True,
        help_text="By coin: the price of one in the settlement currency. Null when nothing has to be converted, and "
        "while it is an estimate: see `rateMoment`.",
    )
    rateMoment = serializers.ChoiceField(choices=RateMoment.choices, help_text=_RATE_MOMENT)
    periodStart = serializers.DateTimeField()
    periodEnd = serializers.DateTimeField(help_text="What happened before it is settled.")
    scheduledFor = serializers.DateTimeField()
    transactionHash = serializers.CharField(allow_null=True, help_text="Of the on-chain transaction that paid it.")
    claimableBalanceId = serializers.CharField(
        allow_null=True,
        help_text=(
            "On stellar, where the wallet could not take the coin for days and the operator sets money aside then: the "
            "claimable balance that it became, which the wallet collects. Null for a settlement that was paid."
        ),
    )
    failureCode = serializers.ChoiceField(
        choices=SettlementProblem.choices, allow_null=True, help_text="Why it waits, or has failed."
    )
    failureMessage = serializers.CharField(allow_null=True)
    environment = serializers.ChoiceField(choices=Environment.choices)
    createdAt = serializers.DateTimeField()
    completedAt = serializers.DateTimeField(allow_null=True)
    version = serializers.IntegerField(help_text="Grows with every change that an event tells of.")


class PlannedSettlementSchema(serializers.Serializer[Any]):
    network = NetworkField()
    destination = serializers.CharField()
    settlementCurrency = CoinField()
    grossAmount = serializers.CharField()
    feeAmount = serializers.CharField()
    refundAmount = serializers.CharField()
    debtAmount = serializers.CharField(help_text="The part of `refundAmount` that repays debts elsewhere.")
    amount = serializers.CharField(help_text="As of now: what comes in until then is added.")
    paymentCount = serializers.IntegerField()
    exchangeRate = serializers.DictField(
        child=ExchangeRateSchema(),
        allow_null=True,
        help_text="By coin: the price of one in the settlement currency now. Null when nothing has to be converted, or "
        "there is no rate at the moment.",
    )
    problem = serializers.ChoiceField(
        choices=SettlementProblem.choices,
        allow_null=True,
        help_text="Why the network would not have paid this wallet when it was last asked; the settlement asks again.",
    )
    problemMessage = serializers.CharField(
        allow_null=True, help_text="The same as a sentence for people, and what to do."
    )


class CarriedOverSchema(serializers.Serializer[Any]):
    network = NetworkField()
    destination = serializers.CharField()
    cryptocurrency = CoinField()
    amount = serializers.CharField(help_text="Negative when it is owed.")
    reason = serializers.CharField(help_text="Why it waits for a later settlement, for programs.")
    message = serializers.CharField(help_text="The same as a sentence for people.")


class DebtOffsetSchema(serializers.Serializer[Any]):
    """Money in one coin that repays a debt in another coin or on another network before anything is paid."""

    network = NetworkField()
    cryptocurrency = CoinField(help_text="The coin that is taken.")
    amount = serializers.CharField(help_text="What is taken of it: decimal.")
    debtNetwork = NetworkField(help_text="Where it is owed.")
    debtCryptocurrency = CoinField(help_text="The coin that is owed.")
    debtAmount = serializers.CharField(help_text="What of the debt is repaid.")
    rate = serializers.CharField(help_text="What one of the coin taken is worth in the coin owed; 1 for the same coin.")
    source = serializers.CharField(  # type: ignore[assignment]  # on the wire
        allow_null=True, help_text="Where the rate is from; null for the same coin."
    )
    quotedAt = serializers.DateTimeField(allow_null=True)


class StatementDebtOffsetSchema(serializers.Serializer[Any]):
    """The other side of a line `debt_offset` or `debt_repaid`."""

    cryptocurrency = CoinField()
    network = NetworkField()
    amount = serializers.CharField(help_text="What the debt lost or, of a debt that was repaid, what was taken for it.")
    rate = serializers.CharField(help_text="What one of the coin taken is worth in the coin owed; 1 for the same coin.")
    source = serializers.CharField(  # type: ignore[assignment]  # on the wire
        allow_null=True, help_text="Where the rate is from; null for the same coin."
    )
    quotedAt = serializers.DateTimeField(allow_null=True)


class NextSettlementsSchema(serializers.Serializer[Any]):
    """What the next run would settle if it were now."""

    object = serializers.ChoiceField(choices=["next_settlements"])
    scheduledFor = serializers.DateTimeField(allow_null=True, help_text="Null when settlements are made by hand.")
    periodStart = serializers.DateTimeField()
    periodEnd = serializers.DateTimeField(allow_null=True)
    settlements = PlannedSettlementSchema(many=True)
    carriedOver = CarriedOverSchema(many=True)
    debtOffsets = DebtOffsetSchema(many=True, help_text="What repays debts before anything is paid.")
    rateMoment = serializers.ChoiceField(choices=RateMoment.choices, help_text=_RATE_MOMENT)
    environment = serializers.ChoiceField(choices=Environment.choices)


class StatementConversionSchema(serializers.Serializer[Any]):
    cryptocurrency = CoinField(help_text="The other coin.")
    rate = serializers.CharField(help_text="Price of one converted coin in the settlement currency, decimal.")
    source = serializers.CharField(help_text="Where the rate is from.")  # type: ignore[assignment]  # on the wire
    quotedAt = serializers.DateTimeField()


class StatementEntrySchema(serializers.Serializer[Any]):
    type = serializers.ChoiceField(
        choices=[*BalanceChangeKind.values, *(kind.value for kind in _MOVED_BY_THE_SETTLEMENT)]
    )
    time = serializers.DateTimeField()
    amount = serializers.CharField(help_text="Signed, with every digit of the coin.")
    balance = serializers.CharField(help_text="Of the coin, after this entry.")
    reference = serializers.CharField(help_text="Id of what it was for.")
    paymentId = serializers.CharField(allow_null=True)
    refundId = serializers.CharField(allow_null=True)
    wallet = serializers.CharField(allow_null=True)
    fiatAmount = serializers.FloatField(
        allow_null=True, help_text="What that was worth when the payment was quoted: a refund its share of it."
    )
    fiatCurrency = serializers.CharField(allow_null=True)
    conversion = StatementConversionSchema(allow_null=True)
    transactionHash = serializers.CharField(allow_null=True)
    tokenFee = serializers.CharField(
        allow_null=True, help_text="Of a refund or settlement: what the token kept, so that so much less arrived."
    )
    claimableBalanceId = serializers.CharField(
        allow_null=True, help_text="Of a refund or settlement: the claimable balance that it was set aside as."
    )
    debtOffset = StatementDebtOffsetSchema(
        allow_null=True, help_text="The other side of a line `debt_offset` or `debt_repaid`; null for others."
    )
    returnsFee = serializers.BooleanField(
        allow_null=True,
        help_text="Of a refund, or one that came back: whether the fee on it is given back, or taken again. Null for "
        "others.",
    )


class StatementCoinSchema(serializers.Serializer[Any]):
    cryptocurrency = CoinField()
    carriedOver = StatementEntrySchema(
        many=True, help_text="From before the period, not settled then: what the opening balance is made of."
    )
    openingBalance = serializers.CharField()
    entries = StatementEntrySchema(many=True)
    closingBalance = serializers.CharField(help_text="The opening balance and the amounts of all entries, exactly.")


class StatementSchema(serializers.Serializer[Any]):
    """The statement, for the reference; `statement_formats.statement_record` writes it."""

    object = serializers.ChoiceField(choices=["settlement_statement"])
    version = serializers.ChoiceField(choices=[VERSION], help_text="Of this form, in CSV too.")
    settlement = serializers.CharField()
    status = serializers.ChoiceField(choices=SettlementStatus.choices)
    settlementCurrency = CoinField()
    network = NetworkField()
    destination = serializers.CharField()
    amount = serializers.CharField(help_text="With every digit of the coin.")
    rateMoment = serializers.ChoiceField(choices=RateMoment.choices, help_text=_RATE_MOMENT)
    feeBps = serializers.IntegerField(help_text="In hundredths of a percent of what payments brought in.")
    periodStart = serializers.DateTimeField()
    periodEnd = serializers.DateTimeField()
    environment = serializers.ChoiceField(choices=Environment.choices)
    coins = StatementCoinSchema(many=True)
