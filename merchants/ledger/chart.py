"""The chart of accounts: which kinds of account there are and what must be true of each. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from django.db import models


class AccountKind(models.TextChoices):
    # Assets: coins that the service holds.
    CHAIN_DEPOSIT = "chain:deposit", "Coins at deposit addresses"
    CHAIN_HOT = "chain:hot", "Coins in the hot wallet"
    CHAIN_COLD = "chain:cold", "Coins in the cold wallet"
    CHAIN_MOVING = "chain:moving", "Coins that are to move from the hot to the cold wallet"
    GAS = "gas", "Native coins that pay network fees"

    # Assets: what merchants owe.
    MERCHANT_RECEIVABLE = "merchant:receivable", "Owed by a merchant"

    # Liabilities: what the service owes.
    PAYMENT = "payment", "Received for a payment, not yet released"
    MERCHANT_AVAILABLE = "merchant:available", "Available to a merchant"
    MERCHANT_HELD = "merchant:held", "A merchant's, held while its coins are missing"
    PAYOUT = "payout", "Reserved for a transfer out"
    SUSPENSE_LATE = "suspense:late", "Arrived late"
    SUSPENSE_OVERPAID = "suspense:overpaid", "More than was due"
    SUSPENSE_UNDERPAID = "suspense:underpaid", "Less than was due"
    SUSPENSE_WRONG_TOKEN = "suspense:wrong_token", "Wrong coin"
    SUSPENSE_WRONG_NETWORK = "suspense:wrong_network", "Wrong network"
    SUSPENSE_NO_MEMO = "suspense:no_memo", "Without a memo that names a payment"
    SUSPENSE_UNASKED = "suspense:unasked", "Not asked for"
    SUSPENSE_REVIEW = "suspense:review", "Held for review"

    # Equity: what is the operator's own.
    TREASURY = "treasury", "Coins the operator put in"
    FEE_SERVICE = "fee:service", "Fees earned"
    FEE_NETWORK = "fee:network", "Network fees paid"
    LOSS = "loss", "Coins lost that the operator bears"
    FEE_TOKEN = "fee:token", "Kept by tokens of what was moved"
    ROUNDING = "rounding", "Rounding differences"
    SPREAD = "spread", "Spread of conversions"
    SPREAD_STOCK = "spread:stock", "The same in the stock that conversions are paid out of"
    DEBT_OFFSET = "debt:offset", "Debts repaid in other coins, and the coins taken for them"
    DEBT_WRITTEN_OFF = "debt:written_off", "Debts of merchants that were written off"
    DEBT_COLLECTED = "debt:collected", "Debts of merchants that were collected outside"
    WITHDRAWN = "withdrawn", "Taken out by the operator"

    @property
    def rules(self) -> Rules:
        return CHART[self]


class Group(Enum):
    """Term of the accounting equation that a kind belongs to: assets = liabilities + equity."""

    ASSET = "asset"
    LIABILITY = "liability"
    EQUITY = "equity"


class Side(Enum):
    """The sign of the entries that make an account of the kind grow."""

    DEBIT = 1
    CREDIT = -1


class Owner(Enum):
    """The kind of record an account belongs to; `Account.owner` is its UUID."""

    NOBODY = "nobody"
    MERCHANT = "merchant"
    PAYMENT = "payment"
    PAYOUT = "payout"
    PAYMENT_OR_DEPOSIT = "payment, or deposit when it names no payment"


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules of every account of one kind."""

    group: Group
    side: Side
    owner: Owner = Owner.NOBODY
    on_chain: bool = False
    """The balance is coins that can be counted on a chain."""
    has_height: bool = False
    """Each of its entries has the height of the block that moved the coins."""
    may_go_negative: bool = False

    def natural(self, signed: int) -> int:
        """The natural balance: positive on the side that the kind grows on."""
        return signed * self.side.value

    def allows_balance(self, signed: int) -> bool:
        return self.may_go_negative or self.natural(signed) >= 0


