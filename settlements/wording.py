"""What settlements say to a merchant: why one waits or has failed, what to do next, why money is carried over."""

from __future__ import annotations

from payments.states import BalanceChangeKind
from settlements.planning import CarryReason
from settlements.statements import LineType
from settlements.states import SettlementProblem

WHAT_NEXT: dict[str, str] = {
    SettlementProblem.INSUFFICIENT_LIQUIDITY: "Your money is set apart and is paid as soon as there is enough. "
    "There is nothing for you to do.",
    SettlementProblem.OVER_LIMIT: "Amounts of this size are looked at before they leave. "
    "It is paid once that is done; there is nothing for you to do.",
    SettlementProblem.RATE_UNAVAILABLE: "It is converted and paid as soon as there is a rate. "
    "There is nothing for you to do.",
    SettlementProblem.CURRENCY_UNAVAILABLE: "It is paid once the coin is in use there again. "
    "For later settlements you can choose another settlement currency.",
    SettlementProblem.NETWORK_UNAVAILABLE: "It is paid as soon as the network can be used again. "
    "There is nothing for you to do.",
    SettlementProblem.COIN_PAUSED: "It is paid as soon as the coin can be sent again. There is nothing for you to do.",
    SettlementProblem.HOT_WALLET_BLOCKED: "Your operator knows of it. It is paid as soon as the wallet may send the "
    "coin again; there is nothing for you to do.",
    SettlementProblem.DESTINATION_INVALID: "The money is back in your balance and stays there until you name another "
    "wallet or say that this one can be paid.",
    SettlementProblem.NO_TRUSTLINE: "Add a trustline for the coin to the wallet and then try again, or name another "
    "wallet. Until then the money stays in your balance.",
    SettlementProblem.MEMO_REQUIRED: "The wallet belongs to a service that tells its customers apart by memos, and "
    "settlements carry none. Name a wallet of your own; until then the money stays in your balance.",
    SettlementProblem.DESTINATION_REFUSED: "Ask the issuer of the coin why, or name another wallet. "
    "Until then the money stays in your balance.",
    SettlementProblem.TRANSFER_FAILED: "The money is back in your balance and is paid with the next settlement.",
    SettlementProblem.REJECTED: "The money is back in your balance and stays there. Ask your operator why, or name "
    "another wallet.",
}

CARRIED: dict[str, str] = {
    CarryReason.NOTHING_LEFT: "Refunds took all of it",
    CarryReason.BELOW_MINIMUM: "Below the smallest settlement",
    CarryReason.WALLET_NOT_ALLOWED: "The wallet is not on your allow list",
    CarryReason.WALLET_COOLING_OFF: "The wallet came onto your allow list less than 24 hours ago",
    CarryReason.WALLET_BLOCKED: "The last settlement to this wallet failed",
    CarryReason.WALLET_INVALID: "Nobody can be paid at this wallet on this network",
    CarryReason.NETWORK_UNAVAILABLE: "The network is not in use at the moment",
    CarryReason.COINS_MISSING: "Its coins are missing on the network; your operator decides who bears it",
}

ENTRIES: dict[str, str] = {
    **dict(BalanceChangeKind.choices),
    LineType.FEE: "Fee",
    LineType.CONVERSION: "Conversion",
    LineType.SETTLEMENT: "Settlement",
}


def what_next(problem: str) -> str:
    return WHAT_NEXT.get(problem, "")


def carried(reason: str) -> str:
    return CARRIED.get(reason, "It waits for a later settlement")
