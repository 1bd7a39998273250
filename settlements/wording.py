"""Words for merchants: why a settlement waits or has failed, what to do next, why money is carried over."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from config.money import Asset
from payments.states import BalanceChangeKind
from settlements.plans.planning import CarryReason
from settlements.plans.statements import LineType
from settlements.states import RateMoment, SettlementProblem

WHAT_NEXT: dict[str, Promise] = {
    SettlementProblem.INSUFFICIENT_LIQUIDITY: gettext_lazy(
        "Your money is reserved. It is paid as soon as there is enough. You do not need to do anything."
    ),
    SettlementProblem.OVER_LIMIT: gettext_lazy(
        "The operator reviews amounts of this size before they are sent. It is paid after that. You do not need "
        "to do anything."
    ),
    SettlementProblem.RATE_UNAVAILABLE: gettext_lazy(
        "It is converted and paid as soon as there is a rate. You do not need to do anything."
    ),
    SettlementProblem.CURRENCY_UNAVAILABLE: gettext_lazy(
        "It is paid once the coin is in use there again. "
        "For later settlements you can choose another settlement currency."
    ),
    SettlementProblem.NETWORK_UNAVAILABLE: gettext_lazy(
        "It is paid as soon as the network can be used again. You do not need to do anything."
    ),
    SettlementProblem.COIN_PAUSED: gettext_lazy(
        "It is paid as soon as the coin can be sent again. You do not need to do anything."
    ),
    SettlementProblem.HOT_WALLET_BLOCKED: gettext_lazy(
        "Your operator has been told. It is paid as soon as the paying wallet may send the coin again. You do not "
        "need to do anything."
    ),
    SettlementProblem.DESTINATION_INVALID: gettext_lazy(
        "The money is back in your balance and stays there until you choose another wallet or confirm that this "
        "one can be paid."
    ),
    SettlementProblem.NO_TRUSTLINE: gettext_lazy("Add a trustline for the coin to the wallet, or use another wallet."),
    SettlementProblem.MEMO_REQUIRED: gettext_lazy(
        "The wallet belongs to a service that identifies its customers by memos, and settlements carry none. "
        "Enter the M address that the service shows you, which contains the memo, or use a wallet of your own. "
        "Until then the money stays in your balance."
    ),
    SettlementProblem.DESTINATION_REFUSED: gettext_lazy(
        "Ask the issuer of the coin why, or use another wallet. Until then the money stays in your balance."
    ),
    SettlementProblem.TRANSFER_FAILED: gettext_lazy(
        "The money is back in your balance and is paid with the next settlement."
    ),
    SettlementProblem.WALLET_LOST: gettext_lazy(
        "The money is back in your balance. It goes to your other wallet on the network once the waiting time is "
        "over. The page of your wallets shows when."
    ),
    SettlementProblem.REJECTED: gettext_lazy(
        "The money is back in your balance and stays there. Ask your operator why, or use another wallet."
    ),
}

REFUSED: dict[str, Promise] = {
    SettlementProblem.NO_TRUSTLINE: gettext_lazy(
        "At the last check, this wallet did not hold %(coin)s yet. Add the coin to it: the settlement waits until then."
    ),
    SettlementProblem.MEMO_REQUIRED: gettext_lazy(
        "At the last check, this wallet's account required a memo, which settlements cannot carry. Enter the M "
        "address that its service shows, which contains the memo, or use a wallet of your own."
    ),
    SettlementProblem.DESTINATION_INVALID: gettext_lazy(
        "At the last check, this wallet could not be paid. Check its address, or use another wallet."
    ),
    SettlementProblem.DESTINATION_REFUSED: gettext_lazy(
        "At the last check, the issuer of %(coin)s did not allow this wallet. Ask the issuer why, or use another "
        "wallet."
    ),
}
"""Beside a planned settlement: the reason the network would not have paid its wallet at its last reply."""

CARRIED: dict[str, Promise] = {
    CarryReason.NOTHING_LEFT: gettext_lazy("Refunds or what you owe took all of it"),
    CarryReason.FEE_TAKES_REST: gettext_lazy("The fee takes all that is left; it is taken with the next settlement"),
    CarryReason.BELOW_MINIMUM: gettext_lazy("Below the smallest settlement"),
    CarryReason.WALLET_NOT_ALLOWED: gettext_lazy("The wallet is not on your allow list"),
    CarryReason.WALLET_COOLING_OFF: gettext_lazy("The wallet came onto your allow list less than 24 hours ago"),
    CarryReason.WALLET_NOT_PROVEN: gettext_lazy(
        "The wallet is not proven to be yours; prove it on the page of your wallets"
    ),
    CarryReason.WALLET_LOST: gettext_lazy(
        "You have reported the key of this wallet as lost; your other wallet is paid once the waiting time is over"
    ),
    CarryReason.WALLET_BLOCKED: gettext_lazy("The last settlement to this wallet failed"),
    CarryReason.WALLET_INVALID: gettext_lazy("This wallet cannot be paid on this network"),
    CarryReason.NO_TRUSTLINE: gettext_lazy(
        "A settlement waits until this wallet holds the coin; this follows once it is paid"
    ),
    CarryReason.NETWORK_UNAVAILABLE: gettext_lazy("The network is not in use at the moment"),
    CarryReason.RATE_UNAVAILABLE: gettext_lazy("There is no exchange rate for this coin at the moment"),
    CarryReason.COINS_MISSING: gettext_lazy(
        "Its coins are missing on the network; your operator decides who bears the loss"
    ),
}

ENTRIES: dict[str, Promise] = {
    **dict(BalanceChangeKind.choices),
    LineType.FEE: gettext_lazy("Fee"),
    LineType.CONVERSION: gettext_lazy("Conversion"),
    LineType.SETTLEMENT: gettext_lazy("Settlement"),
}


RATE_OF: dict[str, Promise] = {
    RateMoment.WHEN_PAID: gettext_lazy(
        "Other coins are converted at the rate when the money leaves. Until then the amount is an estimate. If "
        "the rate changes while the settlement waits, the gain or loss is yours."
    ),
    RateMoment.WHEN_MADE: gettext_lazy(
        "Other coins are converted at the rate when the settlement is created. If the rate changes while it "
        "waits, the gain or loss is the operator’s, not yours."
    ),
}
"""The party that bears a move of the rate between a settlement and its payment."""


def how_to_trust(asset: Asset) -> str:
    """Instructions for a merchant whose wallet does not hold a coin yet."""
    code, _colon, issuer = asset.contract.partition(":")
    return gettext(
        "The wallet does not hold %(code)s yet. In the app of the wallet, add the asset %(code)s of the issuer "
        "%(issuer)s: the settlement is then paid by itself. The account needs 0.5 XLM for it."
    ) % {"code": code, "issuer": issuer}


def refused(problem: str, coin: str) -> str:
    """The note beside a planned settlement whose wallet the network would not have paid at its last reply."""
    return str(REFUSED.get(problem, "")) % {"coin": coin}


def what_next(problem: str) -> str:
    return str(WHAT_NEXT.get(problem, ""))


def carried(reason: str) -> str:
    return str(CARRIED.get(reason) or gettext("It waits for a later settlement"))