_COINS = Rules(Group.ASSET, Side.DEBIT, on_chain=True, has_height=True)
# Suspense belongs to one payment or deposit, so that giving its money back twice would overdraw it.
_SUSPENSE = Rules(Group.LIABILITY, Side.CREDIT, Owner.PAYMENT_OR_DEPOSIT)
# Undoing an old fee after the income was withdrawn must not be refused, so these may change sign.
_RESULT = Rules(Group.EQUITY, Side.CREDIT, may_go_negative=True)

CHART: Mapping[AccountKind, Rules] = MappingProxyType(
    {
        AccountKind.CHAIN_DEPOSIT: _COINS,
        AccountKind.CHAIN_HOT: _COINS,
        AccountKind.CHAIN_COLD: _COINS,
        # Counted in the hot wallet as well until they leave it, as what is reserved for their payout is owed meanwhile.
        AccountKind.CHAIN_MOVING: Rules(Group.ASSET, Side.DEBIT, on_chain=True),
        AccountKind.GAS: _COINS,
        AccountKind.MERCHANT_RECEIVABLE: Rules(Group.ASSET, Side.DEBIT, Owner.MERCHANT),
        AccountKind.PAYMENT: Rules(Group.LIABILITY, Side.CREDIT, Owner.PAYMENT),
        AccountKind.MERCHANT_AVAILABLE: Rules(Group.LIABILITY, Side.CREDIT, Owner.MERCHANT),
        AccountKind.MERCHANT_HELD: Rules(Group.LIABILITY, Side.CREDIT, Owner.MERCHANT),
        AccountKind.PAYOUT: Rules(Group.LIABILITY, Side.CREDIT, Owner.PAYOUT),
        AccountKind.SUSPENSE_LATE: _SUSPENSE,
        AccountKind.SUSPENSE_OVERPAID: _SUSPENSE,
        AccountKind.SUSPENSE_UNDERPAID: _SUSPENSE,
        AccountKind.SUSPENSE_WRONG_TOKEN: _SUSPENSE,
        AccountKind.SUSPENSE_WRONG_NETWORK: _SUSPENSE,
        AccountKind.SUSPENSE_NO_MEMO: _SUSPENSE,
        AccountKind.SUSPENSE_UNASKED: _SUSPENSE,
        AccountKind.SUSPENSE_REVIEW: _SUSPENSE,
        AccountKind.TREASURY: Rules(Group.EQUITY, Side.CREDIT),
        AccountKind.FEE_SERVICE: _RESULT,
        AccountKind.FEE_NETWORK: Rules(Group.EQUITY, Side.DEBIT, may_go_negative=True),
        AccountKind.LOSS: Rules(Group.EQUITY, Side.DEBIT),
        AccountKind.FEE_TOKEN: Rules(Group.EQUITY, Side.DEBIT, may_go_negative=True),
        AccountKind.ROUNDING: _RESULT,
        # Both are of equity and sum to zero: what was earned by exchanging stock, and what the stock was exchanged for.
        AccountKind.SPREAD: _RESULT,
        AccountKind.SPREAD_STOCK: _RESULT,
        # What was taken for debts is a credit in its coin, what they cost a debit in theirs.
        AccountKind.DEBT_OFFSET: _RESULT,
        AccountKind.DEBT_WRITTEN_OFF: Rules(Group.EQUITY, Side.DEBIT),
        AccountKind.DEBT_COLLECTED: Rules(Group.EQUITY, Side.DEBIT),
        AccountKind.WITHDRAWN: Rules(Group.EQUITY, Side.DEBIT),
    }
)


def suspense(reason: str) -> AccountKind:
    """The account kind that holds money for a reason: `suspense("late")` is `suspense:late`."""
    return AccountKind(f"suspense:{reason}")


def kinds_where(
    *,
    group: Group | None = None,
    side: Side | None = None,
    on_chain: bool | None = None,
    may_go_negative: bool | None = None,
    owned: bool | None = None,
) -> list[str]:
    """The kinds whose rules match everything that is given, in the order of the chart."""
    return [
        kind.value
        for kind, rules in CHART.items()
        if (group is None or rules.group is group)
        and (side is None or rules.side is side)
        and (on_chain is None or rules.on_chain is on_chain)
        and (may_go_negative is None or rules.may_go_negative is may_go_negative)
        and (owned is None or (rules.owner is not Owner.NOBODY) is owned)
    ]
